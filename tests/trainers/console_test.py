"""The console command."""

import importlib

import pytest

from trainers import console


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


def test_exit_codes_are_passed_on(tmp_path, capsys):
    words = ["evaluate", "--workdir", str(tmp_path / "nothing")]
    assert console.main(words) == 1
    assert "contains no run" in capsys.readouterr().err
