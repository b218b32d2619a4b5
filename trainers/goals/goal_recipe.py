"""Writes a recipe for a goal, from a look at the data."""

import contextlib
import pathlib
import shlex
from typing import NamedTuple

from embeddings_tf.datasets.own_data import has_own_splits
from embeddings_tf.ops.counted import counted
from trainers.config.run import Run
from trainers.config.run_checks import check_run
from trainers.config.run_checks import require_effect
from trainers.data.look_at_data import NUM_FOLDS
from trainers.data.look_at_data import DataSummary
from trainers.data.look_at_data import look_at_data
from trainers.goals.goal_config import goal_config
from trainers.goals.goal_overrides import data_to_look_at
from trainers.goals.goal_overrides import with_overrides
from trainers.goals.goals import goal_of
from trainers.workdirs.json_files import write_atomically
from trainers.workdirs.lock import absent
from trainers.workdirs.lock import remove_empty
from trainers.workdirs.recipe_text import recipe_text

# Fields that only methods with Gaussians have, and the learned distance.
OF_GAUSSIANS = "encoder.initial_variance="
OF_DISTANCES = ("objective.encoder_loss=", "objective.encoder_loss.")
# With fewer classes in training, a closed set may be what is wanted.
FEW_CLASSES = 10
# Examples of each class, for a division of the examples.
LEAST_EXAMPLES = 6


class Planned(NamedTuple):
    """A recipe that can be written.

    path: The file.
    text: Its content.
    about: What to print.
    run: The run of the recipe.
    """

    path: pathlib.Path
    text: str
    about: str
    run: Run


def plan_recipe(
    dataset: str,
    goal: str,
    method: str | None,
    split: str,
    workdir: str,
    division_seed: int = 0,
    overrides: list[str] = (),
    command: str = "train",
) -> Planned:
    """Returns the recipe `WORKDIR/recipe.py` for a data set and a goal.

    The recipe contains the overrides, except for fields of this machine, and is
    checked before any training. A file that is already there must be equal, so
    that a killed run continues and an edited recipe is not overwritten.

    Args:
        dataset: Name of the data set.
        goal: A name of `GOALS`.
        method: A name of `TRAINED_BY`; None: the goal's own.
        split: `classes` or `examples`: how data without splits is divided.
        workdir: The folder of the run.
        division_seed: Random seed of the division; the fold of named sets that
            are divided.
        overrides: Fields that the command sets, `field=value`.
        command: `train`; or `compare`, which gives each method batches of as
            many examples.

    Raises:
        ValueError: If the method does not fit the goal, the data has too few
            classes, examples or factors, the recipe or an override cannot be
            used, or the file is there with other text.
    """
    wanted = goal_of(goal)
    method = wanted.method_or_default(method)
    data = look_at_data(
        data_to_look_at(dataset, split, division_seed, overrides),
        division_seed % NUM_FOLDS,
        one_is_enough=goal == "disentangle",
    )
    config = goal_config(dataset, goal, method, data, command == "compare")
    if command == "compare" and not config["encoder"].get("gaussian"):
        # A comparison has one command for all methods.
        overrides = [o for o in overrides if not o.startswith(OF_GAUSSIANS)]
    if command == "compare" and "encoder_loss" not in config.get(
        "objective", {}
    ):
        overrides = [o for o in overrides if not o.startswith(OF_DISTANCES)]
    config, run = with_overrides(config, overrides, data.is_read_later)
    check_run(run)
    require_effect(run, overrides)
    words = [command, dataset, "--goal", goal, "--split", split]
    if command == "train":
        words += ["--method", method]
    text = _text(config, words)
    path = pathlib.Path(workdir) / "recipe.py"
    _require_same_text(path, text)
    about = f"{goal}: {wanted.about}\n{_summary(config, data)}"
    return Planned(path, text, about, run)


def write_recipe(planned: Planned) -> str:
    """Writes a recipe, and prints what was chosen; returns its path."""
    path = planned.path
    # Another process may have written it since the plan.
    _require_same_text(path, planned.text)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, planned.text)
    print(f"{planned.about}\nRecipe: {path}")
    return str(path)


@contextlib.contextmanager
def written_recipe(planned: Planned):
    """Writes a recipe; removes it again if its training is refused.

    Its workdir must be open, so that no other process trains the recipe.
    """
    config = planned.path.with_name("config.json")
    made = absent([planned.path])
    is_other_run = config.exists()
    try:
        yield write_recipe(planned)
    except BaseException:
        if is_other_run or not config.exists():
            remove_empty(made)
        raise


def _require_same_text(path: pathlib.Path, text: str) -> None:
    """Raises ValueError if a recipe is there with another text."""
    # An editor may have saved the file in another encoding than UTF-8.
    if path.exists() and path.read_text("utf-8", "surrogateescape") != text:
        raise ValueError(
            f"{path} is another recipe than this command writes: it was "
            "edited, or the data, the goal, a --config field or this library "
            "changed. To go on with this recipe, train with --config "
            f"{shlex.quote(str(path))} --workdir "
            f"{shlex.quote(str(path.parent))}; or choose another --workdir for "
            "this command"
        )


def _summary(config: dict, data: DataSummary) -> str:
    """What was picked, one line each."""
    method = config.get("objective") or config["loss"]
    encoder_loss = (method.get("encoder_loss") or {}).get("name")
    how = "together with" if method.get("train_encoder", True) else "beside"
    together = f", {how} {encoder_loss}" if encoder_loss else ""
    batches = {k: v for k, v in config["batches"].items() if k != "name"}
    return "\n".join(
        [
            f"  data       {data.about}",
            *(
                f"  {split:<10} {counted(len(counts), 'class', 'classes')}, "
                f"{counted(counts.sum(), 'example')}"
                for split, counts in data.counts.items()
            ),
            f"  encoder    {config['encoder']['name']}, "
            f"{counted(config['encoder']['dim'], 'dimension')}",
            f"  method     {method['name']}{together}",
            f"  batches    {config['batches']['name']}, "
            + ", ".join(f"{k}={v}" for k, v in batches.items()),
            f"  evaluation {config['evaluation']['name']}",
            *_advice(config, data.counts),
        ]
    )


def _advice(config: dict, counts) -> list[str]:
    """Lines of advice if the division leaves few classes for training."""
    is_divided = (
        config.get("division", {}).get("by") == "classes"
        and not has_own_splits(config["dataset"])
        and config["batches"]["name"] != "factor_batches"
    )
    num_classes = len(counts["train"])
    smallest = min(of_split.min() for of_split in counts.values())
    if not is_divided or num_classes >= FEW_CLASSES:
        return []
    lines = [
        f"  advice     {num_classes} training classes are few for learning to "
        "tell new classes apart;",
        "             add classes.",
    ]
    if smallest >= LEAST_EXAMPLES:
        lines[-1] += " If your classes never change, use --split examples and"
        lines.append("             another --workdir.")
    return lines


def _text(config: dict, words: list[str]) -> str:
    """The recipe as a Python file."""
    about = [
        f"Recipe written by `embeddings-tf {shlex.join(words)}`.",
        "",
        "Edit it, then train it with another workdir:",
        "",
        "    embeddings-tf train --config recipe.py --workdir DIR",
    ]
    return recipe_text("\n".join(about), config)
