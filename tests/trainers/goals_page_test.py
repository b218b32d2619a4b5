"""The commands of docs/goals.md run as printed, with short trainings."""

import json

import pytest

from tests.trainers.page_commands import blocks
from tests.trainers.page_commands import run_commands
from tests.trainers.page_commands import run_python

PAGE = "goals.md"


@pytest.mark.slow
def test_every_command_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_python(PAGE, 0)
    commands = [
        line
        for block in blocks(PAGE, "sh")
        for line in block.splitlines()
        if "photos" not in line
    ]
    assert len(commands) == 9
    run_commands(commands)
    runs = tmp_path / "runs"
    found = {
        path.parent.name: json.loads(path.read_text())["evaluation"]["test"]
        for path in runs.glob("*/results.json")
    }
    assert set(found) == {"few_shot", "retrieve", "verify", "pairs"}
    assert found["few_shot"]["clean"]["accuracy"] > 0.5
    for picture in (
        "few_shot/evaluation.png",
        "few_shot/embedding.png",
        "verify/det.png",
        "pairs/mutual_information.png",
        "compare/comparison.png",
    ):
        assert (runs / picture).is_file(), picture
    assert "difference" in capsys.readouterr().out
