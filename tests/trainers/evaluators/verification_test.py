"""Verification through its entry points, on small generated utterances."""

import json

import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.method import Method
from trainers import cross_validate
from trainers import evaluate
from trainers import export
from trainers import train
from trainers.config import load_recipe
from trainers.config.evaluation_fields import Plda
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.evaluators import verification
from trainers.measures.embed import embed
from trainers.measures.scores import normalised_cosine
from trainers.measures.scores import scores_of_all_pairs
from trainers.measures.scores import scores_of_pairs
from trainers.training import checkpoint
from trainers.training.model import build_model

NUM_SPEAKERS, NUM_OFFICIAL_TEST = 16, 4
NUM_PER_SPEAKER = 5


def speech(split):
    """Utterances of 7 to 30 frames with a mean per speaker."""
    rng = np.random.default_rng(0)
    means = 2 * rng.normal(size=(NUM_SPEAKERS, 13))
    speakers = np.repeat(np.arange(NUM_SPEAKERS), NUM_PER_SPEAKER)
    lengths = rng.integers(7, 31, len(speakers))
    frames = means[np.repeat(speakers, lengths)]
    frames += rng.normal(size=frames.shape)
    x = Utterances(frames.astype("float32"), lengths)
    is_test = speakers >= NUM_SPEAKERS - NUM_OFFICIAL_TEST
    rows = {"all": is_test | True, "train": ~is_test, "test": is_test}[split]
    return x.take(rows), speakers[rows].astype("int32")


@pytest.fixture(autouse=True)
def generated_data(monkeypatch):
    monkeypatch.setattr(
        data.datasets, "load", lambda _, split, *__, **___: speech(split)
    )
    examples_of_folds.cache_clear()
    yield
    examples_of_folds.cache_clear()


SMALL = (
    "deterministic=False",
    "steps_per_epoch=2",
    "num_epochs=2",
    "folds.num_folds=4",
    "utterances.num_frames=20",
    "utterances.min_num_frames=16",
    "batches.num_classes=4",
    "batches.num_per_class=3",
    "encoder.dim=8",
    "encoder.channels=(8, 8, 8, 8, 16)",
    "evaluation.plda.num_dims=3",
    "evaluation.num_resamples=20",
)


def overrides(*more):
    return [f"--config.{field}" for field in (*SMALL, *more)]


def of_run(recipe, *more):
    """The data of a run."""
    return data.Data(load_recipe(recipe, [*SMALL, *more]))


def command(module, *words):
    return module.main([*map(str, words)])


def results(workdir):
    return json.loads((workdir / "results.json").read_text())


def speakers_of(found_data, split):
    return set(found_data.split(split)[1].tolist())


def whole(utterances, number):
    """The utterance, repeated until it has 16 frames."""
    found = utterances[number]
    while len(found) < 16:
        found = np.concatenate([found, utterances[number]])
    return found


@pytest.mark.slow
def test_a_learned_distance_is_trained_and_measured(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(verification, "LEAST_CLASSES", 4)
    words = ("--config", "an4_learned_distance", "--workdir", tmp_path / "cv")
    words += (*overrides("objective.distance.hidden_units=(16,)"),)
    assert command(cross_validate, *words, "--folds", 1) == 0
    out = capsys.readouterr().out
    assert "learned distance" in out and "190 trials, 40 of them" in out
    run = tmp_path / "cv" / "fold_1"
    training = results(run)["training"]
    assert training["monitor"] == "val_accuracy_at_equal_error"
    assert (run / "det.png").stat().st_size > 1000

    found = results(run)["evaluation"]["test"]
    # 4 of 16 speakers, 5 utterances each: 20 * 19 / 2 pairs.
    assert (found["examples"], found["classes"]) == (20, 4)
    assert (found["trials"], found["targets"]) == (190, 4 * 10)
    for name in ("cosine", "plda", "learned_distance", "fused"):
        low, high = found[name]["interval"]
        assert 0 <= low <= found[name]["equal_error_rate"] <= high <= 1
        assert 0 <= found[name]["one_minus_auc"] <= 1
        assert 0 <= found[name]["min_dcf"] <= 1
        assert 0 <= found[name]["min_cllr"] <= 1
        # A calibration of other speakers is not below the best one of these.
        assert found[name]["cllr_isotonic"] >= found[name]["min_cllr"] - 1e-9
        (row,) = found[name]["at_false_accept_rate"]
        low, high = row["false_accept_rate_interval"]
        assert row["rate"] == 0.01
        assert 0 <= low <= row["false_accept_rate"] <= high <= 1
    assert (run / "calibration.png").stat().st_size > 1000

    # Loops over pairs of whole utterances.
    here = of_run("an4_learned_distance", "folds.fold=1")
    model = checkpoint.load_best(run)
    x, speakers = speech("all")
    test = sorted(speakers_of(here, "test"))
    assert len(test) == 4
    rows = np.flatnonzero(np.isin(speakers, test))
    embeddings = [model(whole(x, row)[np.newaxis])[0] for row in rows]
    logits, cosines, is_target = [], [], []
    for i, first in enumerate(embeddings):
        for j in range(i + 1, len(rows)):
            pair = first[np.newaxis], embeddings[j][np.newaxis]
            logits.append(float(model.objective.distance(pair)[0]))
            a, b = (np.asarray(side[0], "float64") for side in pair)
            size = np.linalg.norm(a) * np.linalg.norm(b)
            cosines.append(a @ b / size if size else 0.0)
            is_target.append(speakers[rows[i]] == speakers[rows[j]])
    fused = (1 / (1 + np.exp(-np.array(logits))) + np.array(cosines) / 2) / 2
    for name, scores in (
        ("learned_distance", logits),
        ("cosine", cosines),
        ("fused", fused),  # up to a constant
    ):
        # Rounding may swap two of the 190 trials.
        assert found[name]["one_minus_auc"] == pytest.approx(
            1 - metrics.roc_auc(scores, is_target), abs=1 / 1000
        )
        assert found[name]["equal_error_rate"] == pytest.approx(
            metrics.equal_error_rate(scores, is_target)[0], abs=1 / 100
        )
    assert found["learned_distance"]["cllr"] == pytest.approx(
        metrics.cllr(logits, is_target), rel=1e-3
    )
    assert "cllr" not in found["cosine"]

    # The classifier has the training speakers: 16 - 4 - 3.
    assert model.objective.num_classes == 9 == len(speakers_of(here, "train"))
    directory = tmp_path / "saved"
    words = ("--workdir", run, "--directory", directory)
    assert command(export, *words) == 0
    assert (directory / "1" / "saved_model.pb").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "scores"),
    [
        (
            "an4_triplet",
            {"cosine", "cosine_as_norm", "plda", "triplet_loss"},
        ),
        pytest.param(
            "an4_learned_distance_without_auxiliary",
            {
                *("cosine", "cosine_as_norm", "plda"),
                *("learned_distance", "fused"),
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_set_s_own_speakers_for_the_test(recipe, scores, tmp_path, capsys):
    words = ("--config", recipe, "--workdir", tmp_path / "run")
    words += (*overrides("folds.split=train", "folds.test_split=test"),)
    assert command(train, *words) == 0
    assert command(evaluate, "--workdir", tmp_path / "run") == 0
    found = results(tmp_path / "run")["evaluation"]["test"]
    assert found["examples"] == NUM_OFFICIAL_TEST * NUM_PER_SPEAKER
    assert {name for name in found if isinstance(found[name], dict)} == scores
    # Resamples of four speakers would be nearly the same few pairs.
    assert "4 classes are too few for an interval" in capsys.readouterr().out
    assert "interval" not in json.dumps(found)


@pytest.mark.parametrize("fold", range(4))
def test_folds_of_speakers(fold):
    here = of_run("an4_triplet", f"folds.fold={fold}")
    parts = [speakers_of(here, s) for s in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [9, 3, 4]
    assert set.union(*parts) == set(range(16))

    words = (f"folds.fold={fold}", "folds.split=train", "folds.test_split=test")
    here = of_run("an4_triplet", *words)
    parts = [speakers_of(here, s) for s in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [9, 3, 4]
    assert parts[0] | parts[1] == set(range(12))
    assert parts[2] == {12, 13, 14, 15}


def test_every_fold_validates_other_speakers():
    words = ("folds.split=train", "folds.test_split=test")
    validation = [
        speakers_of(
            of_run("an4_triplet", *words, f"folds.fold={k}"), "validation"
        )
        for k in range(4)
    ]
    assert set.union(*validation) == set(range(12))
    with pytest.raises(ValueError, match="unknown split 'dev'.*validation"):
        of_run("an4_triplet", *words).split("dev")


def test_batches_are_of_one_length_with_classes_from_0():
    here = of_run("an4_learned_distance", "folds.fold=2")
    assert here.batches(0) is here.batches(0), "traced once"
    batches = list(here.batches(0).take(6))
    seen = set()
    for x, labels in batches:
        assert x.shape == (12, 20, 13)
        seen |= set(labels.numpy().tolist())
    assert seen == set(range(9))
    assert here.num_classes == 9
    model = build_model(here.run, here.input_spec, here.num_classes)
    assert model.objective.num_classes == 9
    resumed = next(iter(here.batches(5)))
    np.testing.assert_array_equal(resumed[0], batches[5][0])


def test_short_utterances_are_repeated_whole():
    here = of_run("an4_triplet", "folds.fold=1")
    x, labels = here.split("test")
    every, speakers = speech("all")
    rows = np.flatnonzero(np.isin(speakers, labels))
    assert every.lengths[rows].min() < 16 <= x.lengths.min()
    for number, row in enumerate(rows):
        np.testing.assert_array_equal(x[number], whole(every, row))
    with pytest.raises(ValueError, match="min_num_frames"):
        of_run("an4_triplet", "utterances.min_num_frames=0").split("test")


def test_utterances_are_embedded_one_by_one():
    frames = keras.Input((None, 13))
    model = keras.Model(frames, keras.ops.mean(frames, axis=1))
    x, _ = speech("test")
    found = embed(model, x)
    expected = [x[number].mean(axis=0) for number in range(len(x))]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_some_examples_of_each_class_make_the_pairs():
    frames = keras.Input((None, 13))
    model = keras.Model(frames, keras.ops.mean(frames, axis=1))
    more = "evaluation.num_per_class=3", "evaluation.num_enrolled=1"
    here = of_run("an4_triplet", "folds.fold=1", *more)
    verification.check(here.run, here)
    found, _ = verification.evaluate(here.run, here, model)
    # 3 of the 5 utterances of each of 4 speakers.
    assert (found["test"]["examples"], found["test"]["classes"]) == (12, 4)
    assert found["test"]["trials"] == 12 * 11 // 2
    assert found["test"]["targets"] == 4 * 3
    # 2 utterances of each are left, and claim to be one of the 4.
    assert found["test_claimed"]["trials"] == 4 * 2 * 4
    here = of_run("an4_triplet", "evaluation.num_per_class=-1")
    with pytest.raises(ValueError, match="num_per_class must be at least 0"):
        verification.check(here.run, here)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["evaluation.num_per_class=1"], "num_per_class=1 leaves no pairs"),
        # A speaker of the test has 5 utterances.
        (["evaluation.num_enrolled=5"], "num_enrolled=5 leaves no .* below 5"),
        (
            ["evaluation.num_enrolled=3", "evaluation.num_per_class=3"],
            "num_enrolled=3 leaves no .* below 3",
        ),
    ],
)
def test_counts_that_leave_no_trials(changed, message):
    here = of_run("an4_triplet", "folds.fold=1", *changed)
    with pytest.raises(ValueError, match=message):
        verification.check(here.run, here)


def test_validation_is_one_minus_the_equal_error_rate():
    frames = keras.Input((None, 13))
    model = keras.Model(frames, keras.ops.mean(frames, axis=1))
    here = of_run("an4_triplet")
    held_out = verification.validation(here.run, here, model)
    measure = held_out.metrics["accuracy_at_equal_error"]
    classes = np.array([0, 0, 1, 1])
    good = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    assert measure(good, classes) == 1
    # Two targets of cosine 0; of four nontargets two of 1 and two of 0. From
    # accepting the ones to accepting all, (1/2, 1) to (1, 0): miss = 2 - 2 fa.
    bad = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert measure(bad, classes) == pytest.approx(1 - 2 / 3)
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    assert logs["val_accuracy_at_equal_error"] > 0.8  # of 13 dimensions


def test_large_costs_keep_the_columns_apart():
    row = {
        "equal_error_rate": 0.5,
        "one_minus_auc": 0.25,
        "min_dcf": 0.917,
        "cllr": 767902.902,
        "cllr_logistic": 1.01,
        "min_cllr": 0.875,
    }
    found = {"stochastic_prototypes": row, "trials": 28, "targets": 12}
    table = verification.summary({"test": found}).splitlines()
    assert table[1].split() == [
        *("stochastic", "prototypes", "50.00", "25.00", "0.917", "7.7e+05"),
        *("1.010", "0.875"),
    ]
    # The columns end where their heads do.
    assert table[0].index("EER, %") + len("EER, %") == (
        table[1].index("50.00") + len("50.00")
    )


def test_plda_of_fewer_classes_than_its_dimensions(capsys):
    """A search may draw fewer dimensions than the evaluation names."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), 5)
    points = rng.normal(size=(4, 6))[classes] + rng.normal(size=(20, 6))
    wanted = Plda(num_dims=5)
    found = verification._fitted_plda(wanted, points, classes)
    assert found.projection.shape == (6, 3)
    assert "PLDA keeps 3 of 5 dimensions" in capsys.readouterr().out


@pytest.mark.parametrize("rank", [1, 3])
def test_plda_of_embeddings_that_vary_in_few_dimensions(rank, capsys):
    """A linear encoder has the rank of its features."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(8), 5)
    points = rng.normal(size=(8, rank))[classes] + rng.normal(size=(40, rank))
    points = (points @ rng.normal(size=(rank, 6))).astype("float32")
    found = verification._fitted_plda(Plda(num_dims=5), points, classes)
    assert found.num_dims == found.projection.shape[1] == rank
    assert f"PLDA keeps {rank} of 5 dimensions" in capsys.readouterr().out


@pytest.mark.parametrize("num_dims", [None, 1, 3])
def test_equal_embeddings_have_no_plda(num_dims, capsys):
    wanted, classes = Plda(num_dims=num_dims), np.arange(12) % 4
    points = np.ones((12, 6), "float32")
    assert verification._fitted_plda(wanted, points, classes) is None
    out = capsys.readouterr().out
    assert "Without PLDA: Embeddings must vary" in out
    assert "collapsed encoder" in out


def test_a_collapsed_encoder_is_evaluated_without_plda(monkeypatch):
    monkeypatch.setattr(
        verification, "embed", lambda _, x: np.ones((len(x), 2))
    )
    monkeypatch.setattr(
        verification.calibrated_scores,
        "embed",
        lambda _, x: np.ones((len(x), 2)),
    )
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    more = ("evaluation.splits=('test',)", "folds.fold=1")
    run = load_recipe("an4_learned_distance", [*SMALL, *more])
    found = verification.evaluate(run, data.Data(run), model)[0]["test"]
    assert found["cosine"]["equal_error_rate"] == 0.5
    assert "plda" not in found


def test_lists_of_trials_without_plda():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    for scores in (scores_of_all_pairs, scores_of_pairs):
        assert [*scores(Method(model), None)][0] == "cosine"
        assert "plda" not in scores(Method(model), None)


def test_a_cosine_that_tells_nothing_apart_names_the_remedy():
    """All embeddings are multiples of one: their cosines are 1."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    rows = np.outer(np.arange(1.0, 13.0), [1.0, 2.0])
    score = normalised_cosine(Method(model), rows, np.arange(12) % 6)
    with pytest.raises(ValueError, match="the cosine cannot be .*train longer"):
        score(rows[:3], rows[3:6])
