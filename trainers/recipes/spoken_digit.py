"""Shared by the spoken-digit recipes: the method of Monteiro et al. 2020.

Free Spoken Digit, 5 speakers who say the digits 50 times each, from the
recording to the score: is the word the same? Of an unseen speaker: a fold
leaves out one speaker for the test and one for validation, and trains on the
other three, so that a word has to be recognised whoever says it. The classes
are the digits, and recordings of a batch are drawn over all speakers of the
training; a class for each digit of each speaker would have the distance tell
apart the same word of two speakers.

`speakers` turns the task around: is the speaker the same, when the words were
never trained on? All 5 speakers are in the training, so that this shows that
the method runs, not how well it does.

As in the paper: 30 MFCC of 25 ms each 10 ms, frames without speech dropped,
means over 3 seconds subtracted, encoder and learned distance trained at once
with an additive-margin classifier (or without it, or a triplet loss alone),
label smoothing, dropout, clipping, whole utterances at test. Where the recipes
depart from it: no augmentation, but in `spoken_digit_learned_distance_babble`,
whose babble is made of the training recordings; recordings of 8 kHz, and so
frequencies up to 3700 Hz; crops of 60 frames, which is nearly all of a word; a
network of fewer channels, and 64 instead of 512 dimensions; three hidden layers
of the distance instead of four; Adam, and half a cosine to zero; the baseline
is that of `an4`, which differs from the paper's.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay

DIM = 64
# Of a name such as "7_jackson_32.wav".
DIGIT = {"feature": "audio/filename", "pattern": r"^(\d)_"}
SPEAKER = {"feature": "audio/filename", "pattern": r"^\d_(.+)_"}


def learned_distance(auxiliary: bool):
    """Encoder and distance, with or without the auxiliary classifier."""
    return _learned_distance(_words(), auxiliary)


def learned_distance_babble():
    """With a copy of each training recording before other speakers."""
    config = learned_distance(auxiliary=True)
    config.augmentation = {
        "babble": {
            "noise": "babble",
            "snr": (10.0, 20.0),
            "num_sources": (3, 7),
        },
    }
    return config


def triplet():
    """The encoder alone; the cosine of its embeddings is the score."""
    config = _words()
    config.loss = {
        "name": "TripletLoss",
        "margin": 0.3,
        "mining": "hard",
        "distance": "cosine",
    }
    return config


def speakers():
    """Speakers as the classes, words held out; with the classifier."""
    config = _common(label=SPEAKER, group=DIGIT)
    config.batches.num_classes, config.batches.num_per_class = 5, 16
    config.evaluation.plda.num_dims = 4
    return _learned_distance(config, auxiliary=True)


def _words():
    return _common(label=DIGIT, group=SPEAKER)


def _learned_distance(config, auxiliary: bool):
    config.objective = {
        "name": "LearnedDistance",
        "distance": {
            "name": "PairDistance",
            "hidden_units": (128, 128, 128),
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


def _common(label, group):
    num_epochs, steps_per_epoch = 20, 30
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "spoken_digit",
            "label": label,
            "folds": {
                "split": "train",
                "test_split": "",
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 0,  # all
                "group": group,
            },
            "split": "train",
            "front_end": {
                "name": "front_end",
                "sample_rate": 8000,
                "num_coefficients": 30,
                "num_mel_bins": 30,
                "low_frequency": 20.0,
                "high_frequency": 3700.0,
            },
            "utterances": {"num_frames": 60, "min_num_frames": 60},
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 10,
                "num_per_class": 8,
            },
            "encoder": {
                "name": "x_vector_encoder",
                "dim": DIM,
                "num_coefficients": 30,
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
            "patience": 10,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "verification",
                "splits": ("test",),
                "plda": {"num_dims": 9},
                "num_resamples": 1000,
            },
        }
    )
