"""A space in which one trial in four diverges and one in four fails."""

from tuning.fields import set_field
from tuning.fields import set_learning_rate


def space(hyperparameters, config):
    outcome = hyperparameters.Choice(
        "outcome", ["work", "work with decay", "diverge", "fail"]
    )
    rate = hyperparameters.Float(
        "optimizer.learning_rate", 1e-3, 1e-2, sampling="log"
    )
    if outcome == "diverge":
        config.optimizer.learning_rate = 1e38
    else:
        set_learning_rate(config, rate)
    if outcome == "fail":
        set_field(config, "objective.num_samples", 0)
    with hyperparameters.conditional_scope("outcome", ["work with decay"]):
        decay = hyperparameters.Float("decay", 0.0, 0.5)
        if decay is not None:
            set_field(config, "optimizer.learning_rate.alpha", decay)
