"""Names of files that are not UTF-8, as from archives of other systems."""

import csv
import json

import pytest

from trainers import command_line
from trainers.trained.answers_file import write_answers

# How Python names the file whose name is the bytes `caf\xe9.jpg`.
NAME = b"caf\xe9.jpg".decode("utf-8", "surrogateescape")


def test_they_are_printed(capsys):
    assert command_line.run(print, NAME) == 0
    assert capsys.readouterr().out == "caf\\udce9.jpg\n"


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_they_are_written(ending, tmp_path):
    path = tmp_path / f"answers{ending}"
    write_answers(path, {"path": [NAME, "ä.jpg"], "score": [0.5, 1.0]})
    text = path.read_text(encoding="utf-8")
    if ending == ".csv":
        found = [row["path"] for row in csv.DictReader(text.splitlines())]
        assert found == ["caf\\udce9.jpg", "ä.jpg"]
    else:
        # JSON reads the escape as the name itself.
        assert [row["path"] for row in json.loads(text)] == [NAME, "ä.jpg"]
