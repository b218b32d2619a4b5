"""Callbacks of embeddings refuse models and inputs that they cannot read."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf.losses import TripletLoss

X = np.random.default_rng(0).normal(size=(20, 6)).astype("float32")
LABELS = np.arange(20) % 4
OF_BATCH = callbacks.TrainingDiagnostics
OF_HELD_OUT = (
    callbacks.EmbeddingEvaluation,
    callbacks.EmbeddingDiagnostics,
    callbacks.EmbeddingProjector,
    callbacks.EmbeddingPictures,
)


def make(kind, folder, x=X):
    needs_folder = "log_dir" in kind.__init__.__code__.co_varnames
    return kind(x, LABELS, *[folder] * needs_folder)


def functional(outputs: str) -> keras.Model:
    x = keras.Input((6,))
    embeddings = keras.layers.Dense(2, name="emb")(x)
    logits = keras.layers.Dense(4, name="cls")(x)
    return keras.Model(
        x,
        {
            "named": {"emb": embeddings, "cls": logits},
            "one name": {"emb": embeddings},
            "list": [embeddings, logits],
        }[outputs],
    )


class Subclass(keras.Model):
    """Its outputs are unknown before it is called."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        embeddings = self.dense(x)
        return {"emb": embeddings, "cls": embeddings}


def loss_of(labels, output):
    return tf.reduce_sum(output, axis=-1)


def like(model, value):
    """`value` for every output of the model."""
    return keras.tree.map_structure(lambda _: value, model(X[:1]))


@pytest.mark.parametrize(
    ("outputs", "received"),
    [
        ("named", "a dictionary with 'emb', 'cls'"),
        ("one name", "a dictionary with 'emb'"),
        ("list", "list of 2"),
    ],
)
@pytest.mark.parametrize("kind", [OF_BATCH, *OF_HELD_OUT])
def test_several_outputs_are_refused_before_training(
    kind, outputs, received, tmp_path
):
    model = functional(outputs)
    model.compile("sgd", like(model, loss_of))
    before = model.get_weights()
    message = rf"must return one tensor.*; received {received}\. Use `keras.M"
    with pytest.raises(ValueError, match=message):
        model.fit(
            X,
            like(model, LABELS),
            verbose=0,
            callbacks=[make(kind, tmp_path)],
        )
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [OF_BATCH, *OF_HELD_OUT])
def test_outputs_of_a_subclass(kind, tmp_path):
    model = Subclass()
    model.compile("sgd", like(model, loss_of))
    with pytest.raises(ValueError, match="received a dictionary with 'emb'"):
        model.fit(
            X,
            like(model, LABELS),
            verbose=0,
            callbacks=[make(kind, tmp_path)],
        )


@pytest.mark.parametrize(
    ("x", "received"),
    [
        (tf.data.Dataset.from_tensor_slices(X), "_TensorSliceDataset"),
        ({"a": X, "b": X}, "dict"),
        ([X, X], "list"),
        (X.tolist(), "list"),
        (set(range(20)), "set"),
    ],
)
@pytest.mark.parametrize("kind", OF_HELD_OUT)
def test_inputs_without_batches_as_slices(kind, x, received, tmp_path):
    message = f"`x` must have batches as its slices.*received {received}"
    with pytest.raises(ValueError, match=message):
        make(kind, tmp_path, x)


def test_a_dataset_is_no_batch(tmp_path):
    x = tf.data.Dataset.from_tensor_slices(X)
    with pytest.raises(ValueError, match="`x` must have batches as its slices"):
        make(OF_BATCH, tmp_path, x)


class TwoInputs:
    """Two inputs, with the slices that the error asks for."""

    def __len__(self):
        return len(X)

    def __getitem__(self, rows):
        return {"a": X[rows], "b": X[rows]}


def test_two_inputs_in_slices():
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    model = keras.Model({"a": a, "b": b}, keras.layers.Dense(2)(a + b))
    model.compile("sgd", TripletLoss())
    held_out = callbacks.EmbeddingEvaluation(TwoInputs(), LABELS, batch_size=8)
    model.fit(
        {"a": X, "b": X}, LABELS, batch_size=20, verbose=0, callbacks=[held_out]
    )
    kernel, bias = model.layers[-1].get_weights()
    np.testing.assert_allclose(
        held_out.embeddings, 2 * X @ kernel + bias, rtol=1e-4, atol=1e-5
    )
