"""The commands of docs/goals.md run as printed, with short trainings."""

import csv
import itertools
import json
import subprocess

import numpy as np
import pytest
from scipy.io import wavfile

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
        for section in ("Four examples", "Which method for my data?")
        for block in blocks(PAGE, "sh", section)
        for line in block.splitlines()
    ]
    assert len(commands) == 9
    run_commands(commands)
    runs = tmp_path / "runs"
    found = {
        path.parent.name: json.loads(path.read_text())["evaluation"]["test"]
        for path in runs.glob("*/results.json")
    }
    assert set(found) == {"few_shot", "retrieve", "verify", "pairs"}
    assert found["few_shot"]["clean"]["accuracy"] > 0.7, "of two classes"
    for picture in (
        "few_shot/evaluation.png",
        "few_shot/embedding.png",
        "verify/det.png",
        "pairs/mutual_information.png",
        "compare/comparison.png",
    ):
        assert (runs / picture).is_file(), picture
    assert "difference" in capsys.readouterr().out


SPEAKERS = ("george", "jackson", "nicolas", "theo", "yweweler")


def write_recordings(folder, count=13):
    """Tones: a word is a melody of two notes, a speaker a colour and noise."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    times = np.arange(2400) / 8000
    for word, (voice, speaker) in itertools.product(
        range(10), enumerate(SPEAKERS)
    ):
        first, second = 300 + 120 * word, 1400 - 90 * word
        notes = np.where(times < 0.15, first, second) * times
        tones = np.sin(2 * np.pi * notes) + 0.5 * np.sin(
            2 * np.pi * notes * (2 + voice)
        )
        # The page asks about the twentieth recording of a speaker.
        for number in [*range(count), *[20] * (speaker == "theo")]:
            noisy = tones + 0.1 * (1 + voice) * rng.normal(size=len(times))
            samples = (6000 * noisy).astype(np.int16)
            wavfile.write(
                folder / f"{word}_{speaker}_{number}.wav", 8000, samples
            )


@pytest.mark.slow
def test_every_command_for_recordings_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_recordings(tmp_path / "recordings")
    (code,) = blocks(PAGE, "bash")
    subprocess.run(["bash", "-e", "-c", code], check=True)
    commands = [
        line
        for block in blocks(PAGE, "sh", "Recordings")
        for line in block.splitlines()
    ]
    assert len(commands) == 17
    run_commands(commands)
    runs = tmp_path / "runs"
    for name in ("words", "speakers", "spoken"):
        results = json.loads((runs / name / "results.json").read_text())
        assert 0 <= results["evaluation"]["test"]["plda"]["min_cllr"] <= 1
    with open("spoken.csv") as file:
        rows = list(csv.DictReader(file))
    assert len({row["label"] for row in rows}) == 10
    enrolled = [row for row in rows if row["class"] == row["label"]]
    assert len(enrolled) > len(rows) / 4, "five of ten classes are enrolled"
    assert (runs / "spoken" / "identify.png").is_file()
    printed = capsys.readouterr().out
    assert "promised: at most 10 %" in printed
    assert "nearest first" in printed
