"""Scores that tell enrolled classes from anything else."""

import json
import types

import keras
import numpy as np
import pytest

from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import StochasticPrototypes
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import evaluate
from trainers import train
from trainers.config.evaluation_fields import OutOfDistribution
from trainers.evaluators import out_of_distribution
from trainers.measures import embed
from trainers.measures import unknown_scores

WANTED = types.SimpleNamespace(
    num_classes=2, num_support=3, num_query=4, num_episodes=5, num_samples=20
)
# Two groups of four classes of eight.
LABELS = np.repeat(np.arange(8), 8)
GROUPS = LABELS // 4


def identity(width):
    return keras.Sequential([keras.Input((width,)), keras.layers.Identity()])


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("num_episodes", 1, 2),
        ("num_samples", 0, 1),
        ("num_query", 0, 1),
        ("num_support", -1, 1),
        ("num_classes", 0, 1),
    ],
)
def test_counts_are_checked_before_the_training(name, value, least):
    wanted = OutOfDistribution(splits=("test",), **{name: value})
    run = types.SimpleNamespace(evaluation=wanted)
    message = f"config.evaluation.{name} must be at least {least}; received"
    with pytest.raises(ValueError, match=message):
        out_of_distribution.check(run, None)


def test_kinds_of_unknown_inputs():
    rng = np.random.default_rng(0)
    z = 30.0 * np.eye(8)[LABELS] + rng.normal(size=(64, 8))
    foreign = {"far": np.full((9, 8), 500.0, "float32")}
    found = out_of_distribution.measure(
        identity(8), z.astype("float32"), LABELS, GROUPS, foreign, WANTED
    )
    assert list(found) == ["other classes", "other groups", "far"]
    for scores in found.values():
        assert list(scores) == [
            "posterior_entropy",
            "log_evidence",
            "nearest_distance",
        ]
        for name in ("log_evidence", "nearest_distance"):
            assert scores[name]["auroc"] == 1
            assert scores[name]["fpr_at_95_tpr"] == 0
            assert scores[name]["test_classes"] == 8
    text = out_of_distribution.summary({"test": found})
    assert "± is over episodes of the same 8 test classes" in text


def test_variance_of_gaussians():
    """Only the variance tells the foreign inputs."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(64, 4)).astype("float32")
    packed = np.concatenate([z, np.full_like(z, 0.1)], axis=1)
    packed[:, 4:] += rng.uniform(0, 0.01, (64, 4))
    foreign = {"wide": packed[:40] * np.float32([1] * 4 + [9] * 4)}
    model = EmbeddingModel(
        identity(8), StochasticPrototypes(num_support=3), gaussian=True
    )
    one_group = np.zeros(64, int)
    found = out_of_distribution.measure(
        model, packed, LABELS, one_group, foreign, WANTED
    )
    assert list(found) == ["other classes", "wide"]
    assert found["wide"]["predicted_variance"]["auroc"] == 1
    assert found["other classes"]["predicted_variance"]["auroc"] < 0.75


def test_variances_of_full_covariance():
    """The objective reads variances from points of width 5."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(64, 5)).astype("float32")
    # Raw variances of a softplus, apart from the foreign inputs'.
    foreign = {"wide": z[:40] + np.float32([0, 0, 9, 9, 0])}
    model = EmbeddingModel(
        identity(5), FullCovariancePrototypes(num_support=3), gaussian=False
    )
    found = out_of_distribution.measure(
        model, z, LABELS, np.zeros(64, int), foreign, WANTED
    )
    assert found["wide"]["predicted_variance"]["auroc"] == 1
    assert "head_uncertainty" not in found["wide"]


def test_the_uncertainty_of_a_head():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(64, 8)).astype("float32")
    foreign = {"worse": z[:40], "same": z[:40]}
    own = rng.uniform(size=64)
    head = {out_of_distribution.OWN: own, "worse": own[:40] + 2}
    head["same"] = np.full(40, 0.5)
    found = out_of_distribution.measure(
        identity(8), z, LABELS, GROUPS, foreign, WANTED, head
    )
    assert found["worse"]["head_uncertainty"]["auroc"] == 1
    # Of one value, the AUROC is the share of known inputs below it.
    assert 0 < found["same"]["head_uncertainty"]["auroc"] < 1


def test_every_pass_of_a_head_shows_its_progress(monkeypatch):
    made = []

    class Recorded(embed.Progress):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(embed, "Progress", Recorded)
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    encoder = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)]
    )
    model = EmbeddingModel(
        encoder, TripletLoss(), uncertainty=UncertaintyHead()
    )
    model(x)
    wanted = {**vars(WANTED), "splits": ("test",), "group": "", "others": ()}
    run = types.SimpleNamespace(evaluation=types.SimpleNamespace(**wanted))
    data = types.SimpleNamespace(split=lambda name: (x, LABELS))
    results, _ = out_of_distribution.evaluate(run, data, model)
    assert set(results["test"]) == {"other classes", "uniform noise"}
    for scores in results["test"].values():
        assert "head_uncertainty" in scores
    # The examples and the noise: their embeddings and their uncertainties.
    assert [found.done for found in made] == [64] * 4


def test_one_episode_has_no_interval():
    row = unknown_scores.mean_rates([(0.75, 0.5)])
    assert row["auroc"] == 0.75 and row["auroc_interval"] is None
    assert unknown_scores.auroc_text(row) == "0.750"
    row = unknown_scores.mean_rates([(0.75, 0.5), (0.85, 0.5)])
    # The standard error is 0.05, times 1.96.
    assert unknown_scores.auroc_text(row) == "0.800 ±0.098"


def test_noise_has_the_range_of_the_examples():
    x = np.random.default_rng(0).normal(5, 1, (50, 3)).astype("float32")
    noise = out_of_distribution._noise(x)
    assert noise.dtype == x.dtype and noise.shape == x.shape
    assert np.all(noise >= x.min(0)) and np.all(noise <= x.max(0))
    pixels = out_of_distribution._noise(np.zeros((4, 2, 2, 1), np.uint8))
    assert pixels.dtype == np.uint8 and pixels.max() > 100


@pytest.mark.slow
def test_command(tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(96, 5)).astype("float32")
    np.savez(tmp_path / "a.npz", x=x, labels=np.repeat(np.arange(12), 8))
    np.savez(tmp_path / "b.npz", x=x + 9, labels=np.repeat(np.arange(12), 8))
    words = ["--workdir", tmp_path / "run", "--config.num_epochs=1"]
    goal = [f"arrays:{tmp_path / 'a.npz'}", "--goal", "few_shot"]
    more = ["--config.steps_per_epoch=2", "--config.deterministic=False"]
    more += ["--config.uncertainty.name=UncertaintyHead"]
    assert call(train, *goal, *words, *more) == 0
    words = [
        "--workdir",
        tmp_path / "run",
        "--config.evaluation.name=out_of_distribution",
        "--config.evaluation.num_episodes=3",
    ]
    error = refused(capsys, evaluate, *words)
    assert "has 2 classes" in error
    other = f"arrays:{tmp_path / 'b.npz'}"
    words += [
        "--config.evaluation.num_classes=1",
        "--config.evaluation.num_query=2",
        f"--config.evaluation.others={((other, 'all'),)}",
    ]
    assert call(evaluate, *words) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    found = results["evaluation_out_of_distribution"]["test"]
    assert set(found) == {"other classes", other, "uniform noise"}
    assert all("head_uncertainty" in scores for scores in found.values())
    assert len(list((tmp_path / "run").glob("*out_of_distribution*.png"))) == 1
