"""Shared by the MNIST recipes: learned distances between digits.

`plane` is the picture of Monteiro et al. 2020, Figure 2: ten digits as points
of a plane, encoder and distance trained without an auxiliary classifier.
Neither paper nor code tells network, optimiser or length of the training;
those here are ours.

`unseen_digits` is not in the paper, but its question on a set anybody can
have: are two images of one digit, when the digit was never trained on? Five
folds by digit over both parts of MNIST: six digits for training, two for
validation, two for the test, each digit in the test once; 500 images of each.
Six classes are few to learn from: validation soon falls, and chooses the
epoch. The encoder is that of the Omniglot recipes, so that a run can start
from characters of other scripts (`initial_weights`), Appendix B in small.
"""

import ml_collections

from trainers.recipes.learned_distance import OBJECTIVE
from trainers.recipes.learning_rates import cosine_decay


def plane():
    """Embeddings of two dimensions, for a picture."""
    config = _config(num_steps=1_500, learning_rate=1e-3, plda_dims=2)
    config.objective = OBJECTIVE
    config.split = "train[:55000]"
    config.batches.num_classes, config.batches.num_per_class = 10, 6
    config.encoder = {"name": "mnist_encoder", "dim": 2}
    config.validation.split = "train[55000:56000]"
    config.evaluation.splits = ("test[:2000]",)
    return config


def unseen_digits(learning_rate: float = 1e-3):
    """Verification of digits never trained on; `objective` or `loss` to add."""
    config = _config(num_steps=400, learning_rate=learning_rate, plda_dims=5)
    config.folds = {
        "split": "train+test",
        "num_folds": 5,
        "fold": 0,
        "num_per_class": 500,
    }
    return config


def _config(num_steps: int, learning_rate: float, plda_dims: int):
    num_epochs = 10
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "mnist",
            "split": "train",
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 6,
                "num_per_class": 10,
            },
            "encoder": {
                "name": "omniglot_encoder",
                "dim": 64,
                "image_shape": (28, 28, 1),
                "dark_ink": False,
            },
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(learning_rate, num_steps),
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": num_steps // num_epochs,
            "num_epochs": num_epochs,
            "monitor": "val_accuracy_at_equal_error",
            "patience": num_epochs,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "verification",
                "splits": ("test",),
                "plda": {"num_dims": plda_dims},
                "num_resamples": 0,  # of few classes no interval is drawn
            },
        }
    )
