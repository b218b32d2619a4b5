"""The demo: stochastic prototypes of two-digit numbers in 8x8 handwriting.

The digits ship with scikit-learn, so nothing is downloaded. Training takes
about a minute on two cores.

    python -m trainers.train --config demo --workdir runs/demo

It is `n_digit_2_dim_2_stochastic_prototypes` on smaller images, in 2,000 steps.
The method is Scott, Ridgeway & Mozer 2019; this training is not in the paper.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe

NUM_SEEN, NUM_UNSEEN = 70, 30  # of the numbers 00 to 99
NUM_SUPPORT, NUM_QUERY = 5, 5  # images of a number in an episode
STEPS_PER_EPOCH, NUM_EPOCHS = 100, 20


def get_config():
    return sections.config(
        dataset="n_digit/digits_2_number",
        preprocess={"name": "corrupt", "probability": 0.2},
        batches=sections.episodes(NUM_SEEN, NUM_SUPPORT, NUM_QUERY),
        encoder={
            "name": "n_digit_encoder",
            "dim": 2,
            "gaussian": True,
            "image_shape": (8, 16, 1),
        },
        **sections.stochastic_prototypes(NUM_SUPPORT),
        optimizer=sections.adam(
            cosine_decay(3e-3, num_steps=STEPS_PER_EPOCH * NUM_EPOCHS),
            global_clipnorm=10.0,
        ),
        steps_per_epoch=STEPS_PER_EPOCH,
        num_epochs=NUM_EPOCHS,
        monitor="val_few_shot_accuracy",
        patience=NUM_EPOCHS,  # trains to the end
        validation={
            "split": "validation",
            "num_classes": NUM_SEEN,
            "num_support": 5,  # of 10 validation images of a number
            "num_query": 5,
            "num_episodes": 10,
            "num_samples": 50,
        },
        evaluation={
            "name": "n_digit_few_shot",
            "splits": ("test_seen", "test_unseen"),
            "num_classes": (NUM_SEEN, NUM_UNSEEN),
            "num_support": 50,
            "num_query": 15,
            "num_episodes": 100,
            "num_draws": 5,
            "num_samples": 200,
        },
    )


RECIPES = {
    "demo": Recipe(
        "Stochastic prototypes of two-digit numbers, without a download",
        get_config,
    ),
}
