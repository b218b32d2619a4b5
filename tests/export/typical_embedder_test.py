"""Exports of galleries that check whether inputs are typical."""

import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf.export import export_saved_model
from embeddings_tf.export import signature_table
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import Typicality

LARGE, SMALL = (50, 48, 1), (6, 5, 1)


def strokes(rows, shape, seed=0):
    """Images of a bright rectangle in the middle, of different sizes."""
    rng = np.random.default_rng(seed)
    height, width = shape[:2]
    x = rng.integers(0, 20, (rows, *shape))
    for image in x:
        high = height // 3 + rng.integers(height // 6 + 1)
        wide = width // 3 + rng.integers(width // 6 + 1)
        image[high : 2 * high, wide : 2 * wide] += 200
    return x


def noise(rows, shape):
    return np.random.default_rng(7).integers(0, 256, (rows, *shape))


def encoder(shape):
    image = keras.Input(shape, name="image")
    x = keras.layers.Flatten()(layers.PixelRange()(image))
    x = keras.layers.Rescaling(1 / 64)(x)
    return keras.Model(image, keras.layers.Dense(2)(x))


class Exported:
    def __init__(self, shape, folder, preprocessing=None, **options):
        """With `preprocessing`, raw inputs are darker by half."""
        keras.utils.set_random_seed(1)
        self.shape, model = shape, encoder(shape)
        self.gallery = Gallery(model)
        self.gallery.enroll(strokes(8, shape), list("bbaaccdd"))
        others = np.repeat([f"other {n}" for n in range(9)], 3)
        self.gallery.calibrate(strokes(27, shape, 1), others, 0.5)
        self.gallery.typicality = Typicality().fit(strokes(400, shape, 2))
        self.path = export_saved_model(
            model,
            folder,
            gallery=self.gallery,
            preprocessing=preprocessing,
            **options,
        )
        self.signatures = tf.saved_model.load(self.path).signatures

    def call(self, name, **inputs):
        found = self.signatures[name](
            **{key: tf.constant(value) for key, value in inputs.items()}
        )
        return {key: value.numpy() for key, value in found.items()}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(LARGE, marks=pytest.mark.slow, id="2048 of 2400"),
        pytest.param(SMALL, id="all 30"),
    ],
)
def exported(request, tmp_path_factory):
    return Exported(request.param, tmp_path_factory.mktemp("typical"))


def query(shape):
    parts = [strokes(20, shape, 3), noise(20, shape)]
    return np.concatenate(parts).astype("float32")


@pytest.mark.slow
def test_answers_of_the_export_are_the_answers_of_the_gallery(exported):
    x = query(exported.shape)
    expected = exported.gallery.identify(x)
    assert expected["typical"][:20].mean() > 0.8
    assert not expected["typical"][20:].any()
    files = [tf.io.encode_png(tf.cast(image, tf.uint8)) for image in x]
    for found in (
        exported.call("identify", image=x),
        exported.call("identify_bytes", image_bytes=tf.stack(files)),
    ):
        assert set(found) == set(expected)
        assert found["typical"].dtype == bool
        for name in ("answer", "class"):
            np.testing.assert_array_equal(
                found[name].astype(str), expected[name]
            )
        for name in ("accepted", "typical"):
            np.testing.assert_array_equal(found[name], expected[name])
    assert 0 < expected["accepted"].sum() <= expected["typical"].sum()
    assert (found["answer"][20:] == b"unknown").all()


@pytest.mark.slow
def test_the_form_for_converters_also_refuses(exported):
    x = query(exported.shape)
    found = exported.call("identify_unchecked", image=x)
    expected = exported.gallery.identify(x)
    for name in ("accepted", "typical"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_neighbours_are_found_without_the_check(exported):
    found = exported.call("nearest", image=query(exported.shape))
    assert set(found) == {"label", "name", "distance"}


def test_no_rows_and_huge_inputs(exported):
    x = query(exported.shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`image` must"):
        exported.call("identify", image=x[:0])
    huge = exported.call("identify", image=np.full_like(x[:1], 1e30))
    assert huge["answer"].tolist() == [b"unknown"]


def test_table_and_facts_for_clients(exported):
    table = {row.name: row for row in signature_table(exported.path)}
    outputs = {tensor.name: tensor for tensor in table["identify"].outputs}
    assert outputs["typical"].dtype == "bool"
    text = pathlib.Path(exported.path, "assets.extra", "gallery.json")
    report = exported.gallery.typicality.report_
    assert json.loads(text.read_text())["typicality"] == {
        "refused": 0.01,
        **report,
    }


@pytest.mark.slow
def test_the_result_of_the_preprocessing_is_checked(tmp_path):
    found = Exported(SMALL, tmp_path, lambda image: 2 * image)
    x = query(SMALL)
    np.testing.assert_array_equal(
        found.call("identify", image=x / 2)["typical"],
        found.gallery.typicality.predict(x),
    )


@pytest.mark.slow
def test_checks_of_the_preprocessing_run_without_python(tmp_path):
    """A server has no Python; the range is checked while it is embedded."""
    image = keras.Input(SMALL, name="image")
    body = keras.layers.Rescaling(1.0)(layers.PixelRange()(image))
    found = Exported(
        SMALL, tmp_path, keras.Model(image, body), unit_range="refuse"
    )
    for name, function in found.signatures.items():
        operations = {
            operation.type
            for graph in [
                function.graph,
                *(f.graph for f in function.graph._functions.values()),
            ]
            for operation in graph.get_operations()
        }
        assert not [kind for kind in operations if "PyFunc" in kind], name
    x = query(SMALL)
    np.testing.assert_array_equal(
        found.call("identify", image=x)["typical"],
        found.gallery.typicality.predict(x),
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="0 to 255"):
        found.call("identify", image=x / 255)
