"""OpenVINO, ONNX Runtime and LiteRT answer as TensorFlow does."""

import importlib.util

import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks import _engine_worker
from embeddings_tf.export import export_saved_model
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import SoftContrastive
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import Typicality

pytestmark = pytest.mark.slow
SHAPE = (8, 16, 1)


def images(rows, seed):
    """Mixtures of four patterns, so that noise is not like them."""
    patterns = np.random.default_rng(9).uniform(0, 60, (4, *SHAPE))
    shares = np.random.default_rng(seed).uniform(0, 1, (rows, 4))
    return np.tensordot(shares, patterns, 1).astype("float32")


def noise(rows, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, *SHAPE)).astype("float32")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    keras.utils.set_random_seed(0)
    encoder = n_digit_encoder(2, image_shape=SHAPE)
    model = EmbeddingModel(encoder, StochasticPrototypes(2))
    gallery = Gallery(model).enroll(images(6, 0), list("aabbcc"))
    gallery.calibrate(images(8, 1), list("ddeeffgg"), 0.5)
    gallery.typicality = Typicality().fit(images(300, 3), np.arange(300))
    folder = tmp_path_factory.mktemp("engines")
    return tf.saved_model.load(
        export_saved_model(model, folder, gallery=gallery)
    )


def _engine(name, *packages):
    """Skipped before anything is exported, if a package is missing."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    skip = pytest.mark.skipif(bool(missing), reason=f"needs {missing}")
    return pytest.param(name, marks=skip)


@pytest.mark.parametrize("signature", ["embed", "identify_unchecked"])
@pytest.mark.parametrize(
    "engine",
    [
        _engine("OpenVINO, float32", "openvino"),
        _engine("ONNX Runtime", "onnxruntime", "tf2onnx"),
        _engine("LiteRT", "ai_edge_litert"),
    ],
)
def test_same_answers(engine, signature, loaded):
    function = loaded.signatures[signature]
    # Rows beside those that the conversion may have seen.
    inputs = {"image": np.concatenate([images(3, 2), noise(2, 2)])}
    expected = function(image=tf.constant(inputs["image"]))
    if signature == "identify_unchecked":
        typical = expected["typical"].numpy().tolist()
        assert typical == [True, True, True, False, False]
    found = _engine_worker.ENGINES[engine](function, inputs)()
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(
            np.asarray(found[name]).astype("float32"),
            tf.cast(value, tf.float32),
            rtol=1e-4,
            atol=1e-4,
        )


@pytest.mark.parametrize("objective", [SoftContrastive(), HedgedInstances(4)])
@pytest.mark.parametrize(
    "engine",
    [
        _engine("ONNX Runtime", "onnxruntime", "tf2onnx"),
        _engine("LiteRT", "ai_edge_litert"),
    ],
)
def test_matches_are_converted(engine, objective, tmp_path):
    """Converters know few kinds of loops; OpenVINO's answers are wrong."""
    is_gaussian = isinstance(objective, HedgedInstances)
    encoder = n_digit_encoder(2, image_shape=SHAPE, gaussian=is_gaussian)
    model = EmbeddingModel(encoder, objective)
    gallery = Gallery(model).enroll(images(6, 0), list("aabbcc"))
    path = export_saved_model(model, tmp_path, gallery=gallery)
    exported = tf.saved_model.load(path)  # keeps the variables
    function = exported.signatures["identify_unchecked"]
    inputs = {"image": images(3, 2)}
    expected = function(image=tf.constant(inputs["image"]))
    found = _engine_worker.ENGINES[engine](function, inputs)()
    for name in ("probability", "score"):
        np.testing.assert_allclose(
            found[name], expected[name], rtol=1e-4, atol=1e-4
        )
