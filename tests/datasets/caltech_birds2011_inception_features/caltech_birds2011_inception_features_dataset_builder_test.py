import os
import pathlib
import sys
import types
import urllib.error
import urllib.request

import keras
import numpy as np
import pytest
import requests
import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import checksums

from embeddings_tf.datasets import load
from embeddings_tf.datasets.caltech_birds2011_inception_features import (
    caltech_birds2011_inception_features_dataset_builder as builder_module,
)
from tests.datasets import caltech_birds2011_files

NAME = "caltech_birds2011_inception_features"
WEIGHTS = "inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Archives for the unchanged builder of TFDS, and their contents."""

    def send(self, request, **kwargs):
        raise requests.ConnectionError("no network", request=request)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    monkeypatch.delenv("EMBEDDINGS_TF_DATA", raising=False)
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)
    folder = tmp_path / "manual/caltech_birds2011"
    written = caltech_birds2011_files.write_files(folder)
    builder_cls = tfds.builder_cls("caltech_birds2011")
    # The real URLs with the checksums of the fabricated files.
    url_infos = {}
    for url, info in builder_cls.url_infos.items():
        found = checksums.compute_url_info(folder / info.filename)
        found.filename = info.filename
        url_infos[url] = found
    monkeypatch.setattr(builder_cls, "url_infos", url_infos)
    # TFDS decodes masks with OpenCV, which need not be installed here.
    monkeypatch.setitem(
        sys.modules,
        "cv2",
        types.SimpleNamespace(
            imdecode=lambda content, flags: tf.io.decode_png(
                content.tobytes(), channels=1
            ).numpy()[..., 0]
        ),
    )
    return written


@pytest.fixture
def kernel(monkeypatch):
    """Replaces Inception by the mean colour times a known matrix."""
    kernel = np.random.default_rng(0).normal(size=(3, 2048)).astype("float32")

    def mean_colour(weights, include_top, pooling, input_shape):
        assert (weights, include_top, pooling) == ("imagenet", False, "avg")
        model = keras.Sequential(
            [
                keras.Input(input_shape),
                keras.layers.GlobalAveragePooling2D(),
                keras.layers.Dense(2048, use_bias=False),
            ]
        )
        model.layers[-1].set_weights([kernel])
        return model

    monkeypatch.setattr(keras.applications, "InceptionV3", mean_colour)
    return kernel


def _load(split, tmp_path):
    return load(NAME, split, tmp_path / "data", tmp_path / "manual")


def _by_label_and_first(features, labels):
    order = np.lexsort((features[:, 0], labels))
    return features[order], labels[order]


def test_features_and_species(files, kernel, tmp_path):
    for split, parts in {
        "train": ("train",),
        "test": ("test",),
        "all": ("train", "test"),
        "train+test": ("train", "test"),
    }.items():
        features, labels = _load(split, tmp_path)
        assert features.dtype == np.float32 and labels.dtype == np.int32
        expected = [row for part in parts for row in files[part]]
        # Every photograph has one colour, so resizing keeps its mean.
        colours = np.array([colour for colour, _ in expected])
        expected_features = (colours / 127.5 - 1) @ kernel
        expected_labels = np.array([label for _, label in expected])
        found = _by_label_and_first(features, labels)
        expected = _by_label_and_first(expected_features, expected_labels)
        np.testing.assert_array_equal(found[1], expected[1])
        # Decoders of JPEG may differ by one step of 255.
        np.testing.assert_allclose(
            found[0], expected[0], atol=3 * np.abs(kernel).max() / 127.5
        )


def test_computed_once(files, kernel, tmp_path, monkeypatch):
    first, _ = _load("train", tmp_path)

    def never(**kwargs):
        raise AssertionError

    monkeypatch.setattr(keras.applications, "InceptionV3", never)
    second, _ = load(NAME, "train", tmp_path / "data")
    np.testing.assert_array_equal(first, second)
    (folder,) = (tmp_path / "data" / NAME).glob("[0-9]*")
    assert folder.name == "1.0.0"


def test_interrupted_computation_is_not_read(
    files, kernel, tmp_path, monkeypatch
):
    real = keras.Model.predict_on_batch
    calls = []

    def interrupted(self, x):
        calls.append(len(x))
        if len(calls) == 2:  # after the train split
            raise KeyboardInterrupt
        return real(self, x)

    monkeypatch.setattr(keras.Model, "predict_on_batch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _load("train", tmp_path)
    assert not list((tmp_path / "data" / NAME).glob("**/*.tfrecord*"))
    features, _ = _load("all", tmp_path)
    assert features.shape == (4, 2048)


@pytest.mark.slow
def test_real_architecture_in_single_precision(monkeypatch):
    # Random weights, because the real weights must be downloaded.
    monkeypatch.setattr(builder_module, "_WEIGHTS", None)
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        extractor = builder_module._inception()
        assert keras.config.dtype_policy().name == "mixed_float16"
    finally:
        keras.config.set_dtype_policy(policy)
    image = np.random.default_rng(0).uniform(-1, 1, (1, 299, 299, 3))
    features = extractor.predict_on_batch(image.astype("float32"))
    assert features.shape == (1, 2048) and features.dtype == np.float32
    # The output is the mean of the last block's ReLUs.
    block = keras.Model(extractor.input, extractor.get_layer("mixed10").output)
    maps = block.predict_on_batch(image.astype("float32"))
    np.testing.assert_allclose(
        features, maps.mean((1, 2), dtype=np.float64), rtol=1e-4, atol=1e-6
    )


@pytest.mark.slow
def test_weights_that_cannot_be_downloaded(files, tmp_path, monkeypatch):
    keras_home = pathlib.Path(os.environ.get("KERAS_HOME", "~/.keras"))
    if (keras_home.expanduser() / "models" / WEIGHTS).exists():
        pytest.skip("The weights are here already.")

    def no_network(*args, **kwargs):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    with pytest.raises(FileNotFoundError) as error:
        _load("train", tmp_path)
    message = str(error.value)
    for part in (WEIGHTS, "KERAS_HOME", "no network"):
        assert part in message
    assert not list((tmp_path / "data" / NAME).glob("**/*.tfrecord*"))


def test_missing_archive(files, tmp_path):
    (tmp_path / "manual/caltech_birds2011/segmentations.tgz").unlink()
    with pytest.raises(FileNotFoundError, match="segmentations.tgz") as error:
        _load("train", tmp_path)
    assert "EMBEDDINGS_TF_MANUAL" in str(error.value)


def test_opencv_is_named_if_it_is_missing(files, tmp_path, monkeypatch):
    # Python's error for a module that cannot be imported.
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match="cv2") as error:
        _load("train", tmp_path)
    assert "embeddings_tf[birds]" in str(error.value)
    assert "\n" not in str(error.value)
