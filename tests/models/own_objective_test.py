"""A user's own objective is evaluated, exported and served like ours.

The objective is in docs/own_objective.md.
"""

import pathlib
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf import objectives
from embeddings_tf.export import export_saved_model
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import set_wise
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.testing import check_objective
from tests.trainers.images import images
from trainers.config import load_recipe
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.evaluators import few_shot
from trainers.evaluators import retrieval
from trainers.evaluators import verification
from trainers.training.initial_weights import copy_initial_weights

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "own_objective.md"
DIM = 6
# The cached data and TensorFlow's threads belong to one process.
pytestmark = pytest.mark.xdist_group("trainers")


@pytest.fixture(scope="module")
def objective_class():
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)[0]
    assert len(code.splitlines()) <= 40
    namespace = {"__name__": "own"}
    exec(compile(code, PAGE.name, "exec"), namespace)  # noqa: S102
    return namespace["ScaledCosine"]


@pytest.fixture
def model(objective_class):
    keras.utils.set_random_seed(0)
    encoder = keras.Sequential([keras.Input((DIM,)), keras.layers.Dense(3)])
    model = EmbeddingModel(encoder, objective_class())
    model.objective.scale.assign(4.0)
    model.objective.offset.assign(-1.0)
    return model


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, DIM)).astype("f")


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def logit(a, b):
    return 4 * cosine(a, b) - 1


def test_two_replicas_compare_all_rows(objective_class, strategy):
    """Each class is split over both replicas."""
    labels, z = np.array([0, 1, 2, 0, 1, 2]), rows(6)[:, :3]
    logits = [[4 * cosine(a, b) - 1 for b in z] for a in z]
    costs = {True: [], False: []}
    for i in range(6):
        for j in set(range(6)) - {i}:
            is_same = labels[i] == labels[j]
            sign = -1 if is_same else 1
            costs[is_same].append(np.logaddexp(0, sign * logits[i][j]))
    expected = (np.mean(costs[True]) + np.mean(costs[False])) / 2
    with strategy.scope():
        objective = objective_class()
        objective.build((None,), (None, 3))
        objective.scale.assign(4.0)
        objective.offset.assign(-1.0)
    halves = [
        strategy.experimental_distribute_values_from_function(
            lambda context, array=array: tf.constant(
                np.split(array, 2)[context.replica_id_in_sync_group]
            )
        )
        for array in (labels, z)
    ]
    found = strategy.run(objective, args=halves)
    for values in strategy.experimental_local_results(found):
        np.testing.assert_allclose(values, [expected] * 3, rtol=1e-5)


@pytest.mark.slow
def test_it_passes_the_checks_of_replicas(objective_class, strategy):
    names = ["replicas", "replicas_fit"]
    assert check_objective(objective_class, only=names) == names


class GaussianSpread(objectives.EmbeddingObjective):
    is_gaussian = True

    def build(self, y_true_shape, y_pred_shape):
        self.scale = self.add_weight(name="scale", initializer="ones")

    def call(self, y_true, y_pred):
        return set_wise(self.value, y_true, y_pred)

    def value(self, labels, packed):
        return self.scale * tf.math.reduce_variance(packed)


def test_an_objective_of_gaussians_is_set_wise():
    packed = GaussianEmbedding(2)(rows(4))
    expected = np.full(4, np.var(packed.numpy()))
    found = GaussianSpread()([0, 0, 1, 1], packed)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_it_classifies_a_few_shot(model, tmp_path):
    support, query, names = rows(6), rows(4, 1), list("abcabc")
    classifier = FewShotClassifier(model).fit(support, names)
    classifier.save(tmp_path / "classifier.keras")
    loaded = keras.saving.load_model(tmp_path / "classifier.keras")
    expected = np.zeros((4, 3))
    embedded = model.predict(support, verbose=0)
    for i, one in enumerate(model.predict(query, verbose=0)):
        for c in range(3):
            unit = [z / np.linalg.norm(z) for z in embedded[c::3]]
            expected[i, c] = logit(one, np.mean(unit, axis=0))
    for found in (classifier, loaded):
        np.testing.assert_allclose(
            found.predict_log_proba(query),
            special.log_softmax(expected, axis=1),
            rtol=1e-4,
            atol=1e-5,
        )
        np.testing.assert_allclose(
            found.predict_log_evidence(query),
            np.log(np.exp(expected).mean(axis=1)),
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.slow
def test_it_is_exported_with_the_signatures_it_names(model, tmp_path):
    path = export_saved_model(model, tmp_path)
    served = tf.saved_model.load(path)
    assert set(served.signatures) == {
        "serving_default",
        "embed",
        "classify",
        "classify_without_seed",
        "score_pairs",
    }
    first, second = rows(5), rows(5, 1)
    score_pairs = served.signatures["score_pairs"]
    # It draws no samples, so it takes no seed.
    assert set(score_pairs.structured_input_signature[1]) == {"first", "second"}
    found = score_pairs(first=tf.constant(first), second=tf.constant(second))
    expected = [
        logit(a, b)
        for a, b in zip(
            model.predict(first, verbose=0),
            model.predict(second, verbose=0),
            strict=True,
        )
    ]
    np.testing.assert_allclose(found["logit"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        found["probability"], special.expit(expected), rtol=1e-4, atol=1e-5
    )
    found = served.signatures["classify"](
        support=tf.constant(first),
        support_labels=tf.constant([7, -2, 7, -2, 7]),
        query=tf.constant(second),
        seed=tf.constant([0, 0]),
    )
    classifier = FewShotClassifier(model).fit(first, [7, -2, 7, -2, 7])
    np.testing.assert_array_equal(found["classes"], classifier.classes_)
    np.testing.assert_allclose(
        found["probability"], classifier.predict_proba(second), rtol=1e-4
    )


@pytest.fixture
def features(monkeypatch):
    """Features of six classes of ten rows, in every split of every set."""
    x, labels = images(6, 10, (DIM,))
    x = x.astype("float32") / 100 - 1
    monkeypatch.setattr(data.datasets, "load", lambda *_, **__: (x, labels))
    examples_of_folds.cache_clear()
    yield x, labels
    examples_of_folds.cache_clear()


def of_features(name, *overrides):
    """A run on features, and its data."""
    run = load_recipe(
        name,
        [
            "folds.num_folds=0",
            "front_end.name=",
            "utterances.num_frames=0",
            "label.feature=",
            *overrides,
        ],
    )
    return run, data.Data(run)


def test_it_is_verified_by_its_own_score(model, features):
    run, its_data = of_features(
        "an4_triplet",
        "evaluation.num_resamples=0",
        "evaluation.plda.num_dims=2",
    )
    results, figures = verification.evaluate(run, its_data, model)
    found = results["test"]
    assert {name for name in found if isinstance(found[name], dict)} == {
        "cosine",
        "cosine_as_norm",
        "plda",
        "scaled_cosine",
        "fused",
    }
    # The order of pairs equals the order by cosine: the scale is positive.
    assert found["scaled_cosine"]["equal_error_rate"] == pytest.approx(
        found["cosine"]["equal_error_rate"], abs=0.01
    )
    assert {"det", "distance_properties"} <= set(figures)
    held_out = verification.validation(run, its_data, model)
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    assert 0.5 < logs["val_accuracy_at_equal_error"] <= 1


def test_it_retrieves_by_its_own_score(model, features, monkeypatch):
    run, its_data = of_features(
        "omniglot_retrieval_triplet",
        "evaluation.cluster=True",
        "evaluation.distance=cosine",
    )
    monkeypatch.setattr(retrieval, "untrained_model", lambda *_: model)
    results, _ = retrieval.evaluate(run, its_data, model)
    own, cosine = results["test_scaled_cosine"], results["test"]
    # The order of images equals the order by cosine: the scale is positive.
    assert own["recall_at_1"] == pytest.approx(cosine["recall_at_1"], abs=0.02)
    for centroids in ("k_means", "class_means"):
        name = f"mutual_information_scaled_cosine_to_{centroids}"
        assert 0 <= cosine[name] <= 1


@pytest.mark.slow
def test_it_is_evaluated_in_episodes(model, features):
    tiny = str(ROOT / "tests" / "trainers" / "tiny.py")
    run, its_data = of_features(
        tiny,
        "dataset=made_up",
        "preprocess.name=",
        "evaluation.name=few_shot",
        "evaluation.num_support=2",
        "evaluation.num_query=5",
        "evaluation.num_episodes=4",
        "evaluation.num_classes=(5,)",
        "evaluation.splits=('test',)",
        "evaluation.leave_one_out=True",
    )
    few_shot.check(run, its_data)
    results, _ = few_shot.evaluate(run, its_data, model)
    cell = results["test"]["clean"]
    assert cell["accuracy"] > 0.5 and cell["leave_one_out_accuracy"] > 0.5


def test_its_weights_start_another_training(model, objective_class, tmp_path):
    """Only the encoder's weights; the objective names no layer for that."""
    model.save(tmp_path / "model.keras")
    encoder = keras.Sequential([keras.Input((DIM,)), keras.layers.Dense(3)])
    other = EmbeddingModel(encoder, objective_class())
    copy_initial_weights(other, tmp_path / "model.keras")
    x = rows(3)
    np.testing.assert_array_equal(
        other.predict(x, verbose=0), model.predict(x, verbose=0)
    )
    assert float(other.objective.scale) == 1


def test_an_objective_without_call_is_named():
    class Nothing(objectives.EmbeddingObjective):
        def build(self, y_true_shape, y_pred_shape):
            pass

    with pytest.raises(ValueError, match="Nothing has no `call`"):
        Nothing()([0, 1], np.ones((2, 3), "float32"))
