"""Recipes that read trials from lists, on small fabricated Kaldi data."""

import json

import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from tests.datasets.speech_files import float_matrix
from tests.datasets.speech_files import write_ark
from tests.datasets.speech_files import write_table
from trainers import evaluate
from trainers import train
from trainers.config import load_recipe
from trainers.data import data
from trainers.evaluators import verification
from trainers.measures import trial_measures

SMALL = (
    "deterministic=False",
    "steps_per_epoch=2",
    "num_epochs=1",
    "utterances.num_frames=20",
    "utterances.min_num_frames=16",
    "batches.num_classes=4",
    "batches.num_per_class=3",
    "encoder.dim=8",
    "encoder.num_coefficients=4",
    "encoder.channels=(8, 8, 8, 8, 16)",
    "objective.projection.dim=6",
    "evaluation.plda.num_dims=3",
    "validation.num_trials=30",
)


def write_speakers(folder, part, names, rng):
    """Four utterances of 7 to 30 frames of each speaker."""
    matrices, speaker_of = {}, {}
    for name in names:
        mean = 2 * rng.normal(size=4)
        for number in range(4):
            frames = mean + rng.normal(size=(rng.integers(7, 31), 4))
            matrices[f"{name}-video-{number:05}"] = frames
            speaker_of[f"{name}-video-{number:05}"] = name
    entries = write_ark(
        folder / f"{part}.ark",
        {name: float_matrix(frames) for name, frames in matrices.items()},
    )
    write_table(folder / "data" / part / "utt2spk", speaker_of)
    write_table(folder / "data" / part / "feats.scp", entries)
    return speaker_of


@pytest.fixture
def manual(tmp_path, monkeypatch):
    folder = tmp_path / "manual/kaldi"
    rng = np.random.default_rng(0)
    write_speakers(
        folder, "train_combined_no_sil", [f"id{n}" for n in range(6)], rng
    )
    speaker_of = write_speakers(
        folder, "voxceleb1_no_sil", [f"id{n}" for n in range(6, 10)], rng
    )
    names = sorted(speaker_of)
    lists = {"original": names[4:12], "extended": names, "hard": names[:9]}
    for kind, used in lists.items():
        path = folder / f"data/voxceleb1/trials_{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(
                f"{int(speaker_of[a] == speaker_of[b])} {a} {b}\n"
                for i, a in enumerate(used)
                for b in used[:i]
            )
        )
    monkeypatch.setenv("EMBEDDINGS_TF_MANUAL", str(tmp_path / "manual"))
    return folder


@pytest.mark.slow
def test_three_lists_of_trials(manual, tmp_path, capsys):
    workdir = str(tmp_path / "run")
    words = [f"--config.{field}" for field in SMALL]
    name = "voxceleb_learned_distance"
    assert train.main(["--config", name, "--workdir", workdir, *words]) == 0
    assert evaluate.main(["--workdir", workdir]) == 0
    results = json.loads((tmp_path / "run/results.json").read_text())
    found = results["evaluation"]
    for kind, examples, targets in (
        ("original", 8, 12),
        ("extended", 16, 24),
        ("hard", 9, 12),
    ):
        assert found[kind]["examples"] == examples
        assert found[kind]["trials"] == examples * (examples - 1) // 2
        assert found[kind]["targets"] == targets
        for score in ("cosine", "plda", "learned_distance", "fused"):
            assert 0 <= found[kind][score]["equal_error_rate"] <= 1
    assert f"{28} trials, {12} of them targets" in capsys.readouterr().out
    assert (tmp_path / "run/det.png").exists()


def recipe(*more):
    return load_recipe("voxceleb_learned_distance", [*SMALL, *more])


def validation(*more):
    run = recipe(*more)
    # Only its last layer matters: the embeddings are points.
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    return verification.validation(run, data.Data(run), model)


def test_only_recordings_in_trials_are_embedded(manual):
    path = "kaldi/data/voxceleb1/trials_original"
    split = "data/voxceleb1_no_sil"
    x, first, second, is_target = data.Data(recipe()).trials(split, path)
    every, speakers = data.Data(recipe()).split(split)
    assert len(x) == 8 and len(every) == 16
    for number in range(8):
        np.testing.assert_array_equal(x[number], every[4 + number])
    speakers = speakers[4:12]
    np.testing.assert_array_equal(
        is_target, speakers[first] == speakers[second]
    )
    assert {(a, b) for a, b in zip(first, second, strict=True)} == {
        (a, b) for a in range(8) for b in range(a)
    }
    some = data.Data(recipe()).trials(split, path, num_trials=5)
    assert len(some[3]) == 5
    again = data.Data(recipe()).trials(split, path, num_trials=5)
    np.testing.assert_array_equal(some[1], again[1])


def test_unknown_utterances_and_missing_lists(manual):
    path = manual / "data/voxceleb1/trials_hard"
    path.write_text(path.read_text() + "1 id6-video-00000 id99-video-00000\n")
    with pytest.raises(ValueError, match="first is 'id99-video-00000'"):
        validation("validation.trials=kaldi/data/voxceleb1/trials_hard")
    with pytest.raises(FileNotFoundError, match="trials_none"):
        validation("validation.trials=kaldi/data/voxceleb1/trials_none")


def test_lists_are_read_before_the_training(manual):
    """Under a name of their own; a run with folds has other recordings."""
    verification.check(recipe(), data.Data(recipe()))
    missing = recipe("evaluation.trials.none=kaldi/data/voxceleb1/trials_none")
    with pytest.raises(FileNotFoundError, match="trials_none"):
        verification.check(missing, data.Data(missing))
    for name in ("test", "x_claimed"):
        run = recipe(
            f"evaluation.trials.{name}=kaldi/data/voxceleb1/trials_hard",
            "evaluation.splits=('test',)",
        )
        with pytest.raises(ValueError, match="would replace other results"):
            verification.check(run, data.Data(run))
    path = "kaldi/data/voxceleb1/trials_hard"
    run = recipe("folds.num_folds=3")
    with pytest.raises(ValueError, match="a run with folds has other examp"):
        data.Data(run).trials("test", path)


def test_short_utterances_are_repeated_when_read(manual):
    split = "data/voxceleb1_no_sil"
    x, _ = data.Data(recipe()).split(split)
    once, _ = data.Data(recipe("utterances.min_num_frames=1")).split(split)
    assert once.lengths.min() < 16 <= x.lengths.min()
    for number, utterance in enumerate(once):
        times = int(np.ceil(16 / len(utterance)))
        np.testing.assert_array_equal(x[number], np.tile(utterance, (times, 1)))


def test_many_pairs_are_counted_in_bins(monkeypatch):
    monkeypatch.setattr(
        data.Data, "split", lambda *_: (np.ones(2), np.arange(2))
    )
    held_out = validation("validation.trials=")
    measure = held_out.metrics["accuracy_at_equal_error"]
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(20), 6)
    embeddings = rng.normal(size=(20, 4))[classes]
    embeddings += 0.5 * rng.normal(size=embeddings.shape)
    exact = measure(embeddings, classes)
    assert 0.6 < exact < 0.95
    monkeypatch.setattr(verification, "EXACT_TRIALS", 100)
    assert measure(embeddings, classes) == pytest.approx(exact, abs=1e-3)


def test_claims_of_classes():
    rng = np.random.default_rng(0)
    classes = np.array([2, 0, 1, 1, 0, 2, 0, 1, 2, 2])
    embeddings = rng.normal(size=(10, 3))
    found = trial_measures.claimed_classes(
        {"cosine": metrics.cosine_scores}, embeddings, classes, 2
    )
    scores, is_target = [], []
    for claimed in range(3):
        first, second = np.flatnonzero(classes == claimed)[:2]
        enrolled = (embeddings[first] + embeddings[second]) / 2
        for number in range(10):
            if number in np.flatnonzero(classes == classes[number])[:2]:
                continue
            tested = embeddings[number]
            scores.append(
                enrolled
                @ tested
                / np.linalg.norm(enrolled)
                / np.linalg.norm(tested)
            )
            is_target.append(classes[number] == claimed)
    assert found["trials"] == len(scores) == 12 and found["targets"] == 4
    expected = metrics.equal_error_rate(scores, is_target)[0]
    assert found["cosine"]["equal_error_rate"] == pytest.approx(expected)
    with pytest.raises(ValueError, match="num_enrolled=4 leaves no example"):
        trial_measures.claimed_classes(
            {"cosine": metrics.cosine_scores}, embeddings, classes, 4
        )
