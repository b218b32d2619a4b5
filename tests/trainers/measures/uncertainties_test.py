import keras
import numpy as np

from embeddings_tf import datasets
from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import FullCovariancePrototypes
from trainers.measures.uncertainties import is_wrong
from trainers.measures.uncertainties import sources
from trainers.measures.uncertainties import uncertainties


def test_variances_of_full_covariance():
    """The objective reads variances from points of width 5."""
    z = np.random.default_rng(0).normal(size=(7, 5)).astype("float32")
    model = EmbeddingModel(
        keras.Sequential([keras.Input((5,)), keras.layers.Identity()]),
        FullCovariancePrototypes(num_support=3),
        gaussian=False,
    )
    found = uncertainties(model, z, z)
    assert list(found) == sources(model) == ["variance"]
    # The sum of softplus of the third and fourth number, up to a floor.
    expected = np.logaddexp(0, z[:, 2:4]).sum(axis=1)
    np.testing.assert_allclose(found["variance"], expected, rtol=0.01)


def test_recordings_of_different_lengths():
    frames = keras.Input((None, 3))
    z = keras.layers.Conv1D(4, 1, activation="relu")(frames)
    z = keras.layers.GlobalAveragePooling1D()(z)
    model = EmbeddingModel(
        keras.Model(frames, z),
        losses.TripletLoss(),
        uncertainty=layers.UncertaintyHead(),
    )
    model(np.zeros((1, 2, 3), "float32"))
    values = np.random.default_rng(0).normal(size=(9, 3)).astype("float32")
    x = datasets.Utterances(values, lengths=[4, 3, 2])
    found = uncertainties(model, x, None)
    expected = [
        model.embed_with_uncertainty(x[number][np.newaxis])[1].numpy()[0]
        for number in range(3)
    ]
    np.testing.assert_allclose(found["head"], expected, rtol=1e-5)
    assert list(found) == sources(model) == ["head"]


def test_nearest_other_row():
    rng = np.random.default_rng(0)
    queries, gallery = rng.normal(size=(2, 40, 3))
    labels = rng.integers(0, 3, 40)
    for distance in ("l2", "cosine"):
        q, g = queries.copy(), gallery.copy()
        if distance == "cosine":
            q /= np.linalg.norm(q, axis=1, keepdims=True)
            g /= np.linalg.norm(g, axis=1, keepdims=True)
        far = np.linalg.norm(q[:, None] - g, axis=-1)
        np.fill_diagonal(far, np.inf)
        np.testing.assert_array_equal(
            is_wrong(queries, gallery, labels, distance),
            labels[far.argmin(axis=1)] != labels,
        )


def test_nearest_other_row_beside_zeros():
    """A row of zeros has cosine 0 with every row, as in recall@1."""
    x = np.array([[1, 0], [0.3, 0.95], [0, 0], [-1, 0.1]])
    labels = np.array([0, 0, 1, 1])
    # By cosine: 0 finds 1 (.3), 1 finds 0 (.3), zeros find row 0 (all equal),
    # and the last row finds the zeros (0 beside -.2 and -.995).
    expected = [False, False, True, False]
    wrong = is_wrong(x, x, labels, "cosine")
    assert wrong.tolist() == expected
    recall = metrics.recall_at_k(x, labels, 1, "cosine")[1]
    assert 1 - wrong.mean() == recall == 0.75


def test_equally_near_rows_are_ranked_by_their_position():
    """Rounding of products does not decide, also far from the origin."""
    x = np.arange(80)[:, np.newaxis]
    labels = np.random.default_rng(0).integers(0, 3, 80)
    # The row before is as near as the row after; the first row has none before.
    other = np.append(1, np.arange(79))
    for points in (x + 1e9, x.astype("float16")):
        np.testing.assert_array_equal(
            is_wrong(points, points, labels, "l2"),
            labels[other] != labels,
        )
