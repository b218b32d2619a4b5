"""Learned distance on CIFAR-10 and mini-ImageNet: the published grid.

Monteiro et al. 2020 spent 100 runs of 600 epochs and chose by the validation
EER. For `cifar10_learned_distance`, `mini_imagenet_learned_distance` and other
recipes with stochastic gradient descent and a `plateau`: the learning rate is
lowered after `patience` epochs without a better EER. The paper also tunes its
baseline, the triplet loss with a classifier (`cifar10_triplet_classifier`): its
margin replaces the fields of the distance. So it does without a classifier
(`cifar10_triplet`).
"""

from tuning.fields import choose_published

GRID = {
    "optimizer.learning_rate": (0.5, 0.1, 0.01, 0.001),
    "optimizer.l2": (1e-2, 1e-3, 1e-4, 1e-5),
    "optimizer.momentum": (0.1, 0.5, 0.9),
    "objective.label_smoothing": (0.01, 0.1, 0.2),
    "plateau.patience": (1, 5, 10, 20),
    "objective.distance.dropout": (0.01, 0.1, 0.2),
    "objective.auxiliary": ("softmax", "additive_margin"),
}


def space(hyperparameters, config):
    choose_published(
        hyperparameters,
        config,
        GRID,
        num_layers=(2, 3, 4, 5),
        num_units=(128, 256, 350, 512),
    )
