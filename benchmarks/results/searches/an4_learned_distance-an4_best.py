"""The best of 30 trials of a random search.

Recipe: an4_learned_distance; space: an4; trial 29.
val_accuracy_at_equal_error: 0.884029, in epoch 8 of 10.

    optimizer.learning_rate = 0.0017380024387790328
    objective.label_smoothing = 0.1
    objective.distance.dropout = 0.0
    encoder.dim = 64
    batches.num_classes = 24
    batches.num_per_class = 5
    distance.num_layers = 3
    distance.num_units = 256
    objective.auxiliary = 'softmax'
    objective.projection = True
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 24,
                "num_per_class": 5,
            },
            "data_dir": "",
            "dataset": "an4",
            "deterministic": True,
            "encoder": {
                "channels": (96, 96, 96, 96, 288),
                "dim": 64,
                "name": "x_vector_encoder",
                "num_coefficients": 13,
            },
            "evaluation": {
                "name": "verification",
                "num_resamples": 1000,
                "plda": {
                    "num_dims": 32,
                },
                "splits": ("test",),
            },
            "folds": {
                "fold": 0,
                "num_folds": 5,
                "num_per_class": 0,
                "split": "all",
                "test_split": "",
            },
            "initial_weights": "",
            "manual_dir": "",
            "monitor": "val_accuracy_at_equal_error",
            "num_epochs": 10,
            "objective": {
                "auxiliary": "softmax",
                "distance": {
                    "dropout": 0.0,
                    "hidden_units": (256, 256, 256),
                    "name": "PairDistance",
                },
                "label_smoothing": 0.1,
                "name": "LearnedDistance",
                "projection": {
                    "dim": 64,
                    "name": "x_vector_projection",
                },
            },
            "optimizer": {
                "global_clipnorm": 10.0,
                "learning_rate": {
                    "decay_steps": 200,
                    "initial_learning_rate": 0.0017380024387790328,
                    "name": "CosineDecay",
                },
                "name": "Adam",
            },
            "patience": 15,
            "piece_size": 0,
            "precision": "float32",
            "seed": 0,
            "split": "train",
            "steps_per_epoch": 20,
            "utterances": {
                "min_num_frames": 100,
                "num_frames": 100,
            },
            "validation": {
                "split": "validation",
            },
        }
    )
