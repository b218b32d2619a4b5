"""Imports must be cheap, and nothing is unpickled.

import-linter checks which package may import which, and ruff checks banned
modules. Both are part of `make lint` and configured in pyproject.toml.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Slow or optional packages: imported inside the functions that use them.
HEAVY = {
    "keras_tuner",
    "matplotlib",
    "pandas",
    "sklearn",
    "tensorflow_datasets",
    "tensorflow_probability",
    "tqdm",
}
# TensorFlow Datasets imports a builder only when its data set is loaded.
BUILDER = "_dataset_builder"


def imported_with(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Names and lines of imports that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((item.name, child.lineno) for item in child.names)
        elif isinstance(child, ast.ImportFrom):
            for item in child.names:
                yield f"{child.module or ''}.{item.name}", child.lineno
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(
            child.test
        ):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imported_with(child)


def unpickling_lines(tree: ast.AST) -> list[int]:
    """Lines with an `allow_pickle` that is not False."""
    return [
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword)
        and node.arg == "allow_pickle"
        and ast.unparse(node.value) != "False"
    ]


def errors(path: str, source: str) -> list[str]:
    tree = ast.parse(source)
    is_builder = Path(path).stem.endswith(BUILDER)
    found = [f"{path}:{line}: allow_pickle" for line in unpickling_lines(tree)]
    for name, line in imported_with(tree):
        parts = set(name.split("."))
        heavy = parts & HEAVY
        if is_builder:
            heavy -= {"tensorflow_datasets"}
        heavy |= {part for part in parts if part.endswith(BUILDER)}
        found += [f"{path}:{line}: {part} on import" for part in heavy]
    return found


def modules() -> list[str]:
    return sorted(
        path.relative_to(ROOT).as_posix()
        for package in ("embeddings_tf", "trainers")
        for path in (ROOT / package).rglob("*.py")
    )


def test_modules_import_nothing_heavy_and_unpickle_nothing():
    assert len(modules()) > 100
    found = [
        error
        for path in modules()
        for error in errors(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "import matplotlib.figure",
        "from sklearn import metrics",
        "try:\n    import tqdm\nexcept ImportError:\n    tqdm = None",
        "if True:\n    from sklearn.metrics import roc_auc_score",
        "class Bar:\n    import tqdm",
        "from .n_digit_dataset_builder import Builder",
        "numpy.load(path, allow_pickle=True)",
        "numpy.load(path, allow_pickle=flag)",
    ],
)
def test_offence_is_found(source):
    assert len(errors("trainers/train.py", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import sklearn",
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import tensorflow_probability as tfp",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
    ],
)
def test_clean_source_passes(source):
    assert errors("trainers/train.py", source) == []
    builder = "embeddings_tf/datasets/n_digit/n_digit_dataset_builder.py"
    assert errors(builder, "import tensorflow_datasets as tfds") == []
