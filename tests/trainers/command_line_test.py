"""Warnings of commands, in a process without pytest's own filters."""

import subprocess
import sys

CODE = """
import warnings
from trainers import command_line

def command():
    for _ in range(2):
        warnings.warn("Pixels are\\n0 to 255.")
    warnings.warn_explicit("Pixels are\\n0 to 255.", UserWarning, "a.py", 3)
    warnings.warn("another", RuntimeWarning)
    if FAILS:
        raise ValueError("wrong")

raise SystemExit(command_line.run(command))
"""


def run(fails: bool, *flags):
    code = CODE.replace("FAILS", str(fails))
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True
    )


def test_a_warning_is_one_line_printed_once():
    found = run(False)
    assert found.returncode == 0
    lines = found.stderr.splitlines()
    assert lines[0] == "warning: Pixels are 0 to 255."
    assert lines[1].endswith("RuntimeWarning: another")
    assert len(lines) == 2


def test_filters_of_the_user_come_first():
    found = run(False, "-W", "error::UserWarning")
    assert found.returncode != 0
    assert "UserWarning: Pixels are" in found.stderr


def test_an_error_follows_the_warnings():
    found = run(True)
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == "error: wrong"
