"""Scores of pairs, all at once and row by row; examples of validation."""

import types

import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import PLDA
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring import Verifier
from trainers.config import load_recipe
from trainers.config.evaluation_fields import VerificationValidation
from trainers.config.run import TrainingFields
from trainers.evaluators import verification
from trainers.goals.goals import GOALS
from trainers.measures import scores

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
    assert "l2" not in scores.scores_of_all_pairs(method, plda)
    every = scores.scores_of_all_pairs(method, plda, euclidean=True)["l2"]
    by_row = scores.scores_of_pairs(method, plda, euclidean=True)["l2"]
    first, second = embeddings[:7], embeddings[9:16]
    expected = [[-np.linalg.norm(a - b) for b in second] for a in first]
    np.testing.assert_allclose(every(first, second), expected, rtol=1e-5)
    np.testing.assert_allclose(
        by_row(first, second), np.diag(expected), rtol=1e-5
    )


def test_means_with_a_covariance_are_compared_without_it():
    """The cosine and PLDA take the two means of five numbers."""
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
    method = Method(EmbeddingModel(encoder, FullCovariancePrototypes(2)))
    x = np.random.default_rng(0).normal(size=(12, 5)).astype("float32")
    mean = x[:, :2]
    plda = PLDA(num_dims=2).fit(mean, np.arange(12) // 4)
    found = scores.scores_of_all_pairs(method, plda, euclidean=True)
    unit = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(
        found["cosine"](x[:5], x[5:]), unit[:5] @ unit[5:].T, atol=1e-5
    )
    np.testing.assert_allclose(
        found["plda"](x[:5], x[5:]), plda.score(mean[:5], mean[5:]), atol=1e-6
    )
    apart = np.linalg.norm(mean[:5, None] - mean[None, 5:], axis=2)
    np.testing.assert_allclose(found["l2"](x[:5], x[5:]), -apart, rtol=1e-5)


def test_a_plain_loss_is_scored_as_by_verify(embeddings):
    """TripletLoss: minus the squared distance, which is not the cosine."""
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    model = EmbeddingModel(encoder, TripletLoss())
    plda, method = PLDA().fit(embeddings, LABELS), Method(model)
    first, second = embeddings[:7], embeddings[9:16]
    expected = [[-np.square(a - b).sum() for b in second] for a in first]
    every = scores.scores_of_all_pairs(method, plda)
    assert set(every) == {"cosine", "plda", "triplet_loss"}
    by_row = scores.scores_of_pairs(method, plda)["triplet_loss"]
    np.testing.assert_allclose(
        every["triplet_loss"](first, second), expected, rtol=1e-4
    )
    np.testing.assert_allclose(
        by_row(first, second), np.diag(expected), rtol=1e-4
    )
    verifier = Verifier(model, embedded=True)
    np.testing.assert_allclose(
        by_row(first, second), verifier.score_samples(first, second)
    )
    # Validation of the goal, and validation of the published baselines.
    every = np.square(embeddings[:, None] - embeddings).sum(axis=2)
    _, own = logged(embeddings, model, score="own")
    assert own == pytest.approx(one_minus_eer(-every, LABELS))
    _, by_cosine = logged(embeddings, model)
    cosines = metrics.cosine_scores(embeddings, embeddings)
    assert by_cosine == pytest.approx(one_minus_eer(cosines, LABELS))
    assert abs(own - by_cosine) > 0.01


def test_the_goal_compares_by_the_score_of_verify():
    found = {
        "own_score": "triplet_loss",
        "triplet_loss": {"equal_error_rate": 0.1},
        "cosine": {"equal_error_rate": 0.2},
    }
    number = GOALS["verify"].measure({"test": found})
    assert number == 0.1


def logged(embeddings, model, num_per_class=0, score=""):
    """The validated examples, and 1 - EER."""
    wanted = VerificationValidation(num_per_class=num_per_class, score=score)
    run = types.SimpleNamespace(
        evaluation=types.SimpleNamespace(validation=wanted),
        training=TrainingFields(),
    )
    data = types.SimpleNamespace(split=lambda name: (embeddings, LABELS))
    found = verification.validation(run, data, model)
    measure = found.metrics["accuracy_at_equal_error"]
    return found.x, measure(found.x, found.labels)


def one_minus_eer(all_scores, labels):
    i, j = np.triu_indices(len(labels), 1)
    is_target = labels[i] == labels[j]
    return 1 - metrics.equal_error_rate(all_scores[i, j], is_target)[0]


def test_the_cosine_validates_on_request(embeddings):
    """Otherwise the learned distance validates, which is not trained here."""
    distance = PairDistance((8,), seed=0)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    model = EmbeddingModel(encoder, LearnedDistance(distance))
    model.compile("sgd")
    model.evaluate(embeddings, LABELS, verbose=0)
    _, by_distance = logged(embeddings, model)
    _, by_cosine = logged(embeddings, model, score="cosine")
    logits = distance.all_pairs(embeddings, embeddings).numpy()
    assert by_distance == pytest.approx(one_minus_eer(logits, LABELS))
    cosines = metrics.cosine_scores(embeddings, embeddings)
    assert by_cosine == pytest.approx(one_minus_eer(cosines, LABELS))
    assert abs(by_cosine - by_distance) > 0.05


def test_the_baseline_with_a_classifier_is_chosen_by_the_cosine():
    for prefix in ("omniglot_verification", "tiny_images"):
        for name, score in (
            ("triplet_classifier", "cosine"),
            ("lifted_structure_beside", ""),
            ("lifted_structure_frozen", ""),
            ("lifted_structure_joint", ""),
            ("learned_distance", ""),
        ):
            run = load_recipe(f"{prefix}_{name}")
            assert run.evaluation.validation.score == score
            assert run.training.monitor == "val_accuracy_at_equal_error"


def test_the_cosine_of_a_fixed_encoder_chooses_no_checkpoint():
    """Points without a likelihood ratio: their cosine would stay the same."""
    encoder = keras.Sequential([keras.Input((3,)), GaussianEmbedding(2)])
    model = EmbeddingModel(encoder, StochasticPrototypes(2))
    fields = ["freeze_encoder=True", "initial_weights=runs/x"]
    recipe = "omniglot_verification_without_classifier"
    for monitor in ("val_accuracy_at_equal_error", "loss"):
        run = load_recipe(recipe, [*fields, f"monitor={monitor}"])
        if monitor == "loss":
            verification.require_changing_score(run, Method(model))
            continue
        with pytest.raises(ValueError, match="the cosine scores the pairs"):
            verification.require_changing_score(run, Method(model))


def test_an_unknown_score_is_refused():
    fields = ["validation.score=euclidean"]
    run = load_recipe("omniglot_verification_triplet", fields)
    with pytest.raises(ValueError, match="score must be.*'euclidean'"):
        verification.check(run, None)


def test_some_examples_of_each_class_validate(embeddings, model):

    # Two of five rows of a class, spread over it: the first and the third.
    rows = [5 * label + row for label in range(6) for row in (0, 2)]
    x, accuracy = logged(embeddings, model, 2)
    np.testing.assert_array_equal(x, embeddings[rows])
    expected = one_minus_eer(metrics.cosine_scores(x, x), LABELS[rows])
    assert accuracy == pytest.approx(expected)
    assert len(logged(embeddings, model)[0]) == 30
