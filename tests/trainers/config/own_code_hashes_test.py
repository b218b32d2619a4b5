"""Hashes of the user's own code, and runs that continue with the same."""

import hashlib
import json

import pytest

from tests.trainers.commands import refused
from trainers import train
from trainers.config import load_recipe
from trainers.config import own_code_hashes as hashes
from trainers.workdirs import workdir
from trainers.workdirs.json_files import DamagedError
from trainers.workdirs.other_data_error import OtherDataError

CODE = """
from embeddings_tf.losses import TripletLoss


def loss(margin: float = {margin}):
    return TripletLoss(margin)
"""


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE.format(margin=0.1))
    return path


def edit(code, margin=0.2):
    """As in a new process, which reads the file again."""
    code.write_text(CODE.format(margin=margin))
    hashes._hash.cache_clear()


def run_of(code):
    return load_recipe("omniglot_retrieval_triplet", [f"loss.name={code}:loss"])


def test_files_that_a_config_names(code, tmp_path, monkeypatch):
    data = tmp_path / "data.py"
    data.write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = hashlib.sha256(code.read_bytes()).hexdigest()
    config = {
        "dataset": "data.py:points",
        "loss": {"name": "mine.py:loss", "margin": 0.5},
        "encoder": {"name": "~/mine.py:encoder"},
        "optimizer": {"name": "json:loads"},
        "preprocess": {"name": "missing.py:noise"},
    }
    assert hashes.own_code_hashes(config) == {
        "mine.py": expected,
        "~/mine.py": expected,
    }


def test_a_run_continues_only_with_its_own_code(code, tmp_path, capsys):
    run = run_of(code)
    folder = tmp_path / "run"
    folder.mkdir()
    workdir.claim(folder, "own", run)
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "latest.keras").touch()
    before = (folder / "config.json").read_bytes()
    edit(code)
    for use in (workdir.contains_run, workdir.require_same_code):
        with pytest.raises(OtherDataError, match="mine.py has changed since"):
            use(folder, run)
    words = ["--config", "omniglot_retrieval_triplet", "--workdir", folder]
    error = refused(capsys, train, *words, f"--config.loss.name={code}:loss")
    assert "put the file back as it was, or start anew in another" in error
    assert (folder / "config.json").read_bytes() == before
    edit(code, margin=0.1)
    workdir.claim(folder, "own", run)
    assert workdir.contains_run(folder, run)


def test_without_a_checkpoint_the_code_may_be_mended(code, tmp_path):
    """The first step may have failed because of it."""
    run = run_of(code)
    workdir.claim(tmp_path, "own", run)
    edit(code)
    assert workdir.contains_run(tmp_path, run)
    workdir.claim(tmp_path, "own", run)
    found = json.loads((tmp_path / "config.json").read_text())
    expected = hashlib.sha256(code.read_bytes()).hexdigest()
    assert found["own_code"] == {str(code): expected}


@pytest.mark.parametrize("damage", [["a"], 5, {"mine.py": 5}])
def test_damaged_hashes_are_named(damage, code, tmp_path):
    run = run_of(code)
    workdir.claim(tmp_path, "own", run)
    file = tmp_path / "config.json"
    found = json.loads(file.read_text()) | {"own_code": damage}
    file.write_text(json.dumps(found))
    with pytest.raises(DamagedError, match="own_code has no hashes"):
        workdir.contains_run(tmp_path, run)


def test_a_started_run_without_hashes_is_refused(code, tmp_path):
    run = run_of(code)
    workdir.claim(tmp_path, "own", run)
    file = tmp_path / "config.json"
    found = json.loads(file.read_text())
    assert list(found.pop("own_code")) == [str(code)]
    file.write_text(json.dumps(found))
    assert workdir.contains_run(tmp_path, run)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "latest.keras").touch()
    with pytest.raises(OtherDataError, match="not none recorded.; put t"):
        workdir.contains_run(tmp_path, run)


def test_a_run_without_own_code_has_no_hashes(tmp_path):
    workdir.claim(tmp_path, "own", load_recipe("omniglot_retrieval_triplet"))
    found = json.loads((tmp_path / "config.json").read_text())
    assert sorted(found) == ["config", "recipe"]
