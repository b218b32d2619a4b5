"""Commands in processes of their own, which need not import TensorFlow.

The import takes four to five seconds. One process imports TensorFlow, starts
none of its threads, and forks for each command. Tests of what happens before or
during the import use `subprocess`.
"""

import multiprocessing
import os
import pathlib
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
# For `multiprocessing`; its processes have TensorFlow imported, too. Elsewhere
# than on Linux, libraries may not survive a fork, so each process imports it.
context = multiprocessing.get_context(
    "forkserver" if sys.platform == "linux" else "spawn"
)
context.set_forkserver_preload(["tests.preloaded"])


class Command:
    """`python -m MODULE WORDS`, with the methods of `subprocess.Popen`.

    Args:
        module: The module to run, such as `trainers.train`.
        *words: The arguments of the command.
        env: All environment variables; None: those of this process.
        stdout: Path of a file for the output; None: a temporary one.
        before: Python code that the process runs first.
    """

    def __init__(self, module, *words, env=None, stdout=None, before=""):
        self._folder = pathlib.Path(tempfile.mkdtemp())
        self._files = [stdout or self._folder / "out", self._folder / "err"]
        self._texts = None
        for path in self._files:
            path.touch()
        self._process = context.Process(
            target=_run,
            args=(
                [module, *map(str, words)],
                dict(os.environ if env is None else env),
                self._files,
                before,
            ),
            daemon=True,  # does not outlive the tests
        )
        self._process.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """Waits; returns the output and the errors."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout)
        if self._texts is None:
            self._texts = tuple(path.read_text() for path in self._files)
            shutil.rmtree(self._folder)
        return self._texts


def _run(argv, environment, files, before):
    for descriptor, path in enumerate(files, start=1):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    exec(before, {})  # noqa: S102
    sys.argv = argv
    sys.path.insert(0, str(ROOT))
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
