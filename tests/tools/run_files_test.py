"""Files of a run that tables read."""

import subprocess
import sys

import pytest

from tools.run_files import run_config
from tools.run_files import run_recipe_and_config
from tools.run_files import run_results


def test_the_files_of_a_run_are_read(tmp_path):
    (tmp_path / "results.json").write_text('{"seed": 3}')
    (tmp_path / "config.json").write_text(
        '{"recipe": "demo", "config": {"seed": 3}}'
    )
    assert run_results(tmp_path) == {"seed": 3}
    assert run_config(tmp_path) == {"seed": 3}
    assert run_recipe_and_config(tmp_path)["recipe"] == "demo"


@pytest.mark.parametrize("read", [run_results, run_config])
def test_missing_and_damaged_files_are_named(tmp_path, read):
    with pytest.raises(ValueError, match=r"no file .*\.json; expected.*first"):
        read(tmp_path)
    for name in ("results.json", "config.json"):
        (tmp_path / name).write_text('{"seed": ')
    with pytest.raises(ValueError, match=r"\.json is damaged .*again"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["method_bars", "trust_table"])
def test_scripts_without_folders_say_what_to_run(name, tmp_path):
    command = [sys.executable, "-m", f"tools.{name}", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 1
    assert f"received the folder {tmp_path}; " in found.stderr
    assert "Traceback" not in found.stderr
