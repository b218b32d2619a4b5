import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import models
from embeddings_tf.layers import PixelRange

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (4, 8, 16, 1))
UNIT = (PIXELS / 255).astype("float32")
MESSAGE = "Multiply them by 255"


def encoder(unit_range="warn"):
    inputs = keras.Input((8, 16, 1))
    x = PixelRange(unit_range)(inputs)
    x = keras.layers.Rescaling(1 / 255)(x)
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(x))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", loss="mse")
    return model


USES = {
    "fit": lambda model, x: model.fit(x, np.zeros(4), verbose=0),
    "evaluate": lambda model, x: model.evaluate(x, np.zeros(4), verbose=0),
    "predict": lambda model, x: model.predict(x, verbose=0),
    "call": lambda model, x: model(x),
    "function": lambda model, x: tf.function(model)(tf.constant(x)),
}


@pytest.mark.parametrize("use", USES)
def test_warns(use):
    with pytest.warns(UserWarning, match=MESSAGE):
        USES[use](encoder(), UNIT)


@pytest.mark.parametrize("use", USES)
def test_refuses(use):
    with pytest.raises(
        (ValueError, tf.errors.InvalidArgumentError), match=MESSAGE
    ):
        USES[use](encoder("refuse"), UNIT)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", [0, 3])
def test_refuses_one_image_among_pixels(use, place):
    """As in a batch that a server joins from several requests."""
    images = PIXELS.astype("float32")
    images[place] /= 255
    with pytest.raises(
        (ValueError, tf.errors.InvalidArgumentError), match=MESSAGE
    ):
        USES[use](encoder("refuse"), images)


def test_each_image_follows_the_rule_of_a_batch_of_one():
    images = np.stack([PIXELS[0], np.zeros_like(PIXELS[0]), PIXELS[2] > 99])
    refusing = PixelRange("refuse")
    np.testing.assert_array_equal(
        refusing(images.astype("float32")), images.astype("float32")
    )
    assert refusing(np.zeros((0, 8, 16, 1), "float32")).shape == (0, 8, 16, 1)

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def of_any_rank(x):
        return refusing(x)

    of_any_rank(images.astype("float32"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=MESSAGE):
        of_any_rank(np.concatenate([images, UNIT[:1]]).astype("float32"))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "images",
    [
        PIXELS.astype("float32"),
        np.zeros((4, 8, 16, 1), "float32"),
        (PIXELS > 99).astype("float32"),  # a mask
        UNIT * 2 - 1,  # another range
        UNIT * 1.5,
    ],
    ids=["pixels", "black", "mask", "centred", "above 1"],
)
def test_other_images_pass(use, images):
    """A warning would fail the test."""
    USES[use](encoder("refuse"), images)


def test_integers_pass():
    layer = PixelRange("refuse")
    for dtype in ("uint8", "int32"):
        x = (PIXELS > 99).astype(dtype)
        np.testing.assert_array_equal(layer(x), x)


def test_accept_and_change_of_mind():
    model = encoder("accept")
    model(UNIT)
    model.get_layer("pixel_range").unit_range = "refuse"
    with pytest.raises(ValueError, match=MESSAGE):
        model(UNIT)


@pytest.mark.parametrize("unit_range", ["warn", "refuse"])
def test_xla_compiles_without_the_check(unit_range):
    model = encoder(unit_range)
    np.testing.assert_allclose(
        tf.function(model, jit_compile=True)(tf.constant(UNIT)),
        encoder_like(model, "accept")(UNIT),
        rtol=1e-5,
    )


def encoder_like(model, unit_range):
    other = encoder(unit_range)
    other.set_weights(model.get_weights())
    return other


def test_passes_images_on_in_any_precision():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        x = tf.cast(PIXELS, dtype)
        found = PixelRange(dtype="mixed_bfloat16")(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, x)


def test_saving(tmp_path):
    model = encoder("refuse")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("pixel_range").unit_range == "refuse"


def test_unknown_choice():
    with pytest.raises(ValueError, match="`unit_range` must be one of 'warn'"):
        PixelRange("raise")


@pytest.mark.parametrize(
    "make",
    [
        lambda: models.n_digit_encoder(2, image_shape=(8, 16, 1)),
        lambda: models.mnist_encoder(),
        lambda: models.omniglot_encoder(4),
        lambda: models.sprites_encoder(2, width=4),
        lambda: models.small_norb_encoder(),
        lambda: models.person_re_identification_encoder(
            image_shape=(32, 16, 3)
        ),
        lambda: models.cifar_resnet18_encoder(),
        lambda: models.mini_imagenet_resnet18_encoder(image_shape=(32, 32, 3)),
        lambda: models.resnet50_encoder(weights=None, image_shape=(32, 32, 3)),
    ],
)
def test_every_published_encoder_of_images(make):
    model = make()
    x = RNG.uniform(size=(1, *model.input_shape[1:])).astype("float32")
    with pytest.warns(UserWarning, match=MESSAGE):
        model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(255 * x)


def test_features_are_not_checked_as_pixels():
    model = models.bird_features_encoder()
    model(RNG.uniform(size=(2, 2048)).astype("float32"))


@pytest.mark.parametrize("use", ["fit", "evaluate"])
def test_beta_vae(use):
    vae = models.BetaVAE(
        models.sprites_encoder(2, gaussian=True, width=4),
        models.sprites_decoder(2, width=4),
    )
    vae.compile("sgd")
    x = RNG.uniform(size=(2, 60, 60, 3)).astype("float32")
    with pytest.warns(UserWarning, match=MESSAGE):
        getattr(vae, use)(x, verbose=0)
    getattr(vae, use)(255 * x, verbose=0)
