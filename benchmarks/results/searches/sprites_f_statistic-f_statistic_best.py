"""The best of 30 trials of a random search.

Recipe: sprites_f_statistic; space: f_statistic; trial 09.
val_explicitness: 0.919856, in epoch 3 of 4.

    loss.num_dims = 11
    optimizer.learning_rate = 0.0019426770385566846
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {
            "batches": {
                "name": "factor_batches",
                "num_per_value": 5,
                "num_values": 12,
            },
            "data_dir": "",
            "dataset": "sprites/all_frames",
            "deterministic": True,
            "encoder": {
                "dim": 22,
                "name": "sprites_encoder",
                "width": 256,
            },
            "evaluation": {
                "factor_names": ("gender", "body", "armor", "hair", "arm", "greaves", "weapon"),
                "name": "disentanglement",
                "splits": ("test",),
            },
            "folds": {
                "fold": 0,
                "num_folds": 5,
                "num_per_class": 24,
                "split": "all",
            },
            "initial_weights": "",
            "loss": {
                "name": "FStatisticLoss",
                "num_dims": 11,
            },
            "manual_dir": "",
            "monitor": "val_explicitness",
            "num_epochs": 4,
            "optimizer": {
                "learning_rate": {
                    "decay_steps": 600,
                    "initial_learning_rate": 0.0019426770385566846,
                    "name": "CosineDecay",
                },
                "name": "Adam",
            },
            "patience": 10,
            "piece_size": 0,
            "precision": "float32",
            "seed": 0,
            "split": "train",
            "steps_per_epoch": 150,
            "validation": {
                "split": "validation",
            },
        }
    )
