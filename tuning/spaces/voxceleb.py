"""Learned distance on VoxCeleb: the published grid.

For `voxceleb_learned_distance`, `voxceleb_triplet` and other speech recipes
with their optimizer and schedule. Monteiro et al. 2020 spent 40 runs of 600,000
batches and chose by the EER over a random set of trials from VoxCeleb1-E. They
then trained the best values for 2,000,000 batches. Only the authors' code
searches the warm-up.

For trainings of 600,000 batches, set `--config.num_epochs=120`.
"""

from tuning.fields import choose_published

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
    choose_published(
        hyperparameters,
        config,
        GRID,
        num_layers=(1, 2, 3, 4),
        num_units=(128, 256, 350, 512),
    )
