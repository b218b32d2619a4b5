"""Runs TensorFlow without log messages that say nothing to users."""

import contextlib
import logging
import os
import sys
import tempfile


@contextlib.contextmanager
def quiet_import():
    """Hides native logs while TensorFlow is imported and starts.

    TensorFlow 2.21 writes six lines to file descriptor 2 at every log level, so
    the descriptor is redirected to a file. The content is printed if the block
    raises. For commands only, never inside the library.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(stderr, 2)
            held.seek(0)
            os.write(2, held.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextlib.contextmanager
def _not_found(*packages):
    """Temporarily hides packages, so that their imports fail."""
    packages = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(packages))
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]


def import_tensorflow(start_devices=None) -> None:
    """Imports TensorFlow, Keras and this library, and starts the devices.

    Hides scikit-learn and Matplotlib from Keras, so that Keras skips its
    optional imports (`keras.wrappers` and `keras.visualization`), which take a
    third of the start-up time. Later imports find both packages.

    Args:
        start_devices: Function that starts the devices, or None.
    """
    with quiet_import():
        with _not_found("sklearn", "matplotlib"):
            import tensorflow as tf

        import embeddings_tf  # noqa: F401

        (start_devices or tf.config.list_logical_devices)()


@contextlib.contextmanager
def several_trainings():
    """Hides TensorFlow's warning that the functions of a process are many.

    Each training has functions of its own, which TensorFlow counts together as
    retracing.
    """

    def is_shown(record) -> bool:
        return "triggered tf.function retracing" not in record.getMessage()

    logger = logging.getLogger("tensorflow")
    logger.addFilter(is_shown)
    try:
        yield
    finally:
        logger.removeFilter(is_shown)
