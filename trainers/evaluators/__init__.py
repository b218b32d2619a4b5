"""Evaluations of a trained model: one module each.

Each has `validation(config, model)`, a callback for training; `check(config)`,
which raises ValueError if the section `evaluation` does not fit the data;
`evaluate(config, model)`, which returns a dictionary of results and one of
Matplotlib figures by name; and `summary(results)`, a text. None writes files:
`trainers.evaluate` does.
"""

import importlib


def evaluator(config):
    """The module that measures the runs of a recipe.

    `few_shot` of an n-digit data set is `n_digit_few_shot`, which adds what
    the digits tell.
    """
    name = config.evaluation.name
    if name == "few_shot" and config.dataset.startswith("n_digit/"):
        name = "n_digit_few_shot"
    return importlib.import_module(f"trainers.evaluators.{name}")
