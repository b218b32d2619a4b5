import itertools

import keras
import numpy as np
import pytest

from embeddings_tf.callbacks import EmbeddingDiagnostics
from embeddings_tf.callbacks.embedding_measures import effective_rank
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import ContrastiveLoss
from embeddings_tf.losses import HistogramLoss
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes

LABELS = np.arange(18) % 3
GENERAL = {
    "val_distance_within",
    "val_distance_between",
    "val_norm",
    "val_effective_rank",
}


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return (np.eye(3)[LABELS] + rng.normal(size=(18, 3))).astype("float32")


def logs_of(loss, x):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Identity()])
    model.compile("adam", loss=loss)
    callback = EmbeddingDiagnostics(x, LABELS, batch_size=5)
    callback.set_model(model)
    logs = {}
    callback.on_epoch_end(0, logs)
    return logs


def test_distances_by_loop():
    x = inputs()
    logs = logs_of(HistogramLoss(), x)
    assert set(logs) == GENERAL | {"val_active_pairs"}
    within, between = [], []
    for i, j in itertools.combinations(range(18), 2):
        side = within if LABELS[i] == LABELS[j] else between
        side.append(np.linalg.norm(x[i] - x[j]))
    assert logs["val_distance_within"] == pytest.approx(np.mean(within))
    assert logs["val_distance_between"] == pytest.approx(np.mean(between))
    norms = [np.linalg.norm(row) for row in x]
    assert logs["val_norm"] == pytest.approx(np.mean(norms))


def test_effective_rank():
    line = np.outer(np.arange(5.0), [1, 2, 3]) + 7
    assert effective_rank(line) == pytest.approx(1)
    # Equally long in each of three directions.
    cross = np.vstack([np.eye(3), -np.eye(3)])
    assert effective_rank(cross) == pytest.approx(3)
    # Singular values 3 and 1 have shares 3/4 and 1/4.
    cross = np.array([[3, 0], [-3, 0], [0, 1], [0, -1.0]])
    entropy = -(3 * np.log(3 / 4) + np.log(1 / 4)) / 4
    assert effective_rank(cross) == pytest.approx(np.exp(entropy))
    assert effective_rank(np.ones((4, 3))) == 0


@pytest.mark.parametrize("distance", ["squared_l2", "l2", "cosine"])
@pytest.mark.parametrize("mining", ["all", "hard", "semi_hard"])
def test_active_triplets_by_loop(mining, distance):
    x, margin = inputs(), 0.3
    loss = TripletLoss(margin, mining, distance)
    d = np.linalg.norm(x[:, None] - x, axis=-1).astype(float)
    if distance == "squared_l2":
        d = d**2
    if distance == "cosine":
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        d = 1 - unit @ unit.T
    triplets = []
    for a in range(18):
        same = [p for p in range(18) if LABELS[p] == LABELS[a] and p != a]
        others = [n for n in range(18) if LABELS[n] != LABELS[a]]
        if mining == "all":
            triplets += [(a, p, n) for p in same for n in others]
        if mining == "hard":
            farthest = max(same, key=lambda p, a=a: d[a, p])
            triplets.append((a, farthest, min(others, key=lambda n: d[a, n])))
        if mining == "semi_hard":
            for p in same:
                beyond = [n for n in others if d[a, n] > d[a, p]]
                nearest = min(beyond, key=lambda n: d[a, n], default=None)
                if nearest is None:
                    nearest = max(others, key=lambda n: d[a, n])
                triplets.append((a, p, nearest))
    hinges = [margin + d[a, p] - d[a, n] for a, p, n in triplets]
    expected = np.mean(np.array(hinges) > 0)
    logs = logs_of(loss, x)
    assert logs["val_active_triplets"] == pytest.approx(expected)
    assert 0 < expected <= 1


def test_active_negatives_by_loop():
    x = inputs()
    active = [
        np.linalg.norm(x[i] - x[j]) < 1.5
        for i, j in itertools.combinations(range(18), 2)
        if LABELS[i] != LABELS[j]
    ]
    logs = logs_of(ContrastiveLoss(margin=1.5), x)
    assert logs["val_active_negatives"] == pytest.approx(np.mean(active))
    assert 0 < np.mean(active) < 1


@pytest.mark.slow
def test_gaussians_and_learned_parameters():
    encoder = keras.Sequential([keras.Input((3,)), GaussianEmbedding(2)])
    model = EmbeddingModel(encoder, StochasticPrototypes(2))
    model.compile(optimizer="adam")
    callback = EmbeddingDiagnostics(inputs(1), LABELS)
    history = model.fit(
        inputs(), LABELS, batch_size=18, verbose=0, callbacks=[callback]
    ).history
    assert {*GENERAL, "val_variance", "noise_variance"} <= set(history)
    packed = model.predict(inputs(1), verbose=0)
    assert history["val_variance"][0] == pytest.approx(packed[:, 2:].mean())
    assert history["val_norm"][0] == pytest.approx(
        np.linalg.norm(packed[:, :2], axis=1).mean()
    )
    assert history["noise_variance"][0] == pytest.approx(
        float(model.objective.noise_variance)
    )


def test_embeddings_that_are_not_finite():
    x = inputs()
    x[3] = np.nan
    with pytest.raises(ValueError, match="Input 3 is not finite"):
        logs_of(HistogramLoss(), x)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(18, int), "need two classes"),
        (np.arange(18), "no class has two inputs"),
    ],
)
def test_classes_it_cannot_compare(labels, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingDiagnostics(inputs(), labels)
