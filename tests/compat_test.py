"""Checks that every private name in `embeddings_tf.compat` still exists."""

import hashlib
import re
from pathlib import Path

import keras
import keras_tuner
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_datasets.core.download import downloader

from embeddings_tf import compat

ROOT = Path(__file__).parents[1]


def small_model():
    inner = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    return keras.Sequential([keras.Input((2,)), inner, keras.layers.ReLU()])


def test_every_layer_finds_nested_layers():
    kinds = [
        type(layer).__name__ for layer in compat.every_layer(small_model())
    ]
    assert kinds[0] == "Sequential"
    assert {"Dense", "ReLU"} <= set(kinds)


def test_stored_value_keeps_the_dtype_of_the_variable():
    read = []

    @keras.saving.register_keras_serializable(package="tests")
    class Reads(keras.layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(shape=(), initializer="ones")

        def call(self, x):
            read.append((self.scale.value.dtype, self.scale))
            return x * self.scale

    Reads(dtype="mixed_bfloat16")(np.ones((1, 2), "float32"))
    (inside, variable), *_ = read
    assert inside == "bfloat16"
    assert compat.stored_value(variable).dtype == "float32"


def test_skip_symbolic_build_lets_fit_train_a_built_model():
    model = small_model()
    compat.skip_symbolic_build(model)
    model.compile("sgd", loss="mse")
    x = np.ones((4, 2), "float32")
    before = [weight.numpy() for weight in model.weights]
    model.fit(x, np.zeros((4, 3), "float32"), verbose=0)
    after = [weight.numpy() for weight in model.weights]
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def test_skip_symbolic_build_says_what_is_missing():
    with pytest.raises(AttributeError, match="_maybe_symbolic_build"):
        compat.skip_symbolic_build(object())


def test_key_of_a_variable():
    first, second = keras.Variable([1.0]), keras.Variable([2.0])
    optimizer = keras.optimizers.SGD()
    key = compat.variable_key(optimizer, first)
    assert key == compat.variable_key(optimizer, first.value)
    assert key != compat.variable_key(optimizer, second)


def test_gradients_of_a_layer_are_clipped_apart():
    """(3, 4) has the norm 5, and 12 of the layer does not enter it."""
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    others = [keras.Variable([0.0]), keras.Variable([0.0])]
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
    for _ in range(2):
        compat.clip_apart(optimizer, layer)
    layer.build((None, 1))
    first, second = others
    gradients = [tf.constant([3.0]), tf.constant([[12.0]]), tf.constant([4.0])]
    optimizer.apply(gradients, [first, layer.kernel, second])
    found = [float(v.numpy().item()) for v in (first, layer.kernel, second)]
    np.testing.assert_allclose(found, [-0.6, -1.0, -0.8], rtol=1e-6)


@pytest.mark.parametrize("apart", [False, True])
def test_gradients_of_replicas_are_summed_before_they_are_clipped(
    apart, strategy
):
    """(1, 0) + (2, 4) has the norm 5, and 12 of the layer stands alone."""
    with strategy.scope():
        variable = keras.Variable([0.0, 0.0])
        layer = keras.layers.Dense(
            1, use_bias=False, kernel_initializer="zeros"
        )
        layer.build((None, 1))
        optimizer = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
        optimizer.build([variable, layer.kernel])
    for _ in range(2):
        compat.sum_gradients_first(optimizer)
    if apart:
        compat.clip_apart(optimizer, layer)
    of_replicas = tf.constant([[1.0, 0.0], [2.0, 4.0]])

    @tf.function
    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        kernel = [[12.0 * tf.cast(replica, tf.float32)]]
        optimizer.apply(
            [of_replicas[replica], kernel], [variable, layer.kernel]
        )

    strategy.run(step)
    norms = (5, 12) if apart else (13, 13)
    expected = [-3 / norms[0], -4 / norms[0], -12 / norms[1]]
    found = [*variable.numpy(), layer.kernel.numpy().item()]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("overflow", [0, 1, None])
def test_an_overflow_of_any_replica_skips_the_step(overflow, strategy):
    with strategy.scope():
        variable = keras.Variable([0.0])
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(1.0), initial_scale=4.0
        )
        optimizer.build([variable])
    compat.sum_gradients_first(optimizer)

    @tf.function
    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        is_infinite = tf.equal(replica, -1 if overflow is None else overflow)
        gradient = tf.where(is_infinite, np.inf, 8.0)
        optimizer.apply([tf.reshape(gradient, [1])], [variable])

    strategy.run(step)
    skipped = overflow is not None
    np.testing.assert_allclose(variable.numpy(), [0.0 if skipped else -4.0])
    np.testing.assert_allclose(
        optimizer.dynamic_scale.numpy(), 2.0 if skipped else 4.0
    )


@pytest.mark.parametrize(
    "field", ["gradient_accumulation_steps", "ema_overwrite_frequency"]
)
def test_what_keras_cannot_do_on_replicas_is_refused(field, strategy):
    fields = {"use_ema": True, field: 2}

    def prepare():
        optimizer = keras.optimizers.SGD(1.0, **fields)
        for wrapped in (
            optimizer,
            keras.optimizers.LossScaleOptimizer(optimizer),
        ):
            compat.sum_gradients_first(wrapped)

    prepare()
    with (
        strategy.scope(),
        pytest.raises(ValueError, match=f"SGD has {field}=2.* there are 2"),
    ):
        prepare()


def test_downloads_are_not_repeated_inside_the_block_only():
    before = downloader.MAX_RETRIES
    assert before > 0
    with pytest.raises(KeyError):
        with compat.no_download_retries():
            assert downloader.MAX_RETRIES == 0
            raise KeyError
    assert downloader.MAX_RETRIES == before


def test_size_and_checksum(tmp_path):
    file = tmp_path / "original.bin"
    file.write_bytes(b"content")
    found = compat.size_and_checksum(file)
    assert found.size == 7
    assert found.checksum == hashlib.sha256(b"content").hexdigest()
    assert issubclass(compat.checksum_error(), Exception)


def test_files_of_an_oracle(tmp_path):
    oracle = keras_tuner.oracles.RandomSearchOracle(
        objective=keras_tuner.Objective("loss", "min"), max_trials=1
    )
    oracle._set_project_dir(str(tmp_path), "search")
    folder = compat.trial_folder(oracle, "7")
    assert folder.parent == tmp_path / "search" and "7" in folder.name
    assert compat.oracle_file(oracle).parent == tmp_path / "search"
    oracle._retry_queue.append("7")
    compat.forget_retries(oracle)
    assert oracle._retry_queue == []
    with pytest.raises(AttributeError, match="_retry_queue"):
        compat.forget_retries(object())


@pytest.mark.parametrize(
    "package", ["keras", "keras-tuner", "tensorflow-datasets"]
)
def test_packages_with_private_names_have_an_upper_bound(package):
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    assert re.search(rf'"{package}>=[\d.]+,<[\d.]+"', setup)


def test_private_names_are_used_here_only():
    names = "_flatten_layers|_maybe_symbolic_build|_retry_queue|_get_trial_dir"
    names += "|_clip_gradients|_backend_apply_gradients"
    names += "|_var_key|_get_oracle_fname|MAX_RETRIES|NonMatchingChecksumError"
    users = [
        path.relative_to(ROOT).as_posix()
        for package in ("embeddings_tf", "trainers", "tuning")
        for path in sorted((ROOT / package).rglob("*.py"))
        if re.search(names, path.read_text(encoding="utf-8"))
    ]
    assert users == ["embeddings_tf/compat.py"]


@pytest.mark.parametrize("jit_compile", [True, False, None])
@pytest.mark.parametrize("where", ["alone", "inside", "in_a_branch"])
def test_is_traced_for_xla(jit_compile, where):
    found = []

    def look(x):
        found.append(compat.is_traced_for_xla())
        return x + 1

    def body(x):
        if where == "inside":
            return tf.function(look)(x)
        if where == "in_a_branch":
            return tf.cond(x > 0, lambda: look(x), lambda: look(-x))
        return look(x)

    function = tf.function(body, jit_compile=jit_compile)
    assert function(tf.constant(1.0)) == 2
    assert found and set(found) == {bool(jit_compile)}


def test_is_not_traced_for_xla_eagerly():
    assert not compat.is_traced_for_xla()


class Spy(keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.found = []

    def call(self, y_true, y_pred):
        self.found.append(compat.model_being_trained())
        return tf.reduce_sum(y_pred, -1)


@pytest.mark.parametrize(
    "options", [{}, {"run_eagerly": True}, {"jit_compile": True}]
)
def test_model_being_trained(options):
    spy = Spy()
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss=spy, **options)
    x, y = np.ones((4, 2), "float32"), np.ones(4)
    model.fit(x, y, verbose=0)
    assert spy.found and spy.found[-1] == (model, True)
    spy.found.clear()
    model.evaluate(x, y, verbose=0)
    assert spy.found and set(spy.found) == {(model, False)}
    spy.found.clear()
    spy(y, x)
    assert spy.found == [(None, False)]


def test_model_being_trained_on_replicas(strategy):
    spy = Spy()
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", loss=spy)
    model.fit(np.ones((4, 2), "float32"), np.ones(4), verbose=0)
    assert (model, True) in spy.found


def test_added_metric_is_reset_and_logged():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    metric = keras.metrics.Sum(name="added")
    compat.add_metric(model, metric)
    metric.update_state([5.0])
    assert metric in model.metrics
    history = model.fit(np.ones((4, 2)), np.ones(4), verbose=0).history
    assert history["added"] == [0.0]


def test_registered_function_can_be_called_in_eager_mode():
    """A function that only an imported graph contains."""
    inner = tf.function(lambda x: 3 * x, autograph=False)
    outer = tf.function(lambda x: inner(x), autograph=False)
    outer = outer.get_concrete_function(tf.TensorSpec((), tf.float32))
    graph_def = outer.graph.as_graph_def()
    (definition,) = graph_def.library.function
    definition.signature.name += "_copy"
    (call,) = [n for n in graph_def.node if "f" in n.attr]
    call.attr["f"].func.name += "_copy"
    placeholder, output = outer.inputs[0].name, outer.outputs[0].name

    @tf.function(autograph=False)
    def imported(x):
        return tf.graph_util.import_graph_def(
            graph_def, {placeholder: x}, [output]
        )[0]

    for _ in range(2):
        compat.register_function(definition)
    assert imported(tf.constant(2.0)) == 6
