"""The commands of docs/goals.md run as printed, with short trainings."""

import json
import pathlib
import re
import shlex

import pytest

from trainers import console

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "goals.md"
SHORT = ["--config.num_epochs=2", "--config.steps_per_epoch=25"]
MORE = ["--config.deterministic=False"]


def blocks(language) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.slow
def test_every_command_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102
    commands = [
        shlex.split(line)
        for block in blocks("sh")
        for line in block.splitlines()
        if "photos" not in line
    ]
    assert len(commands) == 9
    for name, *words in commands:
        assert name == "embeddings-tf"
        is_training = words[0] in ("train", "compare")
        assert console.main([*words, *(SHORT + MORE) * is_training]) == 0
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
