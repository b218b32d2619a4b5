"""Shared by the AN4 recipes: verification of speakers, Monteiro et al. 2020.

The paper's method on the 84 speakers of CMU AN4 instead of the thousands of
VoxCeleb: encoder and learned distance trained at once with an additive-margin
classifier of the training speakers (its main model), without the classifier
(its ablation), and the encoder alone with a triplet loss (its baseline),
scored by cosine and PLDA.

Five folds by speaker over all 84. The set's own 74 speakers for training, a
fifth of them withheld for validation, and 10 for the test:

    --config.folds.split=train --config.folds.test_split=test

Where the recipes depart from the paper: 13 coefficients of 100 frames a second
as they are published, without mean normalisation, voice activity detection or
augmentation; a network of fewer channels, and 64 instead of 512 dimensions;
crops of 100 frames instead of 800, of one length in all batches; three hidden
layers of the distance instead of four; Adam, and half a cosine to zero, instead
of momentum, weight decay and warm-up; the baseline takes each anchor's farthest
positive and nearest negative, by cosine, where the authors' code takes every
positive with its hardest negative, by Euclidean distance, and has an auxiliary
classifier, which is left out. As in the paper and its code: batches of
24 speakers with 5 utterances, label smoothing, dropout and clipping, whole
utterances at test, repeated to at least 100 frames.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay

DIM = 64


def learned_distance(auxiliary: bool):
    """Encoder and distance, with or without the auxiliary classifier."""
    config = _common()
    config.objective = {
        "name": "LearnedDistance",
        "distance": {
            "name": "PairDistance",
            "hidden_units": (256, 256, 256),
            "dropout": 0.1,
        },
        "label_smoothing": 0.1,
    }
    if auxiliary:
        # Its classes are those of the training split.
        config.objective.auxiliary = "additive_margin"
        config.objective.projection = {
            "name": "x_vector_projection",
            "dim": DIM,
        }
    return config


def triplet():
    """The encoder alone; the cosine of its embeddings is the score."""
    config = _common()
    config.loss = {
        "name": "TripletLoss",
        "margin": 0.3,
        "mining": "hard",
        "distance": "cosine",
    }
    return config


def _common():
    num_epochs, steps_per_epoch = 30, 20
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "an4",
            "folds": {
                "split": "all",
                "test_split": "",
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 0,  # all
            },
            "split": "train",
            "utterances": {"num_frames": 100, "min_num_frames": 100},
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 24,
                "num_per_class": 5,
            },
            "encoder": {
                "name": "x_vector_encoder",
                "dim": DIM,
                "num_coefficients": 13,
                "channels": (96, 96, 96, 96, 288),
            },
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(
                    1e-3, num_epochs * steps_per_epoch
                ),
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": steps_per_epoch,
            "num_epochs": num_epochs,
            "monitor": "val_accuracy_at_equal_error",
            "patience": 15,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "verification",
                "splits": ("test",),
                "plda": {"num_dims": 32},
                "num_resamples": 1000,
            },
        }
    )
