"""Supports of each class in a training episode.

For recipes of episodes with at least 55 examples of a class in training, such
as `n_digit_2_*_prototypical` and `n_digit_2_*_stochastic_prototypes`: 50
supports and 5 queries must fit into a class. The supports of validation and
test stay as they are.
"""

from tuning.fields import set_field

NUM_SUPPORT = [1, 5, 10, 20, 50]


def space(hyperparameters, config):
    num_support = hyperparameters.Choice("num_support", NUM_SUPPORT)
    set_field(config, "batches.num_support", num_support)
    method = "objective" if "objective" in config else "loss"
    set_field(config, f"{method}.num_support", num_support)
