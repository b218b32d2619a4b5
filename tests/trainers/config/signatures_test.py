"""Arguments of Keras objects are read without importing them."""

import inspect
import subprocess
import sys

import pytest

from trainers.config.run_fields import PLACES
from trainers.config.signatures import REQUIRED
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
    found = settable(PLACES["batches"], "episodes")
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
    import importlib

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
