"""The recipe of a goal: batches, method and evaluation, as a config."""

import numpy as np

from trainers.config.run import DataFields
from trainers.config.run import Run
from trainers.data.look_at_data import DataSummary
from trainers.goals.goals import TRAINED_BY
from trainers.goals.goals import goal_of
from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay

STEPS_PER_EPOCH, NUM_EPOCHS, PATIENCE = 50, 20, 6
CLASSES_PER_BATCH, EXAMPLES_PER_CLASS = 12, 8


def goal_config(
    dataset: str,
    goal: str,
    method: str,
    data: DataSummary,
    equal_rows: bool = False,
) -> dict:
    """The recipe as nested dictionaries.

    Args:
        dataset: Name of the data set.
        goal: A name of `GOALS`.
        method: A name of `TRAINED_BY`.
        data: The result of `look_at_data`.
        equal_rows: Whether episodes have the examples of other batches.
    """
    trained_by = TRAINED_BY[method]
    dim = goal_of(goal).dim or 3 * data.num_factors + 1
    section = {
        kind: dict(arguments) for kind, arguments in trained_by.section.items()
    }
    if goal == "disentangle":
        if data.num_factors < 2:
            raise ValueError(
                f"the goal disentangle needs labels of several factors; "
                f"{dataset} has one label an example. Give several label "
                "columns, as in csv:FILE, or take another goal"
            )
        batches = sections.factor_batches(5)
    elif trained_by.episodes:
        batches = _episodes(data.counts["train"])
        if equal_rows:
            batches = _as_episodes(_class_batches(data.counts["train"]))
        kind = next(iter(section))
        section[kind]["num_support"] = batches["num_support"]
    else:
        batches = _class_batches(data.counts["train"])
    num_steps = STEPS_PER_EPOCH * NUM_EPOCHS
    return {
        "dataset": dataset,
        "split": "train",
        "seed": 0,
        "deterministic": True,
        "data_dir": "",
        "manual_dir": "",
        **data.sections,
        "batches": batches,
        "encoder": {
            **data.encoder,
            "dim": dim,
            **({"gaussian": True} if trained_by.gaussian else {}),
        },
        **section,
        "optimizer": sections.adam(
            cosine_decay(1e-3, num_steps), global_clipnorm=10.0
        ),
        "steps_per_epoch": STEPS_PER_EPOCH,
        "num_epochs": NUM_EPOCHS,
        "patience": PATIENCE,
        **_evaluation(dataset, goal, trained_by, dim, data),
    }


def rows_per_batch(run: Run) -> int | None:
    """The number of examples of a training batch; None: batches differ.

    A batch of a factor has as many values as the factor, at most a number.
    """
    batches = run.batches.arguments
    if run.batches.name == "episodes":
        per_class = batches["num_support"] + batches["num_query"]
        return batches["num_classes"] * per_class
    if run.batches.name == "class_balanced_batches":
        return batches["num_classes"] * batches["num_per_class"]
    return None


def _evaluation(dataset, goal, trained_by, dim, data) -> dict:
    """The sections `evaluation`, `validation` and `monitor`."""
    validation = {"split": "validation"}
    if goal == "retrieve":
        return {
            "monitor": "val_recall_at_1",
            "validation": validation,
            "evaluation": sections.retrieval(trained_by.distance),
        }
    if goal == "verify":
        dims = max(1, min(dim, len(data.counts["train"]) - 1))
        return {
            "monitor": "val_accuracy_at_equal_error",
            "validation": validation | {"score": "own"},
            "evaluation": sections.verification(dims, num_resamples=200),
        }
    if goal == "disentangle":
        names = [f"factor {n + 1}" for n in range(data.num_factors)]
        return {
            "monitor": "val_corrected_modularity_plus_explicitness",
            "validation": validation,
            "evaluation": {
                "name": "disentanglement",
                "normalize_codes": True,
                "splits": ("test",),
                "factor_names": tuple(names),
            },
        }
    has_digits = DataFields(dataset).has_digits
    task = _episodes(data.counts["test"])
    # Some classes are left to be unknown.
    if len(data.counts["test"]) >= 4:
        task["num_classes"] = min(20, len(data.counts["test"]) // 2)
    return {
        "monitor": "val_few_shot_accuracy",
        "validation": validation
        | {
            name: number
            for name, number in _episodes(data.counts["validation"]).items()
            if name != "name"
        }
        | {"num_episodes": 20},
        "evaluation": {
            "name": "n_digit_few_shot" if has_digits else "few_shot",
            "splits": ("test",),
            "num_classes": (task["num_classes"],),
            "num_support": task["num_support"],
            "num_query": task["num_query"],
            "num_episodes": 100,
            "num_draws": 1,
        },
    }


def _episodes(counts: np.ndarray) -> dict:
    """Supports and queries that the smallest class has."""
    smallest = int(counts.min())
    num_support = max(1, min(5, smallest // 2))
    return {
        "name": "episodes",
        "num_classes": min(20, len(counts)),
        "num_support": num_support,
        "num_query": max(1, min(5, smallest - num_support)),
    }


def _class_batches(counts: np.ndarray) -> dict:
    smallest = int(counts.min())
    return sections.class_batches(
        min(CLASSES_PER_BATCH, len(counts)),
        min(EXAMPLES_PER_CLASS, smallest),
    )


def _as_episodes(batches: dict) -> dict:
    """Episodes of as many classes and examples: half of them supports."""
    num_support = batches["num_per_class"] // 2
    return sections.episodes(
        batches["num_classes"],
        num_support,
        batches["num_per_class"] - num_support,
    )
