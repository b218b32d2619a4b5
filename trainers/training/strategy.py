"""Chooses the devices of a training: one, one machine, several machines.

`--config.strategy` is one of

- `one`: the first device, without `tf.distribute`;
- `mirrored`: all GPUs of this machine, or all its CPU devices if it has none
  (`EMBEDDINGS_TF_VIRTUAL_CPUS=2` splits the CPU in two, for tests); with a
  single device, it is ordinary training;
- `multi_worker`: all GPUs of several machines. Start the same command on each
  machine with its own `TF_CONFIG`; only the chief reads and writes the workdir.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import signal
import subprocess
import sys

STRATEGIES = ("one", "mirrored", "multi_worker")
# How long workers wait for each other when they start.
START_SECONDS = 600.0
LARGEST_NUMBER = 1e6


def start(name: str) -> None:
    """Imports TensorFlow, starts its devices, and makes the strategy.

    Raises:
        ValueError: For an unknown name, or an invalid `TF_CONFIG` or other
            environment variable.
    """
    from trainers.terminal.quiet import import_tensorflow

    require_known(name)
    if name == "multi_worker":
        kind, index, num_workers = task()
        print(f"{kind} {index} of {num_workers} workers", flush=True)
    num_cpus = _number_from("EMBEDDINGS_TF_VIRTUAL_CPUS", 1)

    def start_devices():
        import tensorflow as tf

        if num_cpus > 1:
            tf.config.set_logical_device_configuration(
                tf.config.list_physical_devices("CPU")[0],
                [tf.config.LogicalDeviceConfiguration()] * num_cpus,
            )
        create(name)

    with contextlib.ExitStack() as stack:
        if name == "multi_worker":
            # TensorFlow waits forever for a missing worker.
            seconds = _number_from("EMBEDDINGS_TF_START_SECONDS", START_SECONDS)
            stack.enter_context(_ended_after(seconds))
        import_tensorflow(start_devices)


def _number_from(variable: str, default):
    """Returns the number in an environment variable, of the default's type.

    Raises:
        ValueError: If it contains no such number above 0.
    """
    kind = type(default)
    text = os.environ.get(variable) or str(default)
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not 0 < number <= LARGEST_NUMBER:
        expected = {
            int: "a whole number from 1",
            float: "a number of seconds, above 0 and at most 1e6",
        }
        raise ValueError(
            f"the environment variable {variable} must be {expected[kind]}; "
            f"received {text!r}; correct it or unset it"
        )
    return number


def start_one_machine(overrides: list[str]) -> None:
    """Starts the strategy that a command sets, except of several machines.

    Args:
        overrides: Fields of the command, `field=value`.

    Raises:
        ValueError: As `start`, or for `multi_worker`.
    """
    name = "one"
    for override in overrides:
        field, _, value = override.partition("=")
        if field.removeprefix("training.") == "strategy":
            name = value
    if name == "multi_worker":
        raise ValueError(
            "this command works on one machine: leave config.strategy out, or "
            "take mirrored. On several machines, train --config RECIPE "
            "--config.strategy=multi_worker, for instance with the recipe.py "
            "that a goal writes"
        )
    start(name)


def require_known(name: str) -> str:
    if name not in STRATEGIES:
        raise ValueError(
            f"config.strategy={name!r} is unknown; expected "
            f"{' or '.join(map(repr, STRATEGIES))}"
        )
    return name


@functools.cache
def create(name: str):
    """Returns the `tf.distribute.Strategy` of a name.

    A process has only one, because several collide. `multi_worker` must be
    created before any other use of TensorFlow.
    """
    import tensorflow as tf

    require_known(name)
    if name == "one":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU")
        devices = devices or tf.config.list_logical_devices("CPU")
        if len(devices) == 1:
            # TensorFlow's strategy would only cost time here.
            return tf.distribute.get_strategy()
        return tf.distribute.MirroredStrategy([d.name for d in devices])
    task()
    with _ended_by_signals():
        return tf.distribute.MultiWorkerMirroredStrategy()


@contextlib.contextmanager
def _ended_by_signals():
    """Lets SIGINT end this process in the body, and SIGTERM after it.

    TensorFlow keeps the interpreter's lock while it waits for the first worker,
    so Python could not answer Ctrl-C. It also catches SIGTERM, and does nothing
    with it.
    """
    interrupt = signal.getsignal(signal.SIGINT)
    terminate = signal.getsignal(signal.SIGTERM)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in (
            (signal.SIGINT, interrupt),
            (signal.SIGTERM, terminate),
        ):
            if handler is not None:  # it was not set by Python
                signal.signal(number, handler)


# Waits for its input to end; after a timeout, prints a message and kills us.
_END = """
import os, select, signal, sys
seconds, message, process = sys.argv[1:]
if not select.select([sys.stdin], [], [], float(seconds))[0]:
    sys.stderr.write(message)
    sys.stderr.flush()
    os.kill(int(process), signal.SIGALRM)
"""


@contextlib.contextmanager
def _ended_after(seconds: float):
    """Ends this process, with a message, if the body takes longer.

    Another process sends the signal SIGALRM, because TensorFlow keeps the
    interpreter's lock while it waits for the first worker.
    """
    message = (
        f"error: not all workers of TF_CONFIG have started within "
        f"{seconds:.0f} s; look at their output, and start all again\n"
    )
    words = (str(seconds), message, str(os.getpid()))
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        # Started before TensorFlow's stderr is hidden, so it uses ours.
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _END, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        ):
            yield
    finally:
        signal.signal(signal.SIGALRM, before)


def task() -> tuple[str, int, int]:
    """Returns kind ("chief" or "worker"), index, and number of workers.

    They come from the environment variable `TF_CONFIG`, for example
    `{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task":
    {"type": "worker", "index": 0}}`.

    Raises:
        ValueError: If the variable is missing or invalid.
    """
    text = os.environ.get("TF_CONFIG", "")
    try:
        config = json.loads(text)
        cluster, mine = config["cluster"], config["task"]
        kind, index = mine["type"], int(mine["index"])
        addresses = {
            job: list(cluster.get(job, [])) for job in ("chief", "worker")
        }
        addresses[kind][index]
        if index < 0 or set(cluster) - set(addresses):
            raise KeyError
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise ValueError(
            "config.strategy='multi_worker' reads the environment variable "
            'TF_CONFIG, {"cluster": {"worker": ["host0:2222", "host1:2222"]}, '
            '"task": {"type": "worker", "index": 0}}, with the index of this '
            f"machine; received {text!r}"
        ) from None
    return kind, index, sum(map(len, addresses.values()))


def is_chief(name: str) -> bool:
    """Whether this process reads and writes the workdir."""
    if require_known(name) != "multi_worker":
        return True
    kind, index, _ = task()
    has_chief = "chief" in json.loads(os.environ["TF_CONFIG"])["cluster"]
    return kind == "chief" if has_chief else index == 0


@contextlib.contextmanager
def clear_message_of_lost_worker():
    """Converts TensorFlow's errors about a lost worker to a clear message."""
    import tensorflow as tf

    try:
        yield
    except (
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.InternalError,
        tf.errors.UnavailableError,
    ) as error:
        raise ConnectionError(
            "another worker of TF_CONFIG is gone or has stopped "
            f"({_reason(error)}). The checkpoints are kept: "
            "start all workers again with the same command to continue"
        ) from error


def _reason(error: Exception) -> str:
    """Returns why workers stopped, without the names in TensorFlow's graph."""
    text = re.sub(r"\{\{.*?\}\}|\[Op:\w+\]", "", str(error))
    lines = [line.strip() for line in text.splitlines()]
    aborted = [line.partition("aborted by: ")[2] for line in lines]
    of_graph = r"Graph execution error|Detected at node|File |\[\[|$"
    others = [line for line in lines if not re.match(of_graph, line)]
    return next(filter(None, [*aborted, *others]), type(error).__name__)


def replica_batches(strategy, batches):
    """Splits each batch over the replicas, in row order.

    Every worker makes the whole batch from the same seed. Replica `i` takes
    the rows from `i * rows // replicas` on, so sizes differ by at most one.
    Content and order of the batch do not depend on the replicas.

    Args:
        strategy: A `tf.distribute.Strategy`.
        batches: An endless `tf.data.Dataset`.
    """
    import tensorflow as tf

    num_replicas = strategy.num_replicas_in_sync
    if num_replicas == 1:
        return batches

    def pieces(context):
        num_local = num_replicas // context.num_input_pipelines
        first = context.input_pipeline_id * num_local

        def split(*batch):
            rows = tf.shape(tf.nest.flatten(batch)[0], tf.int64)[0]

            def piece(replica):
                begin = replica * rows // num_replicas
                end = (replica + 1) * rows // num_replicas
                return tf.nest.map_structure(lambda t: t[begin:end], batch)

            return tf.data.Dataset.range(first, first + num_local).map(piece)

        # The cardinality is infinite, so workers need not agree on the end.
        return batches.flat_map(split).apply(
            tf.data.experimental.assert_cardinality(
                tf.data.experimental.INFINITE_CARDINALITY
            )
        )

    return strategy.distribute_datasets_from_function(pieces)


def from_chief(strategy, values: list) -> list:
    """Returns the chief's values on every worker, with equal shapes."""
    import tensorflow as tf

    if strategy.num_replicas_in_sync == 1:
        return values
    values = [tf.convert_to_tensor(value) for value in values]
    # Collectives do not support booleans and unsigned integers.
    carried = [
        value if value.dtype.is_floating else tf.cast(value, tf.int64)
        for value in values
    ]
    return [
        tf.cast(strategy.experimental_local_results(result)[0], value.dtype)
        for result, value in zip(
            _sender(strategy)(carried), values, strict=True
        )
    ]


def require_same(strategy, fields: dict, message: str) -> None:
    """Raises ValueError on a worker whose fields differ from the chief's."""
    import numpy as np

    text = json.dumps(fields, sort_keys=True)
    digest = np.frombuffer(hashlib.sha256(text.encode()).digest(), np.int64)
    (of_chief,) = from_chief(strategy, [digest])
    if not np.array_equal(of_chief, digest):
        raise ValueError(message)


@functools.cache
def _sender(strategy):
    """Sums over replicas; all but the first send zeros."""
    import tensorflow as tf

    def send(values):
        context = tf.distribute.get_replica_context()
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        return [
            context.all_reduce(
                tf.distribute.ReduceOp.SUM,
                tf.where(is_first, value, tf.zeros_like(value)),
            )
            for value in values
        ]

    # A single function, because a new one would be traced at every call.
    return tf.function(lambda values: strategy.run(send, args=(values,)))
