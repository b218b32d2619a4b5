"""TensorFlow without its native start-up noise."""

import contextlib
import os
import sys
import tempfile


@contextlib.contextmanager
def quiet_import():
    """Silences native logs while TensorFlow is imported and starts.

    Six lines of TensorFlow 2.21 reach file descriptor 2 whatever the log
    level, so the descriptor itself is turned to a file; its content is shown
    if the block raises. For command lines only, never inside the library.
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
    """Temporarily hides these packages, so that imports of them fail."""
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
    optional imports (`keras.wrappers` and `keras.visualization`), a third of
    the start-up time. Later imports find both packages.

    Args:
        start_devices: Function that starts the devices; None: no function.
    """
    with quiet_import():
        with _not_found("sklearn", "matplotlib"):
            import tensorflow as tf

        import embeddings_tf  # noqa: F401

        (start_devices or tf.config.list_logical_devices)()
