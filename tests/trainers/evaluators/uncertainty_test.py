"""The evaluation of uncertainties, on small digits that are damaged."""

import dataclasses
import json
import shutil

import keras
import numpy as np
import pytest
from scipy.stats import spearmanr

from embeddings_tf import metrics
from embeddings_tf.callbacks.variance_shares import variance_shares
from embeddings_tf.models.method import Method
from tests.datasets.image_folders import write_digits
from tests.trainers.images import images
from tools import loss_rank_study
from tools import novelty_weight_study
from trainers import embed_data
from trainers import evaluate
from trainers import nearest
from trainers import train
from trainers.config import load_recipe
from trainers.data.data import Data
from trainers.data.folds import class_ids
from trainers.evaluators import uncertainty
from trainers.training.checkpoint import load_best
from trainers.workdirs.workdir import run_of_workdir

RECIPE = "uncertainty_image_folder_dim_2_stochastic_prototypes"
SHORT = (
    "deterministic=False",
    "batches.num_classes=6",
    "encoder.image_shape=(8, 8, 3)",
    "encoder.num_filters=8",
    "steps_per_epoch=3",
    "num_epochs=2",
    "evaluation.num_per_class=30",
    "evaluation.num_classes=2",
    "evaluation.num_episodes=3",
    "evaluation.num_samples=2",
    "evaluation.kinds=('blur', 'mixing')",
)


def run_words(folder, workdir, *overrides):
    return ["--workdir", str(workdir)] + [
        f"--config.{override}"
        for override in (f"dataset=image_folder:{folder}", *SHORT, *overrides)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("runs") / "run"
    words = ["--config", RECIPE, *run_words(folder, workdir)]
    assert train.main(words) == 0
    assert evaluate.main(["--workdir", str(workdir)]) == 0
    return folder, workdir


@pytest.mark.slow
def test_measures_of_a_trained_run(trained):
    _, workdir = trained
    results = json.loads((workdir / "results.json").read_text())
    found = results["evaluation"]["test"]
    row = results["training"]["history"][-1]
    assert {
        "uncertainty_loss",
        "val_recall_auroc_head",
        "val_recall_auroc_variance",
        "val_variance_share",
        "val_variance_variation",
    } <= set(row)

    model, run = load_best(workdir), run_of_workdir(workdir)[1]
    x, labels = Data(run).split("test")
    labels = class_ids(labels)
    rows = []
    for label in (0, 1):
        of_class = np.flatnonzero(labels == label)
        rows += [of_class[i * len(of_class) // 30] for i in range(30)]
    x, labels = x[np.array(rows)], labels[rows]
    packed = model.predict(x, verbose=0)
    points = Method(model).points(packed).numpy()
    clean = found["clean"]
    recall = metrics.recall_at_k(points, labels)[1]
    assert clean["recall_at_1"] == pytest.approx(recall)
    for name, values in (
        ("head", model.predict_uncertainty(x)),
        ("variance", packed[:, 2:].sum(axis=1)),
    ):
        expected = metrics.recall_auroc(values, points, labels)
        # Equal up to ties that rounding breaks.
        assert clean[name]["recall_auroc"] == pytest.approx(expected, abs=0.01)
        spread = values.std() / values.mean()
        assert clean[name]["variation"] == pytest.approx(spread, rel=1e-3)
    for name, value in variance_shares(*np.split(packed, 2, axis=1)).items():
        assert found[name] == pytest.approx(value, rel=1e-3)
    assert set(found) >= {"clean", "corrupt", "blur", "mixing"}
    assert 0.05 < found["corrupt"]["mean_strength"] < 0.5
    text = uncertainty.summary(results["evaluation"])
    assert f"{found['blur']['head']['rank_correlation']:.2f}" in text


@pytest.mark.slow
def test_embed_writes_the_uncertainty_of_each_input(trained, tmp_path):
    folder, workdir = trained
    file = tmp_path / "test.npz"
    words = ["--workdir", str(workdir), "--output", str(file), str(folder)]
    assert embed_data.main([*words, "--split", "test"]) == 0
    x, _ = Data(run_of_workdir(workdir)[1]).split("test")
    expected = load_best(workdir).predict_uncertainty(x[np.arange(len(x))])
    with np.load(file) as found:
        np.testing.assert_allclose(found["uncertainty"], expected, rtol=1e-4)
    words = ["--gallery", str(file), "--workdir", str(workdir), str(folder)]
    assert nearest.main([*words, "--split", "test"]) == 0


@pytest.mark.slow
def test_the_study_of_the_penalty_measures_each_weight(
    trained, tmp_path, monkeypatch
):
    workdir = shutil.copytree(trained[1], tmp_path / "run")
    # After six steps, the penalty has no scale: give it one.
    model = load_best(workdir)
    model.uncertainty.novelty.set_weights(np.array([[-5.0], [0.1]]))
    model.save(workdir / "checkpoints" / "best.keras")
    monkeypatch.setattr(novelty_weight_study, "WEIGHTS", (0.0, 0.2, 5.0))
    found = novelty_weight_study.measure(str(workdir))
    assert [row["novelty_weight"] for row in found] == [0.0, 0.2, 5.0]
    spreads = [row["noise"]["variation"] for row in found]
    assert len(set(spreads)) == 3
    # The model has the usual weight.
    run = run_of_workdir(workdir)[1]
    wanted = dataclasses.replace(run.evaluation, splits=("validation",))
    run = dataclasses.replace(run, evaluation=wanted)
    usual, _ = uncertainty.evaluate(run, Data(run), model)
    expected = usual["validation"]["clean"]["head"]
    assert found[1]["clean"] == pytest.approx(expected)


@pytest.mark.slow
def test_the_study_of_the_loss_has_each_damage(trained, monkeypatch):
    folder, workdir = trained
    monkeypatch.setattr(loss_rank_study, "NUM_LOSSES", 2)
    measured = loss_rank_study.measure(workdir)
    found = measured["kinds"]
    test = json.loads((workdir / "results.json").read_text())
    test = test["evaluation"]["test"]
    assert {"corrupt", "blur", "mixing"} <= set(found) <= set(test)
    for kind, ranks in found.items():
        head = test[kind]["head"]["rank_correlation"]
        assert ranks["head"] == head
        assert -1 <= ranks["loss"] <= 1
    for condition, told in measured["recall_auroc"].items():
        assert told["head"] == test[condition]["head"]["recall_auroc"]
        assert 0 <= told["loss"] <= 1


def test_a_training_without_an_uncertainty_is_refused(folder):
    overrides = [f"dataset=image_folder:{folder}", *SHORT]
    points = RECIPE.replace("stochastic_prototypes", "prototypical")
    run = load_recipe(points, [*overrides, "uncertainty.name="])
    encoder = keras.Sequential(
        [keras.Input((8, 8, 3)), keras.layers.GlobalAveragePooling2D()]
    )
    with pytest.raises(ValueError, match="has no uncertainty to evaluate"):
        uncertainty.validation(run, Data(run), encoder)


def test_measures_by_hand():
    clean, damaged = np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.9, 0.5])
    strength = np.array([0.0, 1.0, 0.4])
    wrong, every = np.array([False, True, False]), np.ones(3, bool)
    found = uncertainty._measures(clean, damaged, strength, wrong, every)
    expected = spearmanr([0, 0, 0, 0, 1, 0.4], [0.1, 0.2, 0.3, 0.2, 0.9, 0.5])
    assert found["rank_correlation"] == pytest.approx(expected.statistic)
    assert found["recall_auroc"] == 1
    assert found["area_under_risk_coverage"] == pytest.approx(1 / 3 / 3)
    none = uncertainty._measures(
        clean, damaged, 0 * strength, 0 * wrong == 1, every
    )
    assert none["recall_auroc"] is None and "rank_correlation" not in none


def test_examples_without_another_of_their_class_are_no_queries():
    labels = np.array([0, 0, 1, 2, 2])
    queries = uncertainty._have_another(labels)
    assert queries.tolist() == [True, True, False, True, True]
    values = np.array([0.1, 0.2, 9.0, 0.3, 0.4])
    wrong = np.array([False, False, False, True])
    found = uncertainty._measures(values, values, 0 * values, wrong, queries)
    # The wrong one of the four queries has the largest value.
    assert found["recall_auroc"] == 1


def test_a_constant_uncertainty_has_no_rank_correlation():
    strength, wrong = np.array([0.0, 1.0, 0.4]), np.array([False, True, False])
    for value in (0.0, 0.1):
        same = np.full(3, value, "float32")
        found = uncertainty._measures(same, same, strength, wrong, wrong | True)
        assert found["rank_correlation"] is None
        assert found["variation"] == (pytest.approx(0) if value else None)
        cell = {"recall_at_1": 0.5, "few_shot_accuracy": 0.25, "head": found}
        text = uncertainty.summary({"test": {"clean": cell, "blur": cell}})
        # Rank, R-AUROC of a constant, and the mean error of all prefixes.
        assert text.splitlines()[-1].split()[:5] == [
            *("blur", "0.500", "0.250", "-", "0.50")
        ]
        json.dumps(found, allow_nan=False)


def test_the_rectangle_of_corrupt_is_printed_by_its_name():
    """`corrupt` is the key of the results, occlusion is another damage."""
    cell = {"recall_at_1": 0.5, "few_shot_accuracy": 0.25}
    found = {"clean": cell, "corrupt": cell, "occlusion": cell}
    lines = uncertainty.summary({"test": found}).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "clean",
        "rectangle",
        "occlusion",
    ]


def test_a_rectangle_hides_a_quarter_and_an_occlusion_a_half():
    """As docs/uncertainty.md says, on average over images."""
    x = np.full((500, 20, 20, 1), 255, np.uint8)
    for condition, share in (("corrupt", 0.25), ("occlusion", 0.5)):
        damaged, strength = uncertainty.damaged(x, condition, 1)
        hidden = (np.asarray(damaged) == 0).mean(axis=(1, 2, 3))
        assert hidden.mean() == pytest.approx(share, abs=0.04)
        np.testing.assert_allclose(hidden, strength, atol=0.1)


def test_damage_has_the_stated_strength(monkeypatch):
    x, _ = images(4, 5, (8, 8, 3))
    x = np.maximum(x, 1)
    damaged, strength = uncertainty.damaged(x, "corrupt", 1)
    np.testing.assert_allclose(
        (damaged == 0).all(axis=-1).mean(axis=(1, 2)), strength
    )
    # Of image n, what is left has the value n, in blocks as in one piece.
    x = np.arange(1, 21)[:, None, None, None] * np.ones((1, 8, 8, 3))
    monkeypatch.setattr(uncertainty, "BLOCK", 7)
    for condition in ("corrupt", "blur"):
        found, _ = uncertainty.damaged(x.astype("float32"), condition, 1)
        largest = np.max(found, axis=(1, 2, 3))
        np.testing.assert_allclose(largest, np.arange(1, 21), rtol=1e-3)
    monkeypatch.undo()
    x, _ = images(4, 5, (8, 8, 3))
    x = np.maximum(x, 1)
    damaged, _ = uncertainty.damaged(x, "corrupt", 1)
    again, _ = uncertainty.damaged(x, "corrupt", 1)
    np.testing.assert_array_equal(again, damaged)
    same, zero = uncertainty.damaged(x, "clean", 0)
    np.testing.assert_array_equal(same, x)
    assert not zero.any()


@pytest.mark.slow
def test_a_model_without_an_uncertainty(trained):
    run = run_of_workdir(trained[1])[1]
    encoder = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten()])
    with pytest.raises(ValueError, match="no uncertainty to evaluate"):
        uncertainty.evaluate(run, Data(run), encoder)


@pytest.mark.slow
def test_a_head_is_added_after_training(trained, tmp_path):
    """Encoder and objective stay as they are; the best head is kept."""
    folder, workdir = trained
    words = run_words(
        folder,
        tmp_path / "after",
        f"initial_weights={workdir}",
        "freeze_encoder=True",
        "monitor=loss",
        "num_epochs=4",
        "uncertainty.hidden_units=(16,)",
    )
    assert train.main(["--config", RECIPE, *words]) == 0
    before, after = load_best(workdir), load_best(tmp_path / "after")
    for part in ("encoder", "objective"):
        old = getattr(before, part).get_weights()
        new = getattr(after, part).get_weights()
        for a, b in zip(old, new, strict=True):
            np.testing.assert_array_equal(a, b)
    results = json.loads((tmp_path / "after" / "results.json").read_text())
    history = results["training"]["history"]
    losses = [row["loss"] for row in history]
    assert results["training"]["best_epoch"] == 1 + np.argmin(losses) > 1
    # The monitor of the recipe cannot choose an epoch; the head's can.
    assert len({row["val_recall_at_1"] for row in history}) == 1
    assert len({row["val_recall_auroc_head"] for row in history}) > 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("evaluation.kinds=('rust',)", "rust; there are occlusion"),
        ("evaluation.num_classes=3", "does not fit the split 'test'"),
        ("evaluation.num_samples=0", "num_samples must be at least 1"),
        ("evaluation.num_per_class=-1", "num_per_class must be at least 0"),
    ],
)
def test_check(folder, override, message):
    overrides = [f"dataset=image_folder:{folder}", *SHORT, override]
    run = load_recipe(RECIPE, overrides)
    with pytest.raises(ValueError, match=message):
        uncertainty.check(run, Data(run))


@pytest.mark.parametrize(
    ("recipe", "overrides", "message"),
    [
        (RECIPE, ["freeze_encoder=True"], "config.initial_weights"),
        (
            "omniglot_retrieval_triplet",
            ["freeze_encoder=True", "initial_weights=runs/x"],
            "TripletLoss has nothing there: set config.uncertainty.name",
        ),
        (
            "omniglot_retrieval_learned_distance",
            ["freeze_encoder=True", "initial_weights=runs/x"],
            "'val_recall_at_1' measures the encoder.*accuracy_at_equal_error",
        ),
        (
            "omniglot_verification_lifted_structure_frozen",
            ["validation.score=cosine"],
            "'val_accuracy_at_equal_error' measures the encoder.*the cosine",
        ),
        (
            "omniglot_verification_lifted_structure_joint",
            ["freeze_encoder=True", "initial_weights=runs/x"],
            "config.objective.encoder_loss is for the training of the encoder",
        ),
        (
            "omniglot_verification_lifted_structure_frozen",
            ["objective.updates=alternating"],
            "config.objective.updates is for the training of the encoder",
        ),
        (
            "sprites_beta_vae_1",
            ["freeze_encoder=True", "initial_weights=runs/x"],
            "BetaVAE trains encoder and decoder together: leave it out",
        ),
        (
            RECIPE,
            ["freeze_encoder=True", "initial_weights=runs/x"],
            "'val_recall_at_1' measures the encoder.*val_recall_auroc_head",
        ),
        (
            "sprites_beta_vae_1",
            ["uncertainty.name=UncertaintyHead"],
            "an autoencoder does not",
        ),
    ],
)
def test_runs_that_cannot_start(recipe, overrides, message):
    with pytest.raises(ValueError, match=message):
        load_recipe(recipe, overrides)


@pytest.mark.parametrize("monitor", ["val_recall_auroc_head", "loss"])
def test_a_frozen_run_is_chosen_by_its_head(monitor):
    run = load_recipe(
        RECIPE,
        [
            "freeze_encoder=True",
            "initial_weights=runs/x",
            f"monitor={monitor}",
        ],
    )
    assert run.training.monitor == monitor


def test_few_shot_accuracy_by_a_distance_changes_on_a_fixed_encoder():
    run = load_recipe(
        "omniglot_5_shot_dim_64_prototypical",
        [
            "method.name=LearnedDistance",
            "objective.distance.name=PairDistance",
            "freeze_encoder=True",
            "initial_weights=runs/x",
        ],
    )
    assert run.training.monitor == "val_few_shot_accuracy"
