"""Data of one's own in the commands: names, splits, bad inputs."""

import errno
import itertools
import json
import re
import shlex
import shutil
import warnings

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.colour_orientation import SPLITS
from embeddings_tf.export import models_config
from tests.broken_headers import break_headers
from tests.datasets.image_folders import write_classes
from tests.datasets.image_folders import write_image
from tests.datasets.speech_files import write_wav
from tests.trainers.commands import QUICK
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import evaluate
from trainers import export
from trainers import fit
from trainers import label_version
from trainers import train
from trainers.config import load_recipe
from trainers.data.classes import classes_of
from trainers.data.classes import print_classes
from trainers.data.classes import require_same_classes
from trainers.data.classes import warn_of_initial_weights
from trainers.data.classes import write_classes as write_classes_of
from trainers.data.data import Data
from trainers.data.data_fingerprint import fingerprint
from trainers.data.same_data import FINGERPRINTS
from trainers.data.same_data import record_fingerprints
from trainers.data.same_data import require_recorded_data
from trainers.trained import embed_inputs
from trainers.trained import open_trained
from trainers.trained.inputs import inputs_of_split
from trainers.training import watch
from trainers.workdirs import workdir as workdirs
from trainers.workdirs.other_data_error import OtherDataError

RECIPE = "omniglot_retrieval_triplet"
RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(10), 6)
X = RNG.normal(size=(10, 5))[LABELS] + RNG.normal(size=(60, 5)) / 4
NAMES = np.array([f"class {n}" for n in range(10)])


def words(dataset, *more):
    return [
        f"--config.{word}"
        for word in (
            f"dataset={dataset}",
            "folds.num_folds=0",
            "encoder.name=features_encoder",
            "encoder.num_features=5",
            "encoder.dim=3",
            "batches.num_classes=5",
            "batches.num_per_class=3",
            "steps_per_epoch=3",
            "num_epochs=1",
            "deterministic=False",
            *more,
        )
    ]


def start(workdir, dataset, *more):
    found = words(dataset, *more)
    return ["--config", RECIPE, "--workdir", workdir, *found]


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, x=X, labels=LABELS, class_names=NAMES)
    return path


@pytest.mark.slow
def test_names_of_classes_reach_the_end(arrays, tmp_path, capsys):
    run = tmp_path / "run"
    assert call(train, *start(run, f"arrays:{arrays}")) == 0
    printed = capsys.readouterr().out
    assert "train: 36 examples of 6 classes: class 0, class 2" in printed
    assert "test: 12 examples of 2 classes, none of them in tr" in printed
    splits = json.loads((run / "classes.json").read_text())["splits"]
    assert [len(part) for part in splits.values()] == [6, 2, 2]
    assert {n for part in splits.values() for n in part} == set(NAMES)
    assert set(splits["test"].values()) == {6}
    assert call(evaluate, "--workdir", run) == 0
    model = tmp_path / "model"
    assert call(export, "--workdir", run, "--directory", model) == 0
    exported = model / "1" / "assets.extra" / "classes.json"
    assert json.loads(exported.read_text())["splits"] == splits
    # Another class could move a training class to the test.
    names = np.append(NAMES[:-1], "other")
    np.savez(arrays, x=X, labels=LABELS, class_names=names)
    error = refused(capsys, evaluate, "--workdir", run)
    assert "has other classes in" in error and "train again" in error


@pytest.mark.slow
def test_a_run_continues_without_its_initial_weights(arrays, tmp_path, capsys):
    before, run = tmp_path / "before", tmp_path / "run"
    checkpoints = run / "checkpoints"
    assert call(train, *start(before, f"arrays:{arrays}")) == 0
    initial = f"initial_weights={before}"
    command = start(run, f"arrays:{arrays}", "num_epochs=2", initial)
    assert call(train, *command) == 0
    # As if killed in epoch 2.
    (run / "results.json").unlink()
    (checkpoints / "previous.keras").replace(checkpoints / "latest.keras")
    before.rename(tmp_path / "moved")
    assert call(train, *command) == 0
    assert "Resuming after epoch 1" in capsys.readouterr().out


@pytest.mark.slow
def test_killed_after_its_last_checkpoint_a_run_writes_the_rest(
    arrays, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    command = start(run, f"arrays:{arrays}")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(watch.ShowHeldOut, "on_train_end", killed)
        assert call(train, *command) == 130
    projector = run / "tensorboard" / "embedding.tsv"
    assert not projector.exists()
    assert call(train, *command) == 0
    assert results_of(run)["training"]["epochs"] == 1
    trained = open_trained(str(run))
    validation = inputs_of_split(trained.run, "validation")
    np.testing.assert_allclose(
        np.loadtxt(projector), embed_inputs(trained, validation), rtol=1e-5
    )


@pytest.mark.slow
def test_an_export_without_its_label_says_how_to_label_it(
    arrays, tmp_path, monkeypatch, capsys
):
    run, model = tmp_path / "run", tmp_path / "models" / "mine"
    assert call(train, *start(run, f"arrays:{arrays}")) == 0

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    words = ("--workdir", run, "--directory", model)
    with monkeypatch.context() as patch:
        patch.setattr(models_config, "label_version", full)
        error = refused(capsys, export, *words)
    assert f"{model}/1 is complete, but its label is not written" in error
    assert "start the same command again" not in error
    command = error.partition("names, then ")[2].strip()
    assert command.endswith(
        f"label_version --directory {model} --version 1 --label stable"
    )
    chosen = shlex.split(command.partition("label_version ")[2])
    assert call(label_version, *chosen) == 0
    assert capsys.readouterr().out == "stable: version 1\n"


def results_of(run):
    return json.loads((run / "results.json").read_text())


@pytest.mark.slow
def test_a_run_continues_only_on_its_own_data(arrays, tmp_path, capsys):
    run, checkpoints = tmp_path / "run", tmp_path / "run" / "checkpoints"
    command = start(run, f"arrays:{arrays}", "num_epochs=2")
    assert call(train, *command) == 0
    before = results_of(run)

    def write(x):
        np.savez(arrays, x=x, labels=LABELS, class_names=NAMES)

    # As if killed before the results were written: they name the old data.
    write(X + 1)
    (run / "results.json").unlink()
    with pytest.warns(match="pictures .* not drawn: .* other training exam"):
        assert call(train, *command) == 0
    assert results_of(run)["data_fingerprint"] == before["data_fingerprint"]
    # As if killed in epoch 2.
    (run / "results.json").unlink()
    (checkpoints / "previous.keras").replace(checkpoints / "latest.keras")
    error = refused(capsys, train, *command)
    assert f"arrays:{arrays} has other training examples" in error
    assert before["data_fingerprint"] in error and "put the data back" in error
    # Other images of one validation class alone.
    splits = json.loads((run / "classes.json").read_text())["splits"]
    is_held_out = np.isin(NAMES[LABELS], list(splits["validation"]))
    assert is_held_out.any() and not is_held_out.all()
    write(np.where(is_held_out[:, None], X + 1, X))
    error = refused(capsys, train, *command)
    assert f"arrays:{arrays} has other validation examples" in error
    assert before["validation_fingerprint"] in error
    write(X)
    assert call(train, *command) == 0
    after = results_of(run)
    assert after["validation_fingerprint"] == before["validation_fingerprint"]
    assert after["training"]["epochs"] == 2
    assert after["data_fingerprint"] == before["data_fingerprint"]


@pytest.mark.slow
def test_a_training_anew_has_no_earlier_results(arrays, tmp_path, monkeypatch):
    """Where the checkpoints were removed."""
    run = tmp_path / "run"
    command = start(run, f"arrays:{arrays}")
    assert call(train, *command) == 0
    assert call(evaluate, "--workdir", run) == 0
    before = results_of(run)
    shutil.rmtree(run / "checkpoints")
    seen = []
    monkeypatch.setattr(
        fit, "train_model", lambda *_: seen.append(results_of(run))
    )
    assert call(train, *command) == 1  # nothing was trained
    assert "evaluation" in before and seen == [{}]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("home", ["before", "~/before"])
def test_initial_weights_of_tested_classes(
    seed, home, arrays, tmp_path, capsys, monkeypatch
):
    """Warned of if the classes are divided in another way."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = tmp_path / "before"
    before.mkdir()
    runs = []
    for division in (0, seed):
        more = (f"division.seed={division}", f"initial_weights={home}")
        fields = words(f"arrays:{arrays}", *more)
        run = load_recipe(RECIPE, [w.partition(".")[2] for w in fields])
        runs.append((run, classes_of(run, Data(run))))
    workdirs.claim(before, RECIPE, runs[0][0])
    # Its data had another path, and is the same.
    (tmp_path / "link").symlink_to(tmp_path)
    dataset = f"arrays:{tmp_path / 'link' / arrays.name}"
    write_classes_of(before, runs[0][1] | {"dataset": dataset})
    (_, trained), (run, found) = runs
    warn_of_initial_weights(run, found)
    err = capsys.readouterr().err
    shared = set(trained["splits"]["train"]) & set(found["splits"]["test"])
    assert bool(shared) == (seed == 1)
    assert err.startswith("warning: the initial weights") == bool(shared)
    assert all(name in err for name in shared)


@pytest.mark.parametrize(
    ("field", "warned"),
    [("seed=3", False), ("folds.fold=2", True), ("folds.num_folds=3", True)],
)
def test_initial_weights_of_other_folds(field, warned, tmp_path, capsys):
    recipe = "omniglot_verification_learned_distance"
    before = ["folds.fold=1"]
    workdirs.claim(tmp_path, recipe, load_recipe(recipe, before))
    fields = [*before, field, f"initial_weights={tmp_path}"]
    warn_of_initial_weights(load_recipe(recipe, fields), None)
    err = capsys.readouterr().err
    assert ("on other folds of omniglot" in err) == warned == bool(err)


def test_a_run_keeps_to_the_data_of_its_start(arrays):
    fields = [w.removeprefix("--config.") for w in words(f"arrays:{arrays}")]
    data = Data(load_recipe(RECIPE, fields))
    state = {"epoch": 1}
    record_fingerprints(data, state)
    assert state == {
        "epoch": 1,
        "data_fingerprint": fingerprint(data),
        "validation_fingerprint": fingerprint(data, "validation"),
    }
    require_recorded_data("run", data, state)
    for name, kind in FINGERPRINTS.items():
        other = state | {name: "0123"}
        with pytest.raises(OtherDataError, match=f"has other {kind} examples"):
            require_recorded_data("run", data, other)


@pytest.mark.slow
def test_every_class_is_divided(arrays, tmp_path, capsys):
    run = tmp_path / "run"
    more = ("division.by=examples", "batches.num_per_class=2")
    assert call(train, *start(run, f"arrays:{arrays}", *more)) == 0
    printed = capsys.readouterr().out
    assert "(examples of every class divided by seed 0)" in printed
    assert "test: 20 examples of 10 classes, 10 of them in" in printed
    config = json.loads((run / "config.json").read_text())["config"]
    assert config["division"] == {"by": "examples", "seed": 0}
    data = [
        Data(load_recipe(RECIPE, [w.removeprefix("--config.") for w in some]))
        for some in (
            words(f"arrays:{arrays}", *more),
            words(f"arrays:{arrays}", *more, "division.seed=1"),
        )
    ]
    first, other = (found.split("train")[0] for found in data)
    assert first.shape == other.shape and not np.array_equal(first, other)


@pytest.mark.parametrize("has_splits", [True, False])
def test_how_the_classes_are_divided(arrays, has_splits, tmp_path, capsys):
    with np.load(arrays) as file:
        found = dict(file)
    if has_splits:
        names = ["train"] * 6 + ["validation"] * 2 + ["test"] * 2
        found["split"] = np.array(names)[
            np.unique(found["labels"], return_inverse=True)[1]
        ]
    np.savez(tmp_path / "a.npz", **found)
    name = f"arrays:{tmp_path / 'a.npz'}"
    run = load_recipe(RECIPE, [w.partition(".")[2] for w in words(name)])
    print_classes(run, classes_of(run, Data(run)))
    how = "its own splits" if has_splits else "classes divided by seed 0"
    assert f"Data: {name} ({how})\n" in capsys.readouterr().out


@pytest.mark.parametrize("more", ["division.by=examples", "division.seed=1"])
def test_another_set_with_a_name_is_not_divided(arrays, more):
    run = words(f"arrays:{arrays}", more)
    data = Data(load_recipe(RECIPE, [w.partition(".")[2] for w in run]))
    found, _ = data.of_other_set("n_digit/digits_2_instance", "test")
    expected, _ = load("n_digit/digits_2_instance", "test")
    np.testing.assert_array_equal(found, expected)
    # Data of one's own is divided as the run's.
    found, _ = data.of_other_set(f"arrays:{arrays}", "test")
    np.testing.assert_array_equal(found, data.split("test")[0])


def rename(folder):
    for number in range(6):
        path = folder / "a" / f"{number}.png"
        path.rename(path.with_name(f"renamed_{number}.png"))


def add(folder):
    for number in range(3):
        copy = folder / "b" / f"more_{number}.png"
        shutil.copy(folder / "b" / "0.png", copy)


IN_FOLDS = ("folds.num_folds=2", "folds.split=train", "folds.test_split=test")


@pytest.mark.parametrize("change", [rename, add])
@pytest.mark.parametrize("more", [(), IN_FOLDS])
def test_other_files_are_refused_if_examples_are_divided(
    change, more, tmp_path
):
    dataset = folders(tmp_path, lambda folder: None)

    def found(*fields):
        fields = words(dataset, "images.size=6", *more, *fields)
        run = load_recipe(RECIPE, [w.partition(".")[2] for w in fields])
        return classes_of(run, Data(run))

    by_class, by_example = found(), found("division.by=examples")
    workdir = tmp_path / "run"
    workdir.mkdir()
    write_classes_of(workdir, by_example)
    require_same_classes(workdir, found("division.by=examples"))
    change(tmp_path / "photos")
    with pytest.raises(ValueError, match="other examples in .* Put the") as e:
        require_same_classes(workdir, found("division.by=examples"))
    assert "\n" not in str(e.value)
    # Without the digests nothing says that the examples are the same.
    del by_example["rows"]
    write_classes_of(workdir, by_example)
    with pytest.raises(ValueError, match="other examples in .* Put the"):
        require_same_classes(workdir, found("division.by=examples"))
    assert "rows" not in by_class
    write_classes_of(workdir, by_class)
    require_same_classes(workdir, found())


@pytest.mark.parametrize("way", ["folds", "labels"])
def test_other_speakers_are_refused_if_speakers_are_divided(tmp_path, way):
    """The labels, words, stay the same."""
    fields = ["label.feature=word"]
    if way == "folds":
        fields += ["folds.group.feature=class"]
        fields += ["folds.split=all", "folds.num_folds=2"]

    def found(speakers):
        rows = ["path,label,word"]
        for speaker, word, number in itertools.product(
            speakers, ("yes", "no"), range(3)
        ):
            path = f"{speaker}_{word}_{number}.png"
            write_image(tmp_path / path, RNG.integers(0, 255, (6, 6, 3)))
            rows.append(f"{path},{speaker},{word}")
        (tmp_path / "spoken.csv").write_text("\n".join(rows))
        dataset = f"csv:{tmp_path / 'spoken.csv'}"
        options = [*words(dataset, "images.size=6"), *fields]
        options = [w.removeprefix("--config.") for w in options]
        run = load_recipe(RECIPE, options)
        return classes_of(run, Data(run))

    speakers = [f"speaker {n}" for n in range(10)]
    write_classes_of(tmp_path, found(speakers))
    require_same_classes(tmp_path, found(speakers))
    with pytest.raises(ValueError, match="divided by other names .*speaker"):
        require_same_classes(tmp_path, found([*speakers, "another"]))


@pytest.mark.slow
def test_a_claimed_run_that_did_not_train_yet_records_its_classes(
    arrays, tmp_path
):
    """A search claims the workdirs of its trials."""
    fields = [w.removeprefix("--config.") for w in words(f"arrays:{arrays}")]
    run = load_recipe(RECIPE, fields)
    workdirs.claim(tmp_path, RECIPE, run)
    fit.fit(run, RECIPE, tmp_path)
    found = json.loads((tmp_path / "classes.json").read_text())
    assert found == classes_of(run, Data(run))


def test_pictures_have_the_names(arrays):
    run = [w.removeprefix("--config.") for w in words(f"arrays:{arrays}")]
    data = Data(load_recipe(RECIPE, run))
    assert data.class_names(np.array([3, 0, 3])).tolist() == [
        *("class 3", "class 0", "class 3"),
    ]


def folders(tmp_path, change):
    """Images of eight classes, with something wrong."""
    folder = tmp_path / "photos"
    write_classes(folder, list("abcdefgh"), 6, (6, 6, 3))
    change(folder)
    return f"image_folder:{folder}"


def one_small_class(folder):
    for number in range(1, 6):
        (folder / "a" / f"{number}.png").unlink()
    # In training by the default seed.
    for name in "bcdefgh":
        (folder / name / "5.png").unlink()


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (
            one_small_class,
            ("split=all", "validation.split=all", "evaluation.splits=('all',)"),
            "the class 'a' of image_folder:.* has 1 example in all "
            r"\(a/0.png\), but config.batches.num_per_class = 3; 1 of 8",
        ),
        (
            lambda folder: [shutil.rmtree(folder / n) for n in "abc"],
            (),
            "5 classes cannot be divided.* divide examples instead.*--split",
        ),
        (
            lambda folder: (folder / "b" / "1.png").unlink(),
            ("division.by=examples",),
            "the class 'b' has 5 examples, too few for",
        ),
        (
            lambda folder: None,
            ("division.by=files",),
            "config.division.by must be classes or examples",
        ),
        (
            lambda folder: None,
            ("division.seed=-1",),
            "config.division.seed at least 0",
        ),
        (
            lambda folder: None,
            ("validation.split=dev",),
            "Unknown split 'dev' of",
        ),
        (
            lambda folder: None,
            ("data.label.feature=colour",),
            "has no label 'colour': expected one of class, name",
        ),
        (
            lambda folder: None,
            ("batches.num_classes=99",),
            "`num_classes` must be at most the number of classes",
        ),
    ],
)
def test_bad_folders(tmp_path, capsys, change, more, message):
    dataset = folders(tmp_path, change)
    run = tmp_path / "run"
    found = refused(capsys, train, *start(run, dataset, *more))

    assert re.search(message, found), found
    assert not run.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("csv:{}", "label,x\na,1\nb,two\n", "line 3: the feature 'x'"),
        ("csv:{}", "label,x\na,1\nb,\uff11.5\n", "line 3: the feature 'x'"),
        ("csv:{}", "name,x\na,1\n", "has no column label"),
        ("csv:{}", "label;x\na;1\n", "contains ';'; separate the cells by co"),
        ("csv:{}", "label\tx\na\t1\n", r"contains '\t'; separate the cells"),
        ("csv:{}", None, "There is no file"),
        ("csv:", None, "lacks a path: expected csv:PATH"),
        ("arrays:{}", "text", "is not a complete file of numpy.savez"),
        ("arrays:{}", None, "There is no file"),
        ("{}.py:data", None, "there is no file"),
        ("audio_folder:{}", "text", "is a file; expected a folder"),
        ("audio_folder:{}", None, "There is no folder"),
        ("video_folder:{}", None, "Unknown data set 'video_folder:"),
    ],
)
def test_bad_files(tmp_path, capsys, name, content, message):
    path, run = tmp_path / "mine", tmp_path / "run"
    if content is not None:
        path.write_text(content)
    found = refused(capsys, train, *start(run, name.format(path)))
    assert message in found
    assert not run.exists()


def test_arrays_with_a_damaged_header(tmp_path, capsys):
    path, run = tmp_path / "mine.npz", tmp_path / "run"
    np.savez(path, x=np.eye(4), labels=np.arange(4) % 2)
    break_headers(path)
    found = refused(capsys, train, *start(run, f"arrays:{path}"))
    assert f"{path} is not a complete file of numpy.savez" in found
    assert not run.exists()


def check(dataset, *more):
    return ["--config", RECIPE, "--check", *words(dataset, *more)]


def test_check_names_every_bad_file(tmp_path, capsys):
    def damage(folder):
        (folder / "a" / "1.png").write_bytes(b"no image")
        (folder / "b" / "2.png").write_bytes(b"")
        write_image(folder / "c" / "3.png", np.zeros((6, 7, 3)))

    dataset = folders(tmp_path, damage)
    assert call(train, *check(dataset)) == 1
    *lines, last = capsys.readouterr().err.splitlines()
    bad = "\n".join(lines)
    assert "a/1.png is not a complete JPEG or PNG" in bad
    assert "b/2.png is not a complete JPEG or PNG" in bad
    assert "c/3.png has shape (6, 7, 3), " in bad and len(lines) == 3
    assert last.startswith("error: 3 of 48 examples are bad")
    # Without a recipe, any size is good: a goal resizes.
    assert call(train, dataset, "--check") == 1
    assert "error: 2 of 48 examples" in capsys.readouterr().err
    error = refused(capsys, train, dataset, "--check", "--config.seed=1")
    assert "config.seed belongs to a recipe" in error
    assert call(train, *check(dataset, "images.size=6")) == 1
    assert "error: 2 of 48 examples" in capsys.readouterr().err


def test_check_of_a_goal_names_every_bad_file(tmp_path, capsys):
    """Also those that the goal looks at before all others."""

    def damage(folder):
        for name in ("a/0.png", "b/0.png", "c/0.png", "h/5.png"):
            (folder / name).write_bytes(b"no image")

    dataset = folders(tmp_path, damage)
    assert call(train, dataset, "--goal", "retrieve", "--check") == 1
    *lines, last = capsys.readouterr().err.splitlines()
    assert last.startswith("error: 4 of 48 examples are bad")
    assert len(lines) == 4
    for line in lines:
        assert "is not a complete JPEG or PNG" in line


def test_check_names_ten_bad_files(tmp_path, capsys):
    """For a table of paths, it also says where the paths start."""
    lines = ["path,label"]
    for number in range(12):
        name = f"{number:02}.png"
        (tmp_path / name).write_bytes(b"no image")
        lines.append(f"{name},{'ab'[number % 2]}")
    table = tmp_path / "table.csv"
    table.write_text("\n".join(lines))
    assert call(train, f"csv:{table}", "--check") == 1
    *lines, last = capsys.readouterr().err.splitlines()
    for number, line in enumerate(lines[:10]):
        assert f"{number:02}.png is not a complete JPEG or PNG" in line
    assert lines[10:] == ["and 2 more"]
    assert last == (
        "error: 12 of 12 examples are bad; the lines above name the first; "
        "paths start in the folder of the table"
    )


def test_check_names_lines_of_a_table(tmp_path, capsys):
    table = tmp_path / "table.csv"
    rows = [f"{'ab'[n // 4]},{n},{n * n}" for n in range(8)]
    table.write_text("\n".join(["label,x,y", *rows, rows[1]]))
    assert call(train, f"csv:{table}", "--check") == 0
    found = capsys.readouterr()
    assert found.err.splitlines()[1:] == ["  line 10 is line 3"]
    # Nothing but lines of text, as for a log.
    assert "\x08" not in found.out and "\x1b" not in found.out


def test_check_without_a_goal_warns_of_what_goals_refuse(tmp_path, capsys):
    def change(folder):
        write_image(folder / "c" / "3.png", np.zeros((6, 7, 3)))
        write_image(folder / "single" / "0.png", np.ones((6, 6, 3)))

    assert call(train, folders(tmp_path, change), "--check") == 0
    found = capsys.readouterr()
    assert "Read 49 examples; none is damaged." in found.out
    assert (
        "1 of 49 images has another size than the first, such as c/3.png"
        in (found.err)
    )
    assert "has one example: single; most goals need two" in found.err


def test_check_warns_of_ignored_formats(tmp_path, capsys):
    def change(folder):
        for name in (
            *("a/1.webp", "a/2.WEBP", "b/1.webp", "c/1.tiff"),
            *("c/Thumbs.db", "c/notes.txt", "c/.2.tiff", "1.gif"),
        ):
            (folder / name).write_bytes(b"")

    dataset = folders(tmp_path, change)
    expected = [
        "warning: 1 file of c ends in .tiff and is ignored; convert it to JPEG "
        "or PNG",
        "warning: 3 files of 2 classes (a, b) end in .webp and are ignored; "
        "convert them to JPEG or PNG",
    ]
    for more in ((), ("--goal", "retrieve", "--split", "examples")):
        assert call(train, dataset, "--check", *more) == 0
        assert capsys.readouterr().err.splitlines() == expected


def test_check_warns_of_ignored_recordings_in_splits(tmp_path, capsys):
    for split in ("train", "test"):
        for name in "ab":
            for number in range(2):
                path = tmp_path / "v" / split / name / "x" / f"{number}.wav"
                write_wav(path, RNG.integers(-9999, 9999, 4000))
    for number in range(9):
        (tmp_path / f"v/test/b/x/{number}.mp3").write_bytes(b"")
    assert call(train, f"audio_folder:{tmp_path / 'v'}", "--check") == 0
    assert (
        "warning: 9 files of test/b end in .mp3 and are ignored; convert them "
        "to WAV or FLAC\n"
    ) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("least", "largest", "is_warned"),
    [(0, 255, False), (-1, 255, True), (0, 256, True), (-0.5, 0.5, True)],
)
def test_check_warns_of_other_values_than_pixels(
    tmp_path, capsys, least, largest, is_warned
):
    x = RNG.uniform(least, largest, (48, 6, 6, 3)).astype("float32")
    x[0, 0, 0, 0], x[1, 0, 0, 0] = least, largest
    np.savez(tmp_path / "x.npz", x=x, labels=np.arange(48) % 6)
    assert call(train, f"arrays:{tmp_path / 'x.npz'}", "--check") == 0
    text = f"warning: images have values from {least:g} to {largest:g}, expec"
    assert (text in capsys.readouterr().err) == is_warned


@pytest.mark.parametrize(
    ("dtype", "least", "largest", "is_warned"),
    [
        ("uint16", 0, 65535, True),
        ("int16", -100, 155, True),
        ("uint8", 0, 255, False),
        ("float64", 0, 255, False),
    ],
)
def test_other_values_than_pixels_are_warned_of_when_data_is_read(
    dtype, least, largest, is_warned, tmp_path
):
    x = np.full((60, 6, 6, 3), least, dtype)
    x[::2] = largest
    np.savez(tmp_path / "x.npz", x=x, labels=LABELS)
    fields = [w.partition(".")[2] for w in words(f"arrays:{tmp_path}/x.npz")]
    data = Data(load_recipe(RECIPE, fields))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data.split("train")
        data.split("test")
    text = f"images have values from {least} to {largest}, expected pixels"
    found = [str(one.message).startswith(text) for one in caught]
    assert found == [True, True] * is_warned


def test_check_with_a_goal_warns_once_of_other_values(tmp_path, capsys):
    """The check warns, and the training that it tries."""
    x = RNG.integers(0, 65536, (60, 8, 8, 3)).astype("uint16")
    x[:, 0, 0], x[:, 1, 1] = 0, 65535
    np.savez(tmp_path / "x.npz", x=x, labels=LABELS)
    start = [f"arrays:{tmp_path / 'x.npz'}", "--goal", "retrieve", "--check"]
    with pytest.warns(UserWarning) as caught:
        assert call(train, *start) == 0
    texts = {str(one.message) for one in caught}
    (text,) = [text for text in texts if text.startswith("images have")]
    assert "values from 0 to 65535, expected pixels of 0 to 255" in text
    assert "images have" not in capsys.readouterr().err


def test_check_warns_of_channels_first_and_of_unknown(tmp_path, capsys):
    names = np.array(["a", "b", "c", "d", "e", "unknown"]).repeat(8)
    x = RNG.uniform(0, 255, (48, 3, 6, 8)).astype("float32")
    np.savez(tmp_path / "x.npz", x=x, labels=names)
    dataset = f"arrays:{tmp_path / 'x.npz'}"
    for more in ((), ("--goal", "retrieve")):
        with pytest.warns(UserWarning) as caught:
            assert call(train, dataset, "--check", *more) == 0
        texts = {str(one.message) for one in caught}
        assert len(texts) == 2, "the command prints each once"
        first, second = sorted(texts)
        assert first.startswith("examples of shape (3, 6, 8) look like")
        assert second.startswith("the class 'unknown' cannot be enrolled")


@pytest.mark.slow
def test_a_training_warns_of_unknown_while_it_can_be_renamed(tmp_path):
    names = np.array(["a", "b", "c", "d", "e", "unknown"]).repeat(8)
    x = RNG.normal(size=(48, 4)).astype("float32")
    np.savez(tmp_path / "x.npz", x=x, labels=names)
    start = [f"arrays:{tmp_path / 'x.npz'}", "--goal", "retrieve"]
    start += ["--workdir", tmp_path / "run", "--config.steps_per_epoch=1"]
    start += ["--config.num_epochs=1", "--config.deterministic=False"]
    with pytest.warns(UserWarning, match="'unknown' cannot be enrolled"):
        assert call(train, *start) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(train, *start) == 0


def test_check_with_a_goal_refuses_what_its_training_refuses(tmp_path, capsys):
    def single(folder):
        write_image(folder / "single" / "0.png", np.ones((6, 6, 3)))

    goal = ["--goal", "retrieve"]
    for number, (change, message) in enumerate(
        [
            (single, "classes with one example: single"),
            (one_small_class, "classes with one example"),
        ]
    ):
        dataset = folders(tmp_path / f"{number}", change)
        assert call(train, dataset, *goal, "--check") == 1
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("error: ") and message in error
        run = ["--workdir", tmp_path / "run", *QUICK]
        assert refused(capsys, train, dataset, *goal, *run).strip() == error
    table = tmp_path / "table.csv"
    rows = [
        f"{n % 6},{n},{n * n},{['train', 'val'][n // 24]}" for n in range(48)
    ]
    table.write_text("\n".join(["label,x,y,split", *rows]))
    error = refused(capsys, train, f"csv:{table}", *goal, "--check")
    assert "validation" in error
    # An image of another size, which is not among those that are looked at.
    dataset = folders(tmp_path / "sizes", lambda folder: None)
    photos = tmp_path / "sizes" / "photos"
    for number in range(200):
        write_image(photos / "a" / f"{number}.png", np.full((6, 6, 3), number))
    write_image(photos / "a" / "101.png", np.zeros((6, 7, 3)))
    assert call(train, dataset, *goal, "--check", "--split", "examples") == 1
    assert "a/101.png has shape (6, 7, 3)" in capsys.readouterr().err
    write_image(photos / "a" / "101.png", np.full((6, 6, 3), 255))
    capsys.readouterr()
    assert call(train, dataset, *goal, "--check", "--split", "examples") == 0
    found = capsys.readouterr()
    assert "the goal retrieve can use all." in found.out


@pytest.mark.slow
def test_check_of_good_data(tmp_path, capsys, arrays):
    for speaker in "abcdef":
        for number in range(3):
            samples = RNG.integers(-9999, 9999, 500 + number)
            write_wav(tmp_path / "voices" / speaker / f"{number}.wav", samples)
    voices = f"audio_folder:{tmp_path / 'voices'}"
    assert call(train, voices, "--check") == 0
    assert "Read 18 examples; none is damaged" in capsys.readouterr().out
    assert call(train, *check(f"arrays:{arrays}")) == 0
    assert "Read 60 examples; all can be used." in capsys.readouterr().out
    path = tmp_path / "voices" / "a" / "0.wav"
    path.write_bytes(path.read_bytes()[:-4])
    error = refused(capsys, train, voices, "--check")
    assert "a/0.wav announces 500 samples" in error


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("evaluation.k=(0,)", "`k` must be an integer of at least 1"),
        ("batches.num_classes=500", "config.batches, of the training exampl"),
        ("encoder.dim=0", "`dim` must be an integer of at least 1"),
        ("optimizer.name=Foo", "Foo"),
        ("monitor=nosuch", "config.monitor"),
        ("strategy=foo", "config.strategy"),
    ],
)
def test_check_refuses_what_a_training_would(
    arrays, capsys, override, expected
):
    command = check(f"arrays:{arrays}", override)
    assert expected in refused(capsys, train, *command)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("batches.num_classes=500", "config.batches, of the training exampl"),
        ("validation.num_classes=50", "config.validation does not fit"),
        ("validation.num_episodes=0", "config.validation does not fit"),
        ("objective.beta=-1", "`beta` must be a finite number of at least 0"),
        ("monitor=nosuch", "config.monitor"),
        ("strategy=foo", "config.strategy"),
    ],
)
def test_check_of_a_goal_refuses_what_its_training_would(
    arrays, capsys, override, expected
):
    goal = f"arrays:{arrays}", "--goal", "few_shot", "--check"
    error = refused(capsys, train, *goal, f"--config.{override}")
    assert expected in error


def test_names_of_classes_are_those_of_the_other_commands(tmp_path):
    """Also of factors, and of a function that knows names."""
    table = tmp_path / "rows.csv"
    rows = ["x,y,label_colour,label_shape,split"]
    for split in ("train", "validation", "test"):
        rows += [f"1,{n},red,{'ab'[n % 2]},{split}" for n in range(4)]
    table.write_text("\n".join(rows) + "\n")
    file = tmp_path / "numbers.py"
    file.write_text(
        "def load(split, label=None):\n"
        "    names = ['cat', 'dog'] * 3\n"
        "    labels = names if label == 'class' else [0, 1] * 3\n"
        "    return [[float(n)] for n in range(6)], labels\n"
    )
    for dataset, expected in [
        (f"csv:{table}", {"red,a": 2, "red,b": 2}),
        (f"{file}:load", {"cat": 3, "dog": 3}),
    ]:
        fields = [word.partition(".")[2] for word in words(dataset)]
        run = load_recipe(RECIPE, fields)
        assert classes_of(run, Data(run))["splits"]["train"] == expected
        assert {*inputs_of_split(run, "train").labels} == {*expected}


def test_names_of_rows_of_a_function_of_one_split(tmp_path):
    """They differ between splits, unless the function knows names."""
    file = tmp_path / "rows.py"
    file.write_text(
        "def plain(split):\n"
        "    return [[1.0], [2.0]], [0, 1]\n"
        "def named(split, label=None):\n"
        "    names = [split + 'A', split + 'B']\n"
        "    return [[1.0], [2.0]], names if label == 'name' else [0, 1]\n"
        "def other(split, label=None):\n"
        "    return [[1.0], [2.0]], [7, 7] if label == 'speaker' else [0, 0]\n"
        "def strict(split, label=None):\n"
        "    return [[1.0], [2.0]], {None: [0, 1], 'class': [0, 1]}[label]\n"
    )
    for function, expected in [
        ("plain", ["test/0", "test/1"]),
        ("named", ["testA", "testB"]),
        ("other", ["test/0", "test/1"]),
        ("strict", ["test/0", "test/1"]),
    ]:
        fields = words(f"{file}:{function}")
        run = load_recipe(RECIPE, [word.partition(".")[2] for word in fields])
        assert inputs_of_split(run, "test").names.tolist() == expected


def test_check_names_copies(tmp_path, capsys):
    def copy(folder):
        for source, copied in [("a/1", "a/2"), ("a/1", "c/3")]:
            shutil.copy(folder / f"{source}.png", folder / f"{copied}.png")

    dataset = folders(tmp_path, copy)
    assert call(train, dataset, "--check") == 0
    summary, *pairs = capsys.readouterr().err.splitlines()
    assert summary.startswith(
        "warning: copies of other examples: 2, 1 in another class; remove them"
    )
    # The copy in another class comes first.
    assert pairs == ["  c/3.png is a/1.png (a and c)", "  a/2.png is a/1.png"]


def test_check_of_bad_files_also_warns(tmp_path, capsys):
    """The warnings do not wait for a repair of the file."""

    def change(folder):
        (folder / "a" / "1.png").write_bytes(b"no image")
        shutil.copy(folder / "a" / "2.png", folder / "c" / "3.png")
        write_image(folder / "single" / "0.png", np.ones((6, 6, 3)))

    dataset = folders(tmp_path, change)
    assert call(train, dataset, "--check") == 1
    single, copies, copy, bad, last = capsys.readouterr().err.splitlines()
    assert "1 of 9 classes has one example: single" in single
    assert copies.startswith("warning: copies of other examples: 1, 1 in anoth")
    assert copy == "  c/3.png is a/2.png (a and c)"
    assert "a/1.png is not a complete JPEG or PNG" in bad
    assert last == ("error: 1 of 49 examples is bad; the line above names it")


def test_check_names_copies_of_training_and_test(tmp_path, capsys):
    x = np.arange(12.0, dtype="float32").reshape(6, 2)
    rows = {
        "x": np.concatenate([x, x[:1], 10 + x]),
        "labels": np.repeat([0, 1, 0, 1], [3, 3, 1, 6]),
        "split": np.repeat(["train", "validation", "test"], [6, 1, 6]),
    }
    np.savez(tmp_path / "rows.npz", **rows)
    words_of_it = words(f"arrays:{tmp_path / 'rows.npz'}")
    # The recipe needs more classes; copies are named first.
    assert call(train, "--config", RECIPE, "--check", *words_of_it) == 1
    error = capsys.readouterr().err
    assert "copies of other examples: 2, 2 in another split" in error
    assert "validation 0 is train 0 (train and validation)" in error


def test_check_of_data_names_copies_of_other_splits(tmp_path, capsys):
    folder = tmp_path / "photos"
    for split in ("train", "validation", "test"):
        write_classes(folder / split, list("ab"), 3, (6, 6, 3))
    # Files of one name in two splits, which are two files.
    assert call(train, f"image_folder:{folder}", "--check") == 0
    same = capsys.readouterr().err
    assert "12 in another split" in same
    assert "test/a/0.png is train/a/0.png (train and test)" in same


FUNCTION_OF_A_SPLIT = """
import numpy as np


def data(split):
    number = ["train", "validation", "test"].index(split)
    x = np.arange(8.0).reshape(4, 2) + 100 * number
    if split == "test":
        x[0] = [0, 1]  # as in train
    return x, [0, 0, 1, 1]
"""


def test_check_reads_every_split_of_a_function(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(FUNCTION_OF_A_SPLIT)
    assert call(train, f"{tmp_path / 'mine.py'}:data", "--check") == 0
    found = capsys.readouterr()
    assert "Read 12 examples" in found.out
    assert "test 0 is train 0 (train and test)" in found.err


def test_check_of_a_named_set(capsys, monkeypatch):
    for split, (_, *others) in [*SPLITS.items()]:
        monkeypatch.setitem(SPLITS, split, (200, *others))
    assert call(train, "colour_orientation", "--check") == 0
    assert "none is damaged" in capsys.readouterr().out


@pytest.mark.slow
def test_evaluate_refuses_rows_that_moved_into_the_test(tmp_path, capsys):
    """The rows of each class are sorted anew, with the same names."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 10)
    x = rng.normal(size=(60, 5)).astype("float32")
    file, run = tmp_path / "rows.npz", tmp_path / "run"
    np.savez(file, x=x, labels=labels)
    dataset = words(f"arrays:{file}", "division.by=examples")
    start = ["--config", RECIPE, "--workdir", run, *dataset]
    assert call(train, *start) == 0
    assert call(evaluate, "--workdir", run) == 0
    np.savez(file, x=x.reshape(6, 10, 5)[:, ::-1].reshape(60, 5), labels=labels)
    error = refused(capsys, evaluate, "--workdir", run)
    assert "has other training examples than the run" in error
    # As in a run that was killed, whose only record is its checkpoint.
    (run / "results.json").unlink()
    error = refused(capsys, evaluate, "--workdir", run)
    assert "has other training examples than the run" in error
    assert not (run / "results.json").exists()
    np.savez(file, x=x, labels=labels)
    assert call(evaluate, "--workdir", run) == 0


def test_check_names_recordings_without_features(tmp_path, capsys):
    samples = np.tile(np.arange(-200, 200), 10)
    write_wav(tmp_path / "voices" / "ann" / "1.wav", samples)
    write_wav(tmp_path / "voices" / "bob" / "1.wav", 0 * samples)
    write_wav(tmp_path / "voices" / "bob" / "2.wav", samples[:50])
    assert call(train, f"audio_folder:{tmp_path / 'voices'}", "--check") == 1
    single, silent, short, last = capsys.readouterr().err.splitlines()
    assert "1 of 2 classes has one example: ann" in single
    assert silent.startswith("bob/1.wav: An utterance has no speech")
    assert short.startswith("bob/2.wav: A recording is too short for a frame")
    assert last.startswith("error: 2 of 3 examples are bad")


def test_recordings_of_a_low_rate(tmp_path, capsys):
    """Such as of a sensor. A recipe may still take them."""
    for speaker in "abcdef":
        for number in range(3):
            samples = RNG.integers(-9999, 9999, 4000)
            path = tmp_path / "sensors" / speaker / f"{number}.wav"
            write_wav(path, samples, 1000)
    dataset = f"audio_folder:{tmp_path / 'sensors'}"
    assert call(train, dataset, "--check") == 0
    out, err = capsys.readouterr()
    text = "the recordings have 1000 samples per second; a goal takes"
    assert err.count("warning: ") == 1 and text in err
    assert "Read 18 examples; none is damaged" in out
    goal = dataset, "--goal", "verify"
    assert text in refused(capsys, train, *goal, "--workdir", tmp_path / "run")
    assert call(train, *goal, "--check") == 1
    assert f"error: {text}" in capsys.readouterr().err


def test_a_workdir_is_needed_to_train(arrays, capsys):
    with pytest.raises(SystemExit):
        train.main(["--config", RECIPE, *words(f"arrays:{arrays}")])
    assert "are required: --workdir" in capsys.readouterr().err
