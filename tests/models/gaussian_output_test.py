import functools

import keras
import numpy as np
import pytest

from embeddings_tf import models
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.objectives import StochasticPrototypes


class Subclassed(keras.Model):
    def __init__(self, head):
        super().__init__()
        self.flatten = keras.layers.Flatten()
        self.head = head

    def call(self, inputs):
        return self.head(self.flatten(inputs))


def functional(head):
    inputs = keras.Input((3,))
    # The head is made first but is the last layer.
    return keras.Model(inputs, head(keras.layers.Dense(4)(inputs)))


def sequential(head):
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), head])


def unbuilt(head):
    return keras.Sequential([keras.layers.Dense(4), head])


def nested(head):
    inputs = keras.Input((3,))
    inner = functional(head)
    return sequential(keras.Model(inputs, sequential(inner)(inputs)))


def embedding_model(head):
    return EmbeddingModel(functional(head), StochasticPrototypes(1))


WRAPPERS = [functional, sequential, unbuilt, Subclassed, embedding_model]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_has_gaussian_output(wrap):
    assert has_gaussian_output(wrap(GaussianEmbedding(2)))


@pytest.mark.parametrize("wrap", [functional, sequential, unbuilt, Subclassed])
def test_point(wrap):
    assert not has_gaussian_output(wrap(keras.layers.Dense(4)))


def test_nested():
    def block(head):
        inputs = keras.Input((4,))
        return keras.Model(inputs, head(inputs))

    for head, expected in (
        (GaussianEmbedding(2), True),
        (keras.layers.Dense(4), False),
    ):
        model = sequential(block(keras.Sequential([block(head)])))
        assert has_gaussian_output(model) == expected
        assert has_gaussian_output(Subclassed(model)) == expected


def test_not_where_something_follows():
    model = keras.Sequential(
        [keras.Input((3,)), GaussianEmbedding(2), keras.layers.Dense(2)]
    )
    assert not has_gaussian_output(model)


def test_not_where_an_operation_follows():
    inputs = keras.Input((3,))
    packed = GaussianEmbedding(2)(inputs)
    assert has_gaussian_output(keras.Model(inputs, packed))
    mean = keras.ops.split(packed, 2, axis=-1)[0]
    assert not has_gaussian_output(keras.Model(inputs, mean))
    assert not has_gaussian_output(keras.Model(inputs, packed[:, :2]))


def test_single_layers():
    assert has_gaussian_output(GaussianEmbedding(2))
    assert not has_gaussian_output(keras.layers.Dense(2))
    assert not has_gaussian_output(keras.Sequential())


@pytest.mark.parametrize("gaussian", [True, False])
def test_n_digit_encoder(gaussian):
    encoder = n_digit_encoder(2, gaussian=gaussian, image_shape=(8, 16, 1))
    assert has_gaussian_output(encoder) == gaussian


def test_gaussian_argument_for_unknown_last_layers():
    encoder = keras.Sequential(
        [
            keras.Input((3,)),
            GaussianEmbedding(2),
            keras.layers.Activation("linear"),
        ]
    )
    model = EmbeddingModel(encoder, StochasticPrototypes(2), gaussian=True)
    assert has_gaussian_output(model)


class Net(keras.Model):
    """Has an attribute `encoder`, which is not what the model returns."""

    def __init__(self, encoder, head):
        super().__init__()
        self.encoder = encoder
        self.head = head

    def call(self, inputs):
        return self.head(self.encoder(inputs))


def net_of_points():
    return Net(GaussianEmbedding(3), keras.layers.Dense(4))


def net_of_gaussians():
    return Net(keras.layers.Dense(4), GaussianEmbedding(2))


@pytest.mark.parametrize("is_built", [False, True])
def test_attribute_encoder_of_an_own_class_is_not_its_output(is_built):
    for make, expected in ((net_of_points, False), (net_of_gaussians, True)):
        model = make()
        if is_built:
            model(np.ones((1, 6), "float32"))
        assert has_gaussian_output(model) is expected
        assert has_gaussian_output(keras.Sequential([model])) is expected
        inputs = keras.Input((6,))
        functional_model = keras.Model(inputs, make()(inputs))
        assert has_gaussian_output(functional_model) is expected


def test_embedding_model_of_an_own_class():
    """A wrong answer trains to NaN, or on variances as coordinates."""
    with pytest.raises(ValueError, match="reads Gaussians"):
        EmbeddingModel(net_of_points(), StochasticPrototypes(2))
    assert not EmbeddingModel(net_of_points(), TripletLoss()).gaussian
    model = net_of_gaussians()
    assert EmbeddingModel(model, StochasticPrototypes(2)).gaussian
    with pytest.raises(ValueError, match="compares points"):
        EmbeddingModel(model, TripletLoss())


def test_an_attribute_says_what_an_own_call_returns():
    """Here the layer that is made last is not the last one of `call`."""

    class Swapped(Net):
        def __init__(self, encoder, head):
            super().__init__(encoder, head)
            self.middle = keras.layers.Dense(5)

        def call(self, inputs):
            return self.head(self.middle(self.encoder(inputs)))

    model = Swapped(keras.layers.Dense(4), GaussianEmbedding(2))
    model.gaussian = True
    assert has_gaussian_output(model)
    assert EmbeddingModel(model, StochasticPrototypes(2)).gaussian


@pytest.mark.parametrize("model", [None, 3, "text", keras.Model], ids=repr)
def test_no_model(model):
    with pytest.raises(ValueError, match="`model` must be a Keras model"):
        has_gaussian_output(model)


@pytest.mark.parametrize(
    "make",
    [
        functools.partial(models.n_digit_encoder, 2),
        functools.partial(models.sprites_encoder, 2),
        functools.partial(models.features_encoder, 2, num_features=3),
        functools.partial(models.x_vector_encoder, 2),
        functools.partial(models.image_encoder, 2, image_shape=(8, 8, 1)),
    ],
)
def test_a_variance_of_points_is_refused(make):
    """It would have no effect."""
    with pytest.raises(ValueError, match="`initial_variance` is the variance"):
        make(gaussian=False, initial_variance=0.05)
