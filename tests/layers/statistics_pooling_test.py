import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import StatisticsPooling


def sequences(shape=(4, 7, 3)):
    rng = np.random.default_rng(0)
    return rng.normal(2, 3, size=shape).astype("float32")


def expected(rows):
    """Expected statistics of rows that are given without padding."""
    return [np.concatenate([x.mean(axis=0), x.std(axis=0)]) for x in rows]


def test_in_numpy():
    x = sequences()
    np.testing.assert_allclose(StatisticsPooling()(x), expected(x), rtol=1e-5)


def test_mask_from_lengths_whatever_is_padded():
    x = sequences()
    lengths = [7, 4, 1, 5]
    padded = x.copy()
    for row, length, value in zip(
        padded, lengths, (0, 1e6, np.nan, np.inf), strict=True
    ):
        row[length:] = value
    mask = tf.sequence_mask(lengths, 7)
    with tf.GradientTape() as tape:
        inputs = tf.constant(padded)
        tape.watch(inputs)
        pooled = StatisticsPooling()(inputs, mask=mask)
    rows = [row[:length] for row, length in zip(x, lengths, strict=True)]
    np.testing.assert_allclose(pooled, expected(rows), rtol=1e-5, atol=1e-6)
    gradient = tape.gradient(pooled, inputs).numpy()
    assert np.isfinite(gradient).all()
    assert not gradient[~mask.numpy()].any()


def test_mask_may_leave_out_any_frame():
    x = sequences((1, 6, 2))
    mask = np.array([[False, True, True, False, False, True]])
    np.testing.assert_allclose(
        StatisticsPooling()(x, mask=mask), expected([x[mask]]), rtol=1e-5
    )


def test_mask_of_keras():
    x = sequences()
    x[1, 3:] = 0
    model = keras.Sequential([keras.layers.Masking(), StatisticsPooling()])
    rows = [x[0], x[1, :3], x[2], x[3]]
    np.testing.assert_allclose(model(x), expected(rows), rtol=1e-5)


def test_any_number_of_frames():
    """One traced function works for every number of frames."""
    model = keras.Sequential([keras.Input((None, 3)), StatisticsPooling()])
    for frames in (2, 5):
        x = sequences((4, frames, 3))
        predicted = model.predict(x, verbose=0)
        np.testing.assert_allclose(predicted, expected(x), rtol=1e-5)


@pytest.mark.parametrize(
    ("x", "mask"),
    [
        (np.zeros((1, 5, 1)), np.ones((1, 5))),  # a unit that is never active
        (np.full((1, 5, 1), 0.3), np.ones((1, 5))),
        (np.full((1, 5, 1), 0.3), [[1, 0, 0, 0, 0]]),
        (sequences((1, 5, 1)), np.zeros((1, 5))),  # no frame at all
    ],
)
def test_without_variation(x, mask):
    mask = np.asarray(mask, bool)
    inputs = tf.constant(x, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        mean, deviation = tf.unstack(
            StatisticsPooling()(inputs, mask=mask), axis=1
        )
    gradient = tape.gradient(deviation, inputs)
    real = x[mask]
    np.testing.assert_allclose(mean, [real.mean() if real.size else 0])
    np.testing.assert_allclose(deviation, [0], atol=1e-6)
    np.testing.assert_allclose(gradient, np.zeros_like(x), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 1e18])
def test_gradient_of_the_deviation(scale):
    """(x_t - mean) / (n * deviation), at most 1 / sqrt(n) at every scale."""
    x = sequences((2, 6, 3)) * np.float32(scale)
    inputs = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        deviation = StatisticsPooling()(inputs)[:, 3:]
    gradient = tape.gradient(deviation, inputs)
    x = x.astype("float64")
    centred = x - x.mean(axis=1, keepdims=True)
    exact = centred / (6 * x.std(axis=1, keepdims=True))
    np.testing.assert_allclose(gradient, exact, rtol=1e-4, atol=1e-6)
    assert np.abs(gradient).max() <= 1 / np.sqrt(6)


@pytest.mark.parametrize("scale", [1e30, 1e37, 1e38])
def test_sums_that_overflow(scale):
    x = sequences((2, 100, 3)) / 20
    x = (scale * x / np.abs(x).max()).astype("float32")
    x[0, :, 2] = scale
    inputs = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        pooled = StatisticsPooling()(inputs)
    exact = x.astype("float64")
    np.testing.assert_allclose(
        pooled, expected(exact), rtol=1e-5, atol=1e-6 * scale
    )
    assert np.isfinite(tape.gradient(pooled, inputs)).all()


def test_usual_means_are_the_sum_divided_by_the_number():
    """Shares would be rounded one by one: three thirds of 7 frames."""
    x = np.tile(np.float32([[[1.0], [0.3], [2.7]]]), (1, 7, 1))
    total = tf.reduce_sum(tf.constant(x), axis=1)
    found = StatisticsPooling()(x)
    np.testing.assert_array_equal(found[:, :1], total / 21)


def test_shape_of_the_mask():
    with pytest.raises(ValueError, match=r"`mask`.*\(4, 7\).*\(4, 3\)"):
        StatisticsPooling()(sequences(), mask=np.ones((4, 3), bool))


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (3, 2)])
def test_shape_of_the_mask_in_a_graph_that_does_not_know_it(shape, jit_compile):
    layer = StatisticsPooling()
    pool = tf.function(
        lambda frames, mask: layer(frames, mask=mask),
        input_signature=[
            tf.TensorSpec((None, None, 1)),
            tf.TensorSpec((None, None), tf.bool),
        ],
        jit_compile=jit_compile,
    )
    frames = np.arange(6, dtype="float32").reshape(2, 3, 1)
    mask = np.array([[True, False, True], [False, True, False]])
    # Means 1 and 4 of (0, 2) and (4,); deviations 1 and 0.
    np.testing.assert_allclose(pool(frames, mask), [[1, 1], [4, 0]], atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        pool(frames, np.ones(shape, bool))


def test_rank():
    with pytest.raises(ValueError, match="expected ndim=3"):
        StatisticsPooling()(np.ones((2, 3), "float32"))


def test_no_frames():
    frames = tf.zeros([2, 0, 3])
    layer = StatisticsPooling()
    with tf.GradientTape() as tape:
        tape.watch(frames)
        statistics = layer(frames)
    np.testing.assert_array_equal(statistics, np.zeros([2, 6]))
    assert tape.gradient(statistics, frames).shape == (2, 0, 3)


def test_unknown_channels():
    symbolic = StatisticsPooling()(keras.KerasTensor((2, None, None)))
    assert symbolic.shape == (2, None)
    pool = tf.function(
        StatisticsPooling(), input_signature=[tf.TensorSpec([None] * 3)]
    )
    frames = np.array([[[0, 1], [2, 5]]], "float32")
    np.testing.assert_allclose(pool(frames), [[1, 3, 1, 2]], rtol=1e-6)
