"""Counted pairs have intervals and curves of some examples."""

import numpy as np
import pytest

from embeddings_tf import metrics
from trainers.measures import calibrated_scores
from trainers.measures import measured_split
from trainers.measures import streamed_pairs

RNG = np.random.default_rng(0)
CLASSES = np.repeat(np.arange(8), 30)
EMBEDDINGS = RNG.normal(size=(8, 5))[CLASSES] + RNG.normal(size=(240, 5))


@pytest.mark.parametrize(
    ("most", "classes", "each"), [(40, 8, 5), (10, 5, 2), (1000, 8, 30)]
)
def test_a_class_loses_examples_before_it_is_lost(
    most, classes, each, monkeypatch
):
    monkeypatch.setattr(streamed_pairs, "MOST_EXAMPLES", most)
    rows = streamed_pairs.some_rows(CLASSES)
    names, counts = np.unique(CLASSES[rows], return_counts=True)
    assert len(names) == classes
    assert set(counts) == {each}
    assert np.all(np.diff(rows) > 0)


def test_all_pairs_are_counted_and_some_make_the_interval(monkeypatch):
    monkeypatch.setattr(streamed_pairs, "MOST_EXAMPLES", 80)
    scores = {"cosine": metrics.cosine_scores}
    found = streamed_pairs.streamed_pairs(
        scores, EMBEDDINGS, CLASSES, ("cosine",), {}, 50
    )
    assert found.results["interval_examples"] == 80
    first, second = np.triu_indices(240, 1)
    every = metrics.score_all_pairs(metrics.cosine_scores, EMBEDDINGS)
    expected, _ = metrics.equal_error_rate(
        every[first, second], CLASSES[first] == CLASSES[second]
    )
    row = found.results["cosine"]
    assert row["equal_error_rate"] == pytest.approx(expected, abs=1e-3)
    low, high = row["interval"]
    assert low < expected < high
    assert "cllr" in row
    for curves in (found.det, found.as_trained):
        assert set(curves) == {"cosine (some pairs)"}
    assert not found.calibrated
    (title,) = measured_split.with_title("test_a", found.det)
    assert title == "test a: cosine (some pairs)"


def test_the_false_accept_rate_has_an_interval_of_some_pairs(monkeypatch):
    monkeypatch.setattr(streamed_pairs, "MOST_EXAMPLES", 80)
    scores = {"cosine": metrics.cosine_scores}
    first, second = np.triu_indices(240, 1)
    every = metrics.score_all_pairs(metrics.cosine_scores, EMBEDDINGS)
    every, is_target = every[first, second], CLASSES[first] == CLASSES[second]
    calibrated = {"cosine": calibrated_scores.fit(every, is_target, (0.1,))}
    found = streamed_pairs.streamed_pairs(
        scores, EMBEDDINGS, CLASSES, (), calibrated, 50
    )
    (row,) = found.results["cosine"]["at_false_accept_rate"]
    threshold = calibrated["cosine"].thresholds[0.1]
    assert row["false_accept_rate"] == pytest.approx(
        np.mean(every[~is_target] >= threshold), abs=1e-3
    )
    # The interval is of the pairs of the drawn examples only.
    rows = streamed_pairs.some_rows(CLASSES)
    kept = np.isin(first, rows) & np.isin(second, rows)
    expected = metrics.bootstrap_interval(
        lambda scores, is_target: np.mean(scores[~is_target] >= threshold),
        every[kept],
        is_target[kept],
        np.stack([CLASSES[first], CLASSES[second]], axis=1)[kept],
        num_resamples=50,
    )
    found = row["false_accept_rate_interval"]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert found[0] < row["false_accept_rate"] < found[1]

    found = streamed_pairs.streamed_pairs(
        scores, EMBEDDINGS, CLASSES, (), calibrated, 0
    )
    (row,) = found.results["cosine"]["at_false_accept_rate"]
    assert "false_accept_rate_interval" not in row
