"""A folder of images, trained and evaluated by the commands."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from embeddings_tf import datasets
from embeddings_tf.datasets.divide_classes import divide_classes
from tests.datasets.image_folders import with_sides
from tests.datasets.image_folders import write_classes
from tests.datasets.image_folders import write_digits
from tests.datasets.image_folders import write_image
from trainers import cross_validate
from trainers import evaluate
from trainers import export
from trainers import train
from trainers.config import load_recipe
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.evaluators import few_shot

# One black pixel.
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04"
    b"\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01"
    b"\x00;"
)

RECIPE = "omniglot_retrieval_triplet"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return write_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(autouse=True)
def no_data_kept():
    examples_of_folds.cache_clear()


def words(folder, *overrides):
    return [
        f"--config.{override}"
        for override in (f"dataset=image_folder:{folder}", *overrides)
    ]


SHORT = (
    "deterministic=False",
    "batches.num_classes=6",
    "encoder.dim=16",
    "encoder.dark_ink=False",
    "steps_per_epoch=10",
    "num_epochs=2",
)
SMALL = "encoder.image_shape=(8, 8, 3)"


@pytest.mark.slow
def test_digits_are_trained_and_evaluated(digits, tmp_path, capsys):
    """Digits that were never trained on find each other."""
    arguments = ["--config", RECIPE, "--workdir", str(tmp_path / "run")]
    arguments += words(digits, *SHORT, SMALL, "folds.num_folds=0")
    assert train.main(arguments) == 0, capsys.readouterr().err
    assert evaluate.main(["--workdir", str(tmp_path / "run")]) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    test = results["evaluation"]["test"]
    held_out = divide_classes(map(str, range(10)))["test"]
    files = [file for name in held_out for file in (digits / name).iterdir()]
    assert test["examples"] == len(files)
    # Two digits: by chance half of the nearest are of the same.
    assert test["recall_at_1"] > 0.9
    assert test["ceiling"] == 1


@pytest.mark.slow
def test_an_export_refuses_images_of_0_to_1(digits, tmp_path, capsys):
    """`--unit-range refuse` is for servers."""
    arguments = ["--config", RECIPE, "--workdir", str(tmp_path / "run")]
    short = [*SHORT, "steps_per_epoch=2", "num_epochs=1"]
    arguments += words(digits, *short, SMALL, "folds.num_folds=0")
    assert train.main(arguments) == 0, capsys.readouterr().err
    arguments = ["--workdir", str(tmp_path / "run"), "--unit-range", "refuse"]
    arguments += ["--directory", str(tmp_path / "models")]
    assert export.main(arguments) == 0, capsys.readouterr().err
    loaded = tf.saved_model.load(str(tmp_path / "models" / "1"))
    request = loaded.signatures["serving_default"]
    images = np.random.default_rng(0).uniform(0, 255, (2, 8, 8, 3))
    request(image=tf.constant(images, tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="by 255"):
        request(image=tf.constant(images / 255, tf.float32))


def test_folds_of_a_folder(digits):
    """Every class is in the test of one fold."""
    seen = []
    for fold in range(5):
        run = load_recipe(
            RECIPE,
            [
                f"dataset=image_folder:{digits}",
                "folds.split=all",
                f"folds.fold={fold}",
            ],
        )
        seen += np.unique(data.Data(run).split("test")[1]).tolist()
    assert sorted(seen) == list(range(10))


@pytest.mark.slow
def test_cross_validation_of_a_folder(digits, tmp_path, capsys):
    arguments = ["--config", RECIPE, "--workdir", str(tmp_path)]
    arguments += words(digits, *SHORT, SMALL, "folds.split=all")
    arguments += ["--config.folds.num_per_class=20", "--folds", "1"]
    assert cross_validate.main(arguments) == 0, capsys.readouterr().err
    results = json.loads((tmp_path / "fold_1" / "results.json").read_text())
    assert results["evaluation"]["test"]["examples"] == 40
    without = words(digits, "folds.num_folds=0")
    arguments = ["--config", RECIPE, "--workdir", str(tmp_path / "none")]
    assert cross_validate.main([*arguments, *without]) == 1
    assert "has no folds" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "num_folds", [0, pytest.param(3, marks=pytest.mark.slow)]
)
def test_a_picture_has_the_names_of_the_folders(num_folds, tmp_path):
    """Test classes are not the first ones, so positions tell nothing."""
    names = [f"{animal} of {place}" for animal in "abc" for place in "xyz"]
    write_classes(tmp_path, names, num_images=4)
    run = load_recipe(
        RECIPE,
        [
            f"dataset=image_folder:{tmp_path}",
            f"folds.num_folds={num_folds}",
            f"folds.split={'all' if num_folds else 'train'}",
            "evaluation.name=few_shot",
            "evaluation.num_classes=(2,)",
            "evaluation.num_support=2",
            "evaluation.num_query=2",
            "evaluation.num_episodes=5",
        ],
    )
    encoder = keras.Sequential(
        [keras.Input((4, 5, 3)), keras.layers.GlobalAveragePooling2D()]
    )
    its_data = data.Data(run)
    files = its_data.split("test")[0].names
    held_out = sorted({name.split("/")[0] for name in files})
    assert 0 < len(held_out) < len(names)
    _, figures = few_shot.evaluate(run, its_data, encoder)
    (panel,) = figures["embedding"].axes
    assert [text.get_text() for text in panel.texts] == held_out
    legend = panel.get_legend().get_texts()
    assert [text.get_text() for text in legend] == held_out


@pytest.fixture
def sizes(tmp_path):
    """Images of six classes, of two sizes."""
    write_classes(tmp_path / "photos", list("abcdef"), shape=(9, 12, 3))
    write_image(tmp_path / "photos" / "a" / "x.png", np.full((20, 10), 3))
    return tmp_path / "photos"


def batch_of(folder, *overrides):
    run = load_recipe(
        RECIPE,
        [
            f"dataset=image_folder:{folder}",
            "folds.num_folds=0",
            "split=all",
            "batches.num_classes=6",
            "batches.num_per_class=2",
            *overrides,
        ],
    )
    return next(iter(data.Data(run).batches(0)))[0]


def test_different_sizes_need_a_size(sizes):
    assert batch_of(sizes, "images.size=7").shape == (12, 7, 7, 3)
    (sizes / "a" / "x.png").unlink()
    assert batch_of(sizes).shape == (12, 9, 12, 3)


@pytest.mark.parametrize(
    ("damage", "overrides", "message"),
    [
        (
            lambda folder: None,
            (),
            r"Images differ in size: Image 0 (a/0.png) has shape (9, 12, 3), "
            "Image 2 (a/x.png) has shape (20, 10, 3); crop and resize them "
            "with x.with_size(64), or in a command with "
            "--config.images.size=64 and another --workdir.",
        ),
        (
            lambda folder: (folder / "a" / "x.png").unlink(),
            (),
            "the images have shape (9, 12, 3), the encoder takes (105, 105, "
            "3); set --config.encoder.image_shape='(9, 12, 3)', or, for images "
            "that are read when needed, --config.images.size=105",
        ),
        (
            lambda folder: (folder / "b" / "0.png").write_bytes(b"no image"),
            ("images.size=105",),
            "b/0.png is not a complete JPEG or PNG image: it is empty, "
            "truncated, damaged or of another format. Replace or remove it. "
            "python -m trainers.train DATA --check names all bad files of a "
            "folder or table.",
        ),
        (
            lambda folder: Image.fromarray(
                np.arange(108, dtype=np.uint16).reshape(9, 12)
            ).save(folder / "b" / "0.png"),
            ("images.size=105",),
            "b/0.png has 16 bits, of which the upper 8 are kept, and they are "
            "all below 16; scale it to 8 bits. python -m trainers.train DATA "
            "--check names all bad files of a folder or table.",
        ),
        (
            lambda folder: (folder / "b" / "0.png").write_bytes(
                with_sides((folder / "a" / "0.png").read_bytes(), 30000, 30000)
            ),
            ("images.size=105",),
            "b/0.png has 30000 x 30000 pixels, more than TensorFlow decodes; "
            "make it smaller. python -m trainers.train DATA --check names all "
            "bad files of a folder or table.",
        ),
        (
            # TensorFlow would read it; exports of images would not.
            lambda folder: (folder / "b" / "0.png").write_bytes(GIF),
            ("images.size=105",),
            "b/0.png is not a complete JPEG or PNG image: ",
        ),
        (
            lambda folder: shutil.rmtree(folder),
            (),
            "There is no folder ",
        ),
        (
            lambda folder: (folder / "g").mkdir(),
            (),
            "photos/g has no images; ",
        ),
    ],
)
def test_errors_are_one_line(
    sizes, damage, overrides, message, tmp_path, capsys
):
    damage(sizes)
    arguments = ["--config", RECIPE, "--workdir", str(tmp_path / "run")]
    arguments += words(
        sizes,
        "deterministic=False",
        "folds.num_folds=0",
        "split=all",
        "validation.split=all",
        "batches.num_classes=6",
        "batches.num_per_class=2",
        "encoder.image_shape=(9, 12, 3)"
        if "differ" in message
        else "encoder.dim=64",
        "steps_per_epoch=30",
        "num_epochs=1",
        *overrides,
    )
    assert train.main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line


def test_a_size_is_for_images_read_when_needed(monkeypatch):
    arrays = np.zeros((2, 4, 4, 3), np.uint8), np.zeros(2, np.int32)
    monkeypatch.setattr(datasets, "load", lambda *_, **__: arrays)
    run = load_recipe("mini_imagenet_triplet", ["images.size=4"])
    with pytest.raises(ValueError, match="config.images.size=4 is for images"):
        data.Data(run).split("train")
