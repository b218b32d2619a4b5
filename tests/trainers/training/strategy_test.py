"""Training on one device, two replicas and two workers agrees."""

import dataclasses
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import conformance_test
from tests.processes import Command
from tests.trainers.train_test import ROOT
from tests.trainers.train_test import TINY
from tests.trainers.train_test import one_line_error
from tests.trainers.train_test import start
from tests.trainers.train_test import state_of
from tests.trainers.train_test import train
from trainers import fit
from trainers.config import load_recipe
from trainers.config import own_code_hashes
from trainers.data.data import Data
from trainers.fit import build_model
from trainers.training import replicas
from trainers.training import strategy as strategies
from trainers.training.checkpoint import restore
from trainers.training.loop import loop

CLUSTER = (
    '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
)


def assert_close_runs(first, second):
    """Up to the rounding of float32 sums in another order."""
    for name in ("latest", "best"):
        weights, history, _ = state_of(first, name)
        other_weights, other_history, _ = state_of(second, name)
        for one, other in zip(weights, other_weights, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
        for row, other_row in zip(history, other_history, strict=True):
            for measure, value in row.items():
                assert abs(other_row[measure] - value) < 1e-5, measure


def test_a_recipe_without_the_field_trains_on_one_device(tmp_path):
    run = load_recipe(TINY)
    assert run.training.strategy == "one"
    with pytest.raises(
        ValueError, match="'two' is unknown; expected 'one' or 'mirrored'"
    ):
        strategies.is_chief("two")


def test_mirrored_on_one_device_is_an_ordinary_training(monkeypatch):
    class Device:
        name = "/device:CPU:0"

    monkeypatch.setattr(
        tf.config,
        "list_logical_devices",
        lambda kind: [Device()] if kind == "CPU" else [],
    )
    found = strategies.create.__wrapped__("mirrored")
    assert found is tf.distribute.get_strategy()
    assert found.num_replicas_in_sync == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", '
        '"index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", '
        '"index": -1}}',
        '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": '
        '"worker", "index": 0}}',
    ],
)
def test_invalid_clusters_are_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="reads the environment variable"):
        strategies.is_chief("multi_worker")


def test_the_chief(monkeypatch):
    workers = ["a:1", "b:1"]
    chiefs = {}
    for cluster in ({"worker": workers}, {"chief": ["c:1"], "worker": workers}):
        for kind in cluster:
            for index in range(len(cluster[kind])):
                task = {"type": kind, "index": index}
                monkeypatch.setenv(
                    "TF_CONFIG", json.dumps({"cluster": cluster, "task": task})
                )
                chiefs[len(cluster), kind, index] = strategies.is_chief(
                    "multi_worker"
                )
    assert [key for key, chief in chiefs.items() if chief] == [
        (1, "worker", 0),
        (2, "chief", 0),
    ]


@pytest.mark.parametrize("text", ["abc", "-1", "0", "1.5"])
def test_numbers_of_cpus_that_are_none_are_refused(monkeypatch, text):
    monkeypatch.setenv("EMBEDDINGS_TF_VIRTUAL_CPUS", text)
    expected = "VIRTUAL_CPUS must be a whole number from 1; received '"
    with pytest.raises(ValueError, match=f"{expected}{text}'; .* unset it"):
        strategies.start("one")


@pytest.mark.parametrize("text", ["abc", "-1", "0", "nan", "inf", "1e300"])
def test_times_that_are_none_are_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", CLUSTER)
    monkeypatch.setenv("EMBEDDINGS_TF_START_SECONDS", text)
    expected = (
        "must be a number of seconds, above 0 and at most 1e6; received '"
    )
    with pytest.raises(ValueError, match=f"{expected}{text}'; .* unset it"):
        strategies.start("multi_worker")


def test_one_device_waits_for_nobody(monkeypatch):
    """The time to wait for workers is not read."""
    monkeypatch.setenv("EMBEDDINGS_TF_START_SECONDS", "abc")
    code = "from trainers.training import strategy; strategy.is_chief('one')"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("rows", [6, 5, 1])
def test_batches_are_split_without_changing_their_content(strategy, rows):
    batches = tf.data.Dataset.counter().map(
        lambda step: (step * 100 + tf.range(rows, dtype=tf.int64), step[None])
    )
    batches = batches.map(lambda x, step: (x, tf.repeat(step, rows)))
    iterator = iter(strategies.replica_batches(strategy, batches))
    for step in range(3):
        x, labels = (
            strategy.experimental_local_results(part) for part in next(iterator)
        )
        np.testing.assert_array_equal(
            np.concatenate(x), step * 100 + np.arange(rows)
        )
        np.testing.assert_array_equal(np.concatenate(labels), [step] * rows)
        sizes = [len(piece) for piece in x]
        assert max(sizes) - min(sizes) <= 1


def test_values_from_the_chief(strategy):
    values = [np.float32([1, -2]), np.int64(2**40), True, np.uint32([2**31])]
    for value, got in zip(
        values, strategies.from_chief(strategy, values), strict=True
    ):
        np.testing.assert_array_equal(got, value)
        assert got.dtype == tf.convert_to_tensor(value).dtype


@pytest.mark.slow
def test_the_loop_is_fit_bit_for_bit_on_one_replica():
    run = load_recipe(TINY)
    histories, weights = [], []
    for trained_by in ("fit", "loop"):
        keras.utils.set_random_seed(0)
        model = build_model(run)
        history = keras.callbacks.History()
        options = {
            "epochs": 3,
            "initial_epoch": 1,
            "steps_per_epoch": 2,
            "callbacks": [history],
        }
        batches = Data(run).batches(0)
        if trained_by == "fit":
            model.fit(batches, shuffle=False, verbose=0, **options)
        else:
            loop(model, batches, **options)
        histories.append(history.history)
        weights.append([*model.weights, *model.optimizer.variables])
    assert histories[0] == histories[1]
    assert len(histories[0]["loss"]) == 2
    for of_fit, of_loop in zip(*weights, strict=True):
        np.testing.assert_array_equal(of_fit, of_loop)


@pytest.mark.slow
def test_two_replicas_train_as_one_does(unbroken, tmp_path):
    """A batch of 25 rows, samples drawn by the objective, corrupted input."""
    workdir = tmp_path / "run"
    options = {"env": {**os.environ, "EMBEDDINGS_TF_VIRTUAL_CPUS": "2"}}
    code, _, err = train(workdir, "--config.strategy=mirrored", **options)
    assert code == 0, err
    assert err == ""
    assert_close_runs(unbroken, workdir)
    training = json.loads((workdir / "results.json").read_text())["training"]
    assert (training["strategy"], training["replicas"]) == ("mirrored", 2)
    # Several steps in one call are for training without a strategy.
    found = [restore(w / "checkpoints")[1] for w in (unbroken, workdir)]
    assert ["steps_per_execution" in state for state in found] == [True, False]


class Workers:
    """Workers of a cluster of two, on this machine.

    Args:
        start: Function that starts a worker, given `env`, its environment.
        indices: The indices of the workers to start.
        environment: Further environment variables of all workers.
    """

    def __init__(self, start, indices=(0, 1), **environment):
        addresses = []
        for _ in range(2):
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                addresses.append(f"127.0.0.1:{found.getsockname()[1]}")
        self.processes = []
        for index in indices:
            config = {
                "cluster": {"worker": addresses},
                "task": {"type": "worker", "index": index},
            }
            self.processes.append(
                start(
                    env={
                        **os.environ,
                        "TF_CONFIG": json.dumps(config),
                        **environment,
                    }
                )
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()

    def ends(self, index):
        """Waits; returns exit code, output and errors of a worker."""
        out, err = self.processes[index].communicate(timeout=300)
        return self.processes[index].returncode, out, err


def training(workdir, *overrides):
    """Starts a worker that trains."""
    words = ("--config", TINY, "--workdir", workdir)
    words += ("--config.strategy=multi_worker", *overrides)
    return functools.partial(start, "train", *words)


@pytest.mark.slow
def test_two_workers_take_the_steps_of_one():
    """With every loss and objective, also on a batch that splits unevenly."""
    take_steps = functools.partial(Command, "tests.trainers.worker_steps")
    with Workers(take_steps) as workers:
        ends = [workers.ends(index) for index in range(2)]
    for code, _, err in ends:
        assert code == 0, err
    # The output follows the log of the collectives.
    steps = json.loads(ends[0][1].splitlines()[-1])
    entries = conformance_test.LOSSES + conformance_test.OBJECTIVES
    classes = {entry.make.func.__name__ for entry in entries}
    assert {name.partition("-")[0] for name in steps} == classes
    for name, found in steps.items():
        scale = 1 + abs(found["expected"])
        assert abs(found["loss"] - found["expected"]) <= 1e-5 * scale, name
        tolerance = min(1e-5, 1e-4 * found["update"])
        assert found["difference"] <= tolerance, name
        assert found["update"] > 1e-3, f"{name}: nothing was trained"


@pytest.mark.slow
def test_a_worker_that_never_comes_is_not_waited_for(tmp_path):
    with Workers(
        training(tmp_path / "run"),
        indices=(1,),
        EMBEDDINGS_TF_START_SECONDS="1",
    ) as workers:
        assert_not_all_have_started(workers.ends(0))


def test_a_wait_that_holds_the_interpreter_lock_is_ended():
    """Like TensorFlow while it waits for the first worker."""
    code = (
        "import ctypes; from trainers.training.strategy import _ended_after\n"
        "with _ended_after(1): ctypes.PyDLL(None).sleep(600)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert_not_all_have_started(
        (process.returncode, process.stdout, process.stderr)
    )


def test_control_c_ends_a_wait_that_holds_the_interpreter_lock():
    """The terminal sends it to all processes of the command."""
    code = (
        "import ctypes, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from trainers.training.strategy import _ended_after\n"
        "from trainers.training.strategy import _ended_by_signals\n"
        "with _ended_after(100), _ended_by_signals():\n"
        "    print('waits', flush=True); ctypes.PyDLL(None).sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "waits\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_answered_as_before(number):
    """TensorFlow's handler of SIGTERM does not stay."""
    before = signal.getsignal(number)
    try:
        for handler, inside in (
            (signal.SIG_IGN, signal.SIG_IGN),
            (signal.default_int_handler, signal.SIG_DFL),
        ):
            signal.signal(number, handler)
            with strategies._ended_by_signals():
                if number == signal.SIGINT:
                    assert signal.getsignal(number) is inside
                else:
                    signal.signal(number, signal.SIG_DFL)
            assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "{{function_node __wrapped__CollectiveReduceV2_device_/job:worker}}"
            " Collective ops is aborted by: failed to connect to all addresses"
            "\nThe error could be from a previous operation. [Op:Coll]",
            "failed to connect to all addresses",
        ),
        (
            "Graph execution error:\n\nDetected at node cond/Coll defined at\n"
            "  File train.py, line 3\n\nCollective ops is aborted by: Socket "
            "closed\n\t [[{{node cond/Coll}}]] [Op:__inference_8]",
            "Socket closed",
        ),
        (
            "Graph execution error:\n\nDetected at node cond/Coll defined at\n"
            "  File train.py, line 3\n\nConnection reset by peer\n\t "
            "[[{{node cond/Coll}}]] [Op:__inference_8]",
            "Connection reset by peer",
        ),
        ("Connection reset by peer", "Connection reset by peer"),
        ("", "ValueError"),
    ],
)
def test_why_workers_stopped(text, reason):
    assert strategies._reason(ValueError(text)) == reason


def test_workers_that_have_come_in_time_go_on():
    def handler(*_):
        raise AssertionError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        started = time.monotonic()
        with strategies._ended_after(1):
            pass
        time.sleep(max(0, started + 2 - time.monotonic()))
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)


def assert_not_all_have_started(result):
    code, _, err = result
    assert code == -signal.SIGALRM
    assert err.startswith("error: not all workers of TF_CONFIG have started")
    assert "within 1 s" in err and err.count("\n") == 1


def test_a_worker_with_other_data_is_refused(monkeypatch):
    """Of recipe, epoch and data, the data is not the chief's."""
    compared = []

    def from_chief(strategy, values):
        compared.append(values)
        return [value + (len(compared) == 3) for value in values]

    plain = tf.distribute.get_strategy()
    monkeypatch.setattr(strategies, "create", lambda name: plain)
    monkeypatch.setattr(strategies, "from_chief", from_chief)
    run = load_recipe(TINY, ["strategy=multi_worker", "deterministic=False"])
    monkeypatch.setattr(replicas, "loop", pytest.fail)
    with pytest.raises(ValueError, match="copy the chief's data to every"):
        # Only the chief has a workdir.
        fit.fit(run, TINY, None)


def test_a_worker_with_other_own_code_is_refused(tmp_path, monkeypatch):
    code = tmp_path / "mine.py"
    code.write_text("def loss(margin: float = 0.1): ...\n")
    run = load_recipe(TINY, ["strategy=multi_worker"])
    own = dataclasses.replace(run.method, name=f"{code}:loss", arguments={})
    run = dataclasses.replace(run, method=own)
    compared = []

    def from_chief(strategy, values):
        compared.extend(values)
        return compared[:1]

    monkeypatch.setattr(strategies, "from_chief", from_chief)
    replicas.require_recipe_of_chief(run, None)
    code.write_text("def loss(margin: float = 0.1): pass\n")
    own_code_hashes._hash.cache_clear()  # as on another machine
    with pytest.raises(ValueError, match="or a file of code that it names"):
        replicas.require_recipe_of_chief(run, None)


@pytest.mark.slow
def test_a_worker_with_another_recipe_is_refused(tmp_path):
    seeds = iter(range(2))

    def with_a_seed_of_its_own(env):
        words = (f"--config.seed={next(seeds)}",)
        return training(tmp_path / "run", *words)(env=env)

    with Workers(with_a_seed_of_its_own) as workers:
        message = one_line_error(workers.ends(1))
        assert "recipe of this worker differs from the chief's" in message
        message = one_line_error(workers.ends(0))
        assert "another worker of TF_CONFIG is gone" in message


def wait_for(condition):
    until = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_worker_ends_the_others_and_a_restart_of_all_goes_on(
    unbroken,
    tmp_path,
):
    """Also if the killed worker is the chief, or ends by SIGTERM."""
    workdir = tmp_path / "run"
    latest = workdir / "checkpoints" / "latest.keras"

    def newest():
        return latest.stat().st_mtime_ns if latest.exists() else 0

    for victim, other, number in (
        (1, 0, signal.SIGTERM),
        (0, 1, signal.SIGKILL),
    ):
        with Workers(training(workdir)) as workers:
            before = newest()
            wait_for(lambda before=before: newest() != before)
            workers.processes[victim].send_signal(number)
            killed = time.monotonic()
            assert workers.ends(victim)[0] == -number
            message = one_line_error(workers.ends(other))
            assert time.monotonic() - killed < 60
        assert "another worker of TF_CONFIG is gone" in message
        assert "start all workers again" in message
        assert "{{" not in message and "Graph execution" not in message
    with Workers(training(workdir)) as workers:
        ends = [workers.ends(index) for index in range(2)]
    for code, _, err in ends:
        assert code == 0, err
        assert err == ""
    assert "Resuming after epoch" in ends[0][1]
    assert "the chief writes the results" in ends[1][1]
    assert_close_runs(unbroken, workdir)
