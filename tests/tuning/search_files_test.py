"""The recipe file of a search's winner."""

import ast
import types

import pytest

from trainers.config import load_recipe
from tuning import search_files


def test_the_best_trial():
    objectives = [0.5, 0.2, 0.9, 0.2, 0.9]
    table = [
        {"trial": str(n), "status": "completed", "objective": objective}
        for n, objective in enumerate(objectives)
    ]
    failed = {"trial": "5", "status": "failed"}
    # The first of equal ones; a failed trial has no objective.
    found = search_files.best([failed, *table], "min")
    assert found["trial"] == "1"
    assert search_files.best([failed, *table], "max")["trial"] == "2"
    assert search_files.best([failed], "min") is None


@pytest.mark.parametrize(
    "name", [r"back\users", 'three"""quotes', "caf\udce9", "return\rhere"]
)
def test_the_winners_recipe_can_be_read(name, tmp_path):
    """Its docstring has the path of the recipe, whatever its characters."""
    row = {
        "trial": "0",
        "objective": 0.5,
        "best_epoch": 1,
        "epochs": 2,
        "values": {"encoder.name": name},
    }
    asked = {"recipe": f"{name}/a.py", "space": "demo", "objective": "loss"}
    oracle = types.SimpleNamespace(end_order=["0"])
    text = search_files.as_recipe(load_recipe("demo"), row, asked, oracle)
    file = tmp_path / "best.py"
    file.write_bytes(text.encode())
    assert load_recipe(str(file)) == load_recipe("demo")
    about = ast.get_docstring(ast.parse(file.read_bytes()))
    assert f"Recipe: {name}/a.py; space: demo; trial 0." in about
    assert f"    encoder.name = {name!r}" in about
