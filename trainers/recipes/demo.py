"""The demo: stochastic prototypes of two-digit numbers in 8x8 handwriting.

The digits ship with scikit-learn, so nothing is downloaded. Training takes
about a minute on two cores.

    python -m trainers.train --config demo --workdir runs/demo
"""

from trainers.recipes import n_digit
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe


def get_config():
    config = n_digit.stochastic_prototypes(num_digits=2, dim=2)
    config.dataset = "n_digit/digits_2_number"
    config.encoder.image_shape = (8, 16, 1)
    # 10 validation images per class
    config.validation.num_support = 5
    config.steps_per_epoch = 100
    config.num_epochs = 20
    config.patience = 20
    config.optimizer.learning_rate = cosine_decay(3e-3, 2000)
    return config


RECIPES = {
    "demo": Recipe(
        "Stochastic prototypes of two-digit numbers, without a download",
        get_config,
    ),
}
