"""Tests the commands of the Makefile without running them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make(*arguments):
    # Under `make test`, the inner make would inherit the options and
    # announce its folder.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
    }
    done = subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_alone_lists_every_command():
    targets = re.findall(
        r"^([a-z-]+):.*?## ", (ROOT / "Makefile").read_text(), re.M
    )
    assert {"demo", "test", "test-all", "lint", "bench"} <= set(targets)
    listed = [line.split()[:2] for line in make().splitlines()]
    assert listed == [["make", target] for target in targets]


def test_descriptions_start_in_one_column():
    starts = {
        re.match(r"make \S+ +", line).end() for line in make().splitlines()
    }
    assert len(starts) == 1


@pytest.mark.parametrize(
    ("target", "deselects"), [("test", True), ("test-all", False)]
)
def test_only_make_test_leaves_the_slow_tests_out(target, deselects):
    (command,) = [
        line
        for line in make("--dry-run", target, "TESTS=tests/ops").splitlines()
        if "-m pytest" in line
    ]
    assert ('-m "not slow"' in command) == deselects
    assert "-n 2 --dist loadgroup" in command
    assert command.endswith(" tests/ops")


def test_ci_runs_every_test():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    targets = {
        word
        for line in lines
        if line.startswith("make")
        for word in line.split()[1:]
    }
    assert targets >= {"lint", "docs", "test-all"}


def test_the_environment_gets_the_package_in_editable_form():
    assert "--editable ." in make("--dry-run", "environment")


def test_the_environment_has_the_package_in_any_folder(tmp_path):
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        pytest.skip("the checkout has no environment of its own")
    find = (
        "import importlib.util as u; print(u.find_spec('embeddings_tf').origin)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    found = subprocess.run(
        [python, "-c", find],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.stdout.strip() == str(ROOT / "embeddings_tf" / "__init__.py")


def test_the_marker_is_declared(pytestconfig):
    assert any(m.startswith("slow:") for m in pytestconfig.getini("markers"))
