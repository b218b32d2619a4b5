"""What became of the audit is read from the result files."""

import re

from tools import audit_table
from tools import reproduced_verdicts
from tools.generated_text import read_between
from trainers.recipes import every_recipe


def test_the_page_has_the_table():
    module = audit_table
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between == module.table()


def test_a_line_is_done_when_all_its_results_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduced_verdicts, "RESULTS", tmp_path)
    patterns = "a/x-*.json", "b.json"
    assert audit_table.state(()) == "done"
    assert audit_table.state(patterns) == "0 of 2 run"
    (tmp_path / "a").mkdir()
    for seed in (0, 1):  # two files of one pattern count once
        (tmp_path / "a" / f"x-{seed}.json").touch()
    assert audit_table.state(patterns) == "1 of 2 run"
    (tmp_path / "b.json").touch()
    assert audit_table.state(patterns) == "done, 2 of 2 run"


def test_the_results_are_of_recipes():
    recipes = every_recipe()
    named = [
        re.match(r"[a-z_]+/(\w+)-", pattern)[1]
        for _, _, patterns in audit_table.LINES
        for pattern in patterns
        if "/" in pattern
    ]
    assert len(named) > 30
    assert set(named) <= set(recipes)
