"""Learned distance on VoxCeleb: the published grid.

Monteiro et al. 2020, with a budget of 40 runs of 600,000 batches, chosen by
the EER over a random set of trials from VoxCeleb1-E; the best values were then
trained for 2,000,000 batches. For `voxceleb_learned_distance` and other recipes
of speech with its optimizer and schedule. The warm-up is searched in the
authors' code alone.

The best of short trainings: `--config.num_epochs=120` is 600,000 batches.
"""

from tuning.fields import choose
from tuning.fields import choose_distance

GRID = {
    "optimizer.learning_rate.scale": (2.0, 1.5, 1.0, 0.5, 0.1),
    "optimizer.learning_rate.warmup_steps": (1, 500, 2000),
    "optimizer.l2": (1e-3, 1e-4, 1e-5),
    "optimizer.momentum": (0.7, 0.85, 0.95),
    "optimizer.global_clipnorm": (10.0, 20.0, 50.0),
    "objective.label_smoothing": (0.0, 0.1, 0.2),
    "objective.projection.dim": (128, 256, 512),
    "utterances.num_frames": (300, 500, 800),
    "objective.distance.dropout": (0.01, 0.1, 0.2),
    "objective.auxiliary": ("softmax", "additive_margin"),
}


def space(hyperparameters, config):
    choose(hyperparameters, config, GRID)
    choose_distance(
        hyperparameters,
        config,
        num_layers=(1, 2, 3, 4),
        num_units=(128, 256, 350, 512),
    )
