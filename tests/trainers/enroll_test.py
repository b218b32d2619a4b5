import csv
import json
import pathlib
import shutil
import threading

import numpy as np
import pytest

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets.divide_classes import divide_classes
from embeddings_tf.ops.locked_folder import locked_folder
from tests.datasets.image_folders import write_image
from tests.trainers.colours import colour_of
from tests.trainers.colours import write_colours
from tests.trainers.colours import write_plane
from tests.trainers.colours import write_run
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import enroll
from trainers import identify
from trainers import nearest
from trainers import verify
from trainers.data.classes import classes_of
from trainers.data.classes import write_classes
from trainers.data.data import Data
from trainers.trained.galleries import fitted_typicality
from trainers.trained.galleries import require_promise
from trainers.trained.galleries import rows_to_enroll
from trainers.trained.inputs import Inputs
from trainers.trained.trained import open_trained

PARTS = divide_classes(f"c{number:02}" for number in range(40))
TEST, HELD_OUT = PARTS["test"], PARTS["validation"]
SHORT = ("--split", "test", "--false-accept-rate", "0.25")


def test_the_classes_to_enroll_must_not_be_empty():
    names = np.array(["a", "b", "a"])
    found = Inputs(np.zeros((3, 2)), names, np.arange(3))
    with pytest.raises(ValueError, match="--classes is empty; name at least"):
        rows_to_enroll(found, [], None)
    assert rows_to_enroll(found, ["a"], None).tolist() == [0, 2]
    assert rows_to_enroll(found, None, None).tolist() == [0, 1, 2]


def contents(path):
    with np.load(path) as file:
        return dict(file)


@pytest.fixture
def gallery(colours, tmp_path):
    """A gallery of four classes, with two examples each."""
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += [colours / "photos", *SHORT, "--examples-per-class", 2]
    assert call(enroll, *words, "--classes", *TEST[:4]) == 0
    return tmp_path / "g.npz"


def test_a_new_gallery(gallery, colours, capsys):
    found = contents(gallery)
    assert found["labels"].tolist() == [
        n for n in sorted(TEST[:4]) for _ in "ab"
    ]
    for row, label in enumerate(found["labels"]):
        np.testing.assert_allclose(
            found["embeddings"][row], colour_of(label, row % 2) * 0.2, rtol=1e-5
        )
        path = colours / "photos" / label / f"{row % 2}.png"
        assert found["names"][row] == str(path)
    assert set(found["calibration_labels"]) == set(HELD_OUT)


def test_the_picture_has_the_scores_that_set_the_threshold(
    colours, tmp_path, monkeypatch
):
    drawn = []
    monkeypatch.setattr(
        "embeddings_tf.viz.score_histogram_figure",
        lambda groups, threshold, **_: drawn.append((groups, threshold)),
    )
    monkeypatch.setattr("embeddings_tf.viz.save_figure", lambda *_: "a.png")
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += [colours / "photos", *SHORT, "--examples-per-class", 2]
    assert call(enroll, *words, "--classes", *TEST[:4]) == 0
    (((scores,), threshold),) = [(g.values(), t) for g, t in drawn]
    count = len(HELD_OUT)
    assert scores.shape == (count * 6,)
    # Split conformal: the mean accepted share, with one class more as 1.
    shares = (scores.reshape(count, 6) >= threshold).mean(axis=1)
    assert (1 + shares.sum()) / (count + 1) <= 0.25
    assert call(enroll, "--gallery", tmp_path / "g.npz", "--no-threshold") == 0
    assert len(drawn) == 1, "without a threshold there is nothing to draw"


def test_one_calibration_class_is_named_in_the_singular(capsys):
    """One of two exchangeable classes: a half."""
    require_promise({"a"}, None)
    line = "1 class that is not enrolled can promise a false-accept rate of 0.5"
    assert capsys.readouterr().out.startswith(line)
    with pytest.raises(ValueError, match="0.5 with 1 calibration class. Take"):
        require_promise({"a"}, 0.1)


def test_the_printed_rate_can_be_typed(capsys):
    """1 / 3 is rounded up."""
    require_promise({"a", "b"}, None)
    words = capsys.readouterr().out.split()
    rate = float(words[words.index("rate") + 2])
    assert rate > 1 / 3
    require_promise({"a", "b"}, rate)


def test_adding_and_removing(gallery, colours, capsys):
    before = contents(gallery)
    capsys.readouterr()
    words = ["--gallery", gallery, colours / "photos", "--split", "test"]
    assert call(enroll, *words, "--classes", TEST[4], TEST[4]) == 0
    out = capsys.readouterr().out
    assert "14 examples of 5 classes" in out and "at most 25 %" in out
    threshold = json.loads(str(contents(gallery)["settings"]))["threshold"]
    assert f"Unknown below log_evidence {threshold:.6g}: " in out
    twice = ["--remove", TEST[4], TEST[4]]
    assert call(enroll, "--gallery", gallery, *twice) == 0
    after = contents(gallery)
    assert after.keys() == before.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_a_rate_that_nobody_chose_follows_the_classes(
    colours, tmp_path, capsys
):
    """From N calibration classes one is enrolled: 1 / N instead of 1 / (N + 1).

    With more calibration classes, the rate of a gallery falls again.
    """
    path, count = tmp_path / "g.npz", len(HELD_OUT)
    words = ["--gallery", path, colours / "photos"]
    one = ["--split", "test", "--classes", TEST[0]]
    run = ["--workdir", colours / "run"]
    assert call(enroll, *run, *words, *one) == 0
    assert rate_of(path) == pytest.approx(1 / (count + 1))
    capsys.readouterr()
    next_one = ["--split", "validation", "--classes", HELD_OUT[0]]
    assert call(enroll, *words, *next_one) == 0
    assert rate_of(path) == pytest.approx(1 / count)
    assert f"{count - 1} classes that are not" in capsys.readouterr().out
    many = write_colours(tmp_path / "many", 12, first=100)
    gallery = ["--gallery", path]
    assert call(enroll, *gallery, "--calibration", many) == 0
    assert rate_of(path) == pytest.approx(1 / 13)
    assert call(enroll, *gallery, "--false-accept-rate", 0.5) == 0
    assert call(enroll, *gallery, "--calibration", many) == 0
    assert rate_of(path) == 0.5


def rate_of(path):
    settings = json.loads(str(contents(path)["settings"]))
    return settings["calibration"]["false_accept_rate"]


def test_few_calibration_examples_cannot_check_inputs(
    colours, tmp_path, capsys
):
    """The threshold of the check would have half of 48 examples."""
    path = tmp_path / "g.npz"
    words = ["--workdir", colours / "run", "--gallery", path, *SHORT]
    assert call(enroll, *words, colours / "photos", "--classes", TEST[0]) == 0
    assert not [name for name in contents(path) if "typicality" in name]
    lines = capsys.readouterr().out.splitlines()
    (line,) = [
        line
        for line in lines
        if line.startswith("Inputs are not checked: 24 examples")
    ]
    # The command has no argument `refused`.
    assert line.endswith(
        "it needs 99, in half of the classes. Name more examples with "
        "--calibration, or leave the check out with --no-input-check."
    )
    # 99 of each half; the reader named 48.
    assert lines[lines.index(line) + 1] == (
        "The check needs about 198 calibration examples, and there are 48. "
        "Inputs such as noise may be accepted."
    )


def test_more_examples_are_not_asked_for_where_they_cannot_help(capsys):
    """Recordings are never checked."""
    lengths = np.arange(100, 160)
    recordings = Utterances(np.ones(lengths.sum(), "float32"), lengths)
    labels = np.arange(60) // 2
    assert fitted_typicality(Inputs(recordings, labels, labels)) is None
    out = capsys.readouterr().out
    assert "Inputs are not checked: " in out and "check needs about" not in out
    assert out.endswith("\nInputs such as noise may be accepted.\n")


def test_inputs_unlike_the_calibration_examples_are_unknown(
    colours, tmp_path, capsys
):
    """The photos are of one colour; noise is not like them."""
    path, words = tmp_path / "g.npz", ["--workdir", colours / "run"]
    words += ["--gallery", path, colours / "photos", *SHORT]
    many = write_colours(tmp_path / "many", 80, first=100)
    words += ["--calibration", many, "--examples-per-class", 2]
    assert call(enroll, *words) == 0
    out = capsys.readouterr().out
    assert "Unknown, too: inputs that do not look like" in out
    assert "about 1 %" in out and "not checked" not in out
    found = json.loads(str(contents(path)["settings"]))["typicality"]
    # Half of 80 classes of 6 images each.
    assert found["report"]["num_held_out"] == 40 * 6
    noise = np.random.default_rng(0).integers(0, 256, (4, 5, 3))
    write_image(tmp_path / "noise.png", noise)
    photo = colours / "photos" / sorted(TEST)[0] / "0.png"
    asked = [photo, tmp_path / "noise.png", "--gallery", path]
    output = tmp_path / "answers.csv"
    assert call(identify, *asked, "--output", output) == 0
    out = capsys.readouterr().out
    assert "1 of 2 inputs does not look like the calibration examples" in out
    first, second = csv.DictReader(output.read_text().splitlines())
    assert first["typical"] == "True" and first["answer"] == sorted(TEST)[0]
    assert second["typical"] == "False" and second["answer"] == "unknown"
    (line,) = [row for row in out.splitlines() if "noise.png" in row][:1]
    assert line.endswith("rejected, the input is not typical")
    # It stays when classes change, and goes with the flag.
    assert call(enroll, "--gallery", path, "--remove", TEST[0]) == 0
    assert "typicality_mean" in contents(path)
    assert call(enroll, "--gallery", path, "--no-input-check") == 0
    assert "typicality_mean" not in contents(path)
    assert "Unknown, too" not in capsys.readouterr().out.rpartition("Wrote")[2]


def test_no_threshold_removes_the_threshold(gallery, colours, capsys):
    """Enrollment of all calibration classes would be refused with it."""
    words = ["--gallery", gallery, "--no-threshold"]
    photos = [colours / "photos", "--split", "validation"]
    for more, count in (([], 4), (photos, 4 + len(HELD_OUT))):
        assert call(enroll, *words, *more) == 0
        assert "No threshold" in capsys.readouterr().out
        found = contents(gallery)
        assert json.loads(str(found["settings"]))["threshold"] is None
        assert "calibration_labels" not in found
        assert len(set(found["labels"])) == count


def test_files_of_one_class(gallery, colours):
    files = sorted((colours / "photos" / TEST[5]).iterdir())
    words = ["--gallery", gallery, *files, "--class", "a new one"]
    assert call(enroll, *words) == 0
    assert contents(gallery)["labels"].tolist()[-6:] == ["a new one"] * 6


def test_names_that_look_equal_are_one_name(gallery, colours):
    """As in data: é, and e with an accent of its own."""
    name, other = "\u00e9", "e\u0301"
    photo = colours / "photos" / TEST[5] / "0.png"
    words = ["--gallery", gallery, photo, "--class", other]
    assert call(enroll, *words, "--classes", other, name) == 0
    assert contents(gallery)["labels"].tolist()[-1] == name
    assert call(enroll, "--gallery", gallery, "--remove", other, name) == 0
    assert name not in contents(gallery)["labels"]


def test_a_gallery_is_changed_from_python(gallery, colours, tmp_path, capsys):
    """The keyword arguments are the flags, with their defaults."""
    photos, other = str(colours / "photos"), tmp_path / "other.npz"
    enroll.enroll(
        str(other),
        [photos],
        str(colours / "run"),
        split="test",
        classes=TEST[:4],
        examples_per_class=2,
        false_accept_rate=0.25,
    )
    assert other.read_bytes() == gallery.read_bytes()
    enroll.enroll(str(other), remove=[TEST[0]], threshold=False)
    assert set(contents(other)["labels"]) == set(TEST[1:4])
    with pytest.raises(ValueError, match="name what to enroll"):
        enroll.enroll(str(other))


def test_a_repeated_flag_adds_names():
    words = ["--gallery", "g.npz", "--remove", "1", "--remove", "01", "2"]
    words += ["--classes", "a", "b", "--classes=-c", "--remove=-d"]
    found = enroll.parser().parse_args(words)
    assert found.remove == ["1", "01", "2", "-d"]
    assert found.classes == ["a", "b", "-c"]


def test_a_file_is_enrolled_once(gallery, colours, monkeypatch, capsys):
    """Under its absolute path and under a path from another folder."""
    before = contents(gallery)
    monkeypatch.chdir(colours / "photos" / TEST[0])
    words = ["--gallery", gallery, "0.png", "5.png", "--class"]
    assert call(enroll, *words, TEST[0]) == 0
    assert "Replaced 1 example enrolled before." in capsys.readouterr().out
    after = contents(gallery)
    assert len(after["names"]) == len(before["names"]) + 1
    np.testing.assert_array_equal(
        after["embeddings"][:-1], before["embeddings"]
    )
    content = gallery.read_bytes()
    message = refused(capsys, enroll, *words, TEST[1])
    assert repr(TEST[0]) in message and repr(TEST[1]) in message
    assert gallery.read_bytes() == content


def test_rows_of_other_data_are_other_examples(tmp_path, monkeypatch):
    """Rows have the names 0, 1, ... in every file of arrays."""
    rows = write_plane(tmp_path / "run", tmp_path / "a.npz")
    monkeypatch.chdir(tmp_path)
    for name in map(str, range(rows)):  # files with the names of rows
        pathlib.Path(name).write_text("")
    shutil.copy("a.npz", "b.npz")
    words = ["--workdir", "run", "--gallery", "g.npz", "--no-threshold"]
    for data, count in (
        ("a.npz", rows),
        ("arrays:a.npz", rows),
        (tmp_path / "a.npz", rows),
        ("b.npz", 2 * rows),
    ):
        assert call(enroll, *words, data) == 0
        assert len(contents("g.npz")["names"]) == count


@pytest.mark.parametrize("is_absolute", [False, True])
def test_rows_are_found_after_a_move(
    is_absolute, tmp_path, monkeypatch, capsys
):
    """Absolute paths are found by links."""
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    count = write_plane(pathlib.Path("run"), pathlib.Path("a.npz"))
    words = ["--workdir", "run", "--gallery", "g.npz", "--no-threshold"]
    data = tmp_path / "a" / "a.npz" if is_absolute else "a.npz"
    assert call(enroll, *words, data) == 0
    (tmp_path / "a").rename(tmp_path / "b")
    if is_absolute:
        (tmp_path / "a").symlink_to(tmp_path / "b")
    monkeypatch.chdir(tmp_path / "b")
    before = contents("g.npz")
    capsys.readouterr()
    assert call(identify, "--gallery", "g.npz", "a.npz") == 0
    out = capsys.readouterr().out
    assert f"{count} inputs are examples of the gallery themselves" in out
    assert call(enroll, *words, "arrays:a.npz") == 0
    assert f"Replaced {count} examples" in capsys.readouterr().out
    after = contents("g.npz")
    assert after["names"].tolist() == before["names"].tolist()


def test_a_gallery_that_was_moved_behind_a_link(colours, tmp_path, monkeypatch):
    """Its paths start where it was made, where the link is now."""
    photos = colours / "photos"
    shutil.copytree(photos / TEST[0], tmp_path / "new" / TEST[0])
    shutil.copytree(colours / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    words = ["--gallery", "g.npz", "--no-threshold"]
    assert call(enroll, *words, "--workdir", "run", "new") == 0
    store = tmp_path / "store" / "ab"
    store.mkdir(parents=True)
    (tmp_path / "g.npz").rename(store / "g.npz")
    (tmp_path / "g.npz").symlink_to("store/ab/g.npz")
    asked = [f"new/{TEST[0]}/0.png", "--k", 1, "--output", "a.csv"]
    assert call(nearest, "--gallery", "g.npz", *asked) == 0
    (row,) = csv.DictReader((tmp_path / "a.csv").read_text().splitlines())
    assert float(row["distance"]) > 0, "another image"
    assert call(enroll, *words, photos / TEST[1], "--class", "b") == 0
    names = contents(store / "g.npz")["names"].tolist()
    assert f"new/{TEST[0]}/0.png" in names


def test_a_gallery_behind_a_link(colours, tmp_path, monkeypatch, capsys):
    """The link stays. Paths and the lock are of the folder of the gallery.

    The gallery is made through the link, which has no target at first.
    """
    shutil.copytree(colours / "photos" / TEST[0], tmp_path / "a" / TEST[0])
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "g.npz"
    link.symlink_to("../a/g.npz")
    monkeypatch.chdir(tmp_path)
    words = ["--workdir", colours / "run", "--gallery", link, "--no-threshold"]
    assert call(enroll, *words, f"a/{TEST[0]}", "--class", "first") == 0
    real = tmp_path / "a" / "g.npz"
    names = contents(real)["names"].tolist()
    assert names == [f"{TEST[0]}/{n}.png" for n in range(6)]
    other = colours / "photos" / TEST[1]
    assert call(enroll, *words, other, "--class", "second") == 0
    for gallery in (link, real):
        capsys.readouterr()
        asked = [f"a/{TEST[0]}/0.png", "--k", 1, "--output", "a.csv"]
        assert call(nearest, "--gallery", gallery, *asked) == 0
        (row,) = csv.DictReader((tmp_path / "a.csv").read_text().splitlines())
        assert float(row["distance"]) > 0, "another image"
    second = threading.Thread(
        target=call, args=(enroll, *words, "--remove", "second")
    )
    with locked_folder(real.parent):
        second.start()
        second.join(1)
        assert second.is_alive()
    second.join()
    assert set(contents(real)["labels"]) == {"first"}
    assert link.is_symlink() and list(link.parent.iterdir()) == [link]


def test_another_calibration(gallery, colours, tmp_path):
    others = tmp_path / "others"
    for name in TEST[4:8]:
        shutil.copytree(colours / "photos" / name, others / name)
    words = ["--gallery", gallery, "--calibration", others]
    assert call(enroll, *words, "--false-accept-rate", 0.2) == 0
    assert set(contents(gallery)["calibration_labels"]) == set(TEST[4:8])


def test_another_rate_keeps_the_calibration_examples(
    gallery, colours, tmp_path, capsys
):
    """Also of classes that are enrolled, and may be removed again."""
    others = tmp_path / "others"
    for name in TEST[4:8]:
        shutil.copytree(colours / "photos" / name, others / name)
    words = ["--gallery", gallery, "--false-accept-rate"]
    assert call(enroll, *words, 0.2, "--calibration", others) == 0
    shutil.rmtree(others)
    before = contents(gallery)
    one = [colours / "photos", "--classes", TEST[4], "--split", "test"]
    assert "at least 1 / (classes + 1)" in refused(
        capsys, enroll, *words, 0.2, *one
    )
    assert call(enroll, *words, 0.3, *one) == 0
    after = contents(gallery)
    for name in ("calibration_labels", "calibration_embeddings"):
        np.testing.assert_array_equal(after[name], before[name])
    assert call(enroll, *words, 0.2, "--remove", TEST[4]) == 0
    rates = [
        json.loads(str(found["settings"]))["calibration"]["false_accept_rate"]
        for found in (before, after, contents(gallery))
    ]
    assert rates == [0.2, 0.3, 0.2]


def test_a_calibration_that_is_too_small_can_be_replaced(
    gallery, colours, capsys
):
    """Most calibration classes are enrolled: two are left."""
    photos = colours / "photos"
    words = [
        "--gallery",
        gallery,
        photos,
        "--classes",
        *HELD_OUT[:6],
    ]
    assert "at least" in refused(capsys, enroll, *words)
    assert call(enroll, *words, "--false-accept-rate", 0.4) == 0
    assert "of 2 classes that are not enrolled" in capsys.readouterr().out


def test_a_run_and_a_gallery_can_be_moved_together(colours, tmp_path, capsys):
    folder = tmp_path / "a"
    shutil.copytree(colours / "run", folder / "run")
    words = ["--workdir", folder / "run", "--gallery", folder / "g.npz"]
    assert call(enroll, *words, colours / "photos", *SHORT) == 0
    folder.rename(tmp_path / "b")
    words = ["--gallery", tmp_path / "b" / "g.npz", "--remove", TEST[0]]
    assert call(enroll, *words) == 0
    (tmp_path / "b" / "run").rename(tmp_path / "c")
    assert "--workdir" in refused(capsys, enroll, *words)


@pytest.fixture
def run_of_own_photos(colours, tmp_path):
    """A folder of photos that a test may change, and a run on them."""
    photos, run = tmp_path / "photos", tmp_path / "run"
    shutil.copytree(colours / "photos", photos)
    found = open_trained(str(write_run(run, photos))).run
    write_classes(run, classes_of(found, Data(found)))
    return photos, run


def test_a_renamed_training_class_does_not_calibrate(
    run_of_own_photos, tmp_path, capsys
):
    """It falls into the validation classes, and no other class moves there."""
    photos, run = run_of_own_photos
    files = sorted((photos / TEST[0]).iterdir())[:2]
    new = ["--workdir", run, "--gallery", tmp_path / "g.npz"]
    new += [*files, "--class", "a"]
    pair = ["--workdir", run, *files, "--fit", "isotonic"]
    assert call(enroll, *new) == 0 and call(verify, *pair) == 0
    old, trained = PARTS["train"][0], {*PARTS["train"]}
    others = {name for part in PARTS.values() for name in part} - {old}

    def is_unseen(name):
        held_out = divide_classes([*others, name])["validation"]
        return name in held_out and trained.isdisjoint(held_out)

    (name, *_) = filter(is_unseen, (f"renamed{n}" for n in range(99)))
    (photos / old).rename(photos / name)
    new[3] = tmp_path / "new.npz"
    for command, words in ((enroll, new), (verify, pair)):
        error = refused(capsys, command, *words)
        assert "has other classes in 'train' than when this run" in error
        assert old in error and "put the data back" in error
        assert "Or name data of other classes with --calibration" in error
        assert ("--no-threshold" in error) == (command is enroll)
    # Neither other calibration data nor a calibrated gallery needs the data.
    photos.rename(tmp_path / "elsewhere")
    files = sorted((tmp_path / "elsewhere" / TEST[1]).iterdir())[:2]
    again = ["--gallery", tmp_path / "g.npz", *files, "--class", "b"]
    assert call(enroll, *again) == 0
    more = write_colours(tmp_path / "more", 6, first=100)
    pair[2:4] = files
    assert call(verify, *pair, "--calibration", more) == 0
    assert not new[3].exists()


def test_a_new_training_class_keeps_a_calibration(run_of_own_photos):
    """`verify` calibrates nothing anew if the held-out classes are the same."""
    photos, run = run_of_own_photos
    files = sorted((photos / TEST[0]).iterdir())[:2]
    pair = ["--workdir", run, *files, "--fit", "isotonic"]
    assert call(verify, *pair) == 0
    every = {name for part in PARTS.values() for name in part}
    (name, *_) = (
        name
        for name in (f"new{n}" for n in range(99))
        if name in divide_classes([*every, name])["train"]
        and divide_classes([*every, name])["validation"] == HELD_OUT
    )
    shutil.copytree(photos / TEST[0], photos / name)
    before = (run / "verifier.json").read_bytes()
    assert call(verify, *pair) == 0
    assert (run / "verifier.json").read_bytes() == before


@pytest.mark.parametrize("place", ["w", "w/galleries"])
def test_a_moved_gallery_knows_its_examples(
    place, colours, tmp_path, monkeypatch, capsys
):
    """With --workdir. Without the files beside it, there is a warning."""
    photos = tmp_path / "w" / "new" / TEST[0]
    shutil.copytree(colours / "photos" / TEST[0], photos)
    shutil.copytree(colours / "run", tmp_path / "w" / "runs" / "a")
    (tmp_path / place).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / place)
    back = "." if place == "w" else ".."
    words = ["--workdir", f"{back}/runs/a", "--gallery", "g.npz"]
    words += ["--no-threshold", f"{back}/new"]
    assert call(enroll, *words) == 0
    moved = tmp_path / "w" / "some" / "where" / "g.npz"
    moved.parent.mkdir(parents=True)
    shutil.copy("g.npz", moved)
    monkeypatch.chdir(moved.parent)
    words = ["--workdir", "../../runs/a", "--gallery", "g.npz", "../../new"]
    assert call(identify, *words) == 0
    out = capsys.readouterr().out
    assert "6 inputs are examples of the gallery themselves" in out
    assert call(enroll, *words, "--no-threshold") == 0
    out, err = capsys.readouterr()
    assert "Replaced 6 examples" in out and not err
    names = contents(moved)["names"].tolist()
    assert names == [f"../../new/{TEST[0]}/{n}.png" for n in range(6)]
    # Run and gallery are moved together, and the files stay.
    before = moved.read_bytes()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    moved.rename("other/g.npz")
    (tmp_path / "w" / "runs").rename("runs")
    words = ["--gallery", "other/g.npz", "--workdir", "runs/a", "w/new"]
    for command, more in (
        (identify, []),
        (nearest, ["--k", 1]),
        (enroll, ["--no-threshold"]),
    ):
        assert call(command, *words, *more) == 0
        err = capsys.readouterr().err
        assert "warning: 6 inputs may be examples of other/g.npz" in err
        assert f"such as {photos}/0.png, but count as others" in err
    assert before != (tmp_path / "other" / "g.npz").read_bytes()


class TestRefused:
    @pytest.fixture
    def words(self, colours, tmp_path):
        return [
            *("--workdir", colours / "run", "--gallery", tmp_path / "new.npz"),
            *(colours / "photos", *SHORT),
        ]

    @pytest.fixture(autouse=True)
    def nothing_is_written(self, tmp_path):
        yield
        assert not list(tmp_path.glob("*new.npz*"))

    def check(self, capsys, words, message):
        assert message in refused(capsys, enroll, *words)

    def test_flags(self, words, colours, tmp_path, capsys):
        new = ["--gallery", tmp_path / "new.npz"]
        run = ["--workdir", colours / "run"]
        for wrong, message in (
            (new, "name the run of its model with --workdir"),
            ([*new, *run], "name what to enroll"),
            ([*new, *run, "--remove", "a"], "there is no gallery"),
            ([*words, "--no-threshold"], "contradicts"),
            ([*words, "--examples-per-class", 0], "at least 1"),
            ([*words[:-1], 1.5], "between 0 and 1"),
            ([*run, "--gallery", "new.json", "a"], "must end in .npz"),
            ([*run, "--gallery", "no/new.npz", "a"], "there is no folder no"),
            ([*words, "--calibration", ""], "--calibration is empty"),
        ):
            self.check(capsys, wrong, message)

    def test_run(self, words, tmp_path, capsys):
        words[1] = tmp_path
        self.check(capsys, words, "contains no run")

    def test_classes(self, words, capsys):
        words += ["--classes", "c99"]
        self.check(capsys, words, "the inputs have no class 'c99'; they have c")

    def test_a_rate_that_cannot_be_promised(self, words, capsys):
        words[-1] = 0.05
        self.check(capsys, words, "--false-accept-rate 0.112")

    def test_validation_classes_that_were_trained_on(
        self, words, colours, tmp_path, capsys
    ):
        words[1] = write_run(
            tmp_path / "run", colours / "photos", "division.by=examples"
        )
        words[-4:] = ["--split", "test", "--false-accept-rate", 0.3]
        self.check(capsys, words, "classes of the training")

    def test_a_calibration_on_classes_that_were_trained_on(
        self, words, colours, capsys
    ):
        words += ["--calibration", colours / "photos"]
        trained = sorted(PARTS["train"])
        self.check(
            capsys,
            words,
            f"photos has classes of the training, such as '{trained[0]}'",
        )

    def test_classes_that_the_run_recorded_are_its_training(
        self, words, colours, tmp_path, capsys
    ):
        """The workdir alone knows; the folder of the run may have moved."""
        shutil.copytree(colours / "run", tmp_path / "run")
        splits = {"train": {HELD_OUT[3]: 6}}
        file = tmp_path / "run" / "classes.json"
        file.write_text(json.dumps({"dataset": "a", "splits": splits}))
        words[1] = tmp_path / "run"
        self.check(
            capsys,
            words,
            f"has classes of the training, such as '{HELD_OUT[3]}'",
        )

    def test_inputs(self, words, colours, tmp_path, capsys, monkeypatch):
        photos = colours / "photos"
        monkeypatch.chdir(photos / "c00")
        new = [*words[:4], "--false-accept-rate", "0.3"]
        mixed = tmp_path / "mixed"
        mixed.mkdir()
        (mixed / "a.txt").write_text("hostile")
        for wrong, message in (
            ([*new, photos / "c00"], "name their class with --class"),
            ([*new, photos, "--class", "a"], "--class is for files"),
            ([*new, photos / "c00", "--class", ""], "--class must be a name"),
            ([*new, photos / "c00", "--class", "a "], "received 'a '"),
            ([*new, photos / "c99.png"], "there is no file"),
            ([*new, "nothing"], "nothing"),
            ([*new, photos, "--split", "trian"], "trian"),
            ([*new, mixed], "contains no images"),
            ([*new, photos, photos], "there is no file"),
            ([*new, "", "--class", "a"], "an input is empty"),
            ([*new, mixed / "a.txt", photos / "c00/0.png"], "all be images"),
        ):
            self.check(capsys, wrong, message)

    def test_an_existing_gallery(self, gallery, colours, tmp_path, capsys):
        before = gallery.read_bytes()
        photos = colours / "photos"
        for words, message in (
            (["--remove", "nobody"], "'nobody' is not enrolled"),
            (
                ["--remove", TEST[0], "no", "any", TEST[0]],
                "--remove: 'no', 'any' are not enrolled; the gallery has "
                + ", ".join(repr(name) for name in sorted(TEST[:4])),
            ),
            (
                ["--remove", *TEST[:4], TEST[0]],
                "--remove names every class of the gallery, 4 classes, and",
            ),
            (
                ["--remove", TEST[0], "--classes", "a", "--split", "b"],
                "leave out --classes, --split",
            ),
            (["--remove", TEST[0], "--class", "a"], "--class chooses among"),
            (["--score", "nearest_distance", photos], "uses the score"),
            ([photos, "--split", "validation"], "none can set a threshold"),
            (
                [photos / "c00", "--class", "unknown"],
                "The label 'unknown' is the answer for other classes. Rename "
                "the class\n",
            ),
            (
                [named_unknown(photos, tmp_path)],
                "Rename the class, or name the others with --classes\n",
            ),
        ):
            words = ["--gallery", gallery, *words]
            self.check(capsys, words, message)
        assert gallery.read_bytes() == before
        gallery.write_bytes(before[:500])
        words = ["--gallery", gallery, "--remove", TEST[0]]
        self.check(capsys, words, "is damaged")

    def test_another_model(self, gallery, colours, tmp_path, capsys):
        photos, other = colours / "photos", tmp_path / "other"
        write_run(other, photos, encoder="half_colour")
        words = ["--gallery", gallery, "--workdir", other]
        self.check(capsys, [*words, "--remove", TEST[0]], "of another model")


def named_unknown(photos, folder):
    """A folder with the classes c00 and unknown."""
    for name in ("c00", "unknown"):
        shutil.copytree(photos / "c00", folder / "named" / name)
    return folder / "named"


def test_two_commands_on_one_gallery_lose_nothing(colours, tmp_path, capsys):
    """The second one waits, and then reads what the first one wrote."""
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += ["--no-threshold", "--split", "test", colours / "photos"]
    assert call(enroll, *words, "--classes", TEST[0]) == 0
    second = threading.Thread(
        target=call, args=(enroll, *words, "--classes", TEST[1])
    )
    with locked_folder(tmp_path):
        second.start()
        second.join(1)
        assert second.is_alive()
    second.join()
    assert {*contents(tmp_path / "g.npz")["labels"]} == {*TEST[:2]}
    assert (
        "Waiting: another command changes a gallery" in capsys.readouterr().out
    )


def test_a_rate_that_cannot_be_promised_ends_before_inputs_are_embedded(
    colours, tmp_path, monkeypatch, capsys
):
    def never(*_):
        raise AssertionError("inputs were embedded")

    monkeypatch.setattr("trainers.trained.trained.embed_inputs", never)
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += [colours / "photos", "--split", "test"]
    error = refused(capsys, enroll, *words, "--false-accept-rate", 0.001)
    assert "must be at least 1 / (classes + 1)" in error


def test_every_calibration_class_is_enrolled(colours, tmp_path, capsys):
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    error = refused(capsys, enroll, *words, colours / "photos")
    assert "every calibration class is enrolled" in error
    assert "enroll other classes (--split train" in error
    assert not (tmp_path / "g.npz").exists()
