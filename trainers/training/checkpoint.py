"""Checkpoints from which a killed run resumes exactly."""

import json
import os
import pathlib
import shlex
import shutil
import sys
import time
import zipfile

import keras

from embeddings_tf.ops.atomic_file import atomic_file
from embeddings_tf.ops.counted import counted
from trainers.config.build import build
from trainers.config.load import load_function
from trainers.config.own_code import import_own_code
from trainers.config.own_code import reason_of
from trainers.config.own_code import require_one_meaning
from trainers.config.run_config import config_of
from trainers.data.same_data import FINGERPRINTS
from trainers.training.best_file import best_file
from trainers.training.best_file import unusable
from trainers.training.finite_loss import require_finite
from trainers.training.monitor import is_better
from trainers.training.monitor import worst
from trainers.training.plain_copy import random_state
from trainers.training.require_damaged import UNREADABLE
from trainers.training.require_damaged import require_damaged
from trainers.training.training_state import MEMBER as STATE
from trainers.training.training_state import training_state
from trainers.workdirs import layout
from trainers.workdirs.json_files import DamagedError
from trainers.workdirs.workdir import run_of_workdir

# State that Keras does not save, and its types.
STATE_FIELDS = {
    "epoch": int,
    "best_epoch": int,
    "best_value": int | float,
    "finished": str,
    "seconds": int | float,
    "history": list,
    "seeds": list,
    "input_wait": list,
    **dict.fromkeys(FINGERPRINTS, str),
}


class Checkpoint(keras.callbacks.Callback):
    """Saves the state of a run after each epoch, and stops training early.

    `latest.keras` contains the model, the optimiser, and a JSON member with
    the state that Keras leaves out: `STATE_FIELDS`. The file is replaced
    atomically, so it is complete after a kill at any moment. The previous
    checkpoint is kept as `previous.keras`. `best.keras` is the best epoch. All
    files open with `keras.saving.load_model`.

    Training also stops at a batch whose loss is not finite: a
    FloatingPointError, before anything is saved.

    Args:
        directory: Folder of the files.
        monitor: Name in the logs, with a direction (`training.monitor`).
        patience: Epochs without improvement after which training stops.
        num_epochs: Number of epochs of the whole run.
        state: The result of `restore`, for a run that continues.

    Raises:
        ValueError: If `monitor` has no direction.
    """

    def __init__(self, directory, monitor, patience, num_epochs, state=None):
        super().__init__()
        self.directory = pathlib.Path(directory)
        self.monitor = monitor
        self.patience = patience
        self.num_epochs = num_epochs
        self.state = state or {
            "epoch": 0,
            "best_epoch": 0,
            "best_value": worst(monitor),
            "finished": "",
            "seconds": 0.0,
            "input_wait": [],
            "history": [],
        }

    def on_train_begin(self, logs=None):
        self._started = time.monotonic()
        self._seconds_before = self.state["seconds"]

    def on_train_batch_end(self, batch, logs=None):
        if logs:
            require_finite(logs.get("loss", 0.0), self.state["epoch"])

    def on_epoch_end(self, epoch, logs=None):
        logs = {name: float(value) for name, value in (logs or {}).items()}
        state = self.state
        # Not part of the history, which must not depend on the machine.
        waited = logs.pop("input_wait", None)
        logs.pop("steps_per_second", None)
        if waited is not None:
            state["input_wait"].append(waited)
        state["epoch"] = epoch + 1
        state["seconds"] = self._seconds_before + (
            time.monotonic() - self._started
        )
        state["history"].append({"epoch": epoch + 1, **logs})
        value = logs[self.monitor]
        improved = is_better(self.monitor, value, state["best_value"])
        if improved:
            state["best_value"], state["best_epoch"] = value, epoch + 1
        elif epoch + 1 - state["best_epoch"] >= self.patience:
            state["finished"] = (
                f"no better {self.monitor} for "
                f"{counted(self.patience, 'epoch')}"
            )
        if not state["finished"] and epoch + 1 >= self.num_epochs:
            state["finished"] = "all epochs"
        state["seeds"] = [
            variable.numpy().tolist() for variable in random_state(self.model)
        ]
        save(self.model, state, self.directory)
        if state["finished"]:
            self.model.stop_training = True


def save(model, state: dict, directory: pathlib.Path) -> None:
    """Writes `latest.keras`, and `best.keras` if this epoch is the best.

    Raises:
        OSError: If writing fails, for example on a full disk; earlier files
            stay unchanged.
    """
    latest = directory / layout.LATEST
    temporary = directory / layout.WRITING
    try:
        model.save(temporary)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(STATE, json.dumps(state))
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        if latest.exists():
            os.replace(latest, directory / layout.PREVIOUS)
        os.replace(temporary, latest)
        if state["best_epoch"] == state["epoch"]:
            _copy(latest, directory / layout.BEST)
    except OSError as error:
        raise OSError(
            f"could not write the checkpoints of epoch {state['epoch']} to "
            f"{directory}: {error.strerror or error}; complete files there "
            "are kept. Make room and start the same command again"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def restore(directory: pathlib.Path):
    """Returns the newest valid checkpoint `(model, state)`, or None.

    If the newest checkpoint cannot be read, the function warns on stderr,
    renames it to `damaged.keras`, and uses the next newest one. Otherwise the
    next checkpoint would replace the valid one by the damaged one.

    Raises:
        DamagedError: If there are checkpoints but none can be read, or only
            `best.keras` is there.
        OSError: If the machine prevents reading, for example by a full disk.
    """
    found = False
    for path in _newest_first(directory):
        found = True
        try:
            with zipfile.ZipFile(path) as archive:
                damaged = archive.testzip()
                if damaged:
                    raise zipfile.BadZipFile(f"{damaged} is damaged")
                state = json.loads(archive.read(STATE))
            _check_state(state)
            model = keras.saving.load_model(path)
            # Keras does not save seed generators.
            for variable, value in zip(
                random_state(model), state["seeds"], strict=True
            ):
                variable.assign(value)
        except UNREADABLE as error:
            require_damaged(error, path)
            print(
                f"warning: {path} cannot be read ({reason_of(error)}); trying "
                "the next newest checkpoint",
                file=sys.stderr,
            )
            continue
        # A kill between the two writes leaves an older best.keras.
        best = directory / layout.BEST
        if state["best_epoch"] == state["epoch"] and path != best:
            _copy(path, best)
        newest = directory / layout.LATEST
        if path != newest and newest.exists():
            os.replace(newest, directory / layout.DAMAGED)
        return model, state
    if found:
        raise DamagedError(
            f"no checkpoint in {directory} can be read; put back the code of "
            f"the model if it has changed, or remove {directory} to train from "
            "the start"
        )
    if (directory / layout.BEST).exists():
        raise DamagedError(
            f"{directory} has {layout.BEST} but neither {layout.LATEST} nor "
            f"{layout.PREVIOUS}, so the training cannot continue; put one "
            "back, or train in another --workdir"
        )
    return None


def _newest_first(directory: pathlib.Path) -> list[pathlib.Path]:
    """Returns the checkpoints of a run.

    `best.keras` is also a whole checkpoint. It is newer than `previous.keras`
    if the newest epoch is the best, and then replaces a damaged `latest.keras`.
    An epoch that is repeated instead might differ from the one in `best.keras`.
    """
    latest, previous, best = (
        directory / name
        for name in (layout.LATEST, layout.PREVIOUS, layout.BEST)
    )
    found = [path for path in (latest, previous) if path.exists()]
    epochs = [training_state(path).get("epoch", 0) for path in (best, previous)]
    if found and epochs[0] > epochs[1]:
        found.insert(latest in found, best)
    return found


def _check_state(state) -> None:
    """Raises ValueError unless this is the state of a run after an epoch."""
    if not isinstance(state, dict):
        raise ValueError(f"{STATE} holds a {type(state).__name__}")
    for field, kind in STATE_FIELDS.items():
        if not isinstance(state.get(field), kind):
            raise ValueError(f"{STATE} has no {field}, or a wrong one")
    rows = [isinstance(row, dict) and row["epoch"] for row in state["history"]]
    if rows != list(range(1, state["epoch"] + 1)):
        raise ValueError(f"{STATE} has no row for each epoch")


def load_best(workdir: pathlib.Path, *, run_recipe: bool = True):
    """Loads the model of the best epoch of a run.

    If the recipe is a Python file, or the run names Python files, the files are
    run first, because they may register classes with Keras.

    Args:
        workdir: Folder of the run.
        run_recipe: Whether a recipe that is a Python file is run.

    Raises:
        ValueError: As `best_file`, or if it contains an unknown class, or one
            that two files define.
    """
    path = best_file(workdir)
    recipe, run = "", None
    if (workdir / "config.json").exists():
        recipe, run = run_of_workdir(workdir)
        shared = import_own_code(config_of(run))
        require_one_meaning(shared, _config_in(path))
    is_file = recipe.endswith(".py")
    if run_recipe and is_file and pathlib.Path(recipe).is_file():
        load_function(recipe, None, "get_config", "recipe", [])
    try:
        # The optimiser of a half-precision run needs the same policy.
        model = keras.saving.load_model(path, compile=False)
    except (KeyError, OSError, ValueError) as error:
        require_damaged(error, path)
        raise unusable(workdir, f"is damaged ({error})") from error
    except TypeError as error:
        reason = reason_of(error)
        if is_file and not run_recipe:
            reason += (
                f" The recipe {recipe}, which may define it, was not run, "
                "because only a file of embeddings names the run; if you trust "
                "the recipe, name the run yourself: --workdir "
                f"{shlex.quote(str(workdir))}"
            )
        elif is_file and not pathlib.Path(recipe).is_file():
            reason += (
                f" The recipe {recipe}, which may define it, is not there: "
                "start in the folder in which the training was started."
            )
        raise ValueError(f"{path} cannot be loaded: {reason}") from error
    if run is not None and run.method.kind == "loss":
        # It decides how embeddings compare, and is not part of the file.
        model.loss = build(run.method, "method")
    return model


def _config_in(path: pathlib.Path) -> dict:
    """The configuration of a model in its file; empty if it is damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            return json.loads(file.read("config.json"))
    except UNREADABLE:
        return {}  # Keras says what is wrong


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    with atomic_file(target) as temporary:
        shutil.copyfile(source, temporary)
