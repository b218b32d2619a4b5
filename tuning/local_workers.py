"""Starts, restarts and retires the workers of a search on one machine."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

from keras_tuner.engine.trial import TrialStatus

from trainers.workdirs import layout
from tuning.environment import TUNER_ID
from tuning.trial_files import record_failure

# How often a worker may be killed in a trial without finishing an epoch.
MAX_KILLS = 5


class LocalWorkers:
    """Runs trials in several processes; use as a context manager.

    A worker that is killed is started again and continues its trial from the
    trial's last epoch. A trial is recorded as failed if its worker was killed
    `MAX_KILLS` times without finishing an epoch, for example for lack of
    memory. A worker is retired if it ends with an error of its own, or if it
    is killed `MAX_KILLS` times before it has a trial. Other workers then take
    over its trial.

    The workers read from a pipe of this process, so they end with this process
    even if it is killed.

    Args:
        count: Number of workers.
        words: The command line of a worker.
        folder: Folder of the log files `worker_K.log`, one per worker.
        oracle: The chief's oracle.
        say: Function that is called with a message when a worker starts, is
            killed or is retired.
    """

    def __init__(self, count: int, words: list[str], folder, oracle, say=print):
        self.words = words
        self.folder = pathlib.Path(folder)
        self.oracle = oracle
        self.say = say
        self.names = [f"worker_{number}" for number in range(1, count + 1)]
        self.processes = {}
        self.kills = {}
        # Divided among the workers; otherwise each would use all cores.
        self.threads = max(1, (os.cpu_count() or 1) // max(1, count))

    def __enter__(self):
        for name in self.names:
            self._start(name)
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.stdin.close()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "tuning.local_worker", *self.words],
                env={
                    "TF_NUM_INTRAOP_THREADS": str(self.threads),
                    **os.environ,
                    TUNER_ID: name,
                },
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches only the launcher
            )
        self.say(f"{name}: process {self.processes[name].pid}, {log.name}")

    def check(self) -> None:
        """Restarts or retires workers that have ended.

        Raises:
            ValueError: If no worker is left and the search has not finished.
                The message contains the last line of the last worker's log.
        """
        for name, process in list(self.processes.items()):
            code = process.poll()
            if code is None or self.oracle.finished:
                continue
            process.stdin.close()
            del self.processes[name]
            said = self._last_line(name)
            if code < 0:
                self.say(f"{name} was killed ({_signal_name(-code)})")
                if self._goes_on(name):
                    self._start(name)
                    continue
                said = f"killed {MAX_KILLS} times before its first trial"
            self.say(f"{name} is retired: {said}")
            if not self.processes:
                raise ValueError(
                    f"every worker has ended; the last one said: {said}"
                )

    def _goes_on(self, name: str) -> bool:
        """Counts a kill; fails the trial if it was killed too often."""
        trial = self.oracle.ongoing_trials.get(name)
        if trial is None:
            return self._count((name, len(self.oracle.end_order))) < MAX_KILLS
        folder = self.oracle.folder(trial.trial_id)
        checkpoint = layout.latest(folder)
        epoch = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        if self._count((trial.trial_id, epoch)) >= MAX_KILLS:
            record_failure(
                folder,
                RuntimeError(
                    f"its process was killed {MAX_KILLS} times without "
                    "finishing an epoch; is there enough memory?"
                ),
            )
            trial.status = TrialStatus.FAILED
            self.oracle.end_trial(trial)
        return True

    def _count(self, place: tuple) -> int:
        self.kills[place] = self.kills.get(place, 0) + 1
        return self.kills[place]

    def _last_line(self, name: str) -> str:
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else "nothing"


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
