"""Learned distance on CIFAR-10 and mini-ImageNet: the published grid.

Monteiro et al. 2020, with a budget of 100 runs of 600 epochs, chosen by the
validation EER. For recipes with a `LearnedDistance` and an auxiliary
classifier. Stochastic gradient descent with momentum takes the place of the
recipe's optimizer, its clipping kept; weight decay is Keras's, which is kept
out of the momentum.

The paper lowers the rate when the validation EER is at rest, after a
`patience` from the grid: searched where the recipe has a section
`reduce_on_plateau`, otherwise the recipe's own schedule stays.
"""

from tuning.fields import choose
from tuning.fields import choose_distance
from tuning.fields import set_learning_rate

GRID = {
    "optimizer.weight_decay": (1e-2, 1e-3, 1e-4, 1e-5),
    "optimizer.momentum": (0.1, 0.5, 0.9),
    "objective.label_smoothing": (0.01, 0.1, 0.2),
    "objective.distance.dropout": (0.01, 0.1, 0.2),
    "objective.auxiliary": ("softmax", "additive_margin"),
}


def space(hyperparameters, config):
    config.optimizer.name = "SGD"
    rates = [0.5, 0.1, 0.01, 0.001]
    set_learning_rate(
        config, hyperparameters.Choice("optimizer.learning_rate", rates)
    )
    choose(hyperparameters, config, GRID)
    choose_distance(
        hyperparameters,
        config,
        num_layers=(2, 3, 4, 5),
        num_units=(128, 256, 350, 512),
    )
    if "reduce_on_plateau" in config:
        patience = {"reduce_on_plateau.patience": (1, 5, 10, 20)}
        choose(hyperparameters, config, patience)
