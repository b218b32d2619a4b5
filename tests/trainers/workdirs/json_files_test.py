import json
import os

import pytest

from trainers.workdirs.json_files import write_json


def test_atomic_write_replaces_and_leaves_nothing_beside(tmp_path):
    file = tmp_path / "a.json"
    write_json(file, {"a": 1})
    write_json(file, {"a": 2})
    assert json.loads(file.read_text()) == {"a": 2}
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_failed_write_keeps_the_old_file(tmp_path):
    file = tmp_path / "a.json"
    write_json(file, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"a": float("nan")})
    assert json.loads(file.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["a.json"]
