"""Configuration of all tests."""

import collections
import gc
import time
import types

import pytest
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from embeddings_tf.testing import two_replicas
from tests import seeds

# Two logical CPU devices serve as two replicas. TensorFlow accepts this only
# before it starts, hence here.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)


# Fixtures that take seconds. Tests that use the same fixture run in the same
# process, where it is made once; other tests run in any process.
SHARED = {
    "characters_run",
    "classified_rows",
    "colours",
    "exported",
    "of_pixels",
    "readme",
    "search_run",
    "served",
    "source",
    "trained",
    "unbroken",
    "use_page",
    "version",
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    cases = collections.Counter()
    for item in items:
        rare = item.get_closest_marker("every_nth")
        if rare:
            function = item.nodeid.partition("[")[0]
            if cases[function] % rare.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[function] += 1
        shared = SHARED.intersection(item.fixturenames)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(min(shared)))


# Seconds of a test, and runs of the collector on the middle generation (about a
# minute), after which garbage is looked for.
LONG_TEST = 0.3
RUNS_BETWEEN_LOOKS = 100
last_look = types.SimpleNamespace(runs=0)


def pytest_collection_finish():
    """Garbage is not looked for again and again among all that was imported."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 10 * RUNS_BETWEEN_LOOKS)
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Garbage is looked for once, among the objects of the last tests.

    TensorFlow keeps the graphs of finished tests. Full collections, which Keras
    also asks for, looked at them for up to 5 seconds each, 5 to 8 % of the time
    of all tests. A data iterator that failed is removed at once: later,
    TensorFlow would sleep as long as the iterator has lived, up to a minute.
    """
    start = time.monotonic()
    result = yield
    runs = gc.get_stats()[1]["collections"]
    is_long = time.monotonic() - start > LONG_TEST
    if is_long or runs - last_look.runs >= RUNS_BETWEEN_LOOKS:
        gc.collect()
        gc.freeze()
        last_look.runs = gc.get_stats()[1]["collections"]
    return result


def pytest_sessionfinish():
    """pytest collects at its end, which would look at all that is left."""
    gc.freeze()


@pytest.fixture(scope="session")
def strategy():
    """Two replicas. A process has only one strategy, since several collide."""
    return two_replicas()


@pytest.fixture(autouse=True)
def seed():
    """Makes initial weights and noise the same in every run and order."""
    seeds.reset()


@pytest.fixture(autouse=True)
def no_trace_of_determinism():
    """Resets determinism; otherwise later pipelines would not prefetch."""
    yield
    try:
        tf.timestamp()  # fails in deterministic processes
    except tf.errors.FailedPreconditionError:
        disable_op_determinism()
        pytest.fail(
            "made this process deterministic; train with "
            "deterministic=False, or in a process of its own"
        )
