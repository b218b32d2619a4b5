"""Retrieval: one search for every method, by recall@1.

For `sprites_retrieval_*`, `omniglot_retrieval_*` and other recipes with
class-balanced batches. Every method gets the number of dimensions, the examples
of a class in batches of 60, the learning rate, and the constants of the method
(`tuning/methods.py`). Give every method the same number of trials and batches,
on fold 0, and train the winners with `tuning.winner`.
"""

from tuning.fields import set_field
from tuning.methods import choose_class_batches
from tuning.methods import choose_constants

DIMS = (16, 32, 64, 128, 256, 500)
BATCH = 60


def space(hyperparameters, config):
    dim = hyperparameters.Choice("encoder.dim", list(DIMS))
    set_field(config, "encoder.dim", dim)
    choose_class_batches(hyperparameters, config, BATCH)
    choose_constants(hyperparameters, config)
