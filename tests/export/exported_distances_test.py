"""Zeros, ties and thresholds of exported galleries that use distances."""

import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.spatial import distance

from embeddings_tf import losses
from embeddings_tf.export import export_saved_model
from embeddings_tf.scoring import Gallery

# Each exports a model.
pytestmark = pytest.mark.slow


def exported_points(rows, tmp_path, measure="l2", **options):
    """A gallery of given points, and the signatures of its export."""
    rows = np.asarray(rows, "float32")
    inputs = keras.Input(rows.shape[1:], name="x")
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=losses.TripletLoss(distance=measure))
    gallery = Gallery(model, score="nearest_distance", embedded=True)
    gallery.enroll(rows, [f"{row % 2}" for row in range(len(rows))])
    path = export_saved_model(model, tmp_path, gallery=gallery, **options)
    return gallery, tf.saved_model.load(path)


class TestRowsOfZeros:
    """The cosine with a row of zeros is 0, a distance of 1."""

    def test_nearer_row_is_found(self, tmp_path):
        angle = np.arccos(1 - 0.7325)
        near = [[np.cos(angle), np.sin(angle)]]
        rows = np.concatenate([np.zeros((30, 2)), near, -np.eye(2)])
        gallery, loaded = exported_points(
            rows, tmp_path, "cosine", num_neighbors=1
        )
        query = np.array([[1, 0], [0, 0], [-1, 0]], "float32")
        found = loaded.signatures["nearest"](x=tf.constant(query))
        expected = [[0.7325], [1], [0]]
        np.testing.assert_allclose(found["distance"], expected, atol=1e-6)
        found = loaded.signatures["identify"](x=tf.constant(query))
        np.testing.assert_allclose(
            found["score"], -np.array(expected)[:, 0], atol=1e-6
        )
        np.testing.assert_allclose(
            found["score"], gallery.identify(query)["score"], atol=1e-6
        )

    def test_many_rows_on_both_sides(self, tmp_path):
        """40 rows are nearer than 40 rows of zeros; 30 are asked for."""
        angles = np.linspace(np.pi / 3, np.pi / 2 - 0.01, 40)
        near = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        rows = np.concatenate([np.zeros((40, 2)), near[::-1]])
        _, loaded = exported_points(rows, tmp_path, "cosine", num_neighbors=30)
        query = tf.constant([[2.0, 0.0]])
        found = loaded.signatures["nearest"](x=query)
        np.testing.assert_allclose(
            found["distance"][0], 1 - np.cos(angles[:30]), atol=1e-6
        )


class TestTies:
    def test_by_row(self, tmp_path):
        """Corners at one distance, and many equal rows, come by row."""
        corners = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])
        rows = np.concatenate([np.repeat(corners[:1], 40, 0), corners])
        gallery, loaded = exported_points(rows, tmp_path, num_neighbors=43)
        query = np.array([[0, 0], [0, 3], [-2, 0]], "float32")
        found = loaded.signatures["nearest"](x=tf.constant(query))
        apart = distance.cdist(query, rows)
        order = np.argsort(apart, axis=1, kind="stable")[:, :43]
        np.testing.assert_allclose(
            found["distance"], np.take_along_axis(apart, order, 1), rtol=1e-6
        )
        expected = np.array([f"{row % 2}" for row in range(len(rows))])[order]
        np.testing.assert_array_equal(
            found["label"].numpy().astype(str), expected
        )


class TestOnTheThreshold:
    def test_accepted_as_in_the_gallery(self, tmp_path):
        """The threshold is next to the score of a calibration example."""
        rng = np.random.default_rng(0)
        rows = rng.integers(-8, 9, (20, 3)).astype("float32") / 7
        others = rng.integers(-40, 41, (9, 3)).astype("float32") / 7
        inputs = keras.Input((3,), name="x")
        model = keras.Model(inputs, keras.layers.Identity()(inputs))
        gallery = Gallery(model, score="nearest_distance", embedded=True)
        gallery.enroll(rows, ["a", "b"] * 10)
        gallery.calibrate(others, [f"other {c}" for c in range(9)], 0.3)
        expected = gallery.identify(others)
        threshold = gallery.threshold_
        below = np.isclose(expected["score"], threshold, rtol=1e-15)
        assert below.any() and not expected["accepted"][below].any()
        # A client that compares the returned score would accept it.
        assert np.all(
            np.float32(expected["score"][below]) >= np.float32(threshold)
        )
        path = export_saved_model(model, tmp_path, gallery=gallery)
        loaded = tf.saved_model.load(path)
        found = loaded.signatures["identify"](x=tf.constant(others))
        np.testing.assert_array_equal(found["accepted"], expected["accepted"])
        text = pathlib.Path(path, "assets.extra", "gallery.json").read_text()
        assert "`accepted`" in json.loads(text)["decision"]
