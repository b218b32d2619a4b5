"""Runs signatures in another engine, in a process of an own environment."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

WORKER = pathlib.Path(__file__).with_name("_engine_worker.py")


class InEngine(contextlib.AbstractContextManager):
    """Signatures of an export in another engine, whose calls are timed.

    Args:
        python: Interpreter with TensorFlow and the engine.
        engine: Name of the engine in `_engine_worker.ENGINES`.
        version: Version folder of an export.
        calls: Inputs by signature.
        calibration: Inputs by signature, for int8.

    Attributes:
        found: By signature `error`, or `difference` and `outputs`, arrays by
            name.
    """

    def __init__(self, python, engine, version, calls, calibration=None):
        self._words = [python, WORKER, engine, version]
        self._calibration = calibration or {}
        self._processes, self.found = [], {}
        self._start(calls)

    def _start(self, calls):
        process = _Process(self._words, calls, self._calibration)
        if process.found is None:
            error = process.close()
            if len(calls) > 1:
                # A crash of the process must not hide other signatures.
                for signature, inputs in calls.items():
                    self._start({signature: inputs})
                return
            self.found |= dict.fromkeys(calls, {"error": error})
            return
        self._processes.append(process)
        self.found |= process.found

    def turn(self, calls: int, seconds: float) -> dict[str, list[float]]:
        """Seconds of each call by signature, of so many calls or seconds.

        The signatures of a process that ends get its error in `found`.
        """
        measured = {}
        for process in list(self._processes):
            turn = process.turn(calls, seconds)
            if turn is None:
                self._processes.remove(process)
                error = {"error": process.close()}
                self.found |= dict.fromkeys(process.found, error)
                continue
            measured |= turn
        return measured

    def __exit__(self, *_):
        for process in self._processes:
            process.close()
        self._processes.clear()


class _Process:
    """One process of the worker; `found` is None if it ended too early."""

    def __init__(self, words, calls, calibration):
        import numpy as np

        self._place = tempfile.TemporaryDirectory()
        self._folder = pathlib.Path(self._place.name)
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        self._turns = 0
        (self._folder / "calibration").mkdir()
        for place, inputs_of in (
            (self._folder, calls),
            (self._folder / "calibration", calibration),
        ):
            for signature, inputs in inputs_of.items():
                np.savez(place / f"{signature}.npz", **inputs)
        self._process = subprocess.Popen(
            [*words, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            text=True,
        )
        self.found = self._read("result.json")
        for signature, row in (self.found or {}).items():
            if "error" not in row:
                file = self._folder / "outputs" / f"{signature}.npz"
                with np.load(file) as outputs:
                    row["outputs"] = dict(outputs)

    def turn(self, calls, seconds):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{calls} {seconds}\n")
            self._process.stdin.flush()
        self._turns += 1
        return self._read(f"turn_{self._turns - 1}.json")

    def _read(self, name):
        """The content of a file that the process writes, None without one."""
        path = self._folder / name
        while not path.exists() and self._process.poll() is None:
            time.sleep(0.02)
        return json.loads(path.read_text()) if path.exists() else None

    def close(self) -> str:
        """Ends the process; returns its exit code and its last words."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        code = self._process.wait()
        self._errors.seek(0)
        last = (self._errors.read().strip() or "no message").splitlines()[-1]
        self._errors.close()
        self._place.cleanup()
        return f"the process ended with {code}: {last}"
