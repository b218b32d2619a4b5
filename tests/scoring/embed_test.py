import keras
import numpy as np
import pytest

from embeddings_tf.datasets import Images
from embeddings_tf.datasets import Utterances
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import NearestNeighbors
from embeddings_tf.scoring import Verifier
from embeddings_tf.scoring import embed

X = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")


def test_batches_give_the_same_embeddings():
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    kernel, bias = encoder.get_weights()
    done = []
    found = embed(encoder, X, batch_size=3, progress=done.append)
    np.testing.assert_allclose(found, X @ kernel + bias, rtol=1e-5, atol=1e-6)
    assert done == [3, 3, 1]


def test_images_are_read_batch_by_batch():
    pictures = [np.full((2, 2, 1), n, "uint8") for n in range(5)]
    encoder = keras.Sequential([keras.Input((2, 2, 1)), keras.layers.Flatten()])
    found = embed(encoder, Images(pictures.__getitem__, 5), batch_size=2)
    np.testing.assert_array_equal(
        found, np.repeat(np.arange(5), 4).reshape(5, 4)
    )


def test_utterances_are_embedded_at_full_length():
    lengths = [4, 2, 5]
    frames = np.random.default_rng(0).normal(size=(11, 3)).astype("float32")
    encoder = keras.Sequential(
        [keras.Input((None, 3)), keras.layers.GlobalAveragePooling1D()]
    )
    found = embed(encoder, Utterances(frames, lengths))
    parts = np.split(frames, np.cumsum(lengths)[:-1])
    np.testing.assert_allclose(
        found, [part.mean(axis=0) for part in parts], rtol=1e-5
    )


def test_refusals():
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="at least one input"):
        embed(encoder, X[:0])
    with pytest.raises(ValueError, match="Input 5 is not finite"):
        embed(encoder, np.where(np.arange(7)[:, None] == 5, np.nan, X))
    with pytest.raises(ValueError, match="shape of the model's inputs"):
        embed(encoder, X[:, :2])
    encoder = keras.Sequential([keras.Input((2, 3)), keras.layers.Flatten()])
    with pytest.raises(ValueError, match=r"inputs, \(None, 2, 3\); recei"):
        embed(encoder, Utterances(np.arange(9), [4, 5]))


class Returns(keras.Model):
    """A model whose outputs are known when it is called."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs_of = outputs

    def call(self, x):
        return self.outputs_of(x)


ALONE = r"Use `keras.Model\(inputs, embeddings\)`"
ONE_AXIS = r"End the model with keras.layers.Flatten\(\)"


@pytest.mark.parametrize("subclassed", [False, True])
@pytest.mark.parametrize(
    ("outputs", "received"),
    [
        (lambda x: [x, x], f"list of 2. {ALONE}"),
        (lambda x: {"a": x, "b": x}, f"a dictionary with 'a', 'b'. {ALONE}"),
        (lambda x: x[:, None], rf"one of shape \(7, 1, 3\). {ONE_AXIS}"),
        (lambda x: x[:, 0], rf"one of shape \(7,\). {ONE_AXIS}"),
    ],
)
def test_models_that_return_no_matrix(outputs, received, subclassed):
    x = keras.Input((3,))
    model = keras.Model(x, outputs(keras.layers.Identity()(x)))
    if subclassed:
        model = Returns(outputs)
    labels = np.arange(7) % 2
    for use in (
        lambda: embed(model, X),
        lambda: Gallery(model).enroll(X, labels),
        lambda: NearestNeighbors(model).fit(X, labels),
        lambda: FewShotClassifier(model).fit(X, labels),
        lambda: Verifier(model).fit(X, labels, 0.1),
    ):
        with pytest.raises(ValueError, match=f"return one tensor.*{received}"):
            use()


def test_a_list_of_one_output():
    x = keras.Input((3,))
    found = embed(keras.Model(x, [keras.layers.Identity()(x)]), X)
    np.testing.assert_array_equal(found, X)
    for outputs in (lambda x: [x], lambda x: (x,)):
        with pytest.raises(ValueError, match=f"received .* of 1. {ALONE}"):
            embed(Returns(outputs), X)


def test_a_model_of_utterances_that_returns_frames():
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.Identity()])
    with pytest.raises(ValueError, match=r"received one of shape \(1, 4, 3\)"):
        embed(model, Utterances(np.ones((9, 3), "float32"), [4, 5]))


def test_one_row_per_input_under_a_strategy(strategy):
    """Where every replica embeds the whole batch."""
    with strategy.scope():
        encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    kernel, bias = encoder.get_weights()
    found = embed(encoder, X, batch_size=3)
    np.testing.assert_allclose(found, X @ kernel + bias, rtol=1e-5, atol=1e-6)


def test_negative_variances_of_utterances_are_refused():
    frames = np.array([[1.0, 2], [3, 4], [5, -6]], "float32")
    encoder = keras.Sequential(
        [keras.Input((None, 2)), keras.layers.GlobalAveragePooling1D()]
    )
    encoder.gaussian = True
    with pytest.raises(ValueError, match="input 1 has the .* variance -6;"):
        embed(encoder, Utterances(frames, [2, 1]))
