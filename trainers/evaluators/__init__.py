"""Evaluations of a trained model: one module each.

Each has `validation(run, data, model)`, a callback for training;
`check(run, data)`, which raises ValueError if the section `evaluation` does not
fit the data; `evaluate(run, data, model)`, which returns a dictionary of
results and one of Matplotlib figures by name; and `summary(results)`, a text.
None writes files: `trainers.evaluate` does.
"""

import importlib


def evaluator(run):
    """The module that measures a run.

    `few_shot` of an n-digit data set is `n_digit_few_shot`, which adds what
    the digits tell.
    """
    name = run.evaluation.name
    if name == "few_shot" and run.data.dataset.startswith("n_digit/"):
        name = "n_digit_few_shot"
    return importlib.import_module(f"trainers.evaluators.{name}")
