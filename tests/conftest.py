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


def pytest_collection_finish():
    """Garbage is not looked for again and again among all that was imported."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 10 * COLLECTIONS)
    gc.collect()
    gc.freeze()


# Collections of the middle generation until garbage is looked for among all
# objects, about a minute; and how many there were before the last time.
COLLECTIONS = 100
before = types.SimpleNamespace(collections=0)


def pytest_runtest_logfinish():
    """Nor among graphs of finished tests, which TensorFlow keeps.

    Keras also collects all garbage, up to 5 seconds each time, which was 5 to
    8 % of the time of all tests.
    """
    collections = gc.get_stats()[1]["collections"]
    if collections - before.collections >= COLLECTIONS:
        before.collections = collections
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
