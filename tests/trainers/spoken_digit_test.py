"""Verification of recordings through its entry points, with tones as words."""

import functools
import json
import re
import wave

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import speech
from trainers import cross_validate
from trainers import export
from trainers import train
from trainers.config import load_recipe
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.training import checkpoint

SPEAKERS = ("ada", "bob", "cy", "di", "eva")
NUM_WORDS, NUM_EACH = 10, 3
SAMPLE_RATE = 8000


def recordings():
    """Recordings of 30 to 60 frames: words are tones, speakers loudness."""
    rng = np.random.default_rng(0)
    waveforms, names = [], []
    for speaker, name in enumerate(SPEAKERS):
        for word in range(NUM_WORDS):
            for number in range(NUM_EACH):
                time = np.arange(rng.integers(2400, 4800)) / SAMPLE_RATE
                waveform = np.sin(2 * np.pi * (300 + 250 * word) * time)
                waveform += rng.normal(size=time.size)
                waveforms.append(1000 * (1 + speaker) * waveform)
                names.append(f"{word}_{name}_{number}.wav")
    order = rng.permutation(len(names))
    lengths = [len(waveforms[row]) for row in order]
    values = np.concatenate([waveforms[row] for row in order])
    x = Utterances(values.astype("int64"), lengths, sample_rate=SAMPLE_RATE)
    return x, np.array(names)[order]


X, NAMES = recordings()


def part(name, pattern):
    return re.fullmatch(pattern, name).group(1)


WORDS = np.array([part(name, r"(\d)_.*") for name in NAMES])
WHO = np.array([part(name, r"\d_(.*)_\d\.wav") for name in NAMES])


@pytest.fixture(autouse=True)
def generated_data(monkeypatch):
    """Counts how often the recordings are read."""
    reads = []

    def load(name, split, *_, label=None, **__):
        assert (name, split) == ("spoken_digit", "train")
        reads.append(label)
        if label is None:
            return X, WORDS.astype("int32")
        return X, NAMES

    monkeypatch.setattr(data.datasets, "load", load)
    examples_of_folds.cache_clear()
    yield reads
    examples_of_folds.cache_clear()


SMALL = (
    "deterministic=False",
    "steps_per_epoch=2",
    "num_epochs=2",
    "utterances.num_frames=20",
    "utterances.min_num_frames=40",
    "batches.num_classes=4",
    "batches.num_per_class=3",
    "encoder.dim=8",
    "encoder.channels=(8, 8, 8, 8, 16)",
    "evaluation.plda.num_dims=3",
    "evaluation.num_resamples=20",
)


def of_run(recipe, *more):
    """The data of a run."""
    return data.Data(load_recipe(recipe, [*SMALL, *more]))


def overrides(*more):
    return [f"--config.{field}" for field in (*SMALL, *more)]


@functools.cache
def features():
    """Features of all recordings, padded, and their numbers of frames."""
    waveforms = np.zeros((len(X), X.lengths.max()))
    for row, length in enumerate(X.lengths):
        waveforms[row, :length] = X[row]
    found = speech.front_end(
        waveforms, X.lengths, sample_rate=SAMPLE_RATE, high_frequency=3700.0
    )
    return [part.numpy() for part in found]


def whole(row):
    """Features of a recording, repeated to 40 frames."""
    padded, num_frames = features()
    times = -(-40 // num_frames[row])
    return np.concatenate([padded[row, : num_frames[row]]] * times)


def rows_of(found_data, split):
    """The recordings of a split, identified by their features."""
    x, labels = found_data.split(split)
    firsts = np.array([whole(row)[:40] for row in range(len(X))])
    found = []
    for utterance in x:
        distance = np.abs(firsts - utterance[:40]).max(axis=(1, 2))
        row = np.argmin(distance)
        np.testing.assert_allclose(utterance, whole(row), rtol=1e-4, atol=1e-3)
        found.append(row)
    assert len(set(found)) == len(found)
    return np.array(found), labels


@pytest.mark.parametrize("fold", range(5))
def test_one_speaker_is_left_out(fold, generated_data):
    here = of_run("spoken_digit_triplet", f"folds.fold={fold}")
    parts = {}
    for split, num_speakers in (("train", 3), ("validation", 1), ("test", 1)):
        rows, labels = rows_of(here, split)
        assert len(rows) == num_speakers * NUM_WORDS * NUM_EACH
        assert labels.tolist() == WORDS[rows].tolist()
        parts[split] = set(WHO[rows])
        assert len(parts[split]) == num_speakers
    assert set.union(*parts.values()) == set(SPEAKERS)
    assert generated_data == ["audio/filename"]  # read once for all parts


def test_every_speaker_is_left_out_once():
    tests = [
        set(WHO[rows_of(of_run("spoken_digit_triplet", fold), "test")[0]])
        for fold in (f"folds.fold={k}" for k in range(5))
    ]
    assert set.union(*tests) == set(SPEAKERS)


def test_speakers_over_unseen_words():
    here = of_run("spoken_digit_speakers")
    words = {}
    for split, num_words in (("train", 6), ("validation", 2), ("test", 2)):
        rows, labels = rows_of(here, split)
        assert labels.tolist() == WHO[rows].tolist()
        assert set(labels) == set(SPEAKERS)
        words[split] = set(WORDS[rows])
        assert len(words[split]) == num_words
    assert set.union(*words.values()) == set("0123456789")


def test_batches_hold_all_words():
    here = of_run("spoken_digit_learned_distance", "batches.num_classes=10")
    for x, labels in here.batches(0).take(2):
        assert x.shape == (10 * 3, 20, 30)
        assert np.bincount(labels).tolist() == [3] * 10


@pytest.mark.slow
def test_copies_before_babble_and_in_rooms(tmp_path, monkeypatch):
    """Copies follow the recordings, and use only training speakers."""
    folder = tmp_path / "rooms" / "small"
    folder.mkdir(parents=True)
    response = np.zeros(200, "<i2")
    response[[3, 90, 150]] = 20000, 9000, -8000
    with wave.open(str(folder / "1.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(response.tobytes())
    recipe = "spoken_digit_learned_distance_babble"
    room = "augmentation.room.room_responses=rooms"
    here = of_run(recipe, room, f"manual_dir={tmp_path}")
    rows, words = rows_of(here, "train")
    x, labels = here._training
    assert labels.tolist() == [*words] * 3
    recordings = X.take(rows)
    rooms, _, _ = speech.read_recordings(tmp_path / "rooms")
    copies = (
        speech.augment(
            recordings,
            recordings,
            snr=(10.0, 20.0),
            num_sources=(3, 7),
            seed=0,
        ),
        speech.augment(recordings, room_responses=rooms, seed=1),
    )
    for part, copy in enumerate(copies, start=1):
        for number in (0, 7):
            features, num_frames = speech.front_end(
                copy[number],
                sample_rate=SAMPLE_RATE,
                high_frequency=3700.0,
                min_num_frames=40,
            )
            found = x[part * len(rows) + number]
            assert len(found) == num_frames
            np.testing.assert_allclose(found, features, rtol=1e-3, atol=0.02)
            clean = x[number]
            assert len(clean) != len(found) or not np.allclose(clean, found)
    np.testing.assert_allclose(x[3], whole(rows[3]), rtol=1e-4, atol=1e-3)
    # Held-out recordings do not change.
    assert len(here.split("test")[0]) == NUM_WORDS * NUM_EACH

    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)
    with pytest.raises(ValueError, match="folder of 'rooms' in config.augm"):
        of_run(recipe, room).batches(0)
    with pytest.raises(ValueError, match="room names neither noise nor room"):
        of_run(recipe, "augmentation.room.noise=").batches(0)
    with pytest.raises(ValueError, match="it needs config.front_end"):
        of_run(recipe, "front_end.name=").batches(0)


@pytest.mark.slow
def test_a_learned_distance_is_trained_measured_and_exported(tmp_path):
    workdir = tmp_path / "cv"
    words = ("--config", "spoken_digit_learned_distance", "--folds", "2")
    words += ("--workdir", str(workdir), *overrides())
    small = "--config.objective.distance.hidden_units=(16,)"
    assert cross_validate.main([*words, small]) == 0
    run = workdir / "fold_2"
    found = json.loads((run / "results.json").read_text())
    found = found["evaluation"]["test"]
    num_examples = NUM_WORDS * NUM_EACH
    assert (found["examples"], found["classes"]) == (num_examples, NUM_WORDS)
    num_targets = NUM_WORDS * NUM_EACH * (NUM_EACH - 1) // 2
    assert found["targets"] == num_targets
    assert found["trials"] == num_examples * (num_examples - 1) // 2

    # Expected values from loops over pairs.
    rows, _ = rows_of(
        of_run("spoken_digit_learned_distance", "folds.fold=2"), "test"
    )
    model = checkpoint.load_best(run)
    assert model.objective.num_classes == NUM_WORDS
    embeddings = [model(whole(row)[np.newaxis]) for row in rows]
    logits, is_target = [], []
    for i, first in enumerate(embeddings):
        for j in range(i + 1, len(rows)):
            pair = first, embeddings[j]
            logits.append(float(model.objective.distance(pair)[0]))
            is_target.append(WORDS[rows[i]] == WORDS[rows[j]])
    # Rounding may swap two trials.
    assert found["learned_distance"]["one_minus_auc"] == pytest.approx(
        1 - metrics.roc_auc(logits, is_target), abs=1 / 100
    )

    # From recordings to the score.
    words = ("--workdir", str(run), "--directory", str(tmp_path / "saved"))
    assert export.main(words) == 0
    loaded = tf.saved_model.load(str(tmp_path / "saved" / "1"))
    one, other = (X[row].astype("float32") for row in rows[:2])
    found = loaded.signatures["score_pairs"](
        first=tf.constant(one[np.newaxis]),
        first_length=tf.constant([len(one)]),
        second=tf.constant(np.pad(other, (0, 99))[np.newaxis]),
        second_length=tf.constant([len(other)]),
    )
    np.testing.assert_allclose(found["logit"], [logits[0]], atol=1e-5)
    np.testing.assert_allclose(
        found["probability"], [1 / (1 + np.exp(-logits[0]))], atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        "spoken_digit_learned_distance_babble",
        "spoken_digit_learned_distance_without_auxiliary",
        "spoken_digit_triplet",
    ],
)
def test_the_other_recipes_train(recipe, tmp_path):
    words = ("--config", recipe, "--workdir", str(tmp_path / "run"))
    assert train.main([*words, *overrides()]) == 0


def bad_data():
    """Recordings, and words of the error."""
    values = np.concatenate([X[row] for row in range(len(X))])
    silent = values.copy()
    silent[: X.lengths[0]] = 0
    holed = values.astype("float32")
    holed[X.lengths[0] + 7] = np.nan
    short = X.lengths.copy()
    short[0], short[1] = 10, short[0] + short[1] - 10
    return {
        "rate": (
            Utterances(values, X.lengths, sample_rate=16000),
            "have 16000 samples per second, .* is 8000; set it to 16000",
        ),
        "silence": (Utterances(silent, X.lengths), "Utterance 0: .*silence"),
        "nan": (Utterances(holed, X.lengths), "Utterance 1: .*contains NaN"),
        "short": (Utterances(values, short), "Utterance 0: .*too short"),
        "features": (np.zeros((len(NAMES), 30)), "is for recordings"),
    }


@pytest.mark.parametrize("name", bad_data())
def test_bad_recordings(name, monkeypatch, tmp_path, capsys):
    x, message = bad_data()[name]
    monkeypatch.setattr(
        data.datasets, "load", lambda *_, label, **__: (x, NAMES)
    )
    words = ("--config", "spoken_digit_triplet", "--workdir", str(tmp_path))
    assert train.main([*words, *overrides()]) == 1
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("pattern", [r"(\d)_eva_", r"\d"])
def test_a_pattern_that_does_not_fit(pattern):
    here = of_run("spoken_digit_triplet", f"label.pattern={pattern}")
    with pytest.raises(ValueError, match="must find a group in every audio"):
        here.split("test")
