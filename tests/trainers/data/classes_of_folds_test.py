"""Folds whose parts have too few classes for a recipe."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.model_selection import train_test_split

from tests.trainers.commands import refused
from trainers import cross_validate
from trainers.config.run_config import run_from_config
from trainers.data.classes_of_folds import require_classes_of_fold
from trainers.data.data import Data
from trainers.data.examples import examples_of_folds
from trainers.workdirs.recipe_text import recipe_text

SECTIONS = {"train": "batches", "validation": "validation"}
SECTIONS |= {"test": "evaluation"}
TWO = dict.fromkeys(SECTIONS, 2)


@pytest.fixture(autouse=True)
def new_data():
    """pytest gives the folder of a test that has passed to the next test."""
    examples_of_folds.cache_clear()
    yield
    examples_of_folds.cache_clear()


def sizes(num_classes, num_folds):
    """Numbers of classes of the parts of each fold, by scikit-learn."""
    every = KFold(num_folds, shuffle=True, random_state=0)
    found = []
    for rest, test in every.split(np.arange(num_classes)):
        train, validation = train_test_split(
            rest, test_size=0.2, random_state=0
        )
        found.append(
            {
                "train": len(train),
                "validation": len(validation),
                "test": len(test),
            }
        )
    return found


def config_of(file, num_classes, num_folds, needs):
    """A few-shot recipe on points, of which each class has four."""
    labels = np.repeat(np.arange(num_classes), 4)
    x = np.stack([labels, labels], axis=1).astype("float32")
    np.savez(file, x=x, labels=labels)
    examples = {"num_support": 1, "num_query": 1}
    return {
        "dataset": f"arrays:{file}",
        "loss": {"name": "TripletLoss"},
        "monitor": "val_few_shot_accuracy",
        "encoder": {"name": "features_encoder", "num_features": 2, "dim": 2},
        "batches": {
            "name": "class_balanced_batches",
            "num_classes": needs["train"],
            "num_per_class": 2,
        },
        "folds": {"num_folds": num_folds, "split": "all"},
        "validation": {"num_classes": needs["validation"], **examples},
        "evaluation": {
            "name": "few_shot",
            "splits": ("test",),
            "num_classes": (needs["test"],),
            **examples,
        },
    }


@pytest.mark.parametrize(
    ("num_folds", "needs"),
    [
        (3, TWO),
        (5, TWO | {"validation": 3}),
        (2, TWO | {"train": 6}),
        (4, TWO | {"validation": 3}),
        (3, TWO | {"test": 4}),
    ],
)
def test_the_number_of_classes_in_the_error_is_enough(
    num_folds, needs, tmp_path
):
    """It is the smallest number with which no fold is refused."""
    least = next(
        number
        for number in range(max(3, 2 * num_folds), 100)
        if all(
            found[part] >= needs[part]
            for found in sizes(number, num_folds)
            for part in needs
        )
    )
    for num_classes in (least - 1, least):
        file, refusals = tmp_path / f"{num_classes}.npz", 0
        config = config_of(file, num_classes, num_folds, needs)
        for fold, found in enumerate(sizes(num_classes, num_folds)):
            config["folds"]["fold"] = fold
            run = run_from_config(config)
            few = [part for part in needs if found[part] < needs[part]]
            if not few:
                require_classes_of_fold(run, Data(run))
                continue
            refusals += 1
            part, count = few[0], found[few[0]]
            message = (
                f"fold {fold} of {num_folds}: its {part} part has {count} "
                f"class{'' if count == 1 else 'es'}, and config."
                f"{SECTIONS[part]}.num_classes needs {needs[part]}. A fifth "
                "of the classes outside the test fold is validation. Use at "
                f"least {least} classes, or lower the field"
            )
            with pytest.raises(ValueError, match=f"^{message}$"):
                require_classes_of_fold(run, Data(run))
        assert (refusals > 0) == (num_classes < least)


@pytest.mark.parametrize(
    ("sections", "num_classes", "message"),
    [
        # 4 classes are outside the test fold: 3 train, 1 is validation.
        (
            {},
            6,
            "fold 1 of 3: its validation part has 1 class, and "
            "config.validation.num_classes needs 2. A fifth of the classes "
            "outside the test fold is validation. Use at least 9 classes, or "
            "lower the field\n",
        ),
        (
            {"validation": {}, "evaluation": {"name": "verification"}},
            6,
            "fold 1 of 3: its validation part has 1 class, and verification "
            "needs 2. A fifth of the classes outside the test fold is "
            "validation. Use at least 9 classes\n",
        ),
        # The folds test 4, 4 and 3 classes: only a later one has too few.
        (
            {
                "folds": {"num_folds": 3, "split": "all"},
                "evaluation": {"name": "few_shot", "num_classes": (4,)}
                | {"splits": ("test",), "num_support": 1, "num_query": 1},
            },
            11,
            "fold 2 of 3: its test part has 3 classes, and "
            "config.evaluation.num_classes needs 4. ",
        ),
    ],
)
def test_a_cross_validation_is_refused(
    sections, num_classes, message, tmp_path, capsys
):
    config = config_of(tmp_path / "x.npz", num_classes, 3, TWO) | sections
    recipe = tmp_path / "recipe.py"
    recipe.write_text(recipe_text("A recipe.", config))
    words = "--config", recipe, "--workdir", tmp_path / "runs"
    assert message in refused(capsys, cross_validate, *words)
    assert not (tmp_path / "runs").exists()


def test_other_runs_are_not_checked_here(tmp_path):
    """Without folds, samplers and evaluations refuse what they cannot use."""
    config = config_of(tmp_path / "x.npz", 6, 3, TWO | {"train": 100})
    for folds in ({}, {**config["folds"], "group": {"feature": "name"}}):
        run = run_from_config(config | {"folds": folds})
        require_classes_of_fold(run, Data(run))


def test_batches_that_allow_fewer_classes_need_no_number(tmp_path):
    config = config_of(tmp_path / "x.npz", 12, 3, TWO | {"train": 12})
    run = run_from_config(config)
    with pytest.raises(ValueError, match="config.batches.num_classes needs 12"):
        require_classes_of_fold(run, Data(run))
    config["batches"]["allow_fewer"] = True
    run = run_from_config(config)
    require_classes_of_fold(run, Data(run))


@pytest.mark.parametrize(
    ("evaluation", "message"),
    [
        (
            {"more_tasks": ((20, 1),)},
            "its test part has 4 classes, and config.evaluation.more_tasks "
            "needs 20. ",
        ),
        # One class more is unknown.
        (
            {"name": "out_of_distribution", "num_classes": 4},
            "its test part has 4 classes, and config.evaluation.num_classes "
            "needs 5. ",
        ),
    ],
)
def test_other_needs_of_an_evaluation(evaluation, message, tmp_path):
    config = config_of(tmp_path / "x.npz", 12, 3, TWO)
    config["evaluation"] |= evaluation
    run = run_from_config(config)
    with pytest.raises(ValueError, match=message):
        require_classes_of_fold(run, Data(run))


def test_a_number_with_zeros_too_many_is_refused_at_once(tmp_path):
    """Of 3 folds, 8 of 15 classes are for the training."""
    needs = TWO | {"train": 100_000}
    config = config_of(tmp_path / "x.npz", 12, 3, needs)
    run = run_from_config(config)
    with pytest.raises(ValueError, match="at least 187500 classes"):
        require_classes_of_fold(run, Data(run))
