"""Shared by the n-digit recipes: Scott, Ridgeway & Mozer 2019, Section 4.2.

The paper does not state (or its text lost) the number of supports and queries
in training, the optimiser, the learning rate and the length of training; what
stands here was chosen on validation data (see README.md in this folder).
Where the recipes depart from the published text: a fixed number of episodes
with cosine decay instead of halving until the patience runs out.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay

SEEN_CLASSES = {2: 70, 3: 100}


def stochastic_prototypes(num_digits: int, dim: int):
    """Stochastic prototypes, intersection sampler, one sample."""
    config = _common(num_digits, dim, gaussian=True, learning_rate=3e-3)
    config.objective = ml_collections.ConfigDict(
        {
            "name": "StochasticPrototypes",
            "num_support": config.batches.num_support,
            "sampler": "intersection",
            "num_samples": 1,
            "seed": 0,
        }
    )
    return config


def prototypical(num_digits: int, dim: int):
    """The baseline: the same network and batches, point embeddings."""
    config = _common(num_digits, dim, gaussian=False, learning_rate=1e-2)
    config.loss = ml_collections.ConfigDict(
        {
            "name": "PrototypicalLoss",
            "num_support": config.batches.num_support,
        }
    )
    return config


def hedged_instances(num_digits: int, dim: int):
    """Hedged instance embeddings; 4 images of every class in a batch.

    The paper prints others' results of them, made with a learning rate, an
    optimiser, a length of training and batches that it does not give.
    """
    config = _common(num_digits, dim, gaussian=True, learning_rate=3e-3)
    _batches_of_pairs(config)
    config.objective = ml_collections.ConfigDict(
        {
            "name": "HedgedInstances",
            "num_samples": 8,
            "beta": 1e-4,
            "average": "probability",
            "seed": 0,
        }
    )
    # Time grows with the square; the search for the nearest is over all.
    config.validation.num_samples = 4
    config.evaluation.num_samples = 8
    return config


def contrastive(num_digits: int, dim: int):
    """Its baseline without uncertainty: point embeddings, the same batches.

    The published one is trained like hedged instances, of which the samples
    are one point; this is the contrastive loss with a margin. Classes of an
    episode are their means, as for the prototypical networks; the published
    rule is in `leave_one_out_accuracy`.
    """
    config = _common(num_digits, dim, gaussian=False, learning_rate=3e-3)
    _batches_of_pairs(config)
    config.loss = ml_collections.ConfigDict(
        {
            "name": "ContrastiveLoss",
            "margin": 1.0,
            "average_over": "each_kind",
        }
    )
    return config


def _batches_of_pairs(config) -> None:
    config.batches = ml_collections.ConfigDict(
        {
            "name": "class_balanced_batches",
            "num_classes": config.batches.num_classes,
            "num_per_class": 4,
        }
    )
    config.evaluation.leave_one_out = True


def _common(num_digits: int, dim: int, gaussian: bool, learning_rate: float):
    steps_per_epoch, num_epochs = 200, 40
    # 3 digits have 142 instances a class, 14 of them for validation.
    validation_support = {2: 50, 3: 9}[num_digits]
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": f"n_digit/{num_digits}_number",
            "split": "train",
            "preprocess": {"name": "corrupt", "probability": 0.2},
            "batches": {
                "name": "episodes",
                "num_classes": SEEN_CLASSES[num_digits],
                "num_support": 5,
                "num_query": 5,
            },
            "encoder": {
                "name": "n_digit_encoder",
                "dim": dim,
                "gaussian": gaussian,
                "image_shape": (28, 28 * num_digits, 1),
            },
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(
                    learning_rate, steps_per_epoch * num_epochs
                ),
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": steps_per_epoch,
            "num_epochs": num_epochs,
            "monitor": "val_few_shot_accuracy",
            "patience": 15,
            "validation": {
                "split": "validation",
                "num_classes": SEEN_CLASSES[num_digits],
                "num_support": validation_support,
                "num_query": 5,
                "num_episodes": 10,
                "num_samples": 50,
            },
            "evaluation": {
                "name": "few_shot",
                "splits": ("test_seen", "test_unseen"),
                "num_classes": (
                    SEEN_CLASSES[num_digits],
                    {2: 30, 3: 100}[num_digits],
                ),
                "num_support": 50,
                "num_query": 15,
                "num_episodes": 100,
                "num_draws": 5,
                "num_samples": 200,
            },
        }
    )
