"""Some trials of this space diverge, some cannot be built, some work."""

from tuning.fields import choose
from tuning.fields import set_learning_rate


def space(hyperparameters, config):
    rate = hyperparameters.Choice(
        "optimizer.learning_rate", [0.001, 0.003, 0.01, 1e38]
    )
    set_learning_rate(config, rate)
    choose(hyperparameters, config, {"objective.num_samples": (1, 2, 0)})
    decay = hyperparameters.Choice("decay", ["cosine", "none"])
    with hyperparameters.conditional_scope("decay", ["cosine"]):
        alpha = hyperparameters.Float("alpha", 0.0, 0.5)
        if decay == "cosine":
            config.optimizer.learning_rate.alpha = alpha
    if decay == "none":
        config.optimizer.learning_rate = rate
