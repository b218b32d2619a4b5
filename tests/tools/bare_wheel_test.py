"""The example of docs/use.md from a bare wheel, and its table."""

import shlex

import pytest

from tests.read_between import read_between
from tools import bare_wheel
from trainers import console


def test_the_page_has_the_table_of_the_result():
    between = read_between(bare_wheel.PAGE, *bare_wheel.MARKS)
    assert between == bare_wheel.page_text()


def test_the_example_has_every_step_of_the_first_hour():
    code, commands = bare_wheel.example()
    assert "load_digits" in code
    words = [shlex.split(command) for command in commands]
    assert all(word[0] == "embeddings-tf" for word in words)
    used = {word[1] for word in words}
    steps = {"train", "evaluate", "enroll", "identify", "verify", "nearest"}
    assert steps <= used <= set(console.COMMANDS)


def test_the_measured_commands_are_those_of_the_page_in_five_minutes():
    if not bare_wheel.RESULT.exists():
        pytest.skip("not run yet")
    result = bare_wheel.load()
    assert list(result["seconds"])[1:] == bare_wheel.example()[1]
    assert sum(map(max, result["seconds"].values())) < 300
    assert not result["commit"].endswith("-dirty")


def test_versions_of_the_lock_have_no_hashes():
    lines = bare_wheel.constraints().splitlines()
    assert any(line.startswith("tensorflow==") for line in lines)
    assert not any("--hash" in line or "#" in line for line in lines)
    assert all("==" in line.split(";")[0] for line in lines)


def test_a_failed_command_shows_what_it_printed(tmp_path):
    words = ["python3", "-c", "print('reason'); raise SystemExit(2)"]
    with pytest.raises(SystemExit, match="reason"):
        bare_wheel.run(words, tmp_path)


def test_commands_of_one_step_are_summed_in_each_round():
    result = {
        "seconds": {
            "code": [1.0, 1.0, 1.0, 1.0, 1.0],
            "x train": [60.0, 62.0, 61.0, 70.0, 60.0],
            "x enroll": [2, 3, 4, 5, 6],
            "x enroll b": [3, 2, 1, 0, 0],
        },
        "seconds_to_make_the_environment": 99.0,
        "wheel": "a.whl",
        "processor": "chip",
        "cores": 2,
        "load_before": 1.0,
        "commit": "0123456789",
    }
    lines = bare_wheel.text(result).splitlines()
    assert "| `enroll` | 5 (5 to 5) |" in lines
    # Sums of the rounds: 66, 68, 67, 76 and 67.
    assert "| together | 67 (67 to 68) |" in lines
