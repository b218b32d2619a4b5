"""Learned distance on the speakers of AN4, on the first fold.

For recipes with a `LearnedDistance`. The values lie around those in
`trainers/recipes/an4.py` and are limited to the fields that matter for a small
data set. A projection needs an auxiliary classifier.
"""

from tuning.fields import choose
from tuning.fields import choose_distance
from tuning.fields import choose_learning_rate
from tuning.fields import set_field

GRID = {
    "objective.label_smoothing": (0.0, 0.05, 0.1, 0.2),
    "objective.distance.dropout": (0.0, 0.1, 0.2, 0.4),
    "encoder.dim": (32, 64, 128),
    "batches.num_classes": (12, 24, 36),
    "batches.num_per_class": (3, 5),
}


def space(hyperparameters, config):
    if config.freeze_encoder:
        raise ValueError(
            "the space an4 is for encoders that are trained, and the recipe "
            "has config.freeze_encoder; choose --space verification"
        )
    choose_learning_rate(hyperparameters, config, 2e-4, 5e-3)
    choose(hyperparameters, config, GRID)
    choose_distance(
        hyperparameters, config, num_layers=(1, 2, 3), num_units=(64, 128, 256)
    )
    auxiliary = hyperparameters.Choice(
        "objective.auxiliary", ["none", "softmax", "additive_margin"]
    )
    for field in ("auxiliary", "projection"):
        if field in config.objective:
            del config.objective[field]
    if auxiliary != "none":
        set_field(config, "objective.auxiliary", auxiliary)
    with hyperparameters.conditional_scope(
        "objective.auxiliary", ["softmax", "additive_margin"]
    ):
        if hyperparameters.Boolean("objective.projection"):
            config.objective.projection = {
                "name": "x_vector_projection",
                "dim": config.encoder.dim,
            }
