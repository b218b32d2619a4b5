"""A run, and a trial of a search, end on other classes."""

import json

import numpy as np
import pytest

from embeddings_tf.scoring.open_set import require_free_answer
from trainers.config import load_recipe
from trainers.data import classes
from trainers.workdirs.other_data_error import OtherDataError


@pytest.mark.parametrize(
    "change",
    [
        {"splits": {"train": {"ant": 2, "cow": 2}}},
        {"divided": {"train": ["b"]}},
        {"rows": {"train": "2"}},
    ],
)
def test_other_data_is_told_from_other_errors(change, tmp_path):
    """A search goes on after other errors of a trial."""
    before = {
        "dataset": "image_folder:photos",
        "splits": {"train": {"ant": 2, "bee": 2}},
        "divided": {"train": ["a"]},
        "rows": {"train": "1"},
    }
    (tmp_path / classes.CLASSES_FILE).write_text(json.dumps(before))
    classes.require_same_classes(tmp_path, before)
    with pytest.raises(OtherDataError):
        classes.require_same_classes(tmp_path, {**before, **change})


def test_names_and_sizes_of_recorded_splits(tmp_path):
    """Speakers are divided, and the labels are emotions."""
    assert classes.trained_names(tmp_path, "train") is None
    assert classes.split_sizes(tmp_path, by_class=True) == {}
    emotions = {"calm": 5, "glad": 6}
    found = {
        "splits": {"train": emotions, "test": {"calm": 2}},
        "divided": {"train": ["a", "b", "c"], "test": ["d"]},
    }
    classes.write_classes(tmp_path, found)
    assert classes.trained_names(tmp_path, "train") == {"calm", "glad"}
    assert classes.trained_names(tmp_path, "validation") is None
    sizes = classes.split_sizes(tmp_path, by_class=True)
    assert sizes == {"train": 3, "test": 1}
    sizes = classes.split_sizes(tmp_path, by_class=False)
    assert sizes == {"train": 11, "test": 2}
    del found["divided"]
    classes.write_classes(tmp_path, found)
    sizes = classes.split_sizes(tmp_path, by_class=True)
    assert sizes == {"train": 2, "test": 1}


@pytest.mark.parametrize(
    ("validation", "expected"), [("calm", True), ("sad", False), (None, False)]
)
def test_validation_on_classes_of_the_training(validation, expected, tmp_path):
    run = load_recipe("omniglot_retrieval_triplet")
    assert not classes.validates_on_trained(tmp_path, run)
    splits = {run.data.split: {"calm": 5, "glad": 6}}
    if validation is not None:
        splits[run.evaluation.validation.split] = {validation: 2}
    classes.write_classes(tmp_path, {"splits": splits})
    assert classes.validates_on_trained(tmp_path, run) is expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "b"], "has 2 features, .* had 3, .* lacks 'c'. "),
        (["a", "b", "c", "d"], "has 4 features, .* also has 'd'. "),
        (["a", "d"], "lacks 'b', 'c' and also has 'd'. "),
        (["b", "a", "c"], "feature 0 of the table is 'b', and was 'a'"),
    ],
)
def test_other_features_are_named(columns, message, tmp_path):
    (tmp_path / classes.CLASSES_FILE).write_text(
        json.dumps({"features": ["a", "b", "c"]})
    )
    classes.require_same_features(tmp_path, ["a", "b", "c"])
    with pytest.raises(OtherDataError, match=message):
        classes.require_same_features(tmp_path, columns)


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_class_that_cannot_be_enrolled(split):
    """It has the name of the answer for other classes."""
    found = {"splits": {"train": {"ant": 2}, "test": {"bee": 2}}}
    classes.warn_of_unknown(found)
    classes.warn_of_unknown(None)
    found["splits"][split]["Unknown"] = 2
    classes.warn_of_unknown(found)
    found["splits"][split]["unknown"] = 2
    with pytest.warns(
        UserWarning, match="'unknown' cannot be enrolled.*rename"
    ):
        classes.warn_of_unknown(found)
    with pytest.raises(ValueError, match="'unknown' is the answer for other"):
        require_free_answer(None, np.array(["ant", "unknown"]))
