"""Commands that are forked end, print and fail as others do."""

import os
import signal
import subprocess
import sys

import pytest

from tests.processes import Command

pytestmark = pytest.mark.slow
# A module of the standard library that prints the file it is given.
SHOW = "json.tool"


def test_output_errors_and_exit_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.json"
    file.write_text("[1]")
    command = Command(SHOW, "--compact", file)
    assert command.communicate() == ("[1]\n", "")
    assert command.returncode == command.poll() == 0
    refused = Command(SHOW, tmp_path / "none.json")
    out, err = refused.communicate()
    assert out == "" and "none.json" in err
    assert refused.returncode == 2


def test_code_before_environment_and_imports(monkeypatch):
    """TensorFlow is imported; the library is not."""
    monkeypatch.setenv("OF_THIS_PROCESS", "1")
    code = (
        "import os, sys\n"
        "print('tensorflow' in sys.modules, 'embeddings_tf' in sys.modules)\n"
        "print(os.environ.get('OF_THIS_PROCESS'), os.environ.get('MORE'))\n"
        "raise SystemExit(3)"
    )
    other = {k: v for k, v in os.environ.items() if k != "OF_THIS_PROCESS"}
    for env, shown in ((None, "1 None"), (other | {"MORE": "2"}, "None 2")):
        command = Command(SHOW, env=env, code_before=code)
        is_forked = sys.platform == "linux"
        assert command.communicate() == (f"{is_forked} False\n{shown}\n", "")
        assert command.returncode == 3


def test_a_command_that_takes_too_long_is_ended(tmp_path):
    out = tmp_path / "out"
    command = Command(
        SHOW,
        stdout=out,
        code_before="import time; print('waits', flush=True); time.sleep(600)",
    )
    while not out.read_text():
        assert command.poll() is None
    with pytest.raises(subprocess.TimeoutExpired, match="json.tool"):
        command.communicate(timeout=0.1)
    command.communicate()
    assert command.returncode == -signal.SIGKILL
    command.kill()  # does nothing any more
    folder = command._files[1].parent
    assert folder.is_dir()
    del command
    assert not folder.exists()
