"""Omniglot: few-shot classification, and retrieval of unseen characters.

`omniglot_{1,5}_shot_dim_{2,64}_*` are Scott, Ridgeway & Mozer 2019, 4.1: every
character in four rotations, split by character, and episodes of 60 classes. A
model is tested with the number of supports of its training, among 5 classes
and among 20 classes. The recipes that end in `_corrupted` also corrupt images
of training and validation; they are for the tests with corrupt supports or
queries. The rows of Table D.1 are

| row | recipes | result |
|---|---|---|
| both clean | `omniglot_{1,5}_shot_dim_2_*` | `clean` |
| corrupt support | the same with `_corrupted` | `corrupt_support` |
| corrupt query | the same with `_corrupted` | `corrupt_query` |

in `test` (5 classes) and `test_20_class_{1,5}_shot`.

We do not know the paper's sizes of episodes, its probability of corruption,
its number of test episodes, its learning rate and its length of training. Our
sizes of episodes are those in Snell et al. 2017. Probability, number and
length are our assumptions. The learning rate is 5e-3 in all of these recipes.
In a search of six trials for each method, with one support in two dimensions,
the nearest rate was .2 points below the best (docs/results/omniglot.md).
Departures from the paper: 5,000 episodes with cosine decay, instead of halving
the learning rate until early stopping, and gradients clipped to a norm of 10.
An episode of 60 classes takes 0.3 s on one core with 1 support and 0.5 s with
5, so a training takes about 25 or 40 minutes on one idle core, with every
method. The core of our runs was shared: they took 34 to 119 minutes.

`omniglot_retrieval_*` are not in the papers. They use the papers' protocol on a
public data set. The classes are the 1,623 characters of both parts of Omniglot,
with 20 drawings each, in five folds by character. Five losses have the
constants of the retrieval recipes of Sprites, other learning rates and
dimensions (`train --config NAME --help` shows them). Prototypical networks have
2 supports and 3 queries of each class, in the same batches. The learned
distance follows Monteiro et al. 2020, Appendix C: the distance ranks neighbours
and assigns clusters, without an auxiliary classifier. Its checkpoint is chosen
by recall@1 of the Euclidean distance, as for every loss, also for the ranking
by D.
`omniglot_retrieval_f_statistic_K_of_500` is a sweep over `num_dims` in the 500
dimensions of Ridgeway & Mozer 2018, who say that the choice hardly matters;
`_merge` and `_welch` are variants of the loss. Departure from their paper:
batches are sampled independently, instead of epochs without replacement.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe


def retrieval(loss: dict, distance: str, **evaluation):
    """Batches of 12 characters, evaluated among held-out characters."""
    num_steps, num_epochs = 1_200, 20
    return sections.config(
        "omniglot",
        folds=sections.folds("train+test"),
        batches=sections.class_batches(12, 5),
        encoder={"name": "omniglot_encoder", "dim": 64},
        **loss,
        optimizer=sections.adam(cosine_decay(1e-3, num_steps)),
        steps_per_epoch=num_steps // num_epochs,
        num_epochs=num_epochs,
        monitor="val_recall_at_1",
        patience=10,
        validation={"split": "validation"},
        evaluation=sections.retrieval(distance, **evaluation),
    )


def few_shot(
    num_support: int, dim: int, gaussian: bool, corrupted: bool, **method
):
    """Episodes of 60 rotated characters."""
    steps_per_epoch, num_epochs = 200, 25
    corruption = {"preprocess": {"name": "corrupt", "probability": 0.2}}
    return sections.config(
        "omniglot_rotations",
        **(corruption if corrupted else {}),
        batches=sections.episodes(60, num_support),
        encoder={
            "name": "omniglot_encoder",
            "dim": dim,
            "gaussian": gaussian,
            "image_shape": (28, 28, 1),
            "dark_ink": False,
            "uniform_biases": True,
            "fused": True,
        },
        **method,
        optimizer=sections.adam(
            cosine_decay(5e-3, steps_per_epoch * num_epochs),
            global_clipnorm=10.0,
        ),
        steps_per_epoch=steps_per_epoch,
        num_epochs=num_epochs,
        monitor="val_few_shot_accuracy",
        patience=15,
        validation={
            "split": "validation",
            "num_classes": 20,
            "num_support": num_support,
            "num_query": 15,
            "num_episodes": 100,
            "num_samples": 50,
        },
        evaluation={
            "name": "few_shot",
            "splits": ("test",),
            "num_classes": (5,),
            "num_support": num_support,
            "more_tasks": ((20, num_support),),
            "num_query": 15,
            "num_episodes": 600,
            "num_draws": 5,
            "num_samples": 200,
        },
    )


def stochastic_prototypes(num_support: int, dim: int, corrupted: bool):
    """Stochastic prototypes, intersection sampler, one sample."""
    objective = sections.stochastic_prototypes(num_support)
    return few_shot(num_support, dim, True, corrupted, **objective)


def full_covariance(num_support: int, dim: int, corrupted: bool):
    """Stochastic prototypes with full covariance, in a plane.

    The encoder has 5 outputs: mean, variances and correlation.
    """
    objective = sections.full_covariance(num_support)
    config = few_shot(num_support, dim, False, corrupted, **objective)
    config.encoder.dim = 5
    return config


def prototypical(num_support: int, dim: int, corrupted: bool):
    """Prototypical networks: points, from the same network and batches."""
    loss = sections.loss("PrototypicalLoss", num_support=num_support)
    return few_shot(num_support, dim, False, corrupted, **loss)


def f_statistic(num_dims: int, dim: int = 500, **arguments):
    """The F-statistic loss in the paper's 500 dimensions."""
    loss = sections.loss("FStatisticLoss", num_dims=num_dims, **arguments)
    config = retrieval(loss, "l2")
    config.encoder.dim = dim
    return config


LOSSES = sections.retrieval_losses(num_dims=20)
# Arguments of `retrieval`.
RETRIEVAL = {
    "omniglot_retrieval_binomial_deviance": LOSSES["binomial_deviance"],
    "omniglot_retrieval_f_statistic": LOSSES["f_statistic"],
    "omniglot_retrieval_histogram": LOSSES["histogram"],
    "omniglot_retrieval_lifted_structure": LOSSES["lifted_structure"],
    "omniglot_retrieval_triplet": LOSSES["triplet"],
    "omniglot_retrieval_prototypical": sections.PROTOTYPICAL_RETRIEVAL,
    "omniglot_retrieval_learned_distance": {
        "loss": sections.learned_distance(),
        "distance": "l2",
        "cluster": True,
    },
}
# The `num_dims` of the F-statistic loss.
NUM_DIMS = {
    "omniglot_retrieval_f_statistic_1_of_500": 1,
    "omniglot_retrieval_f_statistic_3_of_500": 3,
    "omniglot_retrieval_f_statistic_10_of_500": 10,
    "omniglot_retrieval_f_statistic_35_of_500": 35,
    "omniglot_retrieval_f_statistic_70_of_500": 70,
    "omniglot_retrieval_f_statistic_150_of_500": 150,
    "omniglot_retrieval_f_statistic_300_of_500": 300,
    "omniglot_retrieval_f_statistic_500_of_500": 500,
}
ABOUT = {
    stochastic_prototypes: "Stochastic prototypes",
    prototypical: "Prototypical networks",
    full_covariance: "Stochastic prototypes with full covariance",
}
# By method and name: supports, dimensions, whether some images are corrupted.
FEW_SHOT = {
    stochastic_prototypes: {
        "omniglot_1_shot_dim_2_stochastic_prototypes": (1, 2, False),
        "omniglot_1_shot_dim_2_stochastic_prototypes_corrupted": (1, 2, True),
        "omniglot_1_shot_dim_64_stochastic_prototypes": (1, 64, False),
        "omniglot_5_shot_dim_2_stochastic_prototypes": (5, 2, False),
        "omniglot_5_shot_dim_2_stochastic_prototypes_corrupted": (5, 2, True),
        "omniglot_5_shot_dim_64_stochastic_prototypes": (5, 64, False),
    },
    prototypical: {
        "omniglot_1_shot_dim_2_prototypical": (1, 2, False),
        "omniglot_1_shot_dim_2_prototypical_corrupted": (1, 2, True),
        "omniglot_1_shot_dim_64_prototypical": (1, 64, False),
        "omniglot_5_shot_dim_2_prototypical": (5, 2, False),
        "omniglot_5_shot_dim_2_prototypical_corrupted": (5, 2, True),
        "omniglot_5_shot_dim_64_prototypical": (5, 64, False),
    },
    full_covariance: {"omniglot_5_shot_dim_2_full_covariance": (5, 2, False)},
}
RECIPES = (
    {
        name: Recipe(
            "Retrieval of characters that were never trained on",
            retrieval,
            values,
        )
        for name, values in RETRIEVAL.items()
    }
    | {
        name: Recipe(
            f"F-statistic loss, {num_dims} of 500 dimensions separate a pair",
            f_statistic,
            {"num_dims": num_dims},
        )
        for name, num_dims in NUM_DIMS.items()
    }
    | {
        "omniglot_retrieval_f_statistic_merge": Recipe(
            "Inverted F-statistic loss: merges classes in 70 of 500 dimensions",
            f_statistic,
            {"num_dims": 70, "direction": "merge"},
        ),
        "omniglot_retrieval_f_statistic_welch": Recipe(
            "F-statistic loss by Welch's test, 70 of 500 dimensions",
            f_statistic,
            {"num_dims": 70, "equal_variance": False},
        ),
    }
    | {
        name: Recipe(
            f"{ABOUT[method]}, {num_support}-shot, {dim} dimensions, "
            + ("partly corrupted" if corrupted else "clean"),
            method,
            {"num_support": num_support, "dim": dim, "corrupted": corrupted},
        )
        for method, table in FEW_SHOT.items()
        for name, (num_support, dim, corrupted) in table.items()
    }
)
