"""The kinds of runs that `kill_runs` kills: commands and results."""

import dataclasses
import json
import pathlib
import zipfile
from collections.abc import Callable

from trainers.workdirs import layout
from tuning.chief import free_port

ROOT = pathlib.Path(__file__).parents[1]
# Short epochs, because the kills between epochs are tested. On this run two
# workers agree to 1e-5; on the demo recipe, with Adam's small epsilon, they
# do not.
TRAINING = (
    *("--config", "tests/trainers/tiny.py"),
    "--config.num_epochs=12",
    "--config.patience=12",
    "--config.steps_per_epoch=15",
)
SEARCH = (
    *("--config", "demo", "--space", "stochastic_prototypes"),
    *("--trials", "4"),
    "--config.num_epochs=4",
    "--config.steps_per_epoch=15",
    "--config.validation.num_episodes=2",
    "--config.validation.num_samples=3",
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of run: its commands and its results.

    Args:
        title: Name of the kind in the table.
        commands: Function from a workdir to `(words, environment)` of each
            process; every process must end with exit code 0.
        result: Function from a workdir to numbers and arrays by name.
        progress: Function from a workdir to a number that grows with the run.
        tolerance: Largest allowed difference from the uninterrupted run.
        worker: Part of the command line of workers that the processes start
            themselves.
    """

    title: str
    commands: Callable
    result: Callable
    progress: Callable
    tolerance: float = 0.0
    worker: str = ""


def one_process(workdir):
    words = ["-m", "trainers.train", *TRAINING, "--workdir", str(workdir)]
    return [(words, {})]


def two_workers(workdir):
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    ((words, _),) = one_process(workdir)
    return [
        (
            [*words, "--config.strategy=multi_worker"],
            {
                # In case a worker is killed before the others have connected.
                "EMBEDDINGS_TF_START_SECONDS": "90",
                "TF_CONFIG": json.dumps(
                    {
                        "cluster": {"worker": addresses},
                        "task": {"type": "worker", "index": index},
                    }
                ),
            },
        )
        for index in range(2)
    ]


def trained(workdir) -> dict:
    """Returns weights, state of the optimiser, and history."""
    import keras
    import numpy as np

    import embeddings_tf  # noqa: F401  registers its classes

    result = {}
    for path in (layout.latest(workdir), layout.best(workdir)):
        model = keras.saving.load_model(path)
        variables = (*model.weights, *model.optimizer.variables)
        for number, variable in enumerate(variables):
            result[f"{path.stem} {number} {variable.path}"] = variable.numpy()
    training = json.loads((workdir / "results.json").read_text())["training"]
    for row in training["history"]:
        for measure, value in row.items():
            result[f"epoch {row['epoch']} {measure}"] = np.float64(value)
    return result


def epochs_done(workdir) -> int:
    """Returns the number of epochs in the newest checkpoint."""
    path = layout.latest(workdir)
    if not path.exists():
        return 0
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("training_state.json"))["epoch"]


def search(workdir):
    words = ["-m", "tuning.search", *SEARCH, "--workdir", str(workdir)]
    return [(words, {})]


def search_with_workers(workdir):
    ((words, environment),) = search(workdir)
    return [([*words, "--workers", "2"], environment)]


def searched(workdir) -> dict:
    """Returns the value of every trial, by its drawn hyperparameters."""
    results = json.loads((workdir / "results.json").read_text())
    return {
        json.dumps([trial["trial"], trial["status"], trial["values"]]): (
            trial["objective"] or 0.0  # None for a failed trial
        )
        for trial in results["trials"]
    }


def trials_done(workdir) -> int:
    path = workdir / "results.json"
    if not path.exists():
        return 0
    trials = json.loads(path.read_text())["trials"]
    return sum(trial["status"] == "completed" for trial in trials)


KINDS = {
    "one": Kind("training, one process", one_process, trained, epochs_done),
    "multi_worker": Kind(
        "training, one of two workers",
        two_workers,
        trained,
        epochs_done,
        tolerance=1e-5,
    ),
    "search": Kind("search, one process", search, searched, trials_done),
    "search_workers": Kind(
        "search, its chief or one of its two workers",
        search_with_workers,
        searched,
        trials_done,
        worker="tuning.local_worker",
    ),
}
