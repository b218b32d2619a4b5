"""Evaluations of a trained model, one module each.

Each module has four functions. `validation(run, data, model)` returns a
callback for training. `check(run, data)` raises ValueError if the section
`evaluation` does not fit the data. `evaluate(run, data, model)` returns
dictionaries of results and of Matplotlib figures by name. `summary(results)`
returns a text. `trainers.evaluate` writes the files.
"""

import importlib


def evaluator(run):
    """Returns the module that evaluates a run."""
    return importlib.import_module(f"trainers.evaluators.{run.evaluation.name}")
