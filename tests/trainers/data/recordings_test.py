"""Features of recordings."""

import concurrent.futures
import logging
import time

import numpy as np
import pytest

from embeddings_tf import datasets
from tests.trainers.page_commands import blocks
from trainers.config.run import DataFields
from trainers.config.run import Part
from trainers.data import goal_front_end as goal_front_end_module
from trainers.data import recordings
from trainers.data.goal_front_end import LEAST_RATE
from trainers.data.goal_front_end import goal_front_end


@pytest.mark.slow
def test_threads_share_one_trace(monkeypatch, caplog):
    """TensorFlow warns of calls that wait for the trace of another thread."""
    traced = []

    def build(*arguments):
        traced.append(arguments)
        time.sleep(0.3)  # so that the calls of all threads meet
        return original(*arguments)

    original = recordings.build
    monkeypatch.setattr(recordings, "build", build)
    # TensorFlow's logger does not propagate to the one that pytest reads.
    monkeypatch.setattr(logging.getLogger("tensorflow"), "propagate", True)
    rng = np.random.default_rng(0)
    waves = [9999 * rng.normal(size=4000 + 99 * n) for n in range(16)]
    x = datasets.Utterances(
        waves.__getitem__, [len(wave) for wave in waves], sample_rate=8000
    )
    arguments = goal_front_end(8000)
    front_end = Part(arguments.pop("name"), arguments)
    compute = recordings.feature_function(x, front_end)
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        found = list(threads.map(compute, waves))
    assert len(traced) == 1
    assert "retracing" not in caplog.text
    np.testing.assert_allclose(
        found[-1],
        original(front_end, "front_end", waves[-1].astype("f4"))[0],
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.parametrize("rate", [1320, 1999, 2000, 4000, 16000, 192000])
def test_the_features_of_a_goal_take_a_rate(rate):
    arguments = goal_front_end(rate)
    front_end = Part(arguments.pop("name"), arguments)
    x = datasets.Utterances(lambda _: np.ones(rate), [rate], sample_rate=rate)
    wave = 999 * np.random.default_rng(0).normal(size=rate)
    found = recordings.feature_function(x, front_end)(wave)
    assert found.shape[1] == 30 and np.isfinite(found).all()


@pytest.mark.parametrize("rate", [1, 500, 640, 1000, 1319])
def test_lower_rates_are_refused(rate):
    with pytest.raises(
        ValueError,
        match=f"the recordings have {rate} samples per second; a goal takes "
        "recordings of at least 1320. Resample them, or write a recipe",
    ):
        goal_front_end(rate)


def test_the_least_rate_is_the_least(monkeypatch):
    monkeypatch.setattr(goal_front_end_module, "LEAST_RATE", 0)
    with pytest.raises(ValueError, match="num_mel_bins. is too large"):
        test_the_features_of_a_goal_take_a_rate(LEAST_RATE - 1)


def spectrum_of_the_page_on_speech(folder):
    """The function of `docs/speech.md`, as a part of a recipe."""
    (code,) = blocks("speech.md", "python", "Steady sounds")
    (folder / "machine.py").write_text(code, encoding="utf-8")
    return Part(f"{folder / 'machine.py'}:spectrum", {"sample_rate": 8000})


def test_the_page_on_speech_keeps_what_tells_steady_sounds_apart(tmp_path):
    seconds = np.arange(16000) / 8000
    waves = [3000 * np.sin(2 * np.pi * hz * seconds) for hz in (200, 1000)]
    x = datasets.Utterances(
        waves.__getitem__, [len(wave) for wave in waves], sample_rate=8000
    )
    arguments = goal_front_end(8000)
    of_goal = Part(arguments.pop("name"), arguments)
    gap = {}
    for part in (of_goal, spectrum_of_the_page_on_speech(tmp_path)):
        compute = recordings.feature_function(x, part)
        low, high = (np.mean(compute(wave), axis=0) for wave in waves)
        gap[part.name.rpartition(":")[2]] = np.abs(low - high).max()
    assert gap["front_end"] < 1e-3 < 10 < gap["spectrum"]


def test_the_function_of_the_page_on_speech_serves_batches(tmp_path):
    waves = 999 * np.random.default_rng(0).normal(size=(2, 4000)).astype("f4")
    front_end = spectrum_of_the_page_on_speech(tmp_path)
    fields = DataFields(dataset="", front_end=front_end)
    batch = recordings.serving_front_end(fields)(waves, [4000, 4000])
    x = datasets.Utterances(waves.__getitem__, [4000] * 2, sample_rate=8000)
    alone = recordings.feature_function(x, front_end)(waves[1])
    np.testing.assert_allclose(batch[1], alone, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_a_front_end_that_returns_features_alone_is_refused():
    wave = 999 * np.random.default_rng(0).normal(size=8000)
    x = datasets.Utterances(wave, [8000], sample_rate=16000)
    with pytest.raises(
        ValueError,
        match=r"config.front_end.name='mfcc' returns SymbolicTensor; it must "
        r"return \(features, num_frames\), as datasets.speech.front_end does",
    ):
        recordings.feature_function(x, Part("mfcc", {}))
