import numpy as np

from embeddings_tf.metrics import points_of_scores as module
from embeddings_tf.metrics.points_of_scores import points_near_equal_errors
from embeddings_tf.metrics.points_of_scores import points_of_scores

NUM_SAMPLED = 40


def both(scores, is_target):
    near = points_near_equal_errors(scores, is_target, NUM_SAMPLED)
    every = points_of_scores(scores, scores[is_target])
    return near, every


def kinds_of_trials():
    rng = np.random.default_rng(0)
    for seed in range(60):
        n = int(rng.integers(8 * NUM_SAMPLED + 1, 4000))
        is_target = rng.random(n) < rng.choice([0.01, 0.1, 0.5, 0.97])
        is_target[:2] = True, False
        scores = rng.normal(size=n) + rng.choice([-3, 0, 1, 6]) * is_target
        kind = seed % 6
        if kind == 1:
            scores = np.round(2 * scores)  # ties
        elif kind == 2:
            order = np.argsort(scores)
            scores, is_target = scores[order], is_target[order]
        elif kind == 3:
            scores[rng.random(n) < 0.3] = np.inf
            scores[rng.random(n) < 0.3] = -np.inf
        elif kind == 4:
            scores = (scores * 1e6).astype(np.int64) + 2**60
        elif kind == 5:
            scores = scores.astype(np.float32)
        yield scores, is_target


def test_equal_error_rate_is_that_of_all_points():
    for scores, is_target in kinds_of_trials():
        near, every = both(scores, is_target)
        assert near.equal_error_rate() == every.equal_error_rate()
        assert near.num_targets == every.num_targets
        assert near.num_nontargets == every.num_nontargets


def test_sorts_only_scores_near_the_crossing():
    rng = np.random.default_rng(1)
    is_target = rng.random(200_000) < 0.2
    scores = rng.normal(size=len(is_target)) + 2 * is_target
    near = points_near_equal_errors(scores, is_target, 20_000)
    assert len(near.thresholds) < len(scores) / 10
    every = points_of_scores(scores, scores[is_target])
    assert near.equal_error_rate() == every.equal_error_rate()


def test_order_that_misleads_the_sample():
    # Every sampled nontarget scores higher than nearly all others.
    rng = np.random.default_rng(2)
    n = 40 * NUM_SAMPLED
    is_target = np.arange(n) % 40 == 1
    scores = rng.normal(size=n) + is_target
    scores[::40] = 3 + rng.normal(scale=0.1, size=NUM_SAMPLED)
    near, every = both(scores, is_target)
    assert len(near.thresholds) == n + 1
    assert near.equal_error_rate() == every.equal_error_rate()


def test_all_scores_equal():
    is_target = np.arange(1000) < 300
    near, every = both(np.full(1000, 0.5), is_target)
    assert near.equal_error_rate() == every.equal_error_rate()
    assert near.equal_error_rate()[:2] == (0.5, 0.5)


def test_few_trials_are_all_sorted(monkeypatch):
    monkeypatch.setattr(module, "_limits", None)
    scores, is_target = np.array([3.0, 1.0, 2.0]), np.array([True, False, True])
    near = points_near_equal_errors(scores, is_target)
    assert near.thresholds.tolist() == [np.inf, 3.0, 2.0, 1.0]
    assert near.targets.tolist() == [0, 1, 2, 2]
    assert near.nontargets.tolist() == [0, 0, 0, 1]


def test_trials_outside_are_counted():
    points = points_of_scores(
        np.array([1.0, 2.0]), np.array([2.0]), above=(3, 4), below=(5, 6)
    )
    assert points.thresholds.tolist() == [np.inf, 2.0, 1.0, -np.inf]
    assert points.targets.tolist() == [0, 4, 4, 9]
    assert points.nontargets.tolist() == [0, 4, 5, 11]
