"""Features of recordings."""

import concurrent.futures
import logging
import time

import numpy as np
import pytest

from embeddings_tf import datasets
from trainers.config.run import Part
from trainers.data import goal_front_end as goal_front_end_module
from trainers.data import recordings
from trainers.data.goal_front_end import LEAST_RATE
from trainers.data.goal_front_end import goal_front_end


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
