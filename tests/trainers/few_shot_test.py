import keras
import numpy as np
import pytest

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import HedgedInstances
from trainers import few_shot
from trainers.config import load_recipe
from trainers.config import recipe_names

LABELS = np.arange(30) % 5


def rows(seed, width):
    """Positive, so that they serve as variances too; classes overlap."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.1, 2, size=(30, width))
    return (noise + 0.4 * LABELS[:, None]).astype("float32")


def nearest_other(closeness):
    """Share of rows whose closest other row has their label."""
    hits = 0
    for i, row in enumerate(closeness):
        others = [j for j in range(len(row)) if j != i]
        best = max(others, key=lambda j, row=row: row[j])
        hits += LABELS[best] == LABELS[i]
    return hits / len(LABELS)


def identity(width):
    return keras.Sequential([keras.Input((width,)), keras.layers.Identity()])


def test_leave_one_out_of_points():
    gallery, queries = rows(0, 2), rows(1, 2)
    distance = np.linalg.norm(queries[:, None] - gallery, axis=-1)
    expected = nearest_other(-distance)
    accuracy = few_shot.leave_one_out_accuracy(
        identity(2), gallery, queries, LABELS
    )
    assert accuracy == pytest.approx(expected)
    assert 0 < expected < 1


def test_leave_one_out_of_matches():
    """Gaussians so narrow that the noise decides nothing."""
    gallery, queries = rows(0, 4), rows(1, 4)
    for side in (gallery, queries):
        side[:, 2:] = 1e-12
    distance = np.linalg.norm(queries[:, None, :2] - gallery[:, :2], axis=-1)
    model = EmbeddingModel(identity(4), HedgedInstances(2), gaussian=True)
    accuracy = few_shot.leave_one_out_accuracy(model, gallery, queries, LABELS)
    assert accuracy == pytest.approx(nearest_other(-distance))


@pytest.mark.parametrize("digits", [2, 3])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_published_rows_have_recipes(digits, dim):
    for method, section in (
        ("stochastic_prototypes", "objective"),
        ("hedged_instances", "objective"),
        ("prototypical", "loss"),
        ("contrastive", "loss"),
    ):
        name = f"n_digit_{digits}_dim_{dim}_{method}"
        assert name in recipe_names()
        config = load_recipe(name)
        assert config.dataset == f"n_digit/{digits}_number"
        assert config.encoder.dim == dim
        assert section in config
