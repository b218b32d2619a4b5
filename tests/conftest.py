"""Configuration of all tests."""

import gc
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
    for item in items:
        shared = SHARED.intersection(item.fixturenames)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(min(shared)))


# Runs of the collector on the middle generation between two looks at all
# objects, about a minute; and how many there were at the last look.
RUNS_BETWEEN_LOOKS = 100
last_look = types.SimpleNamespace(runs=0)


def pytest_collection_finish():
    """Garbage is not looked for again and again among all that was imported."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 10 * RUNS_BETWEEN_LOOKS)
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish():
    """Garbage is not looked for among the graphs of finished tests either.

    TensorFlow keeps them. Full collections, which Keras also asks for, looked
    at them for up to 5 seconds each, 5 to 8 % of the time of all tests.
    """
    runs = gc.get_stats()[1]["collections"]
    if runs - last_look.runs >= RUNS_BETWEEN_LOOKS:
        last_look.runs = runs
        gc.collect()
        gc.freeze()


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
