import keras
import numpy as np
import pytest

from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import x_vector_encoder

BATCH_NORMALIZATION = 1 / np.sqrt(1 + 1e-5)  # of an untrained layer
# For each layer, the frames it sees, and by how many frames it exceeds the
# utterance at each end.
DILATED = (
    ([-2, -1, 0, 1, 2], 0),
    ([-2, 0, 2], 0),
    ([-3, 0, 3], 0),
    ([0], 0),
    ([0], 0),
)
RELEASED = (
    ([-2, -1, 0, 1, 2], 0),
    ([-2, -1, 0, 1, 2], 0),
    ([-2, -1, 0, 1, 2], 1),
    ([-3, -2, -1, 0, 1, 2, 3], -2),
    ([0], -2),
)
CHANNELS = (512, 512, 512, 512, 1500)


@pytest.fixture(scope="module", params=[True, False], ids=["dilated", "k5557"])
def dilated(request):
    return request.param


@pytest.fixture(scope="module")
def encoder(dilated):
    return x_vector_encoder(6, num_coefficients=4, dilated=dilated)


def utterances(rows=2, frames=20):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, frames, 4)).astype("float32")


def padded(x, frames):
    return np.pad(x, ((0, 0), (0, frames - x.shape[1]), (0, 0)))


def of_type(encoder, kind):
    return [layer for layer in encoder.layers if isinstance(layer, kind)]


@pytest.mark.parametrize("num_coefficients", [13, 30])
def test_shapes_and_number_of_weights(dilated, num_coefficients):
    encoder = x_vector_encoder(
        num_coefficients=num_coefficients, dilated=dilated
    )
    assert encoder.input_shape == (None, None, num_coefficients)
    assert encoder.output_shape == (None, 512)
    assert encoder.get_layer("statistics").output.shape == (None, 3000)
    expected, inputs = 0, num_coefficients
    contexts = DILATED if dilated else RELEASED
    for (offsets, _), outputs in zip(contexts, CHANNELS, strict=True):
        expected += len(offsets) * inputs * outputs + 4 * outputs
        inputs = outputs
    expected += 3000 * 512 + 4 * 512
    assert encoder.count_params() == expected
    assert len(of_type(encoder, keras.layers.BatchNormalization)) == 6


def test_in_numpy(encoder, dilated):
    (x,) = utterances(1, 9).astype("float64")
    frames = dict(enumerate(x))
    for (offsets, more), layer in zip(
        DILATED if dilated else RELEASED,
        of_type(encoder, keras.layers.Conv1D),
        strict=True,
    ):
        kernel = np.asarray(layer.kernel, "float64")
        nothing = np.zeros(kernel.shape[1])
        frames = {
            t: np.maximum(
                BATCH_NORMALIZATION
                * sum(
                    frames.get(t + offset, nothing) @ tap
                    for offset, tap in zip(offsets, kernel, strict=True)
                ),
                0,
            )
            for t in range(-more, len(x) + more)
        }
    assert len(frames) == (9 if dilated else 5)
    frames = np.array([*frames.values()])
    statistics = np.concatenate([frames.mean(axis=0), frames.std(axis=0)])
    dense = np.asarray(of_type(encoder, keras.layers.Dense)[0].kernel)
    expected = np.maximum(BATCH_NORMALIZATION * (statistics @ dense), 0)
    assert expected.any()
    np.testing.assert_allclose(
        encoder(x[np.newaxis].astype("float32"))[0],
        expected,
        rtol=1e-4,
        atol=1e-7,
    )


def test_padding_changes_no_embedding(encoder):
    x = utterances(3, 20)
    lengths = (20, 12, 5)
    batch = x.copy()
    for row, length in zip(batch, lengths, strict=True):
        row[length:] = 0
    alone = [
        encoder(row[np.newaxis, :length])[0]
        for row, length in zip(x, lengths, strict=True)
    ]
    np.testing.assert_allclose(encoder(batch), alone, rtol=1e-4, atol=1e-7)


def test_padding_changes_no_step_of_training(dilated):
    x = utterances(3, 12)
    encoder = x_vector_encoder(6, num_coefficients=4, dilated=dilated)
    initial = encoder.get_weights()
    after = []
    for batch in (x, padded(x, 20)):
        encoder.set_weights(initial)
        embeddings = encoder(batch, training=True)
        after.append([embeddings, *encoder.get_weights()])
    assert any(
        np.any(moved != weight)
        for moved, weight in zip(after[0][1:], initial, strict=True)
    )
    for padded_too, alone in zip(*reversed(after), strict=True):
        np.testing.assert_allclose(padded_too, alone, rtol=2e-3, atol=1e-5)


def test_without_frames(encoder):
    """Finite: the statistics are 0 in an untrained network."""
    x = np.zeros((2, 20, 4), "float32")
    np.testing.assert_array_equal(encoder(x), np.zeros((2, 6)))
    assert np.isfinite(encoder(x, training=True)).all()


def test_too_short_for_the_released_kernels():
    encoder = x_vector_encoder(6, num_coefficients=4, dilated=False)
    x = padded(utterances(1, 4), 10)
    np.testing.assert_array_equal(encoder(x), np.zeros((1, 6)))


def test_initial_weights(encoder):
    first = of_type(encoder, keras.layers.Conv1D)[0]
    limit = 1 / np.sqrt(5 * 4)
    assert 0.99 * limit < np.abs(first.kernel).max() <= limit
    assert not any(
        layer.use_bias
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Conv1D | keras.layers.Dense)
    )


def test_save_load_and_predict(encoder, tmp_path):
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    x = padded(utterances(), 24)
    np.testing.assert_allclose(
        loaded.predict(x, verbose=0), encoder(x), rtol=1e-4, atol=1e-7
    )


def test_embedding_is_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = x_vector_encoder(6, num_coefficients=4)
    finally:
        keras.config.set_dtype_policy(policy)
    assert encoder(utterances()).dtype == "float32"
    for layer in of_type(encoder, keras.layers.Conv1D):
        assert layer.compute_dtype == "bfloat16"
    assert encoder.get_layer("statistics").output.dtype == "float32"


def test_fewer_channels():
    encoder = x_vector_encoder(
        6, num_coefficients=4, channels=(8, 9, 10, 11, 12)
    )
    convolutions = of_type(encoder, keras.layers.Conv1D)
    assert [layer.filters for layer in convolutions] == [8, 9, 10, 11, 12]
    assert encoder.get_layer("statistics").output.shape == (None, 24)
    assert encoder(utterances()).shape == (2, 6)


@pytest.mark.parametrize("channels", [(8, 8, 8, 8), (8, 8, 8, 8, 0)])
def test_channels_are_five_positive_integers(channels):
    with pytest.raises(ValueError, match="channels"):
        x_vector_encoder(channels=channels)


def test_gaussian_of_the_statistics():
    encoder = x_vector_encoder(
        6,
        num_coefficients=4,
        channels=(8, 8, 8, 8, 16),
        gaussian=True,
        initial_variance=0.05,
    )
    assert has_gaussian_output(encoder)
    packed = encoder(utterances()).numpy()
    assert packed.shape == (2, 12)
    statistics = keras.Model(
        encoder.input, encoder.get_layer("statistics").output
    )(utterances()).numpy()
    kernel, bias = encoder.get_layer("embedding").get_weights()
    raw = statistics @ kernel + bias
    np.testing.assert_allclose(packed[:, :6], raw[:, :6], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        packed[:, 6:], np.log1p(np.exp(raw[:, 6:])), rtol=1e-4, atol=1e-5
    )
