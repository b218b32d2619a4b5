"""What the recipes of persons and birds share: retrieval of new classes."""

import ml_collections


def config(
    dataset: str,
    split: str,
    encoder: dict,
    loss: dict,
    num_per_class: int,
    learning_rate: float,
    distance: str,
    patience: int,
    steps_per_epoch: int,
):
    """12 classes a batch, five folds by class, stopped by mean recall@1-20."""
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": dataset,
            "folds": {
                "split": split,
                "test_split": "",  # of the fold if empty
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 0,  # all
            },
            "split": "train",
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 12,
                "num_per_class": num_per_class,
                "allow_fewer": True,
            },
            "encoder": encoder,
            "loss": loss,
            "optimizer": {"name": "Adam", "learning_rate": learning_rate},
            "steps_per_epoch": steps_per_epoch,
            "num_epochs": 1000,
            "monitor": "val_mean_recall",
            "patience": patience,
            "validation": {"split": "validation", "max_k": 20},
            "evaluation": {
                "name": "retrieval",
                "splits": ("test",),
                "distance": distance,
                "k": tuple(range(1, 21)),
            },
        }
    )
