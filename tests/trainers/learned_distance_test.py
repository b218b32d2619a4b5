"""Recipes of the learned distance on images: studies and fine-tuning."""

import dataclasses
import json
import shutil
import types

import keras
import numpy as np
import pytest

from embeddings_tf import layers
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import objectives
from tests.trainers.images import images
from trainers import cross_validate
from trainers import evaluate
from trainers import fit
from trainers import train
from trainers.config import load_recipe
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.evaluators import verification
from trainers.measures import trial_measures
from trainers.training import checkpoint
from trainers.training.initial_weights import copy_initial_weights
from trainers.training.model import build_model

SHORT = (
    "deterministic=False",
    "steps_per_epoch=2",
    "num_epochs=2",
    "objective.distance.hidden_units=(16,)",
    "batches.num_classes=4",
    "batches.num_per_class=3",
)
FOLDS = ("folds.num_per_class=10", "folds.num_folds=3", "encoder.dim=8")


@pytest.fixture(scope="module", autouse=True)
def digits():
    """Ten classes in place of MNIST and Omniglot, in one split each."""
    sets = {
        "mnist": images(10, 12, (28, 28, 1)),
        "omniglot": images(10, 12, (105, 105, 3), seed=1),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data.datasets, "load", lambda name, *_, **__: sets[name])
        examples_of_folds.cache_clear()
        yield sets
    examples_of_folds.cache_clear()


def command(module, *words, overrides=()):
    words = [*words, *(f"--config.{field}" for field in overrides)]
    return module.main([*map(str, words)])


def results(workdir):
    return json.loads((workdir / "results.json").read_text())


@pytest.fixture(scope="module")
def characters_run(tmp_path_factory, digits):
    """A run on characters, from which fine-tuning starts."""
    workdir = tmp_path_factory.mktemp("characters") / "run"
    code = command(
        train,
        *("--config", "omniglot_retrieval_learned_distance"),
        *("--workdir", workdir),
        overrides=(*SHORT, *FOLDS),
    )
    assert code == 0
    return workdir


@pytest.mark.slow
def test_retrieval_and_clusters_by_the_distance(characters_run, digits):
    found_code = command(
        evaluate, "--workdir", characters_run, overrides=["evaluation.k=(1, 3)"]
    )
    assert found_code == 0
    found = results(characters_run)["evaluation"]
    model = checkpoint.load_best(characters_run)
    x, labels = digits["omniglot"]
    test = np.isin(labels, data.folds.split_classes(10, 0, 3)["test"])
    assert found["test"]["examples"] == 10 * len(np.unique(labels[test]))
    # The ten images of each class that the folds use.
    run = train.load_recipe(
        "omniglot_retrieval_learned_distance", [*SHORT, *FOLDS]
    )
    x, labels = data.Data(run).split("test")
    embeddings = model.predict(x, verbose=0)
    distance = model.objective.distance
    logits = distance.all_pairs(embeddings, embeddings).numpy()
    np.fill_diagonal(logits, -np.inf)
    for k in (1, 3):
        nearest = np.argsort(-logits, axis=1, kind="stable")[:, :k]
        hit = np.any(labels[nearest] == labels[:, None], axis=1)
        assert found["test_learned_distance"][f"recall_at_{k}"] == (
            pytest.approx(np.mean(hit), abs=0.04)  # rounding affects ties
        )
    # Assigned by the distance to the mean of each class.
    means = np.stack([embeddings[labels == c].mean(0) for c in set(labels)])
    clusters = np.argmax(distance.all_pairs(means, embeddings), axis=0)
    assert found["test"][
        "mutual_information_learned_distance_to_class_means"
    ] == pytest.approx(
        metrics.normalized_mutual_information(labels, clusters), abs=0.1
    )
    for name in ("k_means", "learned_distance_to_k_means"):
        assert 0 <= found["test"][f"mutual_information_{name}"] <= 1
    assert (characters_run / "recall.png").stat().st_size > 1000


@pytest.mark.slow
def test_fine_tuning_starts_from_another_domain(characters_run, tmp_path):
    # Grey digits have one channel; the encoder's first channel is used.
    code = command(
        train,
        *("--config", "mnist_unseen_digits_fine_tuned"),
        *("--workdir", tmp_path / "run"),
        overrides=(
            *SHORT,
            *FOLDS,
            f"initial_weights={characters_run}",
            # A learning rate so small that the weights do not change.
            "optimizer.learning_rate.initial_learning_rate=1e-12",
        ),
    )
    assert code == 0
    first, tuned = map(checkpoint.load_best, (characters_run, tmp_path / "run"))
    pairs = [
        *zip(
            first.encoder.trainable_weights,
            tuned.encoder.trainable_weights,
            strict=True,
        ),
        *zip(
            first.objective.distance.trainable_weights,
            tuned.objective.distance.trainable_weights,
            strict=True,
        ),
    ]
    for theirs, ours in pairs:
        np.testing.assert_allclose(theirs, ours, atol=1e-7)


def test_fine_tuning_without_the_other_run_is_one_line(tmp_path, capsys):
    code = command(
        train,
        *("--config", "mnist_unseen_digits_fine_tuned"),
        *("--workdir", tmp_path / "run"),
        overrides=(*SHORT, *FOLDS, f"initial_weights={tmp_path / 'none'}"),
    )
    assert code == 1
    assert "neither a workdir nor a .keras file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_distance_on_a_fixed_encoder(tmp_path):
    """Each fold starts from the encoder of the same fold, and keeps it."""
    before, after = tmp_path / "before", tmp_path / "after"
    prefix = "omniglot_verification_lifted_structure"
    for kind, workdir, fields in (
        ("beside", before, ()),
        ("frozen", after, (f"initial_weights={before}",)),
    ):
        words = ("--config", f"{prefix}_{kind}", "--workdir", workdir)
        words += ("--folds", "1", "2")
        fields = (*SHORT, *FOLDS, "validation.num_per_class=3", *fields)
        assert command(cross_validate, *words, overrides=fields) == 0
    for fold in ("fold_1", "fold_2"):
        theirs, ours = (
            checkpoint.load_best(workdir / fold) for workdir in (before, after)
        )
        for a, b in zip(
            theirs.encoder.weights, ours.encoder.weights, strict=True
        ):
            np.testing.assert_array_equal(a, b)
        assert not any(
            np.array_equal(a, b)
            for a, b in zip(
                theirs.objective.distance.weights,
                ours.objective.distance.weights,
                strict=True,
            )
        ), "the distance starts anew"
        found, old = (results(w / fold)["evaluation"] for w in (after, before))
        errors = [e["test"]["cosine"]["equal_error_rate"] for e in (found, old)]
        assert errors[0] == pytest.approx(errors[1], abs=1e-6)
        history = results(after / fold)["training"]["history"]
        assert history[0]["loss"] != history[1]["loss"], "the distance learns"


def small_model(dim=3, distance=True, num_classes=4):
    encoder = keras.Sequential([keras.Input((5,)), keras.layers.Dense(dim)])
    if not distance:
        return encoder
    model = models.EmbeddingModel(
        encoder,
        objectives.LearnedDistance(
            layers.PairDistance((4,)), num_classes, "softmax"
        ),
    )
    model.compile("sgd")
    return model


def test_a_classifier_of_other_classes_is_left_out(tmp_path):
    trained, fresh = small_model(), small_model(num_classes=7)
    trained.save(tmp_path / "model.keras")
    classifier = fresh.objective.classifier.get_weights()
    copy_initial_weights(fresh, tmp_path / "model.keras")
    for part in ("encoder", "distance"):
        theirs, ours = (
            model.encoder if part == "encoder" else model.objective.distance
            for model in (trained, fresh)
        )
        for a, b in zip(theirs.weights, ours.weights, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(
        classifier, fresh.objective.classifier.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("trained", "fresh", "message"),
    [
        ({"dim": 2}, {}, "the encoder in .* has weights of the shapes"),
        ({"distance": False}, {}, "has no learned distance.*the recipe one"),
        ({}, {"distance": False}, "has a learned distance.*the recipe none"),
    ],
)
def test_weights_of_another_model_are_refused(
    trained, fresh, message, tmp_path
):
    small_model(**trained).save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match=message):
        copy_initial_weights(small_model(**fresh), tmp_path / "model.keras")


def test_a_new_distance_on_the_frozen_encoder_of_a_plain_loss(tmp_path):
    """Nothing but the encoder is copied, whatever else the file has."""
    for trained in (small_model(distance=False), small_model()):
        fresh = small_model()
        trained.save(tmp_path / "model.keras")
        distance = fresh.objective.distance.get_weights()
        copy_initial_weights(
            fresh, tmp_path / "model.keras", freeze_encoder=True
        )
        theirs = getattr(trained, "encoder", trained).get_weights()
        for a, b in zip(theirs, fresh.encoder.get_weights(), strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(
            distance, fresh.objective.distance.get_weights(), strict=True
        ):
            np.testing.assert_array_equal(a, b)


def test_an_optimizer_starts_from_the_initial_weights(tmp_path):
    """The averages of a schedule-free optimizer begin with the weights."""
    file = tmp_path / "model.keras"
    fields = ["encoder.name=features_encoder", "encoder.num_features=4"]
    recipe = "omniglot_retrieval_triplet"
    run = load_recipe(recipe, [*fields, "optimizer.name=ScheduleFreeAdamW"])
    trained = build_model(run)
    trained.optimizer.build(trained.trainable_variables)
    trained.save(file)
    training = dataclasses.replace(run.training, initial_weights=str(file))
    any_data = types.SimpleNamespace(input_spec=None, num_classes=None)
    found = fit._new_model(
        dataclasses.replace(run, training=training), any_data
    )
    averages = found.optimizer._momentums
    for a, b in zip(trained.trainable_weights, averages, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_the_picture_of_the_plane(tmp_path):
    run = tmp_path / "run"
    words = ("--config", "mnist_learned_distance", "--workdir", run)
    assert command(train, *words, overrides=SHORT) == 0
    assert command(evaluate, "--workdir", run) == 0
    assert (run / "embedding.png").stat().st_size > 10_000
    assert (run / "distance_properties.png").stat().st_size > 1000
    found = results(run)["evaluation"]["test[:2000]"]
    assert found["trials"] == 120 * 119 // 2
    assert found["targets"] == 10 * (12 * 11 // 2)
    assert "interval" not in found["cosine"]
    # Expected values from loops over pairs.
    model = checkpoint.load_best(run)
    x, _ = data.datasets.load("mnist")
    a, b = model.predict(x[:2], verbose=0)

    def different(first, second):
        logit = model.objective.distance((first[None], second[None]))
        return 1 - 1 / (1 + np.exp(-float(logit[0])))

    properties = verification.distance_properties(
        model.objective.distance.all_pairs, model.predict(x, verbose=0)
    )
    assert properties["self_distance"][1] == pytest.approx(
        different(b, b), abs=1e-4
    )
    assert properties["asymmetry"][0] == pytest.approx(
        abs(different(a, b) - different(b, a)), abs=1e-4
    )
    for name, values in properties.items():
        assert found[f"mean_{name}"] == pytest.approx(
            np.mean(values), rel=1e-3, abs=1e-6
        )
        assert found[f"largest_{name}"] == pytest.approx(
            np.max(values), rel=1e-3, abs=1e-6
        )
    shutil.rmtree(run)


def test_many_trials_are_counted_in_bins(monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(6), 20)
    embeddings = rng.normal(size=(6, 3))[classes] + rng.normal(size=(120, 3))
    embeddings = embeddings.astype("float32")
    first, second = np.triu_indices(120, 1)
    scores = metrics.cosine_scores(embeddings, embeddings)[first, second]
    is_target = classes[first] == classes[second]
    groups = np.stack([classes[first], classes[second]], axis=1)
    exact = trial_measures.measures(scores, is_target, groups, 0)
    found = trial_measures.streamed(metrics.cosine_scores, embeddings, classes)
    for name, value in exact.items():
        bound = found[f"{name}_bound"]
        assert 0 <= bound < 0.01
        assert abs(found[name] - value) <= bound + 1e-12
