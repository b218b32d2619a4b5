"""n-digit MNIST: few-shot classification, Scott, Ridgeway & Mozer 2019, 4.2.

Each recipe is a cell of the paper's table: `n_digit_2_dim_3_prototypical` is
prototypical networks, two digits, three dimensions. The paper trained
stochastic prototypes and prototypical networks. It copied the rows of hedged
instance embeddings and of the soft contrastive loss, which learns its scale and
offset, from another paper. The contrastive loss with a margin is not in the
paper. The `_halving` recipes halve the learning rate every 1,600 episodes. They
were run to compare this schedule with cosine decay on validation data.

The `_held_out_numbers` recipes hold out a fifth of the training numbers, for
validation and for the evaluation; they never use test data. Use them for
choices about unseen numbers, such as the learning rate and the probability of
corruption (`--config.preprocess.probability`).

Accuracy against the number of samples in training:
`--config.objective.sampler=naive --config.objective.num_samples=20` and
`--config.num_epochs=10 --config.optimizer.learning_rate.decay_steps=2000`. The
naive sampler may need `--config.encoder.initial_variance=0.05` to learn.

We do not know the paper's number of supports and queries in training, its
learning rate, its length of training and its probability of corruption. Our
learning rate and schedule were chosen on validation data: the trials are in the
last table of docs/results/n_digit.md, and in docs/tuning.md, which also has
trials of other numbers of supports and queries. Adam and 8,000 episodes were
not compared with others.
Corruption of 0.2 is our assumption (docs/results/n_digit.md compares it with
0.5). `benchmarks/prototype_choices.py` compares 5 with 2 supports on other
digits.

Departures from the paper: a fixed number of episodes with cosine decay, instead
of halving the learning rate until early stopping; with two digits, 5 supports
in training and 50 in the test of seen numbers, where the paper has as many in
both.
"""

import ml_collections

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.learning_rates import halving
from trainers.recipes.recipe import Recipe

SEEN_CLASSES = {2: 70, 3: 100}
UNSEEN_CLASSES = {2: 30, 3: 100}
NUM_SUPPORT = 5
# Three-digit classes have 142 instances, 14 of them for validation.
VALIDATION_SUPPORT = {2: 50, 3: 9}


def stochastic_prototypes(num_digits: int, dim: int):
    """Stochastic prototypes, intersection sampler, one sample."""
    objective = sections.stochastic_prototypes(NUM_SUPPORT)
    return _common(num_digits, dim, True, learning_rate=3e-3, **objective)


def full_covariance(num_digits: int, dim: int):
    """Stochastic prototypes with full covariance, in a plane (Appendix C).

    The encoder has 5 outputs: mean, variances and correlation.
    """
    objective = sections.full_covariance(NUM_SUPPORT)
    config = _common(num_digits, dim, False, learning_rate=3e-3, **objective)
    config.encoder.dim = 5
    return config


def prototypical(num_digits: int, dim: int):
    """Prototypical networks: points, from the same network and batches."""
    loss = sections.loss("PrototypicalLoss", num_support=NUM_SUPPORT)
    return _common(num_digits, dim, False, learning_rate=1e-2, **loss)


def hedged_instances(num_digits: int, dim: int):
    """Hedged instance embeddings; 4 images of every class in a batch.

    The paper copies published results, whose learning rate, optimiser, length
    of training and batches we do not know.
    Learning rate and `beta` are rounded values of the best trial of a search
    on two digits in two dimensions (docs/results/n_digit.md).
    """
    config = _common(num_digits, dim, gaussian=True, learning_rate=8e-3)
    _batches_of_pairs(config)
    config.objective = {
        "name": "HedgedInstances",
        "num_samples": 8,
        "beta": 8e-5,
        "average": "probability",
        "seed": 0,
    }
    # The time of scoring grows with the square of the number of samples.
    config.validation.num_samples = 4
    config.evaluation.num_samples = 8
    config.evaluation.num_episodes = 50
    return config


def soft_contrastive(num_digits: int, dim: int):
    """Soft contrastive loss of points; batches as for hedged instances.

    The published baseline: hedged instances with points instead of Gaussians.
    In an episode, a query gets the class of the support that matches it best;
    `leave_one_out_accuracy` follows the published rule. The learning rate is
    the rounded value of the best trial of a former search on two digits in two
    dimensions (docs/results/n_digit.md).
    """
    config = _common(num_digits, dim, gaussian=False, learning_rate=3e-3)
    _batches_of_pairs(config)
    config.objective = {"name": "SoftContrastive"}
    return config


def contrastive(num_digits: int, dim: int):
    """Contrastive loss with a margin; batches as for hedged instances.

    Not in the paper. Episodes are classified by class means, as with
    prototypical networks.
    """
    config = _common(num_digits, dim, gaussian=False, learning_rate=1.8e-2)
    _batches_of_pairs(config)
    config.loss = {
        "name": "ContrastiveLoss",
        "margin": 4.8,
        "average_over": "each_kind",
    }
    return config


def halved(method, learning_rate: float):
    """A method with the learning rate halved every 1,600 episodes."""
    config = method(num_digits=2, dim=2)
    config.optimizer.learning_rate = halving(learning_rate, every=1600)
    return config


def held_out_numbers(method):
    """A method validated and evaluated on 14 of the 70 training numbers."""
    config = method(num_digits=2, dim=2)
    num_held_out = SEEN_CLASSES[2] // 5
    config.folds = {"num_folds": 5, "test_split": "test_unseen"}
    config.batches.num_classes = SEEN_CLASSES[2] - num_held_out
    config.validation.num_classes = num_held_out
    config.evaluation.splits = ("validation",)
    config.evaluation.num_classes = (num_held_out,)
    return config


def _batches_of_pairs(config) -> None:
    config.batches = ml_collections.ConfigDict(
        sections.class_batches(config.batches.num_classes, 4)
    )
    config.evaluation.leave_one_out = True


def _common(
    num_digits: int, dim: int, gaussian: bool, learning_rate: float, **method
):
    steps_per_epoch, num_epochs = 200, 40
    num_seen = SEEN_CLASSES[num_digits]
    return sections.config(
        f"n_digit/{num_digits}_number",
        preprocess={"name": "corrupt", "probability": 0.2},
        batches=sections.episodes(num_seen, NUM_SUPPORT),
        encoder={
            "name": "n_digit_encoder",
            "dim": dim,
            "gaussian": gaussian,
            "image_shape": (28, 28 * num_digits, 1),
        },
        **method,
        optimizer=sections.adam(
            cosine_decay(learning_rate, steps_per_epoch * num_epochs),
            global_clipnorm=10.0,
        ),
        steps_per_epoch=steps_per_epoch,
        num_epochs=num_epochs,
        monitor="val_few_shot_accuracy",
        patience=15,
        validation={
            "split": "validation",
            "num_classes": num_seen,
            "num_support": VALIDATION_SUPPORT[num_digits],
            "num_query": 5,
            "num_episodes": 10,
            "num_samples": 50,
        },
        evaluation={
            "name": "n_digit_few_shot",
            "splits": ("test_seen", "test_unseen"),
            "num_classes": (num_seen, UNSEEN_CLASSES[num_digits]),
            "num_support": 50,
            "num_query": 15,
            "num_episodes": 100,
            "num_draws": 5,
            "num_samples": 200,
        },
    )


ABOUT = {
    stochastic_prototypes: "Stochastic prototypes",
    prototypical: "Prototypical networks",
    hedged_instances: "Hedged instance embeddings",
    soft_contrastive: "Soft contrastive loss",
    contrastive: "Contrastive loss with a margin",
    full_covariance: "Stochastic prototypes with full covariance",
}
# The cells of the paper's table: method, digits, dimensions.
CELLS = {
    "n_digit_2_dim_2_stochastic_prototypes": (stochastic_prototypes, 2, 2),
    "n_digit_2_dim_2_prototypical": (prototypical, 2, 2),
    "n_digit_2_dim_2_hedged_instances": (hedged_instances, 2, 2),
    "n_digit_2_dim_2_soft_contrastive": (soft_contrastive, 2, 2),
    "n_digit_2_dim_2_contrastive": (contrastive, 2, 2),
    "n_digit_2_dim_3_stochastic_prototypes": (stochastic_prototypes, 2, 3),
    "n_digit_2_dim_3_prototypical": (prototypical, 2, 3),
    "n_digit_2_dim_3_hedged_instances": (hedged_instances, 2, 3),
    "n_digit_2_dim_3_soft_contrastive": (soft_contrastive, 2, 3),
    "n_digit_2_dim_3_contrastive": (contrastive, 2, 3),
    "n_digit_3_dim_2_stochastic_prototypes": (stochastic_prototypes, 3, 2),
    "n_digit_3_dim_2_prototypical": (prototypical, 3, 2),
    "n_digit_3_dim_2_hedged_instances": (hedged_instances, 3, 2),
    "n_digit_3_dim_2_soft_contrastive": (soft_contrastive, 3, 2),
    "n_digit_3_dim_2_contrastive": (contrastive, 3, 2),
    "n_digit_3_dim_3_stochastic_prototypes": (stochastic_prototypes, 3, 3),
    "n_digit_3_dim_3_prototypical": (prototypical, 3, 3),
    "n_digit_3_dim_3_hedged_instances": (hedged_instances, 3, 3),
    "n_digit_3_dim_3_soft_contrastive": (soft_contrastive, 3, 3),
    "n_digit_3_dim_3_contrastive": (contrastive, 3, 3),
    "n_digit_2_dim_2_full_covariance": (full_covariance, 2, 2),
}
RECIPES = {
    name: Recipe(
        f"{ABOUT[method]}, {num_digits} digits, {dim} dimensions",
        method,
        {"num_digits": num_digits, "dim": dim},
    )
    for name, (method, num_digits, dim) in CELLS.items()
} | {
    "n_digit_2_dim_2_prototypical_halving": Recipe(
        "Prototypical networks, the paper's schedule",
        halved,
        {"method": prototypical, "learning_rate": 1e-2},
    ),
    "n_digit_2_dim_2_stochastic_prototypes_halving": Recipe(
        "Stochastic prototypes, the paper's schedule",
        halved,
        {"method": stochastic_prototypes, "learning_rate": 3e-3},
    ),
    "n_digit_2_dim_2_prototypical_held_out_numbers": Recipe(
        "Prototypical networks, validated on held-out numbers",
        held_out_numbers,
        {"method": prototypical},
    ),
    "n_digit_2_dim_2_stochastic_prototypes_held_out_numbers": Recipe(
        "Stochastic prototypes, validated on held-out numbers",
        held_out_numbers,
        {"method": stochastic_prototypes},
    ),
}
