"""MNIST: learned distances between digits.

`mnist_learned_distance` reproduces Figure 2 of Monteiro et al. 2020: ten digits
as points of a plane, with encoder and distance trained without an auxiliary
classifier. Neither the paper nor its code states network, optimiser or length
of training; the values here are ours.

`mnist_unseen_digits_*` are not in the paper. They ask its question on a public
data set: do two images show the same digit, if the digit was not in training?
They use five folds by digit over both parts of MNIST: six digits for training,
two for validation and two for the test, 500 images each. With six classes, the
validation accuracy soon falls, so it chooses the epoch. The encoder is the
encoder of the Omniglot recipes, so a run can start from characters of other
scripts. `mnist_unseen_digits_fine_tuned` does this, like Appendix B of the
paper, which goes from 14,000 English speakers to 800 speakers of other
languages. Encoder and distance start from the run in `initial_weights`,

    python -m trainers.train --config omniglot_retrieval_learned_distance \
      --workdir runs/omniglot_retrieval_learned_distance

and are trained with a tenth of its learning rate.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe


def plane(method: dict):
    """All ten digits, embeddings of two dimensions."""
    return _common(
        num_steps=1_500,
        learning_rate=1e-3,
        plda_dims=2,
        split="train[:55000]",
        batches=sections.class_batches(10, 6),
        encoder={"name": "mnist_encoder", "dim": 2},
        validation="train[55000:56000]",
        test="test[:2000]",
        **method,
    )


def unseen_digits(method: dict, learning_rate: float = 1e-3, **more):
    """Verification of held-out digits."""
    return _common(
        num_steps=400,
        learning_rate=learning_rate,
        plda_dims=5,
        folds=sections.folds("train+test", num_per_class=500),
        batches=sections.class_batches(6, 10),
        encoder={
            "name": "omniglot_encoder",
            "dim": 64,
            "image_shape": (28, 28, 1),
            "dark_ink": False,
        },
        **method,
        **more,
    )


def _common(
    num_steps,
    learning_rate,
    plda_dims,
    validation="validation",
    test="test",
    **more,
):
    num_epochs = 10
    return sections.config(
        "mnist",
        **more,
        optimizer=sections.adam(
            cosine_decay(learning_rate, num_steps), global_clipnorm=10.0
        ),
        steps_per_epoch=num_steps // num_epochs,
        num_epochs=num_epochs,
        monitor="val_accuracy_at_equal_error",
        patience=num_epochs,
        validation={"split": validation},
        evaluation=sections.verification(plda_dims, splits=(test,)),
    )


RECIPES = {
    "mnist_learned_distance": Recipe(
        "Learned distance in a plane, all ten digits",
        plane,
        {"method": sections.learned_distance()},
    ),
    "mnist_unseen_digits_learned_distance": Recipe(
        "Learned distance, digits that were never trained on",
        unseen_digits,
        {"method": sections.learned_distance()},
    ),
    "mnist_unseen_digits_fine_tuned": Recipe(
        "Learned distance of Omniglot's characters, fine-tuned to digits",
        unseen_digits,
        {
            "method": sections.learned_distance(),
            "learning_rate": 1e-4,
            "initial_weights": "runs/omniglot_retrieval_learned_distance",
        },
    ),
    "mnist_unseen_digits_triplet": Recipe(
        "Triplet loss, the baseline, digits that were never trained on",
        unseen_digits,
        {"method": sections.TRIPLET_BASELINE},
    ),
}
