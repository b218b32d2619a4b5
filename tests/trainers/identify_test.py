import csv
import json
import pathlib
import shutil

import numpy as np
import pytest
from scipy import special

from tests.trainers.colours import colour_of
from tests.trainers.colours import write_plane
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import HELD_OUT
from tests.trainers.enroll_test import TEST
from trainers import embed_data
from trainers import enroll
from trainers import identify
from trainers import nearest

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
    words += ["--workdir", colours / "run"]
    assert call(identify, *words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].endswith(f"{asked} --workdir {colours / 'run'}")
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


def test_answers_in_python(gallery, colours, tmp_path):
    """The keyword arguments are the flags, with their defaults."""
    found = identify.identify(
        str(gallery),
        [str(colours / "photos")],
        split="test",
        output=str(tmp_path / "a.csv"),
        figure=str(tmp_path / "a.png"),
    )
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    for name in ("path", "answer", "label"):
        assert found[name].tolist() == [row[name] for row in rows]
    (photo, *_), (expected, *_) = found["path"], found["answer"]
    (answer,) = identify.identify(str(gallery), [photo])["answer"]
    assert answer == expected
    of_paths = identify.identify(
        gallery,
        [pathlib.Path(photo)],
        colours / "run",
        output=tmp_path / "b.csv",
        figure=tmp_path / "b.png",
    )
    assert of_paths["answer"] == expected
    assert of_paths["path"] == photo


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (-26.1955, ["-26.1987", "-26.1955"]),  # four digits are equal
        (-26.198698, ["-26.1987", "-26.198698"]),
        (None, ["-26.1987", "none"]),
    ],
)
def test_printed_scores_tell_the_decision(threshold, expected, capsys):
    columns = {
        "path": ["a.png"],
        "answer": np.array(["unknown"]),
        "class": np.array(["b"]),
        "probability": np.array([0.5]),
        "score": np.array([-26.1987]),
        "accepted": np.array([False]),
    }
    identify._print_lines(columns, threshold)
    _, line = capsys.readouterr().out.splitlines()
    assert line.split()[3:5] == expected


def test_without_a_threshold_nothing_is_tested(capsys):
    columns = {
        "path": ["a.png"],
        "answer": np.array(["b"]),
        "class": np.array(["b"]),
        "probability": np.array([0.5]),
        "score": np.array([-26.0]),
        "accepted": np.array([True]),
    }
    identify._print_lines(columns, None)
    assert capsys.readouterr().out.endswith(
        "none  not tested, the nearest class\n"
    )


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


def test_a_promise_is_a_rounded_percentage(colours, tmp_path, capsys):
    """Two calibration classes can promise a third."""
    for name in HELD_OUT[:2]:
        shutil.copytree(colours / "photos" / name, tmp_path / "others" / name)
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += ["--calibration", tmp_path / "others", "--split", "test"]
    words += [colours / "photos", "--classes", ENROLLED[0]]
    assert call(enroll, *words) == 0
    assert "at most 33.3 % of inputs" in capsys.readouterr().out
    words = ["--gallery", tmp_path / "g.npz", colours / "photos"]
    assert call(identify, *words, "--split", "test") == 0
    out = capsys.readouterr().out
    assert "(promised: at most 33.3 % on average)" in out
    assert "6 inputs are examples of the gallery themselves" in out
    assert "do not count." in out
    photo = colours / "photos" / ENROLLED[0] / "0.png"
    assert call(identify, "--gallery", tmp_path / "g.npz", photo) == 0
    assert "Embedding 1 input." in capsys.readouterr().out


def test_a_table_without_labels(tmp_path, capsys):
    """As files: no answer is counted, and enroll needs a class."""
    write_plane(tmp_path / "run", tmp_path / "plane.npz")
    table, gallery = tmp_path / "rows.csv", tmp_path / "g.npz"
    table.write_text("x,y,split\n0,0,a\n7,0,b\n9,1,b\n")
    start = ["--workdir", tmp_path / "run", "--gallery", gallery]
    start += ["--no-threshold"]
    data = f"arrays:{tmp_path / 'plane.npz'}"
    assert call(enroll, *start, data) == 0
    output = tmp_path / "a.json"
    for name in (table, f"csv:{table}"):
        capsys.readouterr()
        words = ["--gallery", gallery, name, "--output", output]
        assert call(identify, *words) == 0
        rows = json.loads(output.read_text())
        assert [row["answer"] for row in rows] == ["0", "3", "4"]
        assert [row["path"] for row in rows] == ["line 2", "line 3", "line 4"]
        assert "label" not in rows[0]
        assert "inputs of" not in capsys.readouterr().out
        assert call(nearest, *words, "--k", 1) == 0
        assert [
            r["neighbour"][-2:] for r in json.loads(output.read_text())
        ] == [*(" 0", " 7", " 9")]
    words = ["--workdir", tmp_path / "run", table, "--split", "b"]
    assert call(embed_data, *words, "--output", tmp_path / "b.npz") == 0
    with np.load(tmp_path / "b.npz") as file:
        np.testing.assert_array_equal(file["embedding"], [[7, 0], [9, 1]])
        assert "labels" not in file and "names" not in file
    words = [
        "--workdir",
        tmp_path / "run",
        table,
        "--output",
        tmp_path / "c.npz",
    ]
    error = refused(capsys, embed_data, *words, "--split", "c")
    assert "--split c" in error and "has no rows of this split" in error
    new = [*start[:2], "--gallery", tmp_path / "new.npz", "--no-threshold"]
    assert "--class" in refused(capsys, enroll, *new, table)
    assert call(enroll, *new, table, "--class", "a") == 0
    table.write_text("x,y\n")
    assert "has no rows below" in refused(capsys, identify, *start[2:4], table)


def test_a_table_of_paths_without_labels(gallery, colours, tmp_path, capsys):
    table, names = (
        colours / "paths.csv",
        [f"{ENROLLED[0]}/{n}.png" for n in "45"],
    )
    table.write_text("\n".join(["path", *(f"photos/{name}" for name in names)]))
    words = ["--gallery", gallery, table, "--output", tmp_path / "a.json"]
    assert call(identify, *words) == 0
    rows = json.loads((tmp_path / "a.json").read_text())
    assert [row["path"] for row in rows] == [
        str(colours / "photos" / name) for name in names
    ]
    assert [row["answer"] for row in rows] == [ENROLLED[0]] * 2


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
