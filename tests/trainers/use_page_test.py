"""The commands and code of docs/use.md run as printed."""

import csv

import numpy as np
import pytest

from tests.trainers.page_commands import run_python

PAGE = "use.md"


@pytest.mark.slow
def test_every_command_runs(use_page):
    folder, printed = use_page
    with open(folder / "answers.csv") as file:
        rows = list(csv.DictReader(file))
    enrolled = [row for row in rows if row["label"] <= "33"][: 10 * 20]
    right = [row["class"] == row["label"] for row in enrolled]
    assert np.mean(right) > 0.5, "of ten classes"
    with np.load(folder / "gallery.npz") as file:
        assert len(np.unique(file["labels"])) == 9, "33 is removed"
    for picture in ("identify.png", "nearest.png", "verify.png"):
        assert (folder / "runs" / "numbers" / picture).is_file(), picture
    assert (folder / "projector" / "embedding_sprite.png").is_file()
    assert "promised: at most 10 %" in printed


def test_the_objects_answer_as_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = run_python(PAGE, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "['class 00' 'class 09' 'unknown']"
    assert lines[1] == "[ True  True False]"
    assert lines[2] == "['class 59']"
    same, different = namespace["verifier"].predict_proba(
        namespace["x"][[0, 0]], namespace["x"][[1, 50]]
    )
    assert same > 0.9 and different < 0.1
    assert lines[-1].startswith("['class 00'] [[0 ")
