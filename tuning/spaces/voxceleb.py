"""Learned distance on VoxCeleb: the published grid.

Monteiro et al. 2020, with a budget of 40 runs of 600,000 batches, chosen by
the EER over a random set of trials from VoxCeleb1-E. For recipes of speech
with a `LearnedDistance` and an auxiliary classifier. Stochastic gradient
descent with Nesterov momentum takes the place of the recipe's optimizer; weight
decay is Keras's, which is kept out of the momentum.

The paper's rate after t batches is base * min(t^-0.5, t * w^-1.5): up in a
line to base * w^-0.5 after a warm-up of w batches, then down. Here it goes up
the same way, and from there to zero along half a cosine. Warm-ups of the
authors' code that are no shorter than the training are left out.
"""

import math

from tuning.fields import choose
from tuning.fields import choose_distance
from tuning.fields import set_field

BASES = (2.0, 1.5, 1.0, 0.5, 0.1)
GRID = {
    "optimizer.weight_decay": (1e-3, 1e-4, 1e-5),
    "optimizer.momentum": (0.7, 0.85, 0.95),
    "optimizer.global_clipnorm": (10.0, 20.0, 50.0),
    "objective.label_smoothing": (0.0, 0.1, 0.2),
    "objective.distance.dropout": (0.01, 0.1, 0.2),
    "objective.auxiliary": ("softmax", "additive_margin"),
    "encoder.dim": (128, 256, 512),
    "utterances.num_frames": (300, 500, 800),
}


def space(hyperparameters, config):
    choose(hyperparameters, config, GRID)
    choose_distance(
        hyperparameters,
        config,
        num_layers=(1, 2, 3, 4),
        num_units=(128, 256, 350, 512),
    )
    set_field(config, "objective.projection.dim", config.encoder.dim)
    base = hyperparameters.Choice("base_learning_rate", list(BASES))
    num_steps = config.steps_per_epoch * config.num_epochs
    warm_up = hyperparameters.Choice(
        "warm_up", [steps for steps in (1, 500, 2000) if steps < num_steps]
    )
    config.optimizer.name = "SGD"
    config.optimizer.nesterov = True
    config.optimizer.learning_rate = {
        "name": "CosineDecay",
        "initial_learning_rate": 0.0,
        "warmup_target": base / math.sqrt(warm_up),
        "warmup_steps": warm_up,
        "decay_steps": num_steps - warm_up,
    }
