import csv
import json

import numpy as np
import pytest
from scipy import special

from tests.trainers.colours import colour_of
from tests.trainers.colours import write_plane
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import HELD_OUT
from tests.trainers.enroll_test import TEST
from trainers import enroll
from trainers import identify

ENROLLED = sorted(TEST[:4])


@pytest.fixture(scope="module")
def gallery(colours):
    path = colours / "identify.npz"
    words = ["--workdir", colours / "run", "--gallery", path]
    words += [colours / "photos", "--split", "test", "--classes", *ENROLLED]
    words += ["--examples-per-class", 2, "--false-accept-rate", 0.25]
    assert call(enroll, *words) == 0
    return path


def test_answers_by_loop(gallery, colours, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(identify, "ROWS_AT_ONCE", 5)
    capsys.readouterr()
    words = ["--gallery", gallery, colours / "photos", "--split", "test"]
    words += ["--output", tmp_path / "a.csv", "--figure", tmp_path / "a.png"]
    assert call(identify, *words) == 0
    lines = capsys.readouterr().out.splitlines()
    asked = f"--gallery {gallery} {colours / 'photos'} --split test"
    assert lines[-1].endswith(f"trainers.nearest {asked}")
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * len(TEST)
    means = [
        np.mean([colour_of(name, n) * 0.2 for n in (0, 1)], axis=0)
        for name in ENROLLED
    ]
    with np.load(gallery) as file:
        threshold = json.loads(str(file["settings"]))["threshold"]
    for row in rows:
        folder, file = row["path"].split("/")[-2:]
        assert row["label"] == folder
        colour = colour_of(folder, int(file[0])) * 0.2
        logits = -np.square(colour - means).sum(axis=1)
        assert row["class"] == ENROLLED[logits.argmax()]
        np.testing.assert_allclose(
            float(row["probability"]), special.softmax(logits).max(), rtol=1e-4
        )
        score = special.logsumexp(logits) - np.log(4)
        np.testing.assert_allclose(float(row["score"]), score, rtol=1e-4)
        accepted = float(row["score"]) >= threshold
        assert row["accepted"] == str(accepted)
        assert row["answer"] == (row["class"] if accepted else "unknown")
        (line,) = [line for line in lines if line.startswith(row["path"])]
        assert line.split()[1] == row["answer"]
    others = [row for row in rows if row["label"] not in ENROLLED]
    share = 100 * np.mean([row["accepted"] == "True" for row in others])
    assert f"{share:.1f} % are accepted (promised: at most 25 %" in " ".join(
        lines
    )
    for name in ("a.png", "a_confusion.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_who_counts_in_which_rate(gallery, colours, tmp_path, capsys):
    """All classes: 20 trained, 10 for calibration, 4 enrolled of the rest."""
    capsys.readouterr()
    words = ["--gallery", gallery, colours / "photos"]
    words += ["--output", tmp_path / "a.csv", "--figure", tmp_path / "a.png"]
    assert call(identify, *words) == 0
    out = capsys.readouterr().out
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    names = {f"c{number:02}" for number in range(40)}
    groups = {
        "enrolled": {*ENROLLED},
        "training": names - {*HELD_OUT} - {*TEST},
        "calibration": {*HELD_OUT},
        "other": {*TEST} - {*ENROLLED},
    }
    # The first two images of a class are in the gallery.
    assert "8 inputs are examples of the gallery themselves" in out
    for name, classes in groups.items():
        of_group = [
            row
            for row in rows
            if row["label"] in classes
            and not (name == "enrolled" and row["path"][-5] in "01")
        ]
        accepted = np.mean([row["accepted"] == "True" for row in of_group])
        share = f"{100 * accepted:.1f} % are accepted"
        if name == "enrolled":
            right = [row["answer"] == row["label"] for row in of_group]
            share = f"{100 * np.mean(right):.1f} % are identified"
        share += " (promised" if name == "other" else ""
        assert f"Of {len(of_group)} inputs of {name} classes, {share}" in out
    assert out.count("promised") == 1


def test_rows_of_a_table_are_found_in_the_gallery(tmp_path, capsys):
    write_plane(tmp_path / "run", tmp_path / "plane.npz")
    data, gallery = f"arrays:{tmp_path / 'plane.npz'}", tmp_path / "g.npz"
    words = ["--workdir", tmp_path / "run", "--gallery", gallery]
    words += ["--examples-per-class", 1, "--no-threshold", "--split", "test"]
    assert call(enroll, *words, data) == 0
    capsys.readouterr()
    for words in ([data, "--split", "test"], []):  # the run's own data
        assert call(identify, "--gallery", gallery, *words) == 0
        out = capsys.readouterr().out
        assert "4 inputs are examples of the gallery themselves" in out
        assert "Of 4 inputs of enrolled classes" in out


def test_files_and_json(gallery, colours, tmp_path, capsys):
    files = [colours / "photos" / name / "3.png" for name in ENROLLED[:2]]
    words = ["--gallery", gallery, *files, "--output", tmp_path / "a.json"]
    assert call(identify, *words) == 0
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [row["answer"] for row in rows] == ENROLLED[:2]
    assert [row["path"] for row in rows] == [str(file) for file in files]
    assert (colours / "run" / "identify.png").is_file()


def test_refusals(gallery, colours, tmp_path, capsys):
    image = colours / "photos" / "c00" / "0.png"
    (tmp_path / "cut.png").write_bytes(image.read_bytes()[:40])
    for words, message in (
        (["--gallery", tmp_path / "none.npz", image], "make it with"),
        (["--gallery", image, image], "another kind of file"),
        (["--gallery", gallery, image, "--output", "a.txt"], "must end in"),
        (["--gallery", gallery, image, "--figure", "a.jpg"], "must end in"),
        (["--gallery", gallery, tmp_path / "cut.png"], "cut.png is not a"),
        (["--gallery", gallery, tmp_path / "none.png"], "there is no file"),
        (["--gallery", gallery, image, "--workdir", tmp_path], "no run"),
    ):
        assert message in refused(capsys, identify, *words)
    assert [p.name for p in tmp_path.iterdir()] == ["cut.png"]
