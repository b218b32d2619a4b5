"""The network of four blocks: values that our copy of the paper has lost.

For recipes with `omniglot_encoder`, such as
`omniglot_*_shot_*_stochastic_prototypes`. The space contains:

- the filters of each block but the last;
- whether biases start uniform in +-1 / sqrt(inputs of a filter), or at zero.
"""

from tuning.fields import choose

GRID = {
    "encoder.num_filters": (32, 64, 128),
    "encoder.uniform_biases": (True, False),
}


def space(hyperparameters, config):
    choose(hyperparameters, config, GRID)
