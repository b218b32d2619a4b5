"""A process that runs functions within limits of time and memory."""

import ctypes
import multiprocessing
import os
import pathlib
import signal
import sys
import time

LARGEST_SECONDS, LARGEST_BYTES = 60.0, 8 * 2**30
SECONDS_TO_START, SECONDS_BETWEEN_LOOKS = 120.0, 0.05
OVER_LIMIT = "over "  # The reason of a stop at a limit begins so.


class Stopped(Exception):
    """A function failed or exceeded a limit; the text is the reason."""


class Worker:
    """Runs functions in a process of its own.

    A call that takes too long or too much memory ends the process, and the
    processes that it started.
    """

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()

    def call(self, function, *arguments, seconds=LARGEST_SECONDS):
        """Returns the function's result; raises `Stopped`."""
        ends = time.monotonic() + seconds
        try:
            self._connection.send((function, arguments))
            while not self._connection.poll(SECONDS_BETWEEN_LOOKS):
                if self.resident_bytes() > LARGEST_BYTES:
                    limit = f"{LARGEST_BYTES / 2**30:.3g} GiB"
                    raise Stopped(f"{OVER_LIMIT}{limit}")
                if time.monotonic() > ends:
                    raise Stopped(f"{OVER_LIMIT}{seconds:.3g} s")
            succeeded, answer = self._connection.recv()
        except (EOFError, OSError):
            self._process.join(SECONDS_BETWEEN_LOOKS)
            code = self._process.exitcode
            self.close()
            raise Stopped(f"the process ended with code {code}") from None
        except Stopped:
            self.close()
            raise
        if not succeeded:
            self.close()
            raise Stopped(answer)
        return answer

    def resident_bytes(self) -> int:
        """Returns the size of the resident set, 0 if it is not known."""
        try:
            path = pathlib.Path(f"/proc/{self._process.pid}/statm")
            pages = int(path.read_text().split()[1])
        except (OSError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """Ends the process and its children."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:  # ended, or has no group yet
            self._process.kill()
        self._process.join()
        self._connection.close()


def _serve(connection) -> None:
    os.setsid()
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG: a busy worker ends with the comparing process.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # One process compiles: a killed worker leaves nothing running.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    while True:
        try:
            function, arguments = connection.recv()
            answer = True, function(*arguments)
        except EOFError:
            return
        except Stopped as error:
            answer = False, str(error)
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            answer = False, f"failed: {type(error).__name__}: {lines[0]}"[:200]
        connection.send(answer)
