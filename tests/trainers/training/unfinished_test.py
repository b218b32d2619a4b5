import json
import zipfile

import pytest

from trainers.training.training_state import MEMBER
from trainers.training.unfinished import unfinished


@pytest.mark.parametrize(
    ("finished", "expected"), [("", "epoch 2 of 6"), ("all epochs", "")]
)
def test_how_far_a_training_is(finished, expected, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    state = {"epoch": 2, "best_epoch": 1, "finished": finished}
    latest = tmp_path / "checkpoints" / "latest.keras"
    with zipfile.ZipFile(latest, "w") as archive:
        archive.writestr(MEMBER, json.dumps(state))
    assert unfinished(tmp_path, 6) == expected


def test_without_a_readable_checkpoint(tmp_path):
    assert unfinished(tmp_path, 6) == ""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "latest.keras").write_bytes(b"PK")
    assert unfinished(tmp_path, 6) == ""
