"""The authors' folds by class."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from trainers.config import load_recipe
from trainers.data.data import Data
from trainers.data.folds import class_ids
from trainers.data.folds import split_classes


def test_class_ids_of_labels_are_in_order():
    assert class_ids([7, 3, 3, 9]).tolist() == [1, 0, 0, 2]


def test_conjunctions_are_sorted_as_strings():
    factors = np.array([[2, 0], [10, 0], [2, 0], [1, 1], [10, 1]])
    names = [",".join(map(str, row)) for row in factors]
    expected = [sorted(set(names)).index(name) for name in names]
    assert class_ids(factors).tolist() == expected
    assert expected == [3, 1, 3, 0, 2]


def test_published_sizes():
    for fold in range(5):
        parts = split_classes(672, fold)
        sizes = [len(parts[p]) for p in ("train", "validation", "test")]
        assert sizes == ([429, 108, 135] if fold < 2 else [430, 108, 134])


def test_parts_cover_all_classes_and_folds_all_tests():
    tests = []
    for fold in range(4):
        parts = split_classes(30, fold, 4)
        together = np.sort(np.concatenate(list(parts.values())))
        assert together.tolist() == list(range(30))
        tests.append(parts["test"])
    assert np.sort(np.concatenate(tests)).tolist() == list(range(30))
    expected = list(KFold(4, shuffle=True, random_state=0).split(range(30)))
    np.testing.assert_array_equal(tests[2], expected[2][1])


def test_one_group_is_left_out():
    tests = []
    for fold in range(5):
        parts = split_classes(5, fold, min_num_test=1)
        assert [len(parts[p]) for p in parts] == [3, 1, 1]
        assert set(np.concatenate(list(parts.values()))) == set(range(5))
        tests.extend(parts["test"])
    assert sorted(tests) == list(range(5))
    # One for training, one for validation, one for the test.
    with pytest.raises(ValueError, match="2 classes cannot make 2 folds"):
        split_classes(2, 0, 2, min_num_test=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((30, 5), "there is no fold 5; there are 0 to 4"),
        ((30, -1), "there is no fold -1"),
        ((9, 0), "9 classes cannot make 5 folds; .* and 2 classes for each"),
        ((30, 0, 1), "cannot make 1 fold;"),
    ],
)
def test_impossible_folds(arguments, message):
    with pytest.raises(ValueError, match=message):
        split_classes(*arguments)


@pytest.mark.parametrize(
    ("split", "tested"),
    [
        ("all", "test"),
        ("train+test", "test"),
        ("train", "all"),
        ("train+test", "test[:2000]"),
        ("train", "train[55000:]"),
        ("train[:60%]", "train[50%:]"),
        ("train[:100]", "train[50%:]"),
        ("train[:-20]", "train[-30:]"),
        ("data/train", "data/train[:5]"),
    ],
)
def test_folds_of_the_test_data_are_refused(split, tested):
    fields = [f"folds.split={split}", f"folds.test_split={tested}"]
    with pytest.raises(ValueError, match="contains the test split"):
        load_recipe("an4_triplet", fields)


@pytest.mark.parametrize(
    ("split", "tested"),
    [
        ("train", "test"),
        ("train[:90]", "train[90:]"),
        ("a[:60%]", "a[60%:]"),
        ("data/train", "data/test"),
        ("held-in", "held-out"),
        ("train[:-20%]", "train[-20%:]"),
    ],
)
def test_folds_of_other_examples_are_accepted(split, tested):
    fields = [f"folds.split={split}", f"folds.test_split={tested}"]
    run = load_recipe("an4_triplet", fields)
    assert run.data.folds.test_split == tested


@pytest.mark.parametrize(
    ("fields", "switch"),
    [
        (["folds.group.feature=speaker"], "folds.num_folds"),
        (["folds.num_per_class=5"], "folds.num_folds"),
        (["backbone.weights=file.keras"], "backbone.network"),
        (["label.pattern=^(.)_"], "label.feature"),
        (["data.label.pattern=^(.)_"], "label.feature"),
        (
            ["folds.num_folds=4", "folds.group.pattern=^(.)_"],
            "folds.group.feature",
        ),
    ],
)
def test_a_field_without_effect_is_refused(fields, switch):
    name = fields[-1].partition("=")[0].removeprefix("data.")
    with pytest.raises(ValueError, match=f"config.{name} has no effect") as e:
        load_recipe("demo", fields)
    assert f"config.{switch}; set it" in str(e.value)


def test_a_pattern_with_its_feature_has_an_effect():
    fields = ["label.feature=name", "label.pattern=^(.)_"]
    assert load_recipe("demo", fields).data.label.pattern == "^(.)_"
    of_recipe = load_recipe("spoken_digit_triplet", ["label.pattern=^(.)"])
    assert of_recipe.data.label.feature == "audio/filename"


def test_a_section_can_be_switched_off():
    off = ["folds.num_folds=0", "folds.split=train", "folds.test_split="]
    run = load_recipe("an4_triplet", off)
    assert run.data.folds.num_folds == 0


def test_every_group_is_in_a_fold_if_few_examples_of_a_class_are_drawn(
    tmp_path,
):
    """Groups without a drawn example leave no gap in the numbers."""
    words = np.repeat(np.arange(10), 200)
    speakers = np.tile(np.arange(200), 10)
    lines = [
        f"{row},{word},{speaker}"
        for row, (word, speaker) in enumerate(zip(words, speakers, strict=True))
    ]
    table = tmp_path / "spoken.csv"
    table.write_text("\n".join(["x,label_word,label_speaker", *lines]))
    fields = [
        f"dataset=csv:{table}",
        "folds.split=all",
        "folds.test_split=",
        "folds.group.feature=label_speaker",
        "folds.num_per_class=20",
        "label.feature=label_word",
    ]
    data = Data(load_recipe("omniglot_retrieval_triplet", fields))
    found = [
        row
        for split in ("train", "validation", "test")
        for row in data.split(split)[0][:, 0].tolist()
    ]
    assert len(found) == len(set(found)) == 200  # 20 of each of ten words
