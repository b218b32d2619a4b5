"""All uses of private names of Keras, TensorFlow and other packages.

Each function uses one name that its package may change. The rest of the code
calls these functions, and `tests/compat_test.py` checks every name. `setup.py`
has an upper bound for each package except TensorFlow, which Keras follows. If a
test fails after an upgrade, change this file.
"""

import contextlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import keras
import tensorflow as tf


def register_function(definition) -> None:
    """Makes a `FunctionDef` known to eager calls, once for each name."""
    from tensorflow.python.eager import context

    if not context.context().has_function(definition.signature.name):
        context.context().add_function_def(definition)


def every_layer(model) -> list:
    """Returns all layers of a Keras model, nested ones too, the model first."""
    return list(model._flatten_layers())


def variable_key(optimizer, variable) -> str:
    """Returns the optimizer's name for a variable, the same on all replicas."""
    return optimizer._var_key(variable)


def sum_gradients_first(optimizer) -> None:
    """Makes an optimizer clip the gradients of all replicas together.

    Keras clips the gradients of each replica before it sums them. With float16
    it looks for overflows only in the gradients of the first replica. A step of
    several replicas then differs from a step of one. A second call changes
    nothing.

    Raises:
        ValueError: If Keras's optimizer cannot do a step of several replicas.
    """
    kind = type(optimizer)
    # Half precision wraps the optimizer.
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    num_replicas = tf.distribute.get_strategy().num_replicas_in_sync
    for field in ("gradient_accumulation_steps", "ema_overwrite_frequency"):
        value = getattr(inner, field, None)
        if field.startswith("ema") and not inner.use_ema:
            continue  # it has no effect
        if num_replicas > 1 and value:
            raise ValueError(
                f"{type(inner).__name__} has {field}={value}, which Keras can "
                f"do only on one replica; there are {num_replicas}. Leave it "
                "out, or train on one device"
            )

    def apply(grads, trainable_variables=None):
        context = tf.distribute.get_replica_context()
        if context is not None and context.num_replicas_in_sync > 1:
            present = [g for g in grads if g is not None]
            if present:  # else Keras raises, and names the variables
                present = context.all_reduce(
                    tf.distribute.ReduceOp.SUM, present
                )
            summed = iter(present)
            grads = [g if g is None else next(summed) for g in grads]
            # Keras would sum them again after clipping.
            inner._all_reduce_sum_gradients = list
        return kind.apply(optimizer, grads, trainable_variables)

    optimizer.apply = apply


def clip_apart(optimizer, layer) -> None:
    """Makes an optimizer clip the gradients of one layer on their own.

    With `global_clipnorm`, these gradients then have their own norm, and do
    not enter the norm of the other gradients. A second call changes nothing.
    """
    kind = type(optimizer)

    def apply(gradients, trained):
        # The layer may have been built since.
        keys = {variable_key(optimizer, v) for v in layer.trainable_variables}
        is_apart = [variable_key(optimizer, v) in keys for v in trained]

        def clip(gradients):
            found = list(gradients)
            for group in set(is_apart):
                rows = [i for i, apart in enumerate(is_apart) if apart == group]
                of_group = [gradients[i] for i in rows]
                clipped = kind._clip_gradients(optimizer, of_group)
                for i, gradient in zip(rows, clipped, strict=True):
                    found[i] = gradient
            return found

        optimizer._clip_gradients = clip
        kind._backend_apply_gradients(optimizer, gradients, trained)

    optimizer._backend_apply_gradients = apply


def stored_value(variable):
    """Returns a Keras variable's value in the dtype in which it is stored.

    Inside a layer that computes in half precision, `variable.value` is cast to
    half precision.
    """
    return variable._value


def skip_symbolic_build(model) -> None:
    """Prevents `fit` from building a model that is already built.

    Keras averages the replicas' pieces of a batch to get its shape, which fails
    if the pieces differ in size.
    """
    if not callable(getattr(model, "_maybe_symbolic_build", None)):
        raise AttributeError(
            "This version of Keras has no Model._maybe_symbolic_build; see "
            "embeddings_tf/compat.py."
        )
    model._maybe_symbolic_build = lambda **_: None


def is_traced_for_xla() -> bool:
    """Whether the running code is traced for `tf.function(jit_compile=True)`.

    XLA drops assertions, so inputs that it cannot check are refused in tracing.
    """
    if tf.executing_eagerly():
        return False
    from tensorflow.python.ops import control_flow_util

    graph = tf.compat.v1.get_default_graph()
    return control_flow_util.GraphOrParentsInXlaContext(graph)


def model_being_trained() -> tuple[keras.Model | None, bool]:
    """Returns the model whose `compute_loss` is running; whether it trains.

    Keras does not pass the model to a loss, so the call stack is searched. The
    model is None outside `compute_loss`. In `test_step` it does not train.
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

    The public way, an attribute, does not work on a built model.
    """
    model._metrics.append(metric)


def checksum_error() -> type[Exception]:
    """Returns TensorFlow Datasets' error for a wrong checksum."""
    from tensorflow_datasets.core.download import download_manager

    return download_manager.NonMatchingChecksumError


def size_and_checksum(path: Path):
    """Returns size and checksum of a file as TensorFlow Datasets does."""
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
    """Returns the folder of a trial of a keras-tuner oracle."""
    return Path(oracle._get_trial_dir(trial_id))


def oracle_file(oracle) -> Path:
    """Returns the file in which a keras-tuner oracle stores its state."""
    return Path(oracle._get_oracle_fname())


def forget_retries(oracle) -> None:
    """Clears the trials that a keras-tuner oracle would give to any worker."""
    if not isinstance(getattr(oracle, "_retry_queue", None), list):
        raise AttributeError(
            "This version of keras-tuner has no Oracle._retry_queue; see "
            "embeddings_tf/compat.py."
        )
    oracle._retry_queue = []
