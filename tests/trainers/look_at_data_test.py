"""How data is divided for a goal."""

import numpy as np
import pytest

from embeddings_tf import datasets
from tests.trainers.goal_recipes import write
from trainers.data import Data


@pytest.mark.parametrize("is_new", [True, False])
def test_a_named_set_without_validation_is_divided(
    is_new, tmp_path, monkeypatch
):
    """New classes in `test` stay the test; others are not used."""

    def load(name, split, *_, **__):
        if split not in ("train", "test"):
            raise ValueError(f"Unknown split {split!r} of {name!r}")
        labels = np.repeat(np.arange(10), 12)
        first = labels.astype("float32")[:, None].repeat(3, axis=1)
        return first, labels + 10 * (is_new and split == "test")

    monkeypatch.setattr(datasets, "load", load)
    dataset = f"a_set/{is_new}"  # examples of folds are kept by name
    run = write(dataset, "retrieve", tmp_path)
    assert run.data.folds.test_split == ("test" if is_new else "")
    data = Data(run)
    classes = [
        set(data.labels(split).tolist())
        for split in ("train", "validation", "test")
    ]
    sizes = [8, 2, 10] if is_new else [6, 2, 2]
    assert [*map(len, classes)] == sizes
    assert len(set.union(*classes)) == sum(sizes)
    other = write(dataset, "retrieve", tmp_path / "b", division_seed=1)
    assert other.data.folds.fold == 1
