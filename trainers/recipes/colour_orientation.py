"""Colour and orientation: Scott, Ridgeway & Mozer 2019, 4.1.

An embedding of two dimensions for four classes of coloured shapes, two hues
times two orientations. The questions are: does the accuracy reach the
accuracy of the ideal classifier, does each axis tell one factor, and does a
variance rise where its factor is unclear? Images are drawn while they are read.

The paper states the intersection sampler, two supports of each class, two
dimensions, 15 % of noisy images and the learning rate. We do not know its sizes
of images and network, spread of the classes, number of queries, noise and
length of training; our values are assumptions. The noise of the hue goes up to
180 degrees: with noise up to 90 degrees a network averages over the shape and
knows the colour, and after 1,000 episodes the variance of colour on validation
images rose less with the noise (`tools.hue_noise_study`). Departure from the
paper: 10,000 episodes with cosine decay, instead of a constant rate and a
patience. They took 41 minutes, 0.25 s a step, on one core.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe


def stochastic_prototypes():
    """Stochastic prototypes, intersection sampler, one sample."""
    steps_per_epoch, num_epochs = 500, 20
    return sections.config(
        "colour_orientation",
        batches=sections.episodes(num_classes=4, num_support=2),
        encoder={"name": "colour_orientation_encoder", "dim": 2},
        **sections.stochastic_prototypes(num_support=2),
        optimizer=sections.adam(
            cosine_decay(1e-4, steps_per_epoch * num_epochs),
            global_clipnorm=10.0,
        ),
        steps_per_epoch=steps_per_epoch,
        num_epochs=num_epochs,
        monitor="val_few_shot_accuracy",
        patience=20,
        validation={
            "split": "validation",
            "num_classes": 4,
            "num_support": 100,
            "num_query": 100,
            "num_episodes": 5,
            "num_samples": 50,
        },
        evaluation={
            "name": "colour_orientation",
            "splits": ("test",),
            "num_support": 100,
            "num_samples": 200,
            "num_distorted": 2000,
        },
    )


RECIPES = {
    "colour_orientation_stochastic_prototypes": Recipe(
        "Stochastic prototypes of two factors",
        stochastic_prototypes,
    )
}
