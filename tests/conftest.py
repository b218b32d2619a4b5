"""What all tests share."""

import gc

import keras
import pytest
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism

from embeddings_tf.testing import two_replicas

# Two logical CPU devices stand for two replicas; TensorFlow accepts this only
# before it starts, hence here.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)


# Fixtures that take seconds to make. The tests that ask for one run in one
# process, in which it is made once; all other tests go to any process.
SHARED = {
    "characters_run",
    "classified_rows",
    "of_pixels",
    "readme",
    "search_run",
    "served",
    "source",
    "trained",
    "unbroken",
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        shared = SHARED.intersection(item.fixturenames)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(min(shared)))


def pytest_collection_finish():
    """Garbage is not looked for again and again among all that was imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def strategy():
    """Two replicas. One strategy serves a process: several collide."""
    return two_replicas()


@pytest.fixture(autouse=True)
def seed():
    """Initial weights and noise are the same in every run, in any order."""
    keras.utils.set_random_seed(0)


@pytest.fixture(autouse=True)
def no_trace_of_determinism():
    """Pipelines of later tests would not prefetch."""
    yield
    try:
        tf.timestamp()  # deterministic processes refuse it
    except tf.errors.FailedPreconditionError:
        disable_op_determinism()
        pytest.fail(
            "made this process deterministic; train with "
            "deterministic=False, or in a process of its own"
        )
