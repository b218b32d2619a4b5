"""Random search with training runs as trials; it survives kills."""

import contextlib
import json
import pathlib
import sys
import time

import keras
import keras_tuner
from keras_tuner.engine.trial import Trial
from keras_tuner.engine.trial import TrialStatus
from keras_tuner.oracles import RandomSearchOracle

from embeddings_tf import compat
from trainers.fit import fit
from trainers.terminal.machine_fault import machine_fault
from trainers.terminal.quiet import several_trainings
from trainers.workdirs import workdir as workdirs
from trainers.workdirs.json_files import DamagedError
from trainers.workdirs.json_files import read_json
from trainers.workdirs.json_files import write_json
from trainers.workdirs.lock import is_held
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.other_data_error import OtherDataError
from tuning.require_unchanged import require_unchanged
from tuning.trial_files import CURE
from tuning.trial_files import objective_value
from tuning.trial_files import record_failure
from tuning.trial_files import write_hparams
from tuning.trial_files import write_objective

# A worker takes over a trial if its folder was unlocked for this long.
ORPHANED_SECONDS = 5
POLL_SECONDS = 0.5
# How long a worker waits until the last worker of a trial has left its folder.
PATIENCE_SECONDS = 10
# Fields in keras-tuner's file of a trial.
_TRIAL = ("trial_id", "hyperparameters", "metrics", "score", "best_step")
_TRIAL += ("status", "message")


class Oracle(RandomSearchOracle):
    """Draws the values of trials; a kill leaves no partly written file.

    An interrupted trial continues when its worker returns with the same id. If
    its folder stays unlocked, another worker continues the trial.
    """

    def __init__(self, **kwargs):
        # Failed trials are results. keras-tuner's limit would end the search
        # while it has the lock of the chief.
        super().__init__(max_consecutive_failed_trials=sys.maxsize, **kwargs)
        self.verbose = 0
        self.stopped = False
        self.error = None
        self._free_since = {}

    @property
    def finished(self) -> bool:
        """Whether every trial has ended and no other will start."""
        exhausted = self.stopped or len(self.trials) >= self.max_trials
        return exhausted and not self.ongoing_trials

    def folder(self, trial_id: str) -> pathlib.Path:
        """The workdir of a trial."""
        return compat.trial_folder(self, trial_id)

    @keras_tuner.synchronized
    def create_trial(self, tuner_id):
        trial = super().create_trial(tuner_id)
        if trial.status != TrialStatus.STOPPED:
            return trial
        self.stopped = True
        if self.ongoing_trials:
            self.tuner_ids.add(tuner_id)
            orphan = self._orphan()
            if orphan is None:
                trial.status = TrialStatus.IDLE  # its worker may still die
                return trial
            trial = self.ongoing_trials.pop(orphan)
            self.ongoing_trials[tuner_id] = trial
            self.save()
        return trial

    def _orphan(self) -> str | None:
        """Returns the worker of a trial that no process trains any more."""
        now = time.monotonic()
        for tuner_id, trial in self.ongoing_trials.items():
            if is_held(self.folder(trial.trial_id)):
                self._free_since.pop(trial.trial_id, None)
                continue
            since = self._free_since.setdefault(trial.trial_id, now)
            if now - since >= ORPHANED_SECONDS:
                del self._free_since[trial.trial_id]
                return tuner_id
        return None

    @keras_tuner.synchronized
    def end_trial(self, trial):
        # A worker repeats its report if the chief died before it answered.
        if trial.trial_id not in self.end_order:
            super().end_trial(trial)

    def save(self):
        self._write(compat.oracle_file(self), self.get_state())

    def _save_trial(self, trial):
        path = self.folder(trial.trial_id) / "trial.json"
        self._write(path, trial.get_state())

    def _write(self, path: pathlib.Path, state: dict) -> None:
        try:
            write_json(path, state)
        except OSError as error:
            self.error = error  # a thread of the server cannot raise
            raise

    def reload(self):
        """Continues the search in the project's folder, if there is one.

        Raises:
            ValueError: If the space has changed since, or a file is damaged.
        """
        path = compat.oracle_file(self)
        if not path.exists():
            return
        state = read_json(path, CURE)
        _require_fields(path, state, self.get_state())
        with _naming_damage(path):
            for order in ("start_order", "end_order"):
                if not all(isinstance(name, str) for name in state[order]):
                    raise TypeError(f"{order}={state[order]!r}")
            space = state["hyperparameters"]["space"]
        # keras-tuner would look for the trials by a pattern, and misread a
        # folder whose name contains [ ]. A kill between two files may also
        # leave a trial that has not started.
        self.trials = {
            name: self._read_trial(name) for name in state["start_order"]
        }
        own = self.hyperparameters.get_config()["space"]
        if space != json.loads(json.dumps(own)):
            raise ValueError(
                f"{path.parent} contains a search of another space; choose "
                "another --workdir, or restore the space as it was"
            )
        with _naming_damage(path):
            self.set_state(state)
            # keras-tuner would give them to any worker, even if theirs still
            # runs.
            compat.forget_retries(self)
            self.ongoing_trials = {
                tuner_id: self.trials[trial_id]
                for tuner_id, trial_id in state["ongoing_trials"].items()
                if trial_id not in self.end_order
            }

    def _read_trial(self, trial_id: str) -> Trial:
        """Raises ValueError if the file of a trial is missing or damaged."""
        file = self.folder(trial_id) / "trial.json"
        if not file.exists():
            raise ValueError(f"{file} is missing; {CURE}")
        state = read_json(file, CURE)
        _require_fields(file, state, _TRIAL)
        with _naming_damage(file):
            return Trial.from_state(state)


def _require_fields(file: pathlib.Path, state: dict, fields) -> None:
    """Raises ValueError if the state in a file lacks a field."""
    for field in fields:
        if field not in state:
            raise ValueError(f"{file} is damaged (it lacks {field}); {CURE}")


@contextlib.contextmanager
def _naming_damage(file: pathlib.Path):
    """Converts errors about values of a wrong type to a clear message."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file} is damaged ({type(error).__name__}: {error}); {CURE}"
        ) from error


class OpenSpaceError(ValueError):
    """The space has a name that only some values of others bring about."""


# Errors that other values would not avoid: they end the search.
NOT_OF_THE_VALUES = (
    OSError,
    OpenSpaceError,
    OtherDataError,
    DamagedError,
)


class Tuner(keras_tuner.Tuner):
    """Trains a recipe once per trial, each time in a separate workdir.

    Args:
        make_run: Function from the `keras_tuner.HyperParameters` of a trial to
            its run.
        recipe: Name of the recipe, for the workdirs.
        objective: `keras_tuner.Objective` with a name in the training logs.
        num_trials: Number of trials in total.
        seed: Random seed of the drawn values, at least 0.
        workdir: Folder of the search; trials go to `trials/trial_NUMBER`.
    """

    def __init__(self, make_run, recipe, objective, num_trials, seed, workdir):
        # keras-tuner treats seed 0 as no seed.
        oracle = Oracle(
            objective=objective, max_trials=num_trials, seed=seed + 1
        )
        super().__init__(
            oracle,
            hypermodel=make_run,
            directory=str(workdir),
            project_name="trials",
        )
        self.make_run = make_run
        self.recipe = recipe
        if self.oracle is oracle:  # not a worker of a chief
            oracle.reload()
            self._require_unchanged_trials()
        self._names = {found.name for found in self.oracle.get_space().space}

    def _require_unchanged_trials(self) -> None:
        """Raises ValueError if the space makes other runs than it did."""
        for trial in self.oracle.trials.values():
            folder = self._folder(trial)
            if (folder / "config.json").exists():
                run = self.make_run(trial.hyperparameters.copy())
                require_unchanged(folder, run)

    def save(self):
        """Does nothing: the oracle has already saved the state."""

    def serve(self) -> None:
        """Serves trials to the workers as keras-tuner's chief, forever."""
        super().search(verbose=0)

    def search(self, on_trial_end=lambda: None) -> None:
        """Runs trials until all have ended.

        Raises:
            OSError: If the machine caused a failure, for example by a full disk
                or missing data. The trial continues when you start the search
                again.
            ValueError: If the space draws a value only for some values of
                others, without saying so. If an interrupted trial started on
                other data, or its files are damaged.
        """
        while True:
            trial = self._ask("create_trial", self.tuner_id)
            if trial.status == TrialStatus.STOPPED:
                return
            if trial.status == TrialStatus.IDLE:
                time.sleep(POLL_SECONDS)
                continue
            self._run(trial)
            self._ask("end_trial", trial)
            on_trial_end()

    def _run(self, trial) -> None:
        """Runs a trial, and sets its status."""
        try:
            with several_trainings():
                value = self.run_trial(trial)
        except NOT_OF_THE_VALUES:
            raise
        except Exception as error:
            if machine_fault(error) is not None:
                raise  # TensorFlow's errors are not OSErrors
            record_failure(self._folder(trial), error)
            trial.status = TrialStatus.FAILED
        else:
            name = self.oracle.objective.name
            self._ask("update_trial", trial.trial_id, {name: value})
            trial.status = TrialStatus.COMPLETED

    def _folder(self, trial) -> pathlib.Path:
        return pathlib.Path(self.get_trial_dir(trial.trial_id))

    def _ask(self, question: str, *arguments):
        """Calls the oracle; waits while its chief is unavailable.

        A question may be repeated without harm.
        """
        import grpc

        while True:
            try:
                return getattr(self.oracle, question)(*arguments)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise OSError(
                        f"the chief does not answer ({error.code().name}); "
                        "start it again, then this worker"
                    ) from error
                time.sleep(POLL_SECONDS)

    def _require_known(self, hyperparameters) -> None:
        """A name that was not drawn has its default, and changes the space."""
        names = [found.name for found in hyperparameters.space]
        new = [name for name in names if name not in self._names]
        if new:
            raise OpenSpaceError(
                f"the space draws {new[0]!r} only for some values of others, "
                "so it was not drawn here; put it into a block `with "
                "hyperparameters.conditional_scope(NAME, VALUES):`, and choose "
                "another --workdir"
            )

    def run_trial(self, trial) -> float:
        """Trains, or continues training; returns the value of the objective.

        The value comes from the epoch of the best checkpoint by
        `config.monitor`. That checkpoint is the model that the trial keeps.
        """
        # Gives layers the same names as in a new process.
        keras.backend.clear_session()
        run = self.make_run(trial.hyperparameters)
        self._require_known(trial.hyperparameters)
        with _open_when_free(self._folder(trial)) as path:
            if workdirs.contains_run(path, run):
                # Also before its first checkpoint: one search, one code.
                workdirs.require_same_code(path, run)
            workdirs.claim(path, self.recipe, run)
            board = path / "tensorboard"
            # Written first, so that the tab also shows failed trials.
            write_hparams(board, trial)
            training = fit(run, self.recipe, path, hparams=False)["training"]
            name = self.oracle.objective.name
            value = objective_value(training, name)
            write_objective(board, name, value)
        return value


@contextlib.contextmanager
def _open_when_free(folder: pathlib.Path):
    """Opens the trial's workdir; waits while the last worker leaves it."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    with contextlib.ExitStack() as stack:
        while True:
            try:
                path = stack.enter_context(open_workdir(str(folder)))
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(POLL_SECONDS)
        yield path
