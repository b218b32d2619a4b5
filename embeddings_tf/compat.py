"""Private names of Keras, TensorFlow and other packages, in one place.

Each function uses one name that its package does not promise to keep. The rest
of the code calls these functions, `tests/compat_test.py` checks every name,
and `setup.py` has an upper bound for each package but TensorFlow, which Keras
follows. When a test fails after an upgrade, this file is the place to mend it.
"""

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import keras
import tensorflow as tf


def compiles_with_xla() -> bool:
    """Whether the graph that is traced now is compiled by XLA."""
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util

    graph = tf.compat.v1.get_default_graph()
    return control_flow_util.GraphOrParentsInXlaContext(graph)


def every_layer(model) -> list:
    """All layers of a Keras model, nested ones too, the model itself first."""
    return list(model._flatten_layers())


def stored_value(variable):
    """The value of a Keras variable in the dtype in which it is stored.

    `variable.value` is cast to half precision inside a layer that computes in
    half precision.
    """
    return variable._value


def skip_symbolic_build(model) -> None:
    """Keeps `fit` from building a model that is built already.

    Keras averages the replicas' pieces of a batch to learn its shape, which
    fails where the pieces differ in size.
    """
    if not callable(getattr(model, "_maybe_symbolic_build", None)):
        raise AttributeError(
            "This version of Keras has no Model._maybe_symbolic_build; see "
            "embeddings_tf/compat.py."
        )
    model._maybe_symbolic_build = lambda **_: None


def is_traced_for_xla() -> bool:
    """Whether the running code is traced for `tf.function(jit_compile=True)`.

    XLA drops assertions, so what it cannot check is refused while tracing.
    """
    if tf.executing_eagerly():
        return False
    from tensorflow.python.ops import control_flow_util

    graph = tf.compat.v1.get_default_graph()
    return control_flow_util.GraphOrParentsInXlaContext(graph)


def model_being_trained() -> tuple[keras.Model | None, bool]:
    """The model whose `compute_loss` is running, and whether it trains.

    Keras does not tell a loss which model it is compiled into. The call stack
    does. The model is None outside `compute_loss`; inside `test_step` the
    model does not train.
    """
    frame: types.FrameType | None = sys._getframe(1)
    model = None
    while frame is not None:
        name = frame.f_code.co_name
        if name == "compute_loss" and model is None:
            caller = frame.f_locals.get("self")
            model = caller if isinstance(caller, keras.Model) else None
        elif name in ("train_step", "test_step") and model is not None:
            return model, name == "train_step"
        frame = frame.f_back
    return model, False


def add_metric(model: keras.Model, metric: keras.metrics.Metric) -> None:
    """Adds a metric to a model that may be built; Keras resets it each epoch.

    The public way, an attribute, is closed once a model is built.
    """
    model._metrics.append(metric)


def checksum_error() -> type[Exception]:
    """TensorFlow Datasets' error for a file with a wrong checksum."""
    from tensorflow_datasets.core.download import download_manager

    return download_manager.NonMatchingChecksumError


def size_and_checksum(path: Path):
    """Size and checksum of a file, as TensorFlow Datasets records them."""
    from tensorflow_datasets.core.download import checksums

    return checksums.compute_url_info(path)


@contextlib.contextmanager
def no_download_retries() -> Iterator[None]:
    """Makes downloads of TensorFlow Datasets fail at once, not after 204 s."""
    from tensorflow_datasets.core.download import downloader

    retries = downloader.MAX_RETRIES
    downloader.MAX_RETRIES = 0
    try:
        yield
    finally:
        downloader.MAX_RETRIES = retries


def trial_folder(oracle, trial_id: str) -> Path:
    """The folder of a trial of a keras-tuner oracle."""
    return Path(oracle._get_trial_dir(trial_id))


def oracle_file(oracle) -> Path:
    """The file in which a keras-tuner oracle keeps its state."""
    return Path(oracle._get_oracle_fname())


def forget_retries(oracle) -> None:
    """Empties the trials that a keras-tuner oracle would hand to anyone."""
    if not isinstance(getattr(oracle, "_retry_queue", None), list):
        raise AttributeError(
            "This version of keras-tuner has no Oracle._retry_queue; see "
            "embeddings_tf/compat.py."
        )
    oracle._retry_queue = []
