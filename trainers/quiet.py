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
    """Whoever imports one of these for the first time does without it."""
    packages = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(packages))
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]


def import_tensorflow(start_devices=None) -> None:
    """Imports TensorFlow, Keras and this library, and starts the devices.

    Keras does without scikit-learn and Matplotlib, which it would import for
    `keras.wrappers` and `keras.visualization`: a third of the time of a start.
    Whoever else asks for them gets them.

    Args:
        start_devices: Function that does so; None: as they are.
    """
    with quiet_import():
        with _not_found("sklearn", "matplotlib"):
            import tensorflow as tf

        import embeddings_tf  # noqa: F401

        (start_devices or tf.config.list_logical_devices)()
