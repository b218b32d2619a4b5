import keras
import numpy as np

from embeddings_tf.models import sprites_decoder


def test_number_of_weights_as_published():
    assert sprites_decoder().count_params() == (
        (22 + 1) * 2048
        + (2048 + 1) * 4608
        + (25 * 32 + 1) * 64
        + (25 * 64 + 1) * 3
    )


def test_shapes():
    decoder = sprites_decoder(4, width=8)
    assert decoder.input_shape == (None, 4)
    assert decoder.output_shape == (None, 60, 60, 3)
    resized = [
        layer.output.shape[1:]
        for layer in decoder.layers
        if isinstance(layer, keras.layers.Resizing)
    ]
    assert resized == [(28, 28, 32), (60, 60, 64)]


def test_logits_take_both_signs():
    """No final activation, because the likelihood has the sigmoid."""
    decoder = sprites_decoder(4, width=8)
    code = np.random.default_rng(0).normal(size=(8, 4)).astype("float32") * 9
    logits = decoder(code).numpy()
    assert logits.min() < 0 < logits.max()


def test_save_and_load(tmp_path):
    decoder = sprites_decoder(4, width=8)
    decoder.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    code = np.ones((2, 4), "float32")
    np.testing.assert_array_equal(loaded(code), decoder(code))
