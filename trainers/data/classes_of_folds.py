"""Checks that the parts of a fold have the classes that a run needs."""

import bisect
import dataclasses
import itertools

import numpy as np

from embeddings_tf.ops.counted import counted
from trainers.config.evaluation_fields import FewShot
from trainers.config.evaluation_fields import FewShotValidation
from trainers.config.evaluation_fields import OutOfDistribution
from trainers.config.evaluation_fields import VerificationValidation
from trainers.config.run import Run
from trainers.data.data import Data
from trainers.data.folds import class_ids
from trainers.data.splits import parts_of_fold

# Samplers of batches that draw `num_classes` different classes.
_SAMPLERS = ("class_balanced_batches", "episodes")
_FIELDS = _OF_BATCHES, _OF_VALIDATION, _OF_EVALUATION, _OF_MORE_TASKS = (
    "config.batches.num_classes",
    "config.validation.num_classes",
    "config.evaluation.num_classes",
    "config.evaluation.more_tasks",
)


def require_classes_of_fold(run: Run, data: Data) -> None:
    """Checks that each part of the run's fold has enough classes.

    Folds of groups, such as speakers, are not checked.

    Raises:
        ValueError: If a part has too few; names the number of classes with
            which every fold has enough.
    """
    folds = run.data.folds
    if not folds.num_folds or folds.group.feature:
        return
    needs = _needs(run)
    for part, what, least in needs:
        found = len(np.unique(class_ids(data.labels(part))))
        if found < least:
            how = "A fifth of the classes outside the test fold is validation. "
            lower = ", or lower the field" if what in _FIELDS else ""
            raise ValueError(
                f"fold {folds.fold} of {folds.num_folds}: its {part} part has "
                f"{counted(found, 'class', 'classes')}, and {what} needs "
                f"{least}. {'' if folds.test_split else how}Use at least "
                f"{_least_classes(run, needs)} classes{lower}"
            )


def _needs(run: Run) -> list[tuple[str, str, int]]:
    """Returns a part of a fold, what needs its classes, and how many."""
    wanted, validation = run.evaluation, run.evaluation.validation
    found = []
    batches = run.batches.arguments
    num_classes = batches.get("num_classes")
    # With `allow_fewer`, batches have the classes that there are.
    if isinstance(num_classes, int) and not batches.get("allow_fewer"):
        if run.batches.name in _SAMPLERS:
            found.append((run.data.split, _OF_BATCHES, num_classes))
    if isinstance(validation, FewShotValidation):
        found.append((validation.split, _OF_VALIDATION, validation.num_classes))
    elif isinstance(validation, VerificationValidation):
        if not validation.trials:
            found.append((validation.split, "verification", 2))
    if isinstance(wanted, FewShot):
        for split, least in zip(
            wanted.splits, wanted.num_classes, strict=False
        ):
            found.append((split, _OF_EVALUATION, least))
        for split, (least, _) in itertools.product(
            wanted.splits, wanted.more_tasks
        ):
            found.append((split, _OF_MORE_TASKS, least))
    elif isinstance(wanted, OutOfDistribution):
        for split in wanted.splits:  # one class is unknown
            found.append((split, _OF_EVALUATION, wanted.num_classes + 1))
    # The others are splits of the data set.
    divided = parts_of_fold(3 * run.data.folds.num_folds, run.data.folds)
    return [need for need in found if need[0] in divided]


def _least_classes(run: Run, needs: list[tuple[str, str, int]]) -> int:
    """Returns the smallest number of classes that is enough in every fold."""
    every = [
        dataclasses.replace(run.data.folds, fold=fold)
        for fold in range(run.data.folds.num_folds)
    ]

    def is_enough(num_classes):
        return all(
            len(parts[part]) >= least
            for parts in (parts_of_fold(num_classes, fold) for fold in every)
            for part, _, least in needs
        )

    least = most = max(3, 2 * len(every))
    while not is_enough(most):
        least, most = most + 1, 2 * most
    # No part shrinks when classes are added.
    return least + bisect.bisect_left(range(least, most), True, key=is_enough)
