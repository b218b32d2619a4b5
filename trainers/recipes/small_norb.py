"""Shared by the small NORB recipes: Ridgeway & Mozer 2018, Section 4.2.

Toy (50 values), elevation and azimuth (2 values each) as unnamed factors.
Batches are those of the published epoch, without replacement; what is called
an epoch here, after which validation explicitness decides, are 1,000 batches.
Not run on the real set so far.
"""

import ml_collections


def factor_oracle(loss: dict, num_per_value: int, learning_rate: float):
    """Each batch holds up to 12 values of one factor."""
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "small_norb",
            "folds": {
                "split": "train+test",
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 0,  # all
            },
            "split": "train",
            "batches": {
                "name": "factor_batches",
                "num_values": 12,
                "num_per_value": num_per_value,
                "allow_fewer": True,
            },
            "encoder": {"name": "small_norb_encoder", "dim": 20},
            "loss": loss,
            "optimizer": {"name": "Adam", "learning_rate": learning_rate},
            "steps_per_epoch": 1000,
            "num_epochs": 200,
            "monitor": "val_explicitness",
            "patience": 20,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "disentanglement",
                "splits": ("test",),
                "factor_names": ("toy", "elevation", "azimuth"),
            },
        }
    )
