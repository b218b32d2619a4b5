"""Files of a run that tables read."""

import pytest

from tools import method_bars
from tools import trust_table
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


def test_a_config_without_its_parts_is_damaged(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="lacks config"):
        run_config(tmp_path)


@pytest.mark.parametrize(
    ("main", "remedy"),
    [
        (method_bars.main, "tools.n_digit_table or tools.omniglot_table"),
        (trust_table.main, "run tools.trust_study instead"),
    ],
)
def test_scripts_without_folders_say_what_to_run(
    main, remedy, tmp_path, monkeypatch
):
    monkeypatch.setattr("sys.argv", ["it", str(tmp_path)])
    with pytest.raises(SystemExit, match=f"error: received.*{remedy}"):
        main()
