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


def import_tensorflow(start_devices=None) -> None:
    """Imports TensorFlow, Keras and this library, and starts the devices.

    Args:
        start_devices: Function that does so; None: as they are.
    """
    with quiet_import():
        import tensorflow as tf

        import embeddings_tf  # noqa: F401

        (start_devices or tf.config.list_logical_devices)()
