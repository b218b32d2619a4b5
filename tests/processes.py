"""Commands in processes of their own, which need not import TensorFlow.

The import takes four to five seconds. One process imports TensorFlow, starts
none of its threads, and forks for each command. So all commands have the same
hash seed, the environment does not change what is read during the import, and
Python does not shut down: nothing that is registered at `atexit` runs. Tests of
these things use `subprocess`.
"""

import contextlib
import functools
import multiprocessing
import os
import pathlib
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref

ROOT = pathlib.Path(__file__).parents[1]


@functools.cache
def process_context():
    """Context of `multiprocessing`; its processes have TensorFlow imported.

    Elsewhere than on Linux, libraries may not survive a fork, so each process
    imports TensorFlow.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    with contextlib.chdir(ROOT):  # where the server finds the module
        forkserver.ensure_running()
    return context


class Command:
    """`python -m MODULE WORDS`, with some methods of `subprocess.Popen`.

    Args:
        module: The module to run, such as `trainers.train`.
        *words: The arguments of the command.
        env: All environment variables; None: the same as in this process.
        stdout: Path of a file for the output; None: a temporary one.
        code_before: Python code that the process runs first.
    """

    def __init__(self, module, *words, env=None, stdout=None, code_before=""):
        folder = pathlib.Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._files = [stdout or folder / "out", folder / "err"]
        for path in self._files:
            path.write_bytes(b"")
        self._argv = [module, *map(str, words)]
        self._process = process_context().Process(
            target=_run,
            args=(
                self._argv,
                dict(os.environ if env is None else env),
                self._files,
                code_before,
            ),
            daemon=True,  # ends with this process
        )
        self._process.start()

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """Waits, at most some seconds; returns the output and the errors."""
        self._process.join(timeout)
        if self.poll() is None:
            self.kill()
            raise subprocess.TimeoutExpired(self._argv, timeout)
        return tuple(path.read_text() for path in self._files)


def _run(argv, environment, files, code_before):
    import numpy as np

    np.random.seed()  # noqa: NPY002  forks would draw the same numbers
    for descriptor, path in enumerate(files, start=1):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    exec(code_before, {})  # noqa: S102
    sys.argv = argv
    sys.path.insert(0, str(ROOT))
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
