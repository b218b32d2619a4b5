"""The names of checkpoints stand in one file."""

import ast
import pathlib

import pytest

import trainers
from trainers.data import backbone_features
from trainers.data import classes
from trainers.workdirs import layout

ROOT = pathlib.Path(trainers.__file__).parents[1]
NAMES = {
    layout: {
        layout.CHECKPOINTS,
        layout.LATEST,
        layout.PREVIOUS,
        layout.BEST,
        layout.DAMAGED,
        layout.WRITING,
    },
    classes: {classes.CLASSES_FILE},
    backbone_features: {backbone_features.BACKBONE_FILE},
}


@pytest.mark.parametrize("module", NAMES, ids=lambda module: module.__name__)
def test_a_name_stands_in_one_file(module):
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value!r}"
        for folder in ("trainers", "tuning", "tools", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != pathlib.Path(module.__file__)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        # A path, not a sentence.
        if NAMES[module] & {*node.value.split("/")}
    ]
    assert not found, "take the name from the module"


def test_files_of_a_run():
    run = pathlib.Path("runs/a")
    assert layout.checkpoints(run) == pathlib.Path("runs/a/checkpoints")
    assert layout.latest(run) == pathlib.Path("runs/a/checkpoints/latest.keras")
    assert layout.best(run) == pathlib.Path("runs/a/checkpoints/best.keras")
    assert layout.fold(run, 2) == pathlib.Path("runs/a/fold_2")
