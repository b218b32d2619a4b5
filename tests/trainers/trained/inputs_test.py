"""Inputs of the commands that use a trained run."""

import dataclasses
import errno
import os
import pathlib
import shutil
import wave

import keras
import numpy as np
import pytest

from embeddings_tf import datasets
from embeddings_tf.datasets import speech
from tests.broken_headers import break_headers
from tests.datasets.image_folders import write_image
from tests.trainers.colours import colour_of
from tests.trainers.colours import mean_colour
from trainers.config import load_recipe
from trainers.data.classes import write_classes
from trainers.data.data import Data
from trainers.data.data_name import absolute_data
from trainers.data.examples import examples_of_folds
from trainers.trained.inputs import Inputs
from trainers.trained.inputs import inputs_of_split
from trainers.trained.inputs import read_inputs
from trainers.trained.stored_paths import canonical_names
from trainers.trained.stored_paths import full_names
from trainers.trained.stored_paths import read_settings
from trainers.trained.stored_paths import relative_path
from trainers.trained.stored_paths import shown_names
from trainers.trained.stored_paths import stored_names
from trainers.trained.trained import Trained
from trainers.trained.trained import embed_inputs
from trainers.workdirs.workdir import run_of_workdir


@pytest.fixture(scope="module")
def run(colours):
    return run_of_workdir(colours / "run")[1]


def pixels(inputs):
    return [inputs.x[n][0, 0].tolist() for n in range(len(inputs.names))]


def test_files_keep_their_order(run, colours):
    files = [str(colours / f"photos/{n}.png") for n in ("c05/1", "c02/0")]
    found = read_inputs(run, files)
    assert found.labels is None
    assert found.names.tolist() == files
    wanted = [colour_of("c05", 1).tolist(), colour_of("c02", 0).tolist()]
    assert pixels(found) == wanted


def test_a_folder_of_files_and_a_folder_of_classes(run, colours):
    folder = colours / "photos"
    one = read_inputs(run, [str(folder / "c03")])
    assert one.labels is None and len(one.names) == 6
    every = read_inputs(run, [str(folder)])
    assert every.labels.tolist() == [
        f"c{n:02}" for n in range(40) for _ in "abcdef"
    ]
    assert every.names[7] == str(folder / "c01" / "1.png")
    few = every.take(np.array([7, 0]))
    assert few.labels.tolist() == ["c01", "c00"]
    assert pixels(few)[0] == colour_of("c01", 1).tolist()


@pytest.mark.parametrize("words", [[""], ["", ""], ["c03/0.png", ""]])
def test_an_empty_word_is_not_the_current_folder(
    words, run, colours, monkeypatch
):
    """A shell makes one of "$PHOTOS" without this variable."""
    monkeypatch.chdir(colours / "photos")
    with pytest.raises(ValueError, match="an input is empty; name a file"):
        read_inputs(run, words)
    assert len(read_inputs(run, ["."]).names) == 40 * 6


def test_hidden_files_of_a_folder_are_ignored(run, colours, tmp_path):
    """macOS writes `._NAME` beside files on other file systems."""
    shutil.copy(colours / "photos" / "c03" / "0.png", tmp_path)
    (tmp_path / "._0.png").write_bytes(b"\0\5\26\7")
    found = read_inputs(run, [str(tmp_path)])
    assert found.names.tolist() == [str(tmp_path / "0.png")]


def test_the_data_of_the_run_keeps_its_division(run, colours):
    test = read_inputs(run, [])
    names = set(test.labels)
    assert names == set(Data(run).names_of_classes("test"))
    assert not names & set(Data(run).names_of_classes("train"))
    by_folder = read_inputs(run, [str(colours / "photos")], "test")
    assert by_folder.labels.tolist() == test.labels.tolist()


def test_inputs_know_their_data(run, colours, tmp_path):
    """The word of the command; names of rows then differ by data."""
    assert read_inputs(run, []).data == run.data.dataset
    photos = str(colours / "photos")
    found = read_inputs(run, [photos])
    assert found.data == found.take([0]).data == photos
    assert found.full_names.tolist() == found.names.tolist(), "files"
    rows = Inputs(None, None, np.array(["0", "1"]), data="arrays:a.npz")
    assert rows.full_names.tolist() == ["a.npz 0", "a.npz 1"]


def test_all_examples_of_a_run_with_folds(run, colours):
    folds = dataclasses.replace(run.data.folds, num_folds=5, split="all")
    data = dataclasses.replace(run.data, folds=folds)
    of_fold = dataclasses.replace(run, data=data)
    photos = str(colours / "photos")
    found = read_inputs(of_fold, [photos])
    assert found.names.tolist() == read_inputs(run, [photos]).names.tolist()
    assert len(read_inputs(of_fold, [photos], "test").names) < len(found.names)


@pytest.mark.parametrize("kind", ["arrays", "table", "function", "split"])
@pytest.mark.parametrize("num_per_class", [0, 2])
def test_a_row_keeps_its_name_in_a_fold(
    kind, num_per_class, tmp_path, monkeypatch
):
    """The feature of an example is its row in the data."""
    monkeypatch.chdir(tmp_path)
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 4))
    x = np.arange(48, dtype="float32")[:, None]
    np.savez("a.npz", x=x, labels=labels)
    rows = "\n".join(f"{n},{label}" for n, label in enumerate(labels))
    (tmp_path / "a.csv").write_text(f"row,label\n{rows}")
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "def data():\n"
        "    found = np.load('a.npz')\n"
        "    return found['x'], found['labels']\n"
        "def split(split):\n"
        "    return data()\n"
    )
    dataset, name = {
        "arrays": ("arrays:a.npz", "{}".format),
        "table": ("csv:a.csv", lambda row: f"line {row + 2}"),
        "function": ("own.py:data", "{}".format),
        "split": ("own.py:split", "all/{}".format),
    }[kind]
    of_fold = load_recipe(
        "omniglot_retrieval_triplet",
        [
            f"dataset={dataset}",
            "folds.num_folds=3",
            "folds.split=all",
            "folds.fold=1",
            f"folds.num_per_class={num_per_class}",
            "images.size=0",
        ],
    )
    every = read_inputs(of_fold, [dataset])
    assert every.names.tolist() == [name(row) for row in range(48)]
    for split in ("train", "validation", "test"):
        found = read_inputs(of_fold, [dataset], split)
        assert 2 <= len(set(found.labels)) < 12
        rows = found.x[:, 0].astype(int).tolist()
        assert found.names.tolist() == [name(row) for row in rows]
        assert found.labels.tolist() == every.labels[rows].tolist()


def test_the_split_that_every_fold_tests_keeps_its_names(tmp_path):
    file = tmp_path / "a.npz"
    np.savez(
        file,
        x=np.arange(48, dtype="float32")[:, None],
        labels=np.repeat(np.arange(12), 4),
        split=np.repeat(["test", "train"], [16, 32]),
    )
    run = load_recipe(
        "omniglot_retrieval_triplet",
        [
            f"dataset=arrays:{file}",
            "folds.num_folds=3",
            "folds.split=train",
            "folds.test_split=test",
            "images.size=0",
        ],
    )
    for split in ("train", "validation", "test"):
        found = read_inputs(run, [str(file)], split)
        rows = found.x[:, 0].astype(int).tolist()
        assert found.names.tolist() == [str(row) for row in rows]


def make_files(*names):
    for name in names:
        pathlib.Path(name).parent.mkdir(exist_ok=True)
        pathlib.Path(name).write_text("")


def test_a_row_is_no_file_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files("0", "1", "line 2", "line 3", "all/0", "all/1", "a.npz 0")
    np.savez("a.npz", x=np.eye(2, dtype="float32"), labels=np.arange(2))
    (tmp_path / "a.csv").write_text("x,y,label\n1,0,a\n0,1,b\n")
    (tmp_path / "b.csv").write_text("x,y\n1,0\n0,1\n")
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "def data():\n"
        "    return np.eye(2, dtype='float32'), np.arange(2)\n"
        "def split(split):\n"
        "    return data()\n"
    )
    run = load_recipe(
        "omniglot_retrieval_triplet",
        ["dataset=arrays:a.npz", "folds.num_folds=0", "images.size=0"],
    )
    for word, names in (
        ("a.npz", ["0", "1"]),
        ("a.csv", ["line 2", "line 3"]),
        ("b.csv", ["line 2", "line 3"]),
        ("own.py:data", ["0", "1"]),
        ("own.py:split", ["all/0", "all/1"]),
    ):
        found = read_inputs(run, [word])
        assert found.names.tolist() == names and not found.are_files
        full = full_names(found.names, word, found.are_files)
        assert full.tolist() == [f"{word} {name}" for name in names]


def test_names_of_files(run, colours, tmp_path, monkeypatch):
    """The names in a folder, in a table, of single files and of a function."""
    photos = colours / "photos"
    monkeypatch.chdir(tmp_path)
    files = [str(photos / "c00" / "0.png"), str(photos / "c01" / "1.png")]
    lines = "\n".join([f"{files[0]},a", f"{files[1]},b"])
    (tmp_path / "t.csv").write_text(f"path,label\n{lines}\n")
    (tmp_path / "own.py").write_text(
        "from embeddings_tf import datasets\n"
        "def absolute():\n"
        "    return datasets.load('csv:t.csv', 'all', label='class')\n"
        "def relative():\n"
        f"    name = 'image_folder:{photos}'\n"
        "    return datasets.load(name, 'all', label='class')\n"
    )
    for words in (files, ["t.csv"], ["own.py:absolute"]):
        found = read_inputs(run, words)
        assert found.are_files and found.names.tolist() == files
        full = full_names(found.names, words[0], found.are_files)
        assert full.tolist() == files
    found = read_inputs(run, [str(photos)])
    assert found.are_files and found.names[0] == files[0]
    # The paths of this function start in another folder.
    found = read_inputs(run, ["own.py:relative"])
    assert found.names[0] == "c00/0.png" and not found.are_files


@pytest.mark.parametrize("kind", ["folder", "table", "function"])
def test_every_path_to_the_data_of_the_run(
    kind, colours, tmp_path, monkeypatch
):
    """`~`, `./`, a link and the full path: the division stays the run's."""
    home = tmp_path / "home"
    (home / "link").parent.mkdir()
    (home / "link").symlink_to(home, target_is_directory=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    if kind == "folder":
        (home / "photos").symlink_to(colours / "photos")
        first, last = "image_folder:", "photos"
    elif kind == "table":
        lines = [
            f"{colours}/photos/{name}/0.png,{name}"
            for name in (f"c{number:02}" for number in range(40))
        ]
        (home / "t.csv").write_text("\n".join(["path,label", *lines]))
        first, last = "csv:", "t.csv"
    else:
        (home / "own.py").write_text(
            "import numpy as np\n"
            "def data():\n"
            "    labels = np.repeat(np.arange(10), 3)\n"
            "    return np.zeros((30, 4, 5, 3), 'uint8'), labels\n"
        )
        first, last = "", "own.py:data"
    wanted = None
    for dataset in ("~/", "", f"{home}/"):
        run = load_recipe(
            "omniglot_retrieval_triplet",
            [
                f"dataset={first}{dataset}{last}",
                "folds.num_folds=0",
                "images.size=0",
                "division.seed=5",
            ],
        )
        for word in ("~/", "", "./", "link/", f"{home}/"):
            found = read_inputs(run, [f"{first}{word}{last}"], "test")
            wanted = wanted or found.labels.tolist()
            assert found.labels.tolist() == wanted
            if kind != "function":
                assert os.path.isfile(found.names[0])


def test_other_files_do_not_change_the_kind_of_a_folder(
    run, colours, sounds, tmp_path
):
    """A cover among recordings, and a recording among images."""
    shutil.copytree(sounds, tmp_path / "sounds")
    cover = tmp_path / "sounds" / "ann" / "0.png"
    shutil.copy(colours / "photos" / "c00" / "0.png", cover)
    of_sounds = load_recipe("spoken_digit_triplet")
    every = read_inputs(of_sounds, [str(tmp_path / "sounds")])
    assert every.labels.tolist() == ["ann", "ann", "bob"]
    of_ann = read_inputs(of_sounds, [str(tmp_path / "sounds" / "ann")])
    assert len(of_ann.names) == 2
    found = read_inputs(run, [str(tmp_path / "sounds" / "ann")])
    assert found.names.tolist() == [str(cover)]


def test_tables_and_arrays(run, colours, tmp_path):
    table = colours / "photos" / "table.csv"
    table.write_text("path,label\nc00/0.png,red\nc01/1.png,blue\n")
    try:
        found = read_inputs(run, [str(table)])
    finally:
        table.unlink()
    assert found.labels.tolist() == ["red", "blue"]
    files = [str(colours / "photos" / n) for n in ("c00/0.png", "c01/1.png")]
    assert found.names.tolist() == files
    x = np.zeros((2, 4, 5, 3), np.uint8)
    np.savez(tmp_path / "a.npz", x=x, labels=np.array(["b", "a"]))
    found = read_inputs(run, [str(tmp_path / "a.npz")])
    assert found.labels.tolist() == ["b", "a"]
    assert not any("/" in name for name in found.names)
    assert np.shape(found.x[:]) == (2, 4, 5, 3)


def test_images_have_the_size_of_the_training(colours):
    run = load_recipe(
        "omniglot_retrieval_triplet",
        [f"dataset=image_folder:{colours / 'photos'}", "images.size=9"],
    )
    found = read_inputs(run, [str(colours / "photos" / "c00" / "0.png")])
    assert found.x[:1].shape == (1, 9, 9, 3)


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    rng = np.random.default_rng(0)
    for name in ("ann/1.wav", "ann/2.wav", "bob/1.wav"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        samples = (3000 * rng.normal(size=4000)).astype("<i2")
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(samples.tobytes())
    return folder


def test_recordings_go_through_the_front_end(sounds):
    run = load_recipe("spoken_digit_triplet")
    every = read_inputs(run, [str(sounds)])
    assert every.labels.tolist() == ["ann", "ann", "bob"]
    assert every.names[2] == str(sounds / "bob" / "1.wav")
    files = read_inputs(
        run, [str(sounds / "ann"), str(sounds / "bob/1.wav")][1:]
    )
    assert files.labels is None
    with wave.open(str(sounds / "bob" / "1.wav")) as file:
        samples = np.frombuffer(file.readframes(4000), "<i2")
    arguments = run.data.front_end.arguments
    frames = speech.front_end(samples.astype("float32"), **arguments)[0].numpy()
    # Short recordings are repeated as a whole.
    times = -(-run.data.utterances.min_num_frames // len(frames))
    wanted = np.concatenate([frames] * times)
    for found in (every.x[2], files.x[0]):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


def test_recordings_for_a_run_of_images_and_the_reverse(run, colours, sounds):
    for words in ([str(sounds)], [str(sounds / "ann" / "1.wav")]):
        with pytest.raises(ValueError, match="takes no recordings; received"):
            read_inputs(run, words)
    of_sounds = load_recipe("spoken_digit_triplet")
    photos = colours / "photos"
    for path in (photos, photos / "c03" / "0.png"):
        with pytest.raises(ValueError, match="no images; .* Name recordings"):
            read_inputs(of_sounds, [str(path)])


def test_a_table_has_the_features_of_the_training(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("weight,label,height\n1,owl,2\n3,wren,4\n")
    run = load_recipe(
        "omniglot_retrieval_triplet",
        [f"dataset=csv:{table}", "folds.num_folds=0", "images.size=0"],
    )
    found = read_inputs(run, [str(table)])
    assert found.features == ["weight", "height"]
    encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    trained = Trained(tmp_path, run, encoder)
    write_classes(tmp_path, {"features": ["weight", "height"]})
    rows = found.take(np.array([1, 0]))
    assert embed_inputs(trained, rows).tolist() == [[3, 4], [1, 2]]
    write_classes(tmp_path, {"features": ["weight", "width"]})
    with pytest.raises(ValueError, match="feature 1 .* 'height', and was 'wi"):
        embed_inputs(trained, rows)
    write_classes(tmp_path, {"splits": {}})  # trained on arrays
    assert len(embed_inputs(trained, rows)) == 2


def test_a_run_is_named_from_the_folder_of_the_file(tmp_path):
    found = relative_path(tmp_path / "runs" / "a", tmp_path / "files" / "g.npz")
    assert found == "../runs/a"


def test_paths_in_a_file_start_in_its_folder(tmp_path, monkeypatch):
    photo = tmp_path / "photos" / "a.png"
    photo.parent.mkdir()
    photo.write_bytes(b"")
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "g.npz"
    monkeypatch.chdir(tmp_path)
    given = np.array(["photos/a.png", str(photo), "test/3"])
    stored = stored_names(given, file, are_files=None)
    assert stored.tolist() == ["../photos/a.png", str(photo), "test/3"]
    paths = stored_names(given[:2], file, are_files=True)
    assert paths.tolist() == stored[:2].tolist()
    assert shown_names(stored, file).tolist() == given.tolist()
    monkeypatch.chdir(tmp_path / "files")
    assert shown_names(stored, file)[0] == "../photos/a.png"
    # Both moved together.
    (tmp_path / "moved").mkdir()
    (tmp_path / "photos").rename(tmp_path / "moved" / "photos")
    (tmp_path / "files").rename(tmp_path / "moved" / "files")
    monkeypatch.chdir(tmp_path)
    found = shown_names(stored, tmp_path / "moved" / "files" / "g.npz")
    assert found[0] == "moved/photos/a.png"


def test_rows_in_a_file_start_in_its_folder(tmp_path, monkeypatch):
    """Names of data and of rows may contain blanks."""
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "g.npz"
    monkeypatch.chdir(tmp_path)
    for name in ("a b.csv", "b.py", "line"):
        (tmp_path / name).write_text("")
    rows = np.array(["line 3"])
    given = [
        *full_names(rows, "csv:a b.csv", False),
        *full_names(rows, str(tmp_path / "a b.csv"), False),
        *full_names(rows, "b.py:data", False),
        *full_names(rows, "omniglot", False),
    ]
    assert given == [
        "a b.csv line 3",
        f"{tmp_path}/a b.csv line 3",
        "b.py:data line 3",
        "omniglot line 3",
    ]
    stored = stored_names(np.array(given), file, are_files=False)
    assert stored.tolist() == [
        "../a b.csv line 3",
        given[1],
        "../b.py:data line 3",
        given[3],
    ]
    assert shown_names(stored, file).tolist() == given
    found = canonical_names(np.array(given))
    assert found[0] == found[1] == os.path.realpath(given[1])
    # Names of rows alone are not paths, although there is a file `line`.
    assert stored_names(rows, file, with_data=False, are_files=False) == rows
    known = np.array(given[:1])
    known = stored_names(known, file, [given[1]], are_files=False)
    assert known.tolist() == [given[1]]


def test_data_from_the_root_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.py"):
        (tmp_path / name).write_text("")
    for word, wanted in (
        ("a.csv", f"{tmp_path}/a.csv"),
        ("csv:a.csv", f"csv:{tmp_path}/a.csv"),
        ("image_folder:none", "image_folder:none"),
        ("b.py:data", f"{tmp_path}/b.py:data"),
        ("omniglot", "omniglot"),
    ):
        assert absolute_data(word) == wanted


def test_an_image_of_another_size_is_named(run, tmp_path):
    write_image(tmp_path / "tall.png", np.zeros((6, 5, 3), np.uint8))
    inputs = read_inputs(run, [str(tmp_path / "tall.png")])
    trained = Trained(tmp_path, run, mean_colour())
    message = r"tall.png has the shape \(6, 5, 3\) .* takes \(4, 5, 3\). Resize"
    with pytest.raises(ValueError, match=message):
        embed_inputs(trained, inputs)


def test_settings_of_a_damaged_file(tmp_path):
    path = tmp_path / "gallery.npz"
    np.savez(path, settings=np.array("{}"))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 10] = 99
    path.write_bytes(content)
    with pytest.raises(ValueError, match="has no settings"):
        read_settings(path)
    np.savez(path, settings=np.array("{}"))
    break_headers(path)
    with pytest.raises(ValueError, match="has no settings"):
        read_settings(path)


def test_settings_of_a_file_with_a_damaged_offset(tmp_path):
    path = tmp_path / "gallery.npz"
    np.savez(path, settings=np.array("{}"))
    content = bytearray(path.read_bytes())
    content[-3] ^= 64  # of the offset of the index, in the last 6 bytes
    path.write_bytes(content)
    with pytest.raises(ValueError, match="has no settings"):
        read_settings(path)


def test_settings_that_the_machine_cannot_read(tmp_path, monkeypatch):
    path = tmp_path / "gallery.npz"
    np.savez(path, settings=np.array("{}"))
    for fault in (OSError(errno.EIO, "Input/output error"), MemoryError()):

        def fail(*args, error=fault, **kwargs):
            raise error

        monkeypatch.setattr(np, "load", fail)
        with pytest.raises(type(fault)):
            read_settings(path)


@pytest.fixture
def named_set(monkeypatch):
    """Replaces a named data set by 12 classes with numbers and names.

    Returns a function that takes the function from split and numbers to names,
    and the difference between the numbers of test and training.
    """
    classes = np.repeat(np.arange(12), 3)
    x = np.zeros((len(classes), 28, 28, 1), "uint8")

    def replace(names_of, of_test=0):
        def load(name, split, *_, label=None, **__):
            numbers = classes + of_test * (split == "test")
            return x, names_of(split, numbers) if label == "class" else numbers

        monkeypatch.setattr(datasets, "load", load)
        examples_of_folds.cache_clear()

    yield replace
    examples_of_folds.cache_clear()


def run_of_folds(test_split):
    fields = ["folds.num_folds=3", "folds.split=train"]
    fields += [f"folds.test_split={test_split}"]
    return load_recipe("omniglot_retrieval_triplet", fields)


@pytest.mark.parametrize("test_split", ["", "test"])
def test_classes_of_the_folds_of_a_named_set_have_its_names(
    test_split, named_set
):
    """With one name in every command, `enroll` and `identify` can match."""

    def names_of(split, numbers):
        return np.array([f"letter {n % 12}, {n // 12}" for n in numbers])

    named_set(names_of, of_test=12)
    run = run_of_folds(test_split)
    splits = ("train", "validation", "test")
    train, validation, test = (
        set(inputs_of_split(run, split).labels) for split in splits
    )
    every = {f"letter {n}, 0" for n in range(12)}
    assert set(read_inputs(run, ["omniglot"]).labels) == every
    assert train < every and validation < every and not train & validation
    of_test_split = {f"letter {n}, 1" for n in range(12)}
    assert test == of_test_split if test_split else test < every


def test_numbers_that_each_split_gives_anew_stay_numbers(named_set):
    named_set(
        lambda split, numbers: np.array([f"{split} {n}" for n in numbers])
    )
    data = Data(run_of_folds("test"))
    assert set(data.class_names(data.labels("test"))) == set(range(12))
