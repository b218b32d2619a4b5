"""Writes a recipe for a goal, from a look at the data."""

import contextlib
import os
import pathlib
import pprint
import shlex
from typing import NamedTuple

import numpy as np

from trainers.goals import METHODS
from trainers.goals import goal as goal_of
from trainers.look_at_data import look_at_data
from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.run_checks import check_run
from trainers.run_config import apply_override
from trainers.run_config import run_from_config
from trainers.workdir import remove_empty

STEPS_PER_EPOCH, NUM_EPOCHS, PATIENCE = 50, 20, 6
CLASSES_PER_BATCH, EXAMPLES_PER_CLASS = 12, 8


class Planned(NamedTuple):
    """A recipe that can be written: its file, its text, and what to print."""

    path: pathlib.Path
    text: str
    about: str


def plan_recipe(
    dataset: str,
    goal: str,
    method: str | None,
    split: str,
    workdir: str,
    division_seed: int = 0,
    overrides: list[str] = (),
) -> Planned:
    """Returns the recipe `WORKDIR/recipe.py` for a data set and a goal.

    The recipe is checked together with the overrides, before any training.

    A file that is already there must be equal, so that a killed run continues
    and an edited recipe is not overwritten.

    Raises:
        ValueError: If the method does not fit the goal, the data has too few
            classes, examples or factors, or the file is there with other text.
    """
    wanted = goal_of(goal)
    method = wanted.method if method is None else method
    wanted.require(method)
    data = look_at_data(dataset, split, division_seed)
    config = recipe(dataset, goal, method, split, division_seed, data)
    run = run_from_config(config)
    for override in overrides:
        run = apply_override(run, override)
    check_run(run)
    text = _text(config, dataset, goal, split)
    path = pathlib.Path(workdir) / "recipe.py"
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise ValueError(
            f"{path} is another recipe than this command writes: it was "
            "edited, or the data or the goal changed. Train it with --config "
            f"{shlex.quote(str(path))} and another --workdir, or choose "
            "another --workdir for this command"
        )
    about = f"{goal}: {wanted.about}\n{_summary(config, data)}"
    return Planned(path, text, about)


def write_recipe(planned: Planned) -> str:
    """Writes a recipe, and prints what was chosen; returns its path."""
    path = planned.path
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".py.unfinished")
        unfinished.write_text(planned.text, encoding="utf-8")
        os.replace(unfinished, path)
    print(f"{planned.about}\nRecipe: {path}")
    return str(path)


@contextlib.contextmanager
def written_recipe(planned: Planned):
    """Writes a recipe; removes it again if its training is refused."""
    folder = planned.path.parent
    places = planned.path, folder / ".lock", folder, *folder.parents
    made = [path for path in places if not path.exists()]
    try:
        yield write_recipe(planned)
    except BaseException:
        if not (folder / "config.json").exists():
            remove_empty(made)
        raise


def recipe(
    dataset: str, goal: str, method: str, split: str, seed: int, data
) -> dict:
    """The recipe as nested dictionaries.

    Args:
        dataset: Name of the data set.
        goal: A name of `GOALS`.
        method: A name of `METHODS`.
        split: `classes` or `examples`: how data without splits is divided.
        seed: Random seed of the division.
        data: The result of `look_at_data`.
    """
    trained_by = METHODS[method]
    dim = goal_of(goal).dim or 3 * data["num_factors"] + 1
    section = {
        kind: dict(arguments) for kind, arguments in trained_by.section.items()
    }
    if goal == "disentangle":
        if data["num_factors"] < 2:
            raise ValueError(
                f"the goal disentangle needs labels of several factors; "
                f"{dataset} has one label an example. Give several label "
                "columns, as in csv:FILE, or take another goal"
            )
        batches = sections.factor_batches(5)
    elif trained_by.episodes:
        batches = _episodes(data["train"])
        kind = next(iter(section))
        section[kind]["num_support"] = batches["num_support"]
    else:
        batches = _class_batches(data["train"])
    num_steps = STEPS_PER_EPOCH * NUM_EPOCHS
    return {
        "dataset": dataset,
        "split": "train",
        "seed": 0,
        "deterministic": True,
        "data_dir": "",
        "manual_dir": "",
        "division": {"by": split, "seed": seed},
        **data["sections"],
        "batches": batches,
        "encoder": data["encoder"]
        | {"dim": dim}
        | ({"gaussian": True} if trained_by.gaussian else {}),
        **section,
        "optimizer": sections.adam(
            cosine_decay(1e-3, num_steps), global_clipnorm=10.0
        ),
        "steps_per_epoch": STEPS_PER_EPOCH,
        "num_epochs": NUM_EPOCHS,
        "patience": PATIENCE,
        **_evaluation(goal, trained_by, dim, data),
    }


def _evaluation(goal, trained_by, dim, data) -> dict:
    """The sections `evaluation`, `validation` and `monitor`."""
    validation = {"split": "validation"}
    if goal == "retrieve":
        return {
            "monitor": "val_recall_at_1",
            "validation": validation,
            "evaluation": sections.retrieval(trained_by.distance),
        }
    if goal == "verify":
        dims = max(1, min(dim, len(data["train"]) - 1))
        return {
            "monitor": "val_accuracy_at_equal_error",
            "validation": validation,
            "evaluation": sections.verification(dims, num_resamples=200),
        }
    if goal == "disentangle":
        names = [f"factor {n + 1}" for n in range(data["num_factors"])]
        return {
            "monitor": "val_explicitness",
            "validation": validation,
            "evaluation": {
                "name": "disentanglement",
                "splits": ("test",),
                "factor_names": tuple(names),
            },
        }
    task = _episodes(data["test"])
    # Some classes are left to be unknown.
    if len(data["test"]) >= 4:
        task["num_classes"] = min(20, len(data["test"]) // 2)
    return {
        "monitor": "val_few_shot_accuracy",
        "validation": validation
        | {
            name: number
            for name, number in _episodes(data["validation"]).items()
            if name != "name"
        }
        | {"num_episodes": 20},
        "evaluation": {
            "name": "few_shot",
            "splits": ("test",),
            "num_classes": (task["num_classes"],),
            "num_support": task["num_support"],
            "num_query": task["num_query"],
            "num_episodes": 100,
            "num_draws": 1,
        },
    }


def _episodes(counts: np.ndarray) -> dict:
    """Supports and queries that the smallest class has."""
    smallest = int(counts.min())
    num_support = max(1, min(5, smallest // 2))
    return {
        "name": "episodes",
        "num_classes": min(20, len(counts)),
        "num_support": num_support,
        "num_query": max(1, min(5, smallest - num_support)),
    }


def _class_batches(counts: np.ndarray) -> dict:
    smallest = int(counts.min())
    return sections.class_batches(
        min(CLASSES_PER_BATCH, len(counts)),
        min(EXAMPLES_PER_CLASS, smallest),
    )


def _summary(config: dict, data: dict) -> str:
    """What was picked, one line each."""
    method = (config.get("objective") or config["loss"])["name"]
    classes = {n: len(data[n]) for n in ("train", "validation", "test")}
    examples = {n: int(data[n].sum()) for n in classes}
    batches = {k: v for k, v in config["batches"].items() if k != "name"}
    return "\n".join(
        [
            f"  data       {data['about']}",
            *(
                f"  {name:<10} {classes[name]} classes, {count} examples"
                for name, count in examples.items()
            ),
            f"  encoder    {config['encoder']['name']}, "
            f"{config['encoder']['dim']} dimensions",
            f"  method     {method}",
            f"  batches    {config['batches']['name']}, "
            + ", ".join(f"{k}={v}" for k, v in batches.items()),
            f"  evaluation {config['evaluation']['name']}",
        ]
    )


def _text(config: dict, dataset: str, goal: str, split: str) -> str:
    """The recipe as a Python file."""
    words = shlex.join(["train", dataset, "--goal", goal, "--split", split])
    body = pprint.pformat(config, sort_dicts=False, width=72)
    body = "\n".join("        " + line for line in body.splitlines())
    return (
        f'"""Recipe written by `embeddings-tf {words}`.\n\n'
        "Edit it, then train it with another workdir:\n\n"
        "    embeddings-tf train --config recipe.py --workdir DIR\n"
        '"""\n\n'
        "import ml_collections\n\n\n"
        "def get_config():\n"
        "    return ml_collections.ConfigDict(\n"
        f"{body}\n"
        "    )\n"
    )
