"""The chief of a parallel search: its address, its workers and its end."""

import contextlib
import os
import socket
import threading
import time

from tuning.environment import CHIEF
from tuning.environment import ORACLE_IP
from tuning.environment import ORACLE_PORT
from tuning.environment import TUNER_ID

# How long the chief keeps telling workers that the search is over.
FAREWELL_SECONDS = 10


def role_of_this_process(num_workers: int) -> str:
    """Returns the role of this process: alone, chief, launcher or worker."""
    found = [name for name in CHIEF if name in os.environ]
    if not found:
        return "launcher" if num_workers else "alone"
    if len(found) < len(CHIEF):
        raise ValueError(
            f"a parallel search needs {', '.join(CHIEF)} in the environment; "
            f"received only {', '.join(found)}"
        )
    if "chief" not in os.environ[TUNER_ID]:
        return "worker"
    if num_workers:
        raise ValueError(
            "--workers starts a chief and workers on this machine, but "
            f"{TUNER_ID} is in the environment; leave out one of the two"
        )
    return "chief"


def leave_gpus() -> None:
    """Starts TensorFlow without GPUs, so that the workers can use them."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
    tf.config.list_logical_devices()


def serve(tuner, report, num_workers: int, words: list[str]) -> None:
    """Runs the chief, whose workers are started by hand or by this process.

    Args:
        tuner: The `Tuner` of the chief.
        report: The `SearchReport`.
        num_workers: Workers that this process starts; 0: by hand.
        words: The command line of these workers.
    """
    if not num_workers:
        _check_address()
        report.say(
            f"Chief on {_address()}, "
            + (
                f"telling workers for {FAREWELL_SECONDS} s that it is over."
                if tuner.oracle.finished
                else "waiting for workers: the same command with a "
                f"{TUNER_ID} other than chief."
            )
        )
        _serve(tuner, report, num_workers, words)
    elif not tuner.oracle.finished:
        with _address_here():
            _serve(tuner, report, num_workers, words)


@contextlib.contextmanager
def _address_here():
    """Makes this process the chief, until the end of the block."""
    address = ("chief", "127.0.0.1", str(free_port()))
    os.environ.update(zip(CHIEF, address, strict=True))
    try:
        yield
    finally:  # the next search of this process has another address, or none
        for name in CHIEF:
            del os.environ[name]


def _serve(tuner, report, num_workers: int, words: list[str]) -> None:
    from tuning.local_workers import LocalWorkers

    oracle = tuner.oracle
    was_finished = oracle.finished
    # keras-tuner's server waits forever for dead workers; this loop does not.
    server = threading.Thread(target=tuner.serve, daemon=True)
    server.start()
    farewell = None
    with (
        open(os.devnull, "w") as nowhere,
        # keras-tuner's server prints the values of conditions.
        contextlib.redirect_stdout(nowhere),
        LocalWorkers(
            num_workers, words, report.path, oracle, report.say
        ) as workers,
    ):
        # After a restart, the chief knows a worker once the worker has asked.
        while farewell is None or (
            (oracle.tuner_ids or was_finished) and time.monotonic() < farewell
        ):
            time.sleep(0.2)
            if oracle.error is not None:
                raise oracle.error
            report.update_if_changed()
            if oracle.finished:
                farewell = farewell or time.monotonic() + FAREWELL_SECONDS
            else:
                workers.check()
            if not server.is_alive() and not oracle.finished:
                raise OSError(
                    f"the chief cannot serve on {_address()}; choose another "
                    f"{ORACLE_IP} and {ORACLE_PORT}"
                )


def _address() -> str:
    return f"{os.environ[ORACLE_IP]}:{os.environ[ORACLE_PORT]}"


def _check_address() -> None:
    """Raises if the chief's port is taken; gRPC would share it silently."""
    try:
        with socket.create_server(
            (os.environ[ORACLE_IP], int(os.environ[ORACLE_PORT]))
        ):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise OSError(
            f"the chief cannot listen on {_address()} ({error}); choose "
            f"another {ORACLE_IP} or {ORACLE_PORT}"
        ) from error


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
