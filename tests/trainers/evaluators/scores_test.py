"""Scores of pairs, all at once and row by row; examples of validation."""

import types

import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf.models import PLDA
from embeddings_tf.models.method import Method
from trainers.evaluators import scores
from trainers.evaluators import verification

LABELS = np.repeat(np.arange(6), 5)


@pytest.fixture(scope="module")
def embeddings():
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(6, 4))[LABELS]
    return (centres + rng.normal(size=(30, 4))).astype("float32")


@pytest.fixture(scope="module")
def model():
    return keras.Sequential([keras.Input((4,)), keras.layers.Identity()])


def test_euclidean_distance_is_a_score_on_request(embeddings, model):
    plda, method = PLDA().fit(embeddings, LABELS), Method(model)
    assert "l2" not in scores.all_scores(method, plda)
    every = scores.all_scores(method, plda, euclidean=True)["l2"]
    by_row = scores.scores_of_pairs(method, plda, euclidean=True)["l2"]
    first, second = embeddings[:7], embeddings[9:16]
    expected = [[-np.linalg.norm(a - b) for b in second] for a in first]
    np.testing.assert_allclose(every(first, second), expected, rtol=1e-5)
    np.testing.assert_allclose(
        by_row(first, second), np.diag(expected), rtol=1e-5
    )


def test_some_examples_of_each_class_validate(embeddings, model):
    def logged(num_per_class):
        wanted = types.SimpleNamespace(
            trials="", split="validation", num_per_class=num_per_class
        )
        run = types.SimpleNamespace(
            evaluation=types.SimpleNamespace(validation=wanted)
        )
        data = types.SimpleNamespace(split=lambda name: (embeddings, LABELS))
        found = verification.validation(run, data, model)
        measure = found.metrics["accuracy_at_equal_error"]
        return found.x, measure(found.x, found.labels)

    # Two of five rows of a class, spread over it: the first and the third.
    rows = [5 * label + row for label in range(6) for row in (0, 2)]
    x, accuracy = logged(2)
    np.testing.assert_array_equal(x, embeddings[rows])
    i, j = np.triu_indices(12, 1)
    cosines = metrics.cosine_scores(x, x)[i, j]
    is_target = LABELS[rows][i] == LABELS[rows][j]
    eer, _ = metrics.equal_error_rate(cosines, is_target)
    assert accuracy == pytest.approx(1 - eer)
    assert len(logged(0)[0]) == 30
