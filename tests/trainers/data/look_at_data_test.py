"""How data is divided for a goal."""

import re
import warnings

import numpy as np
import pytest

from embeddings_tf import datasets
from tests.datasets.image_folders import write_image
from tests.trainers.goal_recipes import LABELS
from tests.trainers.goal_recipes import arrays
from tests.trainers.goal_recipes import write
from trainers.data.channels_first import warn_of_channels_first
from trainers.data.data import Data


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


def test_grey_images_need_a_last_axis(tmp_path):
    x = np.zeros((len(LABELS), 8, 8), "uint8")
    with pytest.raises(ValueError, match=r"shape \(8, 8\).*add a last axis"):
        write(arrays(tmp_path, x), "retrieve", tmp_path / "run")


def test_an_object_without_a_shape(tmp_path, monkeypatch):
    """It has a length, rows and `take`, as docs/own_data.md says."""

    class Lazy:
        def __init__(self, rows):
            self.rows = np.asarray(rows)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, indices):
            return np.full((len(indices), 8, 6, 3), 1, "uint8")

        def take(self, rows):
            return Lazy(self.rows[rows])

    def load(name, split, *_, **__):
        labels = np.repeat(np.arange(10), 12)
        return Lazy(labels), labels + 10 * ["train", "test"].index(split)

    monkeypatch.setattr(datasets, "load", load)
    run = write("a_lazy_set", "retrieve", tmp_path)
    assert run.encoder.name == "image_encoder"
    assert run.encoder.arguments["image_shape"] == (8, 6, 3)


def test_a_differing_image_that_was_not_looked_at_names_the_remedy(
    tmp_path,
):
    """The goal looks at 100 of the images."""
    for label in range(10):
        for number in range(12):
            side = 21 if (label, number) == (3, 5) else 20
            path = tmp_path / "photos" / str(label) / f"{number:02}.png"
            write_image(path, np.zeros((side, side, 3)))
    dataset = f"image_folder:{tmp_path / 'photos'}"
    run = write(dataset, "retrieve", tmp_path / "run")
    assert run.data.images.size == 0
    x, _ = datasets.load(dataset, "all")
    with pytest.raises(ValueError, match=r"--config\.images\.size=64"):
        x[np.arange(len(x))]
    fields = ["images.size=64"]
    run = write(dataset, "retrieve", tmp_path / "b", overrides=fields)
    assert run.data.images.size == 64
    assert tuple(run.encoder.arguments["image_shape"]) == (64, 64, 3)


@pytest.mark.parametrize(
    ("shape", "is_warned"),
    [
        ((3, 16, 8), True),
        ((1, 5, 5), True),
        ((16, 8, 3), False),
        ((2, 16, 8), False),
        ((3, 16, 4), False),
        ((1, 1, 2048), False),  # features of one place
        ((3, 16), False),
    ],
)
def test_channels_first(shape, is_warned):
    text = f"examples of shape {re.escape(str(shape))} look like channels first"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not is_warned:
            warn_of_channels_first(shape)
            return
    with pytest.warns(UserWarning, match=text):
        warn_of_channels_first(shape)


def test_channels_first_in_a_recipe_of_a_goal(tmp_path):
    """The remedy of the message gives images without it."""
    x = np.zeros((len(LABELS), 3, 16, 8), "uint8")
    with pytest.warns(UserWarning, match="channels first") as caught:
        write(arrays(tmp_path, x), "retrieve", tmp_path / "run")
    (remedy,) = re.findall(r"write x(.*)$", str(caught[0].message))
    assert remedy == ".transpose(0, 2, 3, 1)"
    x = x.transpose(0, 2, 3, 1)
    run = write(arrays(tmp_path, x), "retrieve", tmp_path / "other")
    assert run.encoder.arguments["image_shape"] == (16, 8, 3)
