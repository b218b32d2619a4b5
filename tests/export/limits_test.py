"""Limits of requests, and memory of requests within them."""

import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import WaveDecoder
from embeddings_tf.export import embedder as embedders
from embeddings_tf.export import export_saved_model
from embeddings_tf.export import memory
from embeddings_tf.export import signature_table
from embeddings_tf.export.embedder import Embedder
from embeddings_tf.export.inputs import input_specs
from tests import peak_memory


def images(rows, size):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, size, size, 3)).astype("float32")


def test_an_export_without_unchecked_signatures(tmp_path):
    """A client cannot avoid the limits; the files name what is there."""
    encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
    path = export_saved_model(encoder, tmp_path, unchecked=False, max_rows=3)
    served = tf.saved_model.load(path)
    names = [row.name for row in signature_table(path)]
    assert sorted(served.signatures) == sorted(names)
    assert "embed" not in names and "serving_default" in names
    card = json.loads((pathlib.Path(path) / "model_card.json").read_text())
    assert list(card["signatures"]) == names
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 3"):
        served.signatures["serving_default"](tf.zeros((4, 1)))
    with pytest.raises(ValueError, match="unchecked"):
        export_saved_model(encoder, tmp_path, unchecked="no")


@pytest.mark.parametrize("value", [0, -3, "a", 1.5])
@pytest.mark.parametrize("name", ["num_samples", "num_neighbors", "max_rows"])
def test_numbers_without_effect_are_checked(tmp_path, name, value):
    """A plain encoder draws no samples, and there is no gallery."""
    encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=f"`{name}` must be an integer"):
        export_saved_model(encoder, tmp_path, **{name: value})
    assert not any(tmp_path.iterdir())


def convolution(size, filters):
    x = image = keras.Input((size, size, 3), name="image")
    x = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return keras.Model(image, keras.layers.GlobalAveragePooling2D()(x))


@tf.function(
    input_signature=[
        tf.TensorSpec((None, None), tf.float32, "waveform"),
        tf.TensorSpec((None,), tf.int32, "length"),
    ]
)
def loudness(waveform, length):
    """Two tensors of 10 times the samples, and a mean."""
    frames = tf.exp(-tf.tile(tf.square(waveform), [1, 10]))
    total = tf.reduce_sum(frames, axis=1) / tf.cast(length, tf.float32)
    return total[:, None]


def export_waves(folder, **options):
    encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
    path = export_saved_model(
        encoder, folder, preprocessing=loudness, **options
    )
    return tf.saved_model.load(path).signatures["serving_default"]


def waves(rows, samples):
    return {
        "waveform": tf.ones((rows, samples)),
        "length": tf.fill([rows], samples),
    }


class TestBlocks:
    @pytest.mark.parametrize("rows", [1, 2, 7])
    def test_of_any_size_have_the_same_result(
        self, rows, tmp_path, monkeypatch
    ):
        keras.utils.set_random_seed(0)
        model = convolution(4, 5)
        # Two rows at once.
        embedder = Embedder(model, None, input_specs(model, None), "warn")
        monkeypatch.setattr(
            embedders, "BLOCK", 2 * memory.values_of_row(embedder._graph)
        )
        loaded = tf.saved_model.load(export_saved_model(model, tmp_path))
        x = images(rows, 4)
        found = loaded.signatures["serving_default"](image=tf.constant(x))
        np.testing.assert_allclose(found["embedding"], model(x), atol=1e-6)

    @pytest.mark.slow
    def test_of_waveforms(self, tmp_path, monkeypatch):
        monkeypatch.setattr(embedders, "BLOCK", 1)
        serve = export_waves(tmp_path)
        samples = np.arange(12.0, dtype="float32").reshape(3, 4) / 8
        length = tf.constant([4, 4, 4])
        found = serve(waveform=tf.constant(samples), length=length)
        for row in range(3):
            alone = serve(waveform=samples[row : row + 1], length=length[:1])
            np.testing.assert_allclose(
                found["embedding"][row], alone["embedding"][0], rtol=1e-6
            )

    def test_numbers_are_those_of_the_largest_tensors(self):
        model = convolution(6, 50)
        specs = input_specs(model, None)
        embedder = Embedder(model, None, specs, "warn")
        found = memory.values_of_row(embedder._graph)
        # Convolution, bias and activation, and the largest of the rest.
        assert found == 3 * 6 * 6 * 50 + 6 * 6 * 3

    def test_numbers_of_open_sizes_are_measured(self):
        encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
        specs = input_specs(encoder, loudness)
        embedder = Embedder(encoder, loudness, specs, "warn")
        # Tile, minus and exponential have 10 times the values; square has as
        # many as the input.
        assert embedder.values_per_value == 31


@pytest.mark.slow
class TestLarge:
    def test_memory_does_not_grow_with_the_rows(self, tmp_path):
        model = convolution(64, 64)
        path = export_saved_model(model, tmp_path)
        serve = tf.saved_model.load(path).signatures["serving_default"]
        x = tf.constant(images(2000, 64))
        serve(image=x[:1])
        before = peak_memory.reset()
        found = serve(image=x)["embedding"]
        grown = peak_memory.read() - before
        # All rows at once would take 2 GB for each of several tensors.
        assert grown < 800_000
        np.testing.assert_allclose(found[-3:], model(x[-3:]), atol=1e-5)


class TestLimits:
    def test_rows_of_large_images(self, tmp_path):
        """1,000 values are 3 images of 10 x 10 x 3."""
        model = convolution(10, 2)
        path = export_saved_model(model, tmp_path, max_values=1000)
        for row in signature_table(path):
            limit = None if row.name == "embed" else 3
            assert row.max_rows == limit
        serve = tf.saved_model.load(path).signatures["serving_default"]
        x = tf.constant(images(4, 10))
        assert serve(image=x[:3])["embedding"].shape == (3, 2)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"`image` must have at most 3 rows.*max_rows",
        ):
            serve(image=x)

    @pytest.mark.slow
    def test_samples_of_all_rows(self, tmp_path):
        serve = export_waves(tmp_path, max_values=1000)
        assert serve(**waves(40, 25))["embedding"].shape == (40, 2)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"`waveform` must have at most 1000 values.*\[1025\]",
        ):
            serve(**waves(41, 25))

    @pytest.mark.slow
    def test_samples_of_a_row(self, tmp_path):
        """Each sample needs 31 values, as in TestBlocks."""
        serve = export_waves(tmp_path, max_values=1000)
        assert serve(**waves(1, 1000 // 31))["embedding"].shape == (1, 2)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"`waveform` must have rows of at most 32 values.*\[33\]",
        ):
            serve(**waves(1, 33))

    @pytest.mark.slow
    def test_samples_of_a_file(self, tmp_path):
        encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
        path = export_saved_model(
            encoder,
            tmp_path,
            preprocessing=loudness,
            decoder=WaveDecoder(8000),
            max_values=1000,
        )
        serve = tf.saved_model.load(path).signatures["embed_bytes"]
        short, long = (
            tf.audio.encode_wav(np.full((n, 1), 0.5, "float32"), 8000)
            for n in (32, 33)
        )
        found = serve(waveform_bytes=tf.stack([short, short]))
        assert found["embedding"].shape == (2, 2)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"`waveform_bytes` must have rows of at most 32 values",
        ):
            serve(waveform_bytes=tf.stack([short, long]))

    @pytest.mark.slow
    def test_without_limits(self, tmp_path):
        serve = export_waves(tmp_path, max_rows=None, max_values=None)
        assert serve(**waves(5000, 3))["embedding"].shape == (5000, 2)

    def test_a_row_of_fixed_size_that_exceeds_them(self, tmp_path):
        encoder = keras.Sequential(
            [keras.Input((2, 4), name="x"), keras.layers.Flatten()]
        )
        with pytest.raises(
            ValueError, match="at least 8, the values of a row of `x`.* 7"
        ):
            export_saved_model(encoder, tmp_path, max_values=7)
        assert not list(tmp_path.iterdir())
        path = export_saved_model(encoder, tmp_path, max_values=8)
        assert signature_table(path)[0].max_rows == 1
