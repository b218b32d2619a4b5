"""Two replicas on one machine."""

import functools

import tensorflow as tf


@functools.cache
def two_replicas() -> tf.distribute.MirroredStrategy:
    """Divides the CPU into two devices; returns a strategy with two replicas.

    The checks of losses and objectives need two replicas. TensorFlow can
    divide the CPU only before it starts. If other code uses TensorFlow before
    the checks, call this function first, for example in `conftest.py`. All
    calls in a process return the same strategy.

    Returns:
        `tf.distribute.MirroredStrategy` with two replicas.

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
        return  # the CPU is already divided
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    try:
        tf.config.set_logical_device_configuration(cpu, two)
    except RuntimeError:
        return  # TensorFlow has started, so the devices cannot change
