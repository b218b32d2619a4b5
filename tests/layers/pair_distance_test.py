"""Expected values by the published network on concatenated pairs, in NumPy."""

import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import PairDistance

MODULE = sys.modules[PairDistance.__module__]
UNITS = (16, 8, 8)


def embeddings(rows, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, dim)).astype("float32")


def published(layer, a, b):
    """Linear and LeakyReLU(0.1) of [a, b], layer by layer, in float64."""
    h = np.concatenate([a, b], axis=-1).astype("float64")
    *hidden, last = zip(layer.kernels, layer.biases, strict=True)
    for kernel, bias in hidden:
        h = h @ kernel.numpy() + bias.numpy()
        h = np.where(h > 0, h, 0.1 * h)
    return (h @ last[0].numpy() + last[1].numpy())[:, 0]


def published_all(layer, a, b):
    i, j = np.indices((len(a), len(b))).reshape(2, -1)
    return published(layer, a[i], b[j]).reshape(len(a), len(b))


@pytest.fixture(params=["one block", "blocks of 4 pairs", "blocks of 1"])
def block_size(request, monkeypatch):
    floats = {"one block": 2**18, "blocks of 4 pairs": 64, "blocks of 1": 1}
    monkeypatch.setattr(MODULE, "BLOCK_FLOATS", floats[request.param])


class TestPairs:
    @pytest.mark.parametrize("units", [(8,), UNITS])
    def test_published_network(self, units):
        a, b = embeddings(6), embeddings(6, seed=1)
        layer = PairDistance(units, seed=1)
        np.testing.assert_allclose(
            layer((a, b)), published(layer, a, b), rtol=1e-5, atol=1e-6
        )

    def test_number_of_parameters(self):
        """The sizes of the papers: 1024->350x3->1 and 256->256x5->1."""
        for dim, units, expected in (
            (512, (350,) * 3, 604_801),
            (128, (256,) * 5, 329_217),
        ):
            layer = PairDistance(units)
            layer.build(((None, dim), (None, dim)))
            assert layer.count_params() == expected

    def test_initial_weights(self):
        """Uniform within 1 / sqrt(inputs), and different for each layer."""
        layer = PairDistance((64, 64, 64), seed=3)
        layer.build(((None, 50), (None, 50)))
        for inputs, *weights in zip(
            (100, 64, 64, 64), layer.kernels, layer.biases, strict=True
        ):
            for weight in weights:
                values = np.abs(weight.numpy()) * np.sqrt(inputs)
                assert values.max() <= 1
                if values.size >= 64:
                    # A mean of 1/2, and a standard deviation of 1 / sqrt(12).
                    tolerance = 5 / np.sqrt(12 * values.size)
                    assert abs(values.mean() - 0.5) < tolerance
        assert (layer.kernels[1].numpy() != layer.kernels[2].numpy()).any()

    def test_seed(self):
        a, b = embeddings(6), embeddings(6, seed=1)
        one, same, other = (
            PairDistance(UNITS, seed=seed)((a, b)).numpy() for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()

    def test_symmetric(self):
        a, b = embeddings(5), embeddings(5, seed=1)
        layer = PairDistance(UNITS, symmetric=True, seed=1)
        layer((a, b))
        both = [published(layer, a, b), published(layer, b, a)]
        assert np.abs(both[0] - both[1]).max() > 1e-3
        np.testing.assert_allclose(layer((a, b)), np.mean(both, 0), atol=1e-6)
        np.testing.assert_allclose(layer((b, a)), np.mean(both, 0), atol=1e-6)
        np.testing.assert_allclose(
            layer.all_pairs(a, b[:3]),
            (published_all(layer, a, b[:3]) + published_all(layer, b[:3], a).T)
            / 2,
            atol=1e-6,
        )


class TestAllPairs:
    @pytest.mark.parametrize(("rows", "columns"), [(7, 5), (1, 9), (9, 1)])
    def test_is_every_pair(self, rows, columns, block_size):
        a, b = embeddings(rows), embeddings(columns, seed=1)
        layer = PairDistance(UNITS, seed=1)
        scores = layer.all_pairs(a, b)
        assert scores.shape == (rows, columns) and scores.dtype == "float32"
        np.testing.assert_allclose(
            scores, published_all(layer, a, b), rtol=1e-5, atol=1e-6
        )

    @pytest.mark.parametrize(("rows", "columns"), [(0, 5), (7, 0), (0, 0)])
    def test_nothing(self, rows, columns):
        layer = PairDistance(UNITS)
        scores = layer.all_pairs(embeddings(rows), embeddings(columns))
        assert scores.shape == (rows, columns)

    def test_gradient(self, block_size):
        """Equals the gradient of single pairs, in embeddings and weights."""
        a, b = tf.constant(embeddings(7)), tf.constant(embeddings(5, seed=1))
        i, j = np.indices((7, 5)).reshape(2, -1)
        layer = PairDistance(UNITS, seed=1)
        layer.build((a.shape, b.shape))
        weight = np.random.default_rng(2).normal(size=(7, 5))

        def gradients(scores):
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                value = tf.reduce_sum(tf.cast(weight, "float32") * scores())
            found = tape.gradient(value, [a, b, *layer.trainable_variables])
            return [tf.convert_to_tensor(gradient) for gradient in found]

        expected = gradients(
            lambda: tf.reshape(
                layer((tf.gather(a, i), tf.gather(b, j))), (7, 5)
            )
        )
        assert all(np.any(gradient) for gradient in expected)
        for function in (gradients, tf.function(gradients)):
            for got, wanted in zip(
                function(lambda: layer.all_pairs(a, b)), expected, strict=True
            ):
                np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)

    def test_gradient_of_a_batch_with_itself(self, block_size):
        """By finite differences; each row is on both sides of pairs."""
        layer = PairDistance(UNITS, seed=1)
        z = tf.constant(embeddings(6))
        step = embeddings(6, seed=5)

        def value(z):
            return tf.reduce_sum(layer.all_pairs(z, z) ** 2)

        with tf.GradientTape() as tape:
            tape.watch(z)
            scores = value(z)
        slope = np.sum(tape.gradient(scores, z) * step)

        def value64(z):
            return np.sum(published_all(layer, z, z) ** 2)

        ahead, behind = (
            value64(z.numpy().astype("float64") + h * step)
            for h in (1e-6, -1e-6)
        )
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-3)

    def test_unknown_sizes_in_a_graph(self):
        layer = PairDistance(UNITS, seed=1)
        layer.build(((None, 4), (None, 4)))
        spec = tf.TensorSpec([None, 4], tf.float32)
        function = tf.function(
            lambda a, b: layer.all_pairs(a, b), input_signature=[spec, spec]
        )
        for rows, columns in ((3, 5), (1, 1), (0, 2)):
            a, b = embeddings(rows), embeddings(columns, seed=1)
            np.testing.assert_allclose(
                function(a, b), published_all(layer, a, b), atol=1e-6
            )

    def test_layers_of_other_widths(self):
        """Compiled functions of one layer do not affect another layer."""
        for dim, units in ((4, (8,)), (3, (5,)), (2, (8, 6)), (4, (7,))):
            a, b = embeddings(3, dim), embeddings(2, dim, seed=1)
            layer = PairDistance(units, seed=1)
            np.testing.assert_allclose(
                layer.all_pairs(a, b), published_all(layer, a, b), atol=1e-6
            )

    @pytest.mark.parametrize("block_floats", [64, 2**18])
    def test_xla(self, block_floats, monkeypatch):
        monkeypatch.setattr(MODULE, "BLOCK_FLOATS", block_floats)
        a, b = embeddings(7), embeddings(5, seed=1)
        layer = PairDistance(UNITS, seed=1)
        layer.build((a.shape, b.shape))

        @tf.function(jit_compile=True)
        def step(a, b):
            with tf.GradientTape() as tape:
                tape.watch(a)
                scores = layer.all_pairs(a, b, training=True)
            return layer.all_pairs(a, b), tape.gradient(scores, a)

        scores, gradient = step(tf.constant(a), tf.constant(b))
        np.testing.assert_allclose(
            scores, published_all(layer, a, b), atol=1e-5
        )
        assert np.isfinite(gradient).all() and np.any(gradient)

    @pytest.mark.slow
    def test_export(self, tmp_path):
        layer = PairDistance(UNITS, seed=1)
        layer.build(((None, 4), (None, 4)))
        spec = tf.TensorSpec([None, 4], tf.float32)
        archive = keras.export.ExportArchive()
        archive.track(layer)
        archive.add_endpoint(
            "all_pairs",
            lambda a, b: layer.all_pairs(a, b),
            input_signature=[spec, spec],
        )
        archive.write_out(str(tmp_path), verbose=False)
        served = tf.saved_model.load(str(tmp_path))
        a, b = embeddings(7), embeddings(5, seed=1)
        np.testing.assert_allclose(
            served.all_pairs(a, b), published_all(layer, a, b), atol=1e-6
        )

    def test_memory_of_the_gradient_is_bounded(self):
        """2 x 10^6 pairs of 64 units have activations of 1.5 GiB."""
        layer = PairDistance((64, 64, 64), dropout=0.0, seed=1)
        z = tf.constant(embeddings(1400))
        layer.build((z.shape, z.shape))
        function = tf.function(
            lambda z: tf.gradients(
                tf.reduce_sum(tf.nn.softplus(layer.all_pairs(z, z))), z
            )[0]
        )
        sizes = []
        for graph in _graphs(function.get_concrete_function(z).graph):
            for operation in graph.get_operations():
                for output in operation.outputs:
                    shape = output.shape
                    if shape.is_fully_defined():
                        sizes.append(shape.num_elements())
        # The matrix of scores and tensors computed from it.
        assert max(sizes) <= 1400 * 1400 + 2**18 // 64


def _graphs(graph):
    yield graph
    for function in graph._functions.values():
        inner = getattr(function, "graph", None)
        if inner is not None:
            yield from _graphs(inner)


class TestDropout:
    def test_rate_and_scale(self):
        """One hidden unit of value 1: the logit is 0 or 1 / (1 - rate)."""
        layer = PairDistance((1,), dropout=0.25, seed=1)
        z = np.ones((200, 1), "float32")
        layer.build((z.shape, z.shape))
        for weight, value in zip(
            layer.weights[:4], (0.0, 1.0, 1.0, 0.0), strict=True
        ):
            weight.assign(np.full(weight.shape, value))
        np.testing.assert_allclose(layer.all_pairs(z, z), 1)
        scores = layer.all_pairs(z, z, training=True).numpy()
        np.testing.assert_allclose(np.unique(scores), [0, 4 / 3], rtol=1e-6)
        deviation = np.sqrt(0.25 * 0.75 / scores.size)
        assert abs(np.mean(scores == 0) - 0.25) < 5 * deviation

    def test_of_blocks_differ(self, monkeypatch):
        monkeypatch.setattr(MODULE, "BLOCK_FLOATS", 20)
        layer = PairDistance((1,), dropout=0.5, seed=1)
        z = np.ones((20, 1), "float32")
        scores = layer.all_pairs(z, z, training=True).numpy()
        assert len(np.unique(scores, axis=0)) > 10

    def test_each_call_is_new_and_the_seed_repeats(self):
        z = embeddings(6)
        draws = []
        for _ in range(2):
            layer = PairDistance(UNITS, dropout=0.5, seed=4)
            for _ in range(2):
                draws.append(layer.all_pairs(z, z, training=True).numpy())
                draws.append(layer((z, z), training=True).numpy())
        for one, same in zip(draws[:4], draws[4:], strict=True):
            np.testing.assert_array_equal(one, same)
        assert (draws[0] != draws[2]).any() and (draws[1] != draws[3]).any()

    def test_gradient_is_of_the_same_units(self):
        """If every unit is dropped, the gradient is zero."""
        layer = PairDistance((1,), dropout=0.5, seed=1)
        a, b = tf.constant(embeddings(40)), tf.constant(embeddings(1))
        layer.build((a.shape, b.shape))
        layer.biases[1].assign([0.0])
        with tf.GradientTape() as tape:
            tape.watch(a)
            scores = layer.all_pairs(a, b, training=True)
        gradient = tape.gradient(scores, a).numpy()
        dropped = scores.numpy()[:, 0] == 0
        assert 5 < dropped.sum() < 35
        np.testing.assert_array_equal((gradient == 0).all(axis=1), dropped)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_units": ()}, "`hidden_units` must be a tuple of at least"),
        ({"hidden_units": 256}, "`hidden_units` must be a tuple.*256"),
        ({"hidden_units": (8, 0)}, "`hidden_units` must be an integer"),
        ({"dropout": 1.0}, "`dropout` must be .* below 1; received 1.0"),
        ({"dropout": -0.1}, "`dropout` must be"),
        ({"dropout": float("nan")}, "`dropout` must be.*nan"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PairDistance(**arguments)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ((5, 4), (5, 3), "with one dim"),
        ((5, 0), (5, 0), "one dim of at least 1"),
        ((5, 4), (4,), "two tensors of embeddings"),
        ((5, 4, 1), (5, 4, 1), "two tensors of embeddings"),
        ((5, 4), (3, 4), "row by row.*5 and 3 rows.*`distance.all_pairs"),
    ],
)
def test_bad_shapes(first, second, message):
    a, b = np.zeros(first, "float32"), np.zeros(second, "float32")
    with pytest.raises(ValueError, match=message):
        PairDistance(UNITS)((a, b))
    if "row by row" not in message:
        with pytest.raises(ValueError, match=message):
            PairDistance(UNITS).all_pairs(a, b)


def test_other_lengths_in_a_graph():
    """The error names a method that the layer has."""
    layer = PairDistance(UNITS)
    layer.all_pairs(embeddings(3), embeddings(3))
    spec = tf.TensorSpec((None, 4), tf.float32)
    score = tf.function(lambda *pair: layer(pair), input_signature=[spec, spec])
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"`distance.all_pairs\(first, second\)`",
    ):
        score(embeddings(5), embeddings(3))


def test_other_dim_than_built_for():
    layer = PairDistance(UNITS)
    layer.all_pairs(embeddings(3), embeddings(3))
    wide = embeddings(3, dim=6)
    for score in (layer.all_pairs, lambda a, b: layer((a, b))):
        with pytest.raises(ValueError, match="4 dimensions; received 6"):
            score(wide, wide)


def test_a_single_tensor():
    with pytest.raises(ValueError, match="two tensors of embeddings"):
        PairDistance(UNITS)(embeddings(5))


@pytest.mark.parametrize("count", [1, 3])
def test_a_built_layer_refuses_other_than_two_tensors(count):
    points = np.ones((4, 3), "float32")
    layer = PairDistance((2,))
    layer((points, points))
    inputs = points if count == 1 else (points,) * count
    with pytest.raises(ValueError, match="compares two tensors"):
        layer(inputs)
