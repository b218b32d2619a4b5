"""Episodes with unknown queries are drawn as for the committed results."""

import types

import keras
import numpy as np
import pytest

from trainers.evaluators import out_of_distribution
from trainers.measures import unknown_classes
from trainers.measures import unknown_scores
from trainers.measures.occluded import EmbeddedSplit
from trainers.measures.open_set_episode import draw_enrolled

RNG = np.random.default_rng(0)
# 9 classes of 5 to 13 examples in 3 groups, in random order.
LABELS = RNG.permutation(np.repeat(np.arange(9), np.arange(5, 14)))
GROUPS = LABELS // 3
# An embedding is its row.
ROWS = np.arange(len(LABELS), dtype="float32")[:, None]


def wanted_of(num_support, num_query, **more):
    return types.SimpleNamespace(
        num_support=num_support,
        num_query=num_query,
        num_episodes=20,
        num_samples=1,
        **more,
    )


@pytest.fixture
def drawn(monkeypatch):
    """Embeddings of the supports and queries of each episode."""
    found = []

    def score_function(*_):
        def scores(support, labels, query, num_classes):
            found.append((support.ravel().tolist(), query.ravel().tolist()))
            log_prob = np.zeros((len(query), num_classes))
            return {"score": query.ravel()}, log_prob

        return scores

    monkeypatch.setattr(unknown_scores, "score_function", score_function)
    return found


@pytest.mark.parametrize(
    ("num_classes", "num_support", "num_query"), [(3, 2, 4), (5, 1, 8)]
)
def test_episodes_of_the_few_shot_evaluation(
    num_classes, num_support, num_query, drawn
):
    split = EmbeddedSplit("test", num_classes, LABELS, LABELS, ROWS, [], [])
    wanted = wanted_of(num_support, num_query)
    assert unknown_classes.measure(None, split, wanted) is not None
    needed = num_support + num_query
    sizes = np.bincount(LABELS)
    for episode in range(20):
        rng = np.random.default_rng(episode)
        eligible = [c for c in range(9) if sizes[c] >= needed]
        enrolled = rng.choice(eligible, num_classes, replace=False)
        support, known = [], []
        for c in enrolled:
            rows = rng.choice(np.flatnonzero(LABELS == c), needed, False)
            support += rows[:num_support].tolist()
            known += rows[num_support:].tolist()
        others = [i for i, c in enumerate(LABELS) if c not in enrolled]
        count = min(len(known), len(others))
        unknown = rng.choice(others, count, False).tolist()
        assert drawn[episode] == (support, known + unknown)
    assert len(drawn) == 20


@pytest.mark.parametrize("groups", [GROUPS, np.zeros_like(LABELS)])
def test_episodes_of_the_evaluation_of_unknown_inputs(groups, drawn):
    foreign = {"few": -ROWS[:3], "many": 1000 + ROWS}
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    wanted = wanted_of(2, 4, num_classes=3)
    out_of_distribution.measure(model, ROWS, LABELS, groups, foreign, wanted)
    sizes, group_of = (
        np.bincount(LABELS),
        dict(zip(LABELS, groups, strict=True)),
    )
    for episode in range(20):
        rng = np.random.default_rng(episode)
        eligible = [c for c in range(9) if sizes[c] >= 6]
        of_class = [group_of[c] for c in eligible]
        # Group 0 has too few classes, as one of its three is too small.
        large = sorted(g for g in {*of_class} if of_class.count(g) >= 3)
        group = rng.choice(large)
        eligible = [c for c in eligible if group_of[c] == group]
        enrolled = rng.choice(eligible, 3, replace=False)
        support, known = [], []
        for c in enrolled:
            rows = rng.choice(np.flatnonzero(LABELS == c), 6, False)
            support += rows[:2].tolist()
            known += rows[2:].tolist()
        queries = list(known)
        kinds = [
            [
                row
                for row, c in enumerate(LABELS)
                if c not in enrolled and groups[row] == group
            ],
            [row for row in range(len(LABELS)) if groups[row] != group],
            (-ROWS[:3, 0]).tolist(),
            (1000 + ROWS[:, 0]).tolist(),
        ]
        for rows in kinds:
            if rows:
                count = min(len(known), len(rows))
                places = rng.choice(len(rows), count, False)
                queries += [rows[place] for place in places]
        assert drawn[episode] == (support, queries)
    assert len(drawn) == 20


def test_episodes_take_one_group():
    rng = np.random.default_rng(0)
    for _ in range(5):
        support, known = draw_enrolled(rng, LABELS, wanted_of(3, 4), 2, GROUPS)
        assert support.shape == (2, 3) and known.shape == (8,)
        assert len(np.unique(GROUPS[np.append(support, known)])) == 1
        assert not set(support.ravel()) & set(known)
        assert set(LABELS[known]) == set(LABELS[support[:, 0]])


def test_groups_that_are_too_small_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no group has 4 classes with 7 ex"):
        draw_enrolled(rng, LABELS, wanted_of(3, 4), 4, GROUPS)
