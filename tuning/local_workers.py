"""The workers of a search on one machine: started, restarted, retired."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

from keras_tuner.engine.trial import TrialStatus

from tuning.trial_files import record_failure

# So often a worker may be killed in a trial without finishing an epoch.
MAX_KILLS = 5


class LocalWorkers:
    """N processes that run trials; use as a context manager.

    A worker that is killed is started again and goes on with its trial, from
    its last epoch. A trial whose worker was killed `MAX_KILLS` times without
    finishing an epoch (of lack of memory, say) is recorded as failed. A worker
    that ends with an error of its own, or is killed as often before it has a
    trial, is retired; others take over its trial.

    The workers end with this process, also if it is killed, because they read
    from its pipe.

    Args:
        count: How many.
        words: The command line of the search.
        folder: Where each writes what it prints, `worker_K.log`.
        oracle: The chief's oracle.
        say: Told what happens to them.
    """

    def __init__(self, count: int, words: list[str], folder, oracle, say=print):
        self.words = words
        self.folder = pathlib.Path(folder)
        self.oracle = oracle
        self.say = say
        self.names = [f"worker_{number}" for number in range(1, count + 1)]
        self.processes = {}
        self.kills = {}
        # Shared out, or each would take all cores.
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
                    "KERASTUNER_TUNER_ID": name,
                },
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is the launcher's
            )
        self.say(f"{name}: process {self.processes[name].pid}, {log.name}")

    def check(self) -> None:
        """Looks after workers that have ended.

        Raises:
            ValueError: If none is left and the search has not finished, with
                what the last one said.
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
        """Counts a kill; ends a trial that is hopeless as failed."""
        trial = self.oracle.ongoing_trials.get(name)
        if trial is None:
            return self._count((name, len(self.oracle.end_order))) < MAX_KILLS
        folder = self.oracle.folder(trial.trial_id)
        checkpoint = folder / "checkpoints" / "latest.keras"
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
