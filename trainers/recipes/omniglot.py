"""Shared by the Omniglot recipes: retrieval of characters never trained on.

Not in the paper, but its protocol on a data set anybody can have: classes are
the 1,623 characters of both parts of Omniglot, 20 drawings each, held out
fold by fold; batches of 12 characters, drawings chosen anew for every batch
instead of epochs without replacement; five losses with the settings of the
Sprites recipes.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay


def retrieval(loss: dict, learning_rate: float, distance: str):
    """Class-aware batches, measured by retrieval among held-out characters."""
    num_steps, num_epochs = 1_200, 20
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "omniglot",
            "folds": {
                "split": "train+test",
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 0,  # all
            },
            "split": "train",
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 12,
                "num_per_class": 5,
            },
            "encoder": {"name": "omniglot_encoder", "dim": 64},
            "loss": loss,
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(learning_rate, num_steps),
            },
            "steps_per_epoch": num_steps // num_epochs,
            "num_epochs": num_epochs,
            "monitor": "val_recall_at_1",
            "patience": 10,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "retrieval",
                "splits": ("test",),
                "distance": distance,
                "k": (1, 2, 5, 10, 20),
            },
        }
    )
