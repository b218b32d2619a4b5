"""The console command."""

import importlib
import pathlib
import shutil
import sys

import pytest

from trainers import console
from trainers.terminal import command_names


def test_every_command_has_a_main_and_help(capsys):
    for name, (module, _) in console.COMMANDS.items():
        found = importlib.import_module(module)
        assert callable(found.main)
        with pytest.raises(SystemExit) as ended:
            console.main([name, "--help"])
        assert ended.value.code == 0
        assert module in capsys.readouterr().out


def test_usage_and_unknown_commands(capsys):
    assert console.main(["--help"]) == 0
    assert "cross-validate" in capsys.readouterr().out
    assert console.main([]) == 2
    assert console.main(["trian"]) == 2
    assert "unknown command 'trian'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["cross_validate", "search"])
def test_a_command_also_has_the_name_of_its_module(name, capsys):
    with pytest.raises(SystemExit) as ended:
        console.main([name, "--help"])
    assert ended.value.code == 0
    assert f".{name}" in capsys.readouterr().out


def test_exit_codes_are_passed_on(tmp_path, capsys):
    words = ["evaluate", "--workdir", str(tmp_path / "nothing")]
    assert console.main(words) == 1
    assert "contains no run" in capsys.readouterr().err


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A process that `embeddings-tf` started, in a folder without it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("embeddings-tf", "tensorboard"):
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(folder / "embeddings-tf")])
    monkeypatch.setenv("PATH", "")
    return folder


def test_next_commands_are_what_the_user_can_type(started, monkeypatch):
    program = started / "embeddings-tf"
    for name, (module, _) in console.COMMANDS.items():
        assert command_names.shell_command(module) == f"{program} {name}"
        assert command_names.display_name(module) == f"embeddings-tf {name}"
    typed = command_names.shell_command("tensorboard.main")
    assert typed == str(started / "tensorboard")
    monkeypatch.setenv("PATH", str(started))
    assert shutil.which("embeddings-tf") == str(program)
    assert command_names.shell_command("trainers.evaluate") == (
        "embeddings-tf evaluate"
    )
    assert command_names.shell_command("tensorboard.main") == "tensorboard"


def test_from_the_current_folder_and_without_the_script(started, monkeypatch):
    monkeypatch.chdir(started.parent)
    assert command_names.shell_command("trainers.evaluate") == (
        "bin/embeddings-tf evaluate"
    )
    (started / "tensorboard").unlink()
    typed = command_names.shell_command("tensorboard.main")
    assert typed.endswith(" -m tensorboard.main")
    assert pathlib.Path(typed.split()[0]).name.startswith("python")


def test_modules_are_named_without_the_console_command():
    typed = command_names.shell_command("trainers.evaluate")
    assert typed.endswith("-m trainers.evaluate")
    assert command_names.display_name("trainers.evaluate") == (
        "python -m trainers.evaluate"
    )


def test_messages_and_help_name_the_console_command(started, capsys):
    assert console.main(["evaluate", "--workdir", str(started)]) == 1
    err = capsys.readouterr().err
    assert "train first: embeddings-tf train --config RECIPE" in err
    gallery = str(started / "none.npz")
    assert console.main(["identify", "a.png", "--gallery", gallery]) == 1
    assert "make it with embeddings-tf enroll" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        console.main(["identify", "--help"])
    assert "usage: embeddings-tf identify" in capsys.readouterr().out
