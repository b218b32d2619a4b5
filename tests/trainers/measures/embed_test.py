import keras
import numpy as np
import pytest

from embeddings_tf.datasets import Utterances
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes
from trainers.config import load_recipe
from trainers.measures import embed as embed_module
from trainers.measures.embed import embed
from trainers.measures.embed import embed_points
from trainers.measures.embed import head_uncertainty
from trainers.measures.validation import PointValidation
from trainers.training.model import build_model

X = np.random.default_rng(0).normal(size=(9, 3)).astype("float32")


def gaussian_model():
    encoder = keras.Sequential([keras.Input((3,)), GaussianEmbedding(2)])
    return EmbeddingModel(encoder, StochasticPrototypes(1))


def test_points_of_gaussians_are_their_means():
    model = gaussian_model()
    packed = embed(model, X)
    assert packed.shape == (9, 4)
    np.testing.assert_array_equal(embed_points(model, X), packed[:, :2])


def test_points_stay():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])
    np.testing.assert_array_equal(embed_points(model, X), embed(model, X))


def test_measures_of_held_out_data_read_means():
    widths, model = [], gaussian_model()

    def width(embeddings, labels):
        widths.append(embeddings.shape[1])
        return 0.0

    held_out = PointValidation(X, np.arange(9), {"width": width})
    held_out.set_model(model)
    held_out.on_epoch_end(0, {})
    assert widths == [2]


@pytest.mark.parametrize("metrics", [{"one": lambda e, y: 1.0}, {}])
@pytest.mark.parametrize("dim", [2, 3])
def test_variances_of_held_out_data_are_those_of_the_model(dim, metrics):
    encoder = keras.Sequential([keras.Input((3,)), GaussianEmbedding(dim)])
    model = EmbeddingModel(encoder, StochasticPrototypes(1))
    held_out = PointValidation(X, np.arange(9) // 2, metrics)
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    packed = model.predict(X, verbose=0)
    assert packed.shape == (9, 2 * dim)
    np.testing.assert_allclose(held_out.embeddings, packed, rtol=1e-6)
    mean, variance = packed[:, :dim], packed[:, dim:]
    own, between = variance.sum(axis=1), mean.var(axis=0).sum()
    share = own.mean() / (own.mean() + between)
    variation = own.std() / own.mean()
    assert logs["val_variance_share"] == pytest.approx(share, rel=1e-5)
    assert logs["val_variance_variation"] == pytest.approx(variation, rel=1e-4)


@pytest.mark.parametrize("piece_size", [0, 4])
def test_a_recipe_whose_loss_does_not_fit_its_encoder(piece_size):
    """Reported when the model is built, before any data is read."""
    run = load_recipe(
        "n_digit_2_dim_2_contrastive",
        ["encoder.gaussian=True", f"piece_size={piece_size}"],
    )
    with pytest.raises(ValueError, match="ContrastiveLoss compares points"):
        build_model(run)


def headed(*shape):
    """A model with a head, of inputs `(..., *shape)`."""
    x = keras.Input(shape)
    z = keras.layers.Dense(4, activation="relu")(x)
    if len(shape) > 1:
        z = keras.layers.GlobalAveragePooling1D()(z)
    z = keras.layers.Dense(2)(z)
    model = EmbeddingModel(
        keras.Model(x, z), TripletLoss(), uncertainty=UncertaintyHead()
    )
    model(np.zeros((1, *(n or 1 for n in shape)), "float32"))
    return model


def test_the_uncertainty_of_a_head():
    x = np.random.default_rng(1).normal(size=(300, 3)).astype("float32")
    model = headed(3)
    expected = model.embed_with_uncertainty(x)[1]
    for shown in (True, False):
        found = head_uncertainty(model, x, shown)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert head_uncertainty(gaussian_model(), x) is None


def test_the_head_names_the_example_that_is_not_finite():
    x = np.zeros((300, 3), "float32")
    x[299, 1] = np.nan
    with pytest.raises(ValueError, match="Input 299 is not finite"):
        head_uncertainty(headed(3), x)
    x[150:] = 1e38  # the sum over the frames overflows
    x = Utterances(x, lengths=[100, 50, 150])
    with pytest.raises(ValueError, match="uncertainty of input 2 is not fin"):
        head_uncertainty(headed(None, 3), x)


def test_embedding_shows_its_progress_except_during_training(monkeypatch):
    made = []

    class Recorded(embed_module.Progress):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(embed_module, "Progress", Recorded)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    x = np.zeros((300, 2), "float32")
    embed(model, x)
    (progress,) = made
    assert progress.total == progress.done == 300
    head_uncertainty(headed(2), x)
    assert [found.done for found in made] == [300, 300]
    made.pop()
    head_uncertainty(headed(2), x, shown=False)
    held_out = PointValidation(x, np.arange(300) // 2, {})
    held_out.set_model(model)
    held_out.embed()
    assert len(made) == 1
