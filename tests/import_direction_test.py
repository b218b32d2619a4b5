"""Imports point one way; what must not be imported is not.

Reads the source of every module, imports none of them.
"""

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What each part of embeddings_tf may import of its siblings.
OPS = {"ops"}
OBJECTIVES = OPS | {"layers", "losses", "metrics", "sampling"}
MODELS = OBJECTIVES | {"objectives"}
EVERYTHING_BELOW = MODELS | {"models", "datasets"}
SIBLINGS = {
    "version": set(),
    "ops": set(),
    "layers": OPS,
    "losses": OPS,
    "metrics": OPS | {"sampling"},
    "objectives": OBJECTIVES,
    "models": MODELS,
    "optimizers": OPS,
    "sampling": OPS,
    "datasets": OPS | {"sampling"},
    "viz": EVERYTHING_BELOW,
    "callbacks": EVERYTHING_BELOW | {"viz"},
    "export": EVERYTHING_BELOW,
}
# What each package may import of the others.
PACKAGES = {
    "embeddings_tf": set(),
    "trainers": {"embeddings_tf"},
    "tuning": {"embeddings_tf", "trainers"},
}
NOT_INSTALLED = {"tests", "benchmarks"}
FORBIDDEN = {
    "keras.src": "is private to Keras",
    "tensorflow_probability.layers": "is Keras 2",
    "pickle": "runs what it reads",
    "dill": "runs what it reads",
    "cloudpickle": "runs what it reads",
}
# Slow to import or optional: imported inside the functions that use them.
HEAVY = {
    "keras_tuner",
    "matplotlib",
    "sklearn",
    "tensorflow_datasets",
    "tensorflow_probability",
    "tqdm",
}
HEAVY_ANYWHERE_IN = {"tuning"}


def is_builder(module: str) -> bool:
    """Whether TFDS loads the module, its class derived from one of TFDS."""
    return module.endswith("_dataset_builder")


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


class Imports(ast.NodeVisitor):
    """Collects what one module imports and what its names stand for."""

    def __init__(self, module: str, is_package: bool):
        self.package = module if is_package else module.rpartition(".")[0]
        self.depth = 0
        self.found = []  # (name, line, whether it runs on import)
        self.aliases = {}
        self.attributes = []  # (dotted name as written, line)
        self.unpickles = []  # lines

    def add(self, name: str, line: int):
        self.found.append((name, line, self.depth == 0))

    def visit_Import(self, node: ast.Import):
        for item in node.names:
            self.add(item.name, node.lineno)
            top = item.name.partition(".")[0]
            self.aliases[item.asname or top] = item.name if item.asname else top

    def visit_ImportFrom(self, node: ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = self.package.split(".")
            parts = parts[: len(parts) - node.level + 1]
            base = ".".join([*parts, base] if base else parts)
        for item in node.names:
            name = base if item.name == "*" else f"{base}.{item.name}"
            self.add(name, node.lineno)
            self.aliases[item.asname or item.name] = name

    def visit_Call(self, node: ast.Call):
        function = ast.unparse(node.func).rpartition(".")[2]
        if function in ("import_module", "__import__") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.add(name.value, node.lineno)
        for keyword in node.keywords:
            if keyword.arg == "allow_pickle" and not (
                isinstance(keyword.value, ast.Constant)
                and keyword.value.value is False
            ):
                self.unpickles.append(node.lineno)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute):
        self.attributes.append((ast.unparse(node), node.lineno))
        self.generic_visit(node)

    def visit_If(self, node: ast.If):
        test = ast.unparse(node.test)
        typing_only = test in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        self.depth += typing_only
        for child in node.body:
            self.visit(child)
        self.depth -= typing_only
        self.visit(node.test)
        for child in node.orelse:
            self.visit(child)

    def visit_function(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_function
    visit_AsyncFunctionDef = visit_function
    visit_Lambda = visit_function


def direction_error(module: str, name: str) -> str | None:
    """Says why `module` must not import `name`, if so."""
    package, _, rest = module.partition(".")
    top, _, target = name.partition(".")
    if top in NOT_INSTALLED:
        return f"{top} is not installed with the package"
    if top not in PACKAGES:
        return None
    if top != package:
        if top in PACKAGES[package]:
            return None
        return f"{package} must not import {top}"
    if package != "embeddings_tf" or not rest:
        return None
    part = rest.partition(".")[0]
    target = target.partition(".")[0]
    if target in ("", "__version__"):
        return "name the part of embeddings_tf that is meant"
    if part not in SIBLINGS:
        return f"give embeddings_tf.{part} a place in this test"
    if target in ("version", part) or target in SIBLINGS[part]:
        return None
    return f"embeddings_tf.{part} must not import embeddings_tf.{target}"


def check(path: str, source: str) -> list[str]:
    """Returns what is wrong with the imports of one module.

    Args:
        path: path of the module relative to the root, such as
            `"embeddings_tf/ops/pairs.py"`.
        source: its text.
    """
    parts = list(Path(path).with_suffix("").parts)
    is_package = parts[-1] == "__init__"
    module = ".".join(parts[:-1] if is_package else parts)
    imports = Imports(module, is_package)
    imports.visit(ast.parse(source))

    errors = []
    for name, line, at_import in imports.found:
        reasons = [direction_error(module, name)]
        reasons += [
            f"{forbidden} {why}"
            for forbidden, why in FORBIDDEN.items()
            if within(name, forbidden)
        ]
        top = name.partition(".")[0]
        light = parts[0] not in HEAVY_ANYWHERE_IN
        if light and at_import and top in HEAVY:
            if not (is_builder(module) and top == "tensorflow_datasets"):
                reasons.append(f"import {top} where it is used")
        if light and at_import and any(map(is_builder, name.split("."))):
            reasons.append("import a dataset builder where it is used")
        errors += [f"{path}:{line}: {why}" for why in reasons if why]
    for written, line in imports.attributes:
        root, _, rest = written.partition(".")
        name = f"{imports.aliases.get(root, root)}.{rest}"
        errors += [
            f"{path}:{line}: {forbidden} {why}"
            for forbidden, why in FORBIDDEN.items()
            if name == forbidden
        ]
    errors += [
        f"{path}:{line}: allow_pickle runs what it reads"
        for line in imports.unpickles
    ]
    return errors


def modules():
    return sorted(
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    )


@pytest.mark.parametrize("path", modules())
def test_imports(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    errors = check(path, source)
    assert not errors, "\n".join(errors)


def test_the_rules_allow_no_circle():
    graphlib.TopologicalSorter(SIBLINGS).prepare()
    graphlib.TopologicalSorter(PACKAGES).prepare()


def test_finds_modules_of_every_package():
    assert {path.split("/")[0] for path in modules()} == set(PACKAGES)


@pytest.mark.parametrize(
    ("path", "source", "reason"),
    [
        (
            "embeddings_tf/ops/pairs.py",
            "from embeddings_tf.losses import triplet_loss",
            "embeddings_tf.ops must not import embeddings_tf.losses",
        ),
        (
            "embeddings_tf/ops/pairs.py",
            "from embeddings_tf import metrics",
            "embeddings_tf.ops must not import embeddings_tf.metrics",
        ),
        (
            "embeddings_tf/losses/triplet_loss.py",
            "import embeddings_tf.layers.pair_distance as pair_distance",
            "embeddings_tf.losses must not import embeddings_tf.layers",
        ),
        (
            "embeddings_tf/losses/__init__.py",
            "from ..models.embedding_model import EmbeddingModel",
            "embeddings_tf.losses must not import embeddings_tf.models",
        ),
        (
            "embeddings_tf/layers/pair_distance.py",
            "def call():\n    from ..objectives import learned_distance",
            "embeddings_tf.layers must not import embeddings_tf.objectives",
        ),
        (
            "embeddings_tf/objectives/learned_distance.py",
            "import importlib\nimportlib.import_module('embeddings_tf.models')",
            "embeddings_tf.objectives must not import embeddings_tf.models",
        ),
        (
            "embeddings_tf/sampling.py",
            "from embeddings_tf.losses import f_statistic_loss",
            "embeddings_tf.sampling must not import embeddings_tf.losses",
        ),
        (
            "embeddings_tf/datasets/preprocess.py",
            "from embeddings_tf import callbacks",
            "embeddings_tf.datasets must not import embeddings_tf.callbacks",
        ),
        (
            "embeddings_tf/models/beta_vae.py",
            "from embeddings_tf.export import export_saved_model",
            "embeddings_tf.models must not import embeddings_tf.export",
        ),
        (
            "embeddings_tf/models/beta_vae.py",
            "import embeddings_tf",
            "name the part of embeddings_tf that is meant",
        ),
        (
            "embeddings_tf/helpers.py",
            "from embeddings_tf.ops import pairs",
            "give embeddings_tf.helpers a place in this test",
        ),
        (
            "embeddings_tf/__init__.py",
            "from trainers import train",
            "embeddings_tf must not import trainers",
        ),
        (
            "embeddings_tf/export.py",
            "def late():\n    import tuning.search",
            "embeddings_tf must not import tuning",
        ),
        (
            "trainers/train.py",
            "from tuning import search",
            "trainers must not import tuning",
        ),
        (
            "trainers/train.py",
            "from tests import conformance",
            "tests is not installed",
        ),
        (
            "tuning/search.py",
            "from keras.src import backend",
            "keras.src is private",
        ),
        ("trainers/fit.py", "import keras.src.ops", "keras.src is private"),
        (
            "embeddings_tf/export.py",
            "import keras as k\nk.src.backend.backend()",
            "keras.src is private",
        ),
        (
            "embeddings_tf/layers/gaussian_embedding.py",
            "def f():\n"
            "    import tensorflow_probability as tfp\n"
            "    tfp.layers.DenseFlipout(3)",
            "tensorflow_probability.layers is Keras 2",
        ),
        (
            "embeddings_tf/layers/gaussian_embedding.py",
            "def f():\n    from tensorflow_probability import layers",
            "tensorflow_probability.layers is Keras 2",
        ),
        ("trainers/train.py", "import pickle", "pickle runs"),
        ("trainers/train.py", "from pickle import loads", "pickle runs"),
        (
            "embeddings_tf/datasets/__init__.py",
            "numpy.load(path, allow_pickle=True)",
            "allow_pickle runs",
        ),
        (
            "embeddings_tf/viz/save_figure.py",
            "import matplotlib.figure",
            "import matplotlib where it is used",
        ),
        (
            "embeddings_tf/ops/gaussian.py",
            "try:\n    import tensorflow_probability as tfp\n"
            "except ImportError:\n    tfp = None",
            "import tensorflow_probability where it is used",
        ),
        (
            "trainers/evaluate.py",
            "if True:\n    from sklearn import metrics",
            "import sklearn where it is used",
        ),
        (
            "trainers/evaluate.py",
            "if not TYPE_CHECKING:\n    import sklearn",
            "import sklearn where it is used",
        ),
        (
            "trainers/evaluate.py",
            "class Bar:\n    import tqdm",
            "import tqdm where it is used",
        ),
        (
            "embeddings_tf/datasets/n_digit/n_digit_dataset_builder.py",
            "import sklearn",
            "import sklearn where it is used",
        ),
        (
            "embeddings_tf/datasets/n_digit/__init__.py",
            "from .n_digit_dataset_builder import Builder",
            "import a dataset builder where it is used",
        ),
    ],
)
def test_offence_is_found(path, source, reason):
    errors = check(path, source)
    assert len(errors) == 1
    assert errors[0].startswith(path)
    assert reason in errors[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("embeddings_tf/__init__.py", "from embeddings_tf import losses"),
        (
            "embeddings_tf/losses/__init__.py",
            "from .triplet_loss import TripletLoss",
        ),
        (
            "embeddings_tf/losses/triplet_loss.py",
            "import keras\nfrom embeddings_tf.ops import pairs",
        ),
        (
            "embeddings_tf/ops/gaussian.py",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n"
            "    import tensorflow_probability as tfp\n"
            "def f():\n"
            "    import tensorflow_probability as tfp\n"
            "    return tfp.distributions.Normal(0.0, 1.0)",
        ),
        (
            "embeddings_tf/datasets/n_digit/n_digit_dataset_builder.py",
            "import tensorflow_datasets as tfds",
        ),
        (
            "embeddings_tf/datasets/__init__.py",
            "import numpy as np\nnp.load(path, allow_pickle=False)",
        ),
        (
            "embeddings_tf/callbacks/embedding_projector.py",
            "from .. import viz",
        ),
        ("trainers/train.py", "import embeddings_tf\nembeddings_tf.losses"),
        ("tuning/search.py", "import keras_tuner\nfrom trainers import train"),
    ],
)
def test_clean_source_passes(path, source):
    assert check(path, source) == []
