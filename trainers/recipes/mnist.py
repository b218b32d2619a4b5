"""Shared by the MNIST recipes: learned distances between digits.

`plane` is the picture of Monteiro et al. 2020, Figure 2: ten digits as points
of a plane, encoder and distance trained without an auxiliary classifier.
Neither paper nor code tells network, optimiser or length of the training;
those here are ours.

`unseen_digits` is not in the paper, but its question on a set anybody can
have: are two images of one digit, when the digit was never trained on? Five
folds by digit over both parts of MNIST: six digits for training, two for
validation, two for the test, each digit in the test once.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay


def plane():
    """Embeddings of two dimensions, for a picture."""
    return _config(
        dim=2,
        split="train[:55000]",
        validation="train[55000:56000]",
        test="test[:2000]",
        batches={"num_classes": 10, "num_per_class": 6},
        num_steps=1_500,
        num_resamples=0,
        plda={"num_dims": 2},
        objective=_learned_distance(),
    )


def unseen_digits(**method):
    """Embeddings of 32 dimensions, with the method's section."""
    config = _config(
        dim=32,
        split="train",
        validation="validation",
        test="test",
        batches={"num_classes": 6, "num_per_class": 10},
        num_steps=600,
        num_resamples=0,  # of two digits no interval can be drawn
        plda={"num_dims": 5},
        **method,
    )
    config.folds = {
        "split": "train+test",
        "num_folds": 5,
        "fold": 0,
        "num_per_class": 500,
    }
    return config


def unseen_digits_learned_distance():
    """Encoder and distance; trained on six digits, as all in five folds."""
    return unseen_digits(objective=_learned_distance())


def _learned_distance() -> dict:
    return {
        "name": "LearnedDistance",
        "distance": {
            "name": "PairDistance",
            "hidden_units": (256, 256, 256),
            "dropout": 0.1,
        },
        "label_smoothing": 0.1,
    }


def _config(
    dim,
    split,
    validation,
    test,
    batches,
    num_steps,
    num_resamples,
    plda,
    **method,
):
    num_epochs = 10
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "mnist",
            "split": split,
            "batches": {"name": "class_balanced_batches", **batches},
            "encoder": {"name": "mnist_encoder", "dim": dim},
            **method,
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(1e-3, num_steps),
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": num_steps // num_epochs,
            "num_epochs": num_epochs,
            "monitor": "val_accuracy_at_equal_error",
            "patience": num_epochs,
            "validation": {"split": validation},
            "evaluation": {
                "name": "verification",
                "splits": (test,),
                "plda": plda,
                "num_resamples": num_resamples,
            },
        }
    )
