"""The table for recordings in docs/goals.md."""

import json

import numpy as np
import pytest

from tests.read_between import read_between
from tools import recordings_study as study


def test_the_page_has_the_table_of_the_result():
    assert read_between(study.PAGE, *study.MARKS) == study.page_text()


def test_the_example_has_every_step_and_takes_five_minutes_a_run():
    _, commands = study.example()
    steps = {name: set() for name in study.CLASSES}
    for command in commands:
        steps[study.run_of(command)].add(command.split()[1])
    asked = {"train", "evaluate", "enroll", "identify", "nearest"}
    assert steps["words"] == {*asked, "verify"}
    assert asked == steps["speakers"] == steps["spoken"]
    if not study.RESULT.exists():
        pytest.skip("not run yet")
    result = json.loads(study.RESULT.read_text())
    assert list(result["seconds"])[1:] == commands
    for name in steps:
        seconds = [
            value
            for command, value in result["seconds"].items()
            if study.run_of(command) == name
        ]
        assert sum(seconds) < 300


def test_enrolled_classes_are_those_of_the_command():
    _, commands = study.example()
    names = study.enrolled_classes(commands, "spoken")
    assert len(names) == 5 and "2_george" in names
    lines = ["x enroll data --classes a b --workdir runs/words", "x train y"]
    assert study.enrolled_classes(lines, "words") == ["a", "b"]


def test_speakers_are_in_the_names_of_files(tmp_path):
    for name in ("7_theo_12.wav", "1_theo_2.wav", "7_ann_1.wav", "notes.txt"):
        (tmp_path / name).touch()
    assert study.speakers_of(tmp_path) == ["ann", "theo"]


def test_answers_are_counted(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(
        "path,answer,label\n1,a,a\n2,b,a\n3,unknown,a\n4,unknown,c\n5,a,c\n"
        "data/6,a,a\n"
    )
    gallery = tmp_path / "gallery.npz"
    np.savez(gallery, names=["from/here/data/6"])
    assert study.answers(path, ["a", "b"], gallery) == {
        "examples": 1,
        "known": 3,
        "others": 2,
        "identified": 1,
        "known_unknown": 1,
        "others_accepted": 1,
    }


def test_a_run_gives_its_equal_error_rates(tmp_path):
    training = {"seconds": 7.0}
    scores = {"cosine": {"equal_error_rate": 0.25}, "trials": 3}
    found = {"training": training, "evaluation": {"test": scores}}
    (tmp_path / "results.json").write_text(json.dumps(found))
    assert study.evaluation_of(tmp_path) == {
        "numbers": {"cosine": 0.25},
        "training_seconds": 7.0,
    }
