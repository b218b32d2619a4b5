"""Helpers of the conformance tests."""

import doctest
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import embeddings_tf

ROOT = Path(__file__).parents[1]


class WithOwnLayers(functools.partial):
    """A partial constructor that calls arguments that are partials.

    Each object that it makes has its own layers.
    """

    def __call__(self, /, *args, **keywords):
        keywords = {
            name: value() if isinstance(value, functools.partial) else value
            for name, value in {**self.keywords, **keywords}.items()
        }
        return self.func(*self.args, *args, **keywords)


def public_names(module) -> list[str]:
    """`__all__`, or the functions and classes that the module defines."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not name.startswith("_")
    ]


def run_examples(documented, name: str) -> None:
    """Runs the examples in the docstrings of an object; requires at least one.

    The examples can use only these imports.
    """
    names = {
        "embeddings_tf": embeddings_tf,
        "keras": keras,
        "np": np,
        "tf": tf,
        "tempfile": tempfile,
    }
    runner = doctest.DocTestRunner(verbose=False)
    printed = io.StringIO()
    for test in doctest.DocTestFinder().find(documented, name, globs=names):
        runner.run(test, out=printed.write)
    assert runner.tries, f"{name} has no example"
    assert not runner.failures, printed.getvalue()


# --- A fresh process --------------------------------------------------------

# Loads the files of `saved` with only the library imported. Used instead of
# `embeddings_tf.testing.saved_and_loaded`, which loads in the same process.
_LOAD = """
import json, sys
import keras, numpy
import embeddings_tf
for folder in sys.argv[1:]:
    found = {}
    try:
        inputs = numpy.load(folder + "/inputs.npz", allow_pickle=False)
        x = [inputs[name] for name in inputs if name != "labels"]
        x = x[0] if len(x) == 1 else tuple(x)
        model = keras.saving.load_model(folder + "/model.keras")
        model.run_eagerly = True  # tracing would take most of the time
        found["output"] = model.predict(x, verbose=0).tolist()
        if "labels" in inputs:
            labels = inputs["labels"]
            found["loss"] = model.evaluate(x, labels, verbose=0)
    except Exception as error:
        found["error"] = repr(error)
    with open(folder + "/found.json", "w") as file:
        json.dump(found, file)
"""


def load_in_fresh_process(entries, folder: Path) -> Callable:
    """Saves a model of each entry and loads all of them in one new process.

    Returns a function from an entry to the saved and the loaded results.
    """
    expected = {}
    folders = {}
    for entry in entries:
        folders[entry] = folder / str(len(folders))
        folders[entry].mkdir()
        expected[entry] = saved = entry.saved(folders[entry])
        arrays = {f"x{i}": x for i, x in enumerate(saved["inputs"])}
        if "labels" in saved:
            arrays["labels"] = saved["labels"]
        np.savez(folders[entry] / "inputs.npz", **arrays)
    script = folder / "load.py"
    script.write_text(_LOAD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), *map(str, folders.values())],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr

    def result(entry):
        found = (folders[entry] / "found.json").read_text(encoding="utf-8")
        return expected[entry], json.loads(found)

    return result
