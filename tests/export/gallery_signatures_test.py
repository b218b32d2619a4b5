"""Exports with a gallery answer as the gallery does."""

import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy.spatial import distance

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives
from embeddings_tf.export import export_saved_model
from embeddings_tf.export import signature_table
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.scoring import Gallery
from tests import peak_memory

SHAPE = (4, 4, 1)
# The last is the name of a file that is not UTF-8.
NAMES = [*(f"row {row}" for row in range(7)), "caf\udce9"]
LABELS = list("bbaaccdd")


def images(rows, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (rows, *SHAPE))


def files(x):
    return tf.stack([tf.io.encode_png(tf.cast(one, tf.uint8)) for one in x])


def encoder(gaussian=False):
    inputs = keras.Input(SHAPE, name="image")
    x = layers.PixelRange()(inputs)
    x = keras.layers.Rescaling(1 / 64)(x)
    x = keras.layers.Flatten()(x)
    head = layers.GaussianEmbedding(3) if gaussian else keras.layers.Dense(3)
    return keras.Model(inputs, head(x))


def plain():
    return encoder()


def cosine():
    model = encoder()
    model.compile(loss=losses.TripletLoss(distance="cosine"))
    return model


def learned():
    pair_distance = layers.PairDistance((8,), seed=1)
    return EmbeddingModel(encoder(), objectives.LearnedDistance(pair_distance))


def soft():
    return EmbeddingModel(encoder(), objectives.SoftContrastive())


def prototypes():
    return EmbeddingModel(encoder(True), objectives.StochasticPrototypes(2))


def hedged():
    return EmbeddingModel(encoder(True), objectives.HedgedInstances(3))


SLOW = pytest.mark.slow
CASES = [
    (plain, "nearest_distance"),
    (prototypes, "log_evidence"),
    pytest.param((cosine, "nearest_distance"), marks=SLOW),
    pytest.param((learned, "log_evidence"), marks=SLOW),
    pytest.param((soft, "nearest_distance"), marks=SLOW),
    pytest.param((hedged, "log_evidence"), marks=SLOW),
]


class Exported:
    def __init__(self, make, score, folder):
        keras.utils.set_random_seed(1)
        self.model = make()
        self.gallery = Gallery(self.model, score=score)
        x = images(8)
        self.gallery.enroll(x, LABELS, NAMES)
        others = np.repeat([f"other {c}" for c in range(9)], 3)
        self.gallery.calibrate(images(27, 1), others, 0.3)
        self.path = export_saved_model(
            self.model, folder, gallery=self.gallery, num_neighbors=3
        )
        self.loaded = tf.saved_model.load(self.path)

    def call(self, name, **inputs):
        found = self.loaded.signatures[name](
            **{key: tf.constant(value) for key, value in inputs.items()}
        )
        return {key: value.numpy() for key, value in found.items()}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case[0].__name__)
def exported(request, tmp_path_factory):
    return Exported(*request.param, tmp_path_factory.mktemp("gallery"))


# Enrolled examples, and others.
QUERY = np.concatenate([images(8), images(12, 2)]).astype("float32")


@pytest.mark.slow
def test_identify(exported):
    expected = exported.gallery.identify(QUERY)
    assert 0 < expected["accepted"].mean() < 1
    for found in (
        exported.call("identify", image=QUERY),
        exported.call("identify_bytes", image_bytes=files(QUERY)),
    ):
        assert set(found) == set(expected)
        for name in ("answer", "class"):
            np.testing.assert_array_equal(
                found[name].astype(str), expected[name]
            )
        np.testing.assert_array_equal(found["accepted"], expected["accepted"])
        for name in ("probability", "score"):
            assert found[name].dtype == np.float32
            np.testing.assert_allclose(
                found[name], expected[name], rtol=1e-4, atol=1e-5
            )


@pytest.mark.slow
def test_identify_row_by_row(exported):
    """A server may join requests: a row does not depend on other rows."""
    together = exported.call("identify", image=QUERY)
    alone = exported.call("identify", image=QUERY[9:10])
    assert alone["answer"][0] == together["answer"][9]
    np.testing.assert_allclose(
        alone["score"][0], together["score"][9], rtol=1e-5, atol=1e-6
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="`image` must"):
        exported.call("identify", image=QUERY[:0])


def test_identify_unchecked(exported):
    found = exported.call("identify_unchecked", image=QUERY)
    expected = exported.call("identify", image=QUERY)
    classes = np.array(exported.gallery.classes_)
    np.testing.assert_allclose(
        found["probability"],
        exported.gallery.predict_proba(QUERY),
        rtol=1e-4,
        atol=1e-5,
    )
    best = classes[found["probability"].argmax(axis=1)]
    np.testing.assert_array_equal(best, expected["class"].astype(str))
    np.testing.assert_array_equal(found["accepted"], expected["accepted"])
    np.testing.assert_allclose(
        found["score"], expected["score"], rtol=1e-4, atol=1e-6
    )
    graph = exported.loaded.signatures["identify_unchecked"].graph
    operations = {node.op for node in graph.as_graph_def().node}
    for function in graph.as_graph_def().library.function:
        operations |= {node.op for node in function.node_def}
    forbidden = ("Assert", "EnsureShape", "CheckNumerics", "Random")
    assert not [o for o in operations if any(f in o for f in forbidden)]
    assert "DT_DOUBLE" not in str(graph.as_graph_def())


def test_nearest(exported):
    found = exported.call("nearest", image=QUERY)
    embed = exported.model.predict
    query, rows = embed(QUERY, verbose=0), embed(images(8), verbose=0)
    objective = getattr(exported.model, "objective", None)
    if hasattr(objective, "score_all_pairs"):
        seed = (
            {}
            if objective.name.startswith(("learned", "soft"))
            else {"seed": (0, 0)}
        )
        scores = objective.score_all_pairs(query, rows, **seed).numpy()
        order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
        value = np.take_along_axis(scores, order, axis=1)
        np.testing.assert_allclose(found["logit"], value, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(
            found["probability"], special.expit(value), rtol=1e-3, atol=1e-5
        )
    else:
        is_cosine = (
            getattr(exported.model.loss, "distance", "") == "cosine"
            if (objective is None)
            else False
        )
        apart = distance.cdist(
            query[:, :3], rows[:, :3], "cosine" if is_cosine else "euclidean"
        )
        order = np.argsort(apart, axis=1, kind="stable")[:, :3]
        value = np.take_along_axis(apart, order, axis=1)
        np.testing.assert_allclose(
            found["distance"], value, rtol=1e-4, atol=1e-5
        )
    np.testing.assert_array_equal(
        found["name"].astype(str),
        np.array([*NAMES[:7], r"caf\udce9"])[order],
    )
    np.testing.assert_array_equal(
        found["label"].astype(str), np.array(LABELS)[order]
    )


def test_table_is_what_the_model_has(exported):
    table = {row.name: row for row in signature_table(exported.path)}
    assert set(table) == set(exported.loaded.signatures)
    for name, row in table.items():
        signature = exported.loaded.signatures[name]
        inputs = signature.structured_input_signature[1]
        for kind, tensors in (
            ("inputs", inputs),
            ("outputs", signature.structured_outputs),
        ):
            found = {
                tensor.name: (tensor.dtype, tensor.shape)
                for tensor in getattr(row, kind)
            }
            assert found == {
                key: (spec.dtype.name, tuple(spec.shape))
                for key, spec in tensors.items()
            }
        is_joint = name.startswith("classify") or "seed" in inputs
        assert row.can_batch == (not is_joint)
    assert table["identify"].inputs[0].range == "0 to 255"
    assert table["identify"].max_rows == 4096
    assert table["embed"].max_rows is None
    text = pathlib.Path(exported.path, "assets.extra", "gallery.json")
    card = json.loads(
        pathlib.Path(exported.path, "model_card.json").read_text()
    )
    for name, row in card["signatures"].items():
        assert row["warm_up"] == table[name].can_batch
    written = json.loads(text.read_text())
    assert written["classes"] == ["a", "b", "c", "d"]
    assert written["threshold"] == exported.gallery.threshold_


class TestIntegers:
    @pytest.mark.slow
    def test_labels_and_no_threshold(self, tmp_path):
        """Integer labels stay integers; all inputs are accepted."""
        inputs = keras.Input((2,), name="x")
        model = keras.Model(inputs, keras.layers.Identity()(inputs))
        gallery = Gallery(model, unknown=-7)
        gallery.enroll([[0.0, 0.0], [9.0, 9.0]], [2**40, 5])
        path = export_saved_model(model, tmp_path, gallery=gallery)
        loaded = tf.saved_model.load(path)
        x = tf.constant([[1.0, 1.0], [8.0, 9.0], [1e6, 0.0]])
        found = loaded.signatures["identify"](x=x)
        assert found["answer"].dtype == tf.int64
        assert found["answer"].numpy().tolist()[:2] == [2**40, 5]
        assert found["accepted"].numpy().all()
        # Two examples: fewer than the default number of neighbours.
        near = loaded.signatures["nearest"](x=x)
        assert near["label"].numpy()[:2].tolist() == [[2**40, 5], [5, 2**40]]
        np.testing.assert_allclose(
            near["distance"].numpy()[0], [np.sqrt(2), np.sqrt(128)], rtol=1e-6
        )
        # No signatures of files, because inputs are no images.
        assert not [name for name in loaded.signatures if "bytes" in name]


@pytest.mark.slow
class TestLarge:
    def test_100000_examples(self, tmp_path):
        """All examples represent the classes; memory is limited by blocks."""
        inputs = keras.Input((8,), name="x")
        encoder = keras.Model(inputs, keras.layers.Identity()(inputs))
        model = EmbeddingModel(encoder, objectives.SoftContrastive())
        rng = np.random.default_rng(0)
        examples = rng.normal(size=(100_000, 8)).astype("float32")
        labels = rng.integers(0, 1000, 100_000)
        gallery = Gallery(model, embedded=True).enroll(examples, labels)
        path = export_saved_model(model, tmp_path, gallery=gallery)
        loaded = tf.saved_model.load(path)
        query = examples[:200] + np.float32(1e-3)
        before = peak_memory.reset()
        found = loaded.signatures["identify"](x=tf.constant(query))
        near = loaded.signatures["nearest"](x=tf.constant(query))
        grown = peak_memory.read() - before
        # All scores at once would take 160 MB for each of several tensors.
        assert grown < 500_000  # KiB
        squares = (query**2).sum(1)[:, None] + (examples**2).sum(1)
        first = (squares - 2 * query @ examples.T).argmin(axis=1)
        np.testing.assert_array_equal(first, np.arange(200))
        np.testing.assert_array_equal(found["class"], labels[:200])
        np.testing.assert_array_equal(near["label"][:, 0], labels[:200])
        distance = np.linalg.norm(query - examples[:200], axis=1)
        np.testing.assert_allclose(near["logit"][:, 0], -distance, rtol=1e-2)


@pytest.mark.slow
def test_a_threshold_just_above_0(tmp_path):
    """A calibration example equals an enrolled one, so none is accepted.

    TensorFlow reads a subnormal threshold as 0, and so does float32 a tiny one.
    """
    identity = keras.layers.Dense(
        2, use_bias=False, kernel_initializer="identity"
    )
    model = keras.Sequential([keras.Input((2,), name="x"), identity])
    x = np.array([[0, 0], [4, 4], [0, 0], [9, 9], [20, 20]], np.float32)
    gallery = Gallery(model, score="nearest_distance").fit(x[:2], ["a", "b"])
    gallery.calibrate(x[2:], ["c", "d", "e"], 0.3)
    assert not gallery.identify(x)["accepted"].any()
    export_saved_model(model, tmp_path, gallery=gallery)
    (folder,) = tmp_path.iterdir()
    loaded = tf.saved_model.load(folder)
    for name in ("identify", "identify_unchecked"):
        found = loaded.signatures[name](tf.constant(x))
        assert not found["accepted"].numpy().any(), name


def test_another_kind_of_check_is_refused(tmp_path):
    model = plain()
    gallery = Gallery(model).enroll(images(8), LABELS, NAMES)
    gallery.typicality = "high"
    with pytest.raises(ValueError, match="must be a scoring.Typicality"):
        export_saved_model(model, tmp_path, gallery=gallery)
