"""Two replicas on one machine."""

import functools

import tensorflow as tf


@functools.cache
def two_replicas() -> tf.distribute.MirroredStrategy:
    """Makes two devices of the CPU and a strategy with a replica on each.

    The checks of losses and objectives need two replicas. TensorFlow divides
    the CPU only before it starts: call this function first, for example in
    `conftest.py`, if other code uses TensorFlow before the checks run. All
    calls of a process return the same strategy.

    Returns:
        A `tf.distribute.MirroredStrategy` of two replicas.

    Raises:
        RuntimeError: If TensorFlow has started with a single CPU device.

    Example:

    >>> embeddings_tf.testing.two_replicas().num_replicas_in_sync
    2
    """
    if len(tf.config.list_physical_devices("CPU")) == 1:
        _divide_the_cpu()
    devices = [d.name for d in tf.config.list_logical_devices("CPU")][:2]
    if len(devices) < 2:
        raise RuntimeError(
            "the checks need two replicas, but TensorFlow has started with one "
            "CPU device; call embeddings_tf.testing.two_replicas() before "
            "anything else uses TensorFlow, in pytest in conftest.py"
        )
    return tf.distribute.MirroredStrategy(devices)


def _divide_the_cpu() -> None:
    (cpu,) = tf.config.list_physical_devices("CPU")
    if tf.config.get_logical_device_configuration(cpu):
        return  # somebody did
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    try:
        tf.config.set_logical_device_configuration(cpu, two)
    except RuntimeError:
        return  # TensorFlow has started: its devices are what they are
