"""Arguments of Keras objects are read without importing them."""

import importlib
import inspect
import subprocess
import sys

import pytest

from trainers.config.places import method_kind
from trainers.config.run_fields import PLACES
from trainers.config.signatures import REQUIRED
from trainers.config.signatures import Expression
from trainers.config.signatures import settable
from trainers.config.signatures import signature


def test_arguments_types_and_help_of_an_encoder():
    found = signature(PLACES["encoder"], "omniglot_encoder")
    assert not found.is_open
    names = ["dim", "image_shape", "dark_ink"]
    assert list(found.arguments)[:3] == names
    dim, image_shape, dark_ink = map(found.arguments.get, names)
    assert dim.default is REQUIRED and dim.type.kinds == ("int",)
    assert dim.help == "Dimensions of the embedding."
    assert image_shape.default == (105, 105, 3)
    assert image_shape.type.length == 3
    assert dark_ink.default is True
    assert dark_ink.help.startswith("Whether ink is dark on light paper")


def test_what_the_training_fills_in_cannot_be_set():
    found = settable(PLACES["batches"], "episodes", "batches")
    assert set(found.arguments) == {"num_classes", "num_support", "num_query"}
    found = settable(PLACES["objective"], "LearnedDistance")
    assert "num_classes" not in found.arguments
    assert {"distance", "projection", "seed"} < set(found.arguments)
    found = settable(PLACES["loss"], "TripletLoss")
    assert set(found.arguments) == {
        "margin",
        "mining",
        "distance",
        "average_over",
    }


def test_arguments_of_a_base_class_are_found():
    """`SGDWithL2` passes unknown arguments to `keras.optimizers.SGD`."""
    found = signature(PLACES["optimizer"], "SGDWithL2")
    assert found.arguments["l2"].default == 0.0
    assert found.arguments["global_clipnorm"].default is None


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("optimizer", "Adam"),
        ("learning_rate", "CosineDecay"),
        ("learning_rate", "InverseSquareRootDecay"),
        ("loss", "FStatisticLoss"),
        ("objective", "StochasticPrototypes"),
        ("autoencoder", "BetaVAE"),
        ("decoder", "sprites_decoder"),
        ("distance", "PairDistance"),
        ("front_end", "front_end"),
        ("preprocess", "corrupt"),
        ("batches", "factor_batches"),
    ],
)
def test_defaults_are_those_of_the_object(place, name):
    modules = [importlib.import_module(module) for module in PLACES[place]]
    (thing,) = (getattr(m, name) for m in modules if hasattr(m, name))
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    found = signature(PLACES[place], name).arguments
    for argument, default in defaults.items():
        if default is inspect.Parameter.empty:
            default = REQUIRED
        assert found[argument].default == default, argument


IMPORTS = [
    ("import embeddings_tf", "embeddings_tf.objectives."),
    ("import embeddings_tf as et", "et.objectives."),
    ("import embeddings_tf.objectives as own", "own."),
    ("from embeddings_tf import objectives", "objectives."),
    ("from embeddings_tf import objectives as own", "own."),
    ("from embeddings_tf.objectives import StochasticPrototypes", ""),
]


@pytest.mark.parametrize(("line", "place"), IMPORTS)
def test_the_base_of_an_own_class_is_found_by_the_imports(
    line, place, tmp_path
):
    file = tmp_path / "mine.py"
    file.write_text(
        f"{line}\n\nclass Mine({place}StochasticPrototypes):\n"
        "    def __init__(self, power=2.0, **kwargs): ...\n"
    )
    base = signature(PLACES["objective"], "StochasticPrototypes")
    assert {"num_support", "beta"} < set(base.arguments)
    found = signature(PLACES["objective"], f"{file}:Mine")
    assert set(found.arguments) == {"power", *base.arguments}
    assert method_kind(f"{file}:Mine") == "objective"


@pytest.mark.parametrize(
    ("line", "base", "kind"),
    [
        ("from keras.losses import Loss as Base", "Base", "loss"),
        ("from keras import losses as own", "own.Loss", "loss"),
        ("from not_installed import Loss as Base", "Base", "loss"),
        ("import keras as k", "k.layers.Layer", "objective"),
        ("import keras as k", "k.Model", "autoencoder"),
        (
            "from embeddings_tf import objectives",
            "objectives.EmbeddingObjective",
            "objective",
        ),
    ],
)
def test_the_kind_of_an_own_class_is_found_by_the_imports(
    line, base, kind, tmp_path
):
    file = tmp_path / "mine.py"
    file.write_text(f"{line}\n\nclass Mine({base}): ...\n")
    assert method_kind(f"{file}:Mine") == kind


def test_a_class_named_as_its_base(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from embeddings_tf.losses import TripletLoss\n\n"
        "class TripletLoss(TripletLoss):\n"
        "    def __init__(self, power=2.0, **kwargs): ...\n"
    )
    found = signature(PLACES["loss"], f"{file}:TripletLoss")
    assert {"power", "margin"} < set(found.arguments)
    assert method_kind(f"{file}:TripletLoss") == "loss"


def test_a_class_named_as_a_base_that_is_not_found(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "try:\n    from keras.losses import Loss\n"
        "except ImportError:\n    from own import Loss\n\n"
        "class Loss(Loss): ...\n"
    )
    assert signature((), f"{file}:Loss") == ({}, True)
    assert method_kind(f"{file}:Loss") == "loss"


def test_classes_that_are_derived_from_each_other(tmp_path):
    """Python allows it: the first `One` is defined anew."""
    file = tmp_path / "mine.py"
    file.write_text(
        "class One: ...\n\nclass Two(One): ...\n\nclass One(Two): ...\n"
    )
    assert signature((), f"{file}:One") == ({}, True)
    assert method_kind(f"{file}:One") is None


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("optimizer", "schedules"),
        ("optimizer", "legacy"),
        ("preprocess", "speech"),
    ],
)
def test_a_submodule_is_no_object(place, name):
    assert signature(PLACES[place], name) is None


def test_a_file_that_imports_from_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "own_of_this_test" / "mine.py"
    file.parent.mkdir()
    file.write_text("from own_of_this_test.mine import Mine\n")
    with pytest.raises(ValueError, match="no class or function 'Mine'"):
        signature((), "own_of_this_test/mine.py:Mine")


def test_an_imported_module_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "broken_of_this_test" / "base.py"
    file.parent.mkdir()
    file.write_text("class Base(:\n")
    mine = tmp_path / "mine.py"
    mine.write_text("from broken_of_this_test.base import Base\n")
    with pytest.raises(ValueError, match=r"base\.py cannot be read: Syntax"):
        signature((), f"{mine}:Base")


@pytest.mark.parametrize("place", PLACES)
def test_every_default_of_our_own_objects_is_a_literal(place):
    """So that `--help` prints it and `config.json` contains it."""
    for module in PLACES[place]:
        if module.startswith("keras"):
            continue
        names = importlib.import_module(module).__all__
        for name in names:
            found = settable((module,), name)
            for argument, value in found.arguments.items() if found else ():
                default = value.default
                assert not isinstance(default, Expression), (name, argument)


def test_unknown_names():
    assert signature(PLACES["batches"], "np") is None
    assert signature(PLACES["loss"], "Nothing") is None
    assert signature(("no_such_package",), "Nothing") is None


def test_neither_tensorflow_nor_keras_is_imported():
    code = (
        "import sys\n"
        "from trainers.config.load import load_recipe, recipe_names\n"
        "from trainers.config.run_help import help_of_run\n"
        "for name in recipe_names():\n"
        "    help_of_run(name, load_recipe(name))\n"
        "print({'tensorflow', 'keras'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
