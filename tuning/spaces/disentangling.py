"""Disentangling: one search for every method, with the recipe's dimensions.

For `sprites_f_statistic`, `sprites_triplet`, `sprites_histogram`,
`sprites_beta_vae_*` and their like. Every method gets the learning rate and the
constants of the method (`tuning/methods.py`); supervised methods also get the
examples of a value in a batch. Choose by modularity corrected for chance plus
explicitness, on fold 0:

    --objective val_corrected_modularity_plus_explicitness \\
    --config.monitor=val_corrected_modularity_plus_explicitness
"""

from tuning.fields import set_field
from tuning.methods import choose_constants
from tuning.methods import method_name


def space(hyperparameters, config):
    if method_name(config) != "BetaVAE":
        field = "batches.num_per_value"
        if config.batches.name == "class_balanced_batches":
            field = "batches.num_per_class"
        number = hyperparameters.Choice(field, [3, 5, 10])
        set_field(config, field, number)
    choose_constants(hyperparameters, config)
