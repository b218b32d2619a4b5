"""Disentangling: one search for every method, with the recipe's dimensions.

For `sprites_f_statistic`, `sprites_triplet`, `sprites_histogram`,
`sprites_beta_vae_*` and their like. Every method gets the learning rate and the
constants of the method (`tuning/methods.py`), and sees the same number of
images:

- Batches of one factor have 10 images of each value, on Sprites 20 to 60 and
  30 on average. The number is not drawn, because a batch of a binary factor
  grows with it whatever `batches.num_values` is.
- Batches by class have 30 images. With a loss, the examples of a class are
  drawn and the number of classes follows; beta-VAEs ignore labels.

Choose by modularity corrected for chance plus explicitness, on fold 0:

    --objective val_corrected_modularity_plus_explicitness \\
    --config.monitor=val_corrected_modularity_plus_explicitness
"""

from tuning.fields import set_field
from tuning.methods import choose_class_batches
from tuning.methods import choose_constants
from tuning.methods import method_name

NUM_PER_VALUE = 10
BATCH = 30


def space(hyperparameters, config):
    if config.batches.name == "factor_batches":
        set_field(config, "batches.num_per_value", NUM_PER_VALUE)
    elif method_name(config) == "BetaVAE":
        set_field(config, "batches.num_per_class", 2)
        set_field(config, "batches.num_classes", BATCH // 2)
    else:
        choose_class_batches(hyperparameters, config, BATCH)
    choose_constants(hyperparameters, config)
