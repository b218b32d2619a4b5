"""Names of inputs that an export refuses, before it writes anything."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import export_saved_model
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import SoftContrastive


def encoder(name="x"):
    return keras.Sequential(
        [keras.Input((3,), name=name), keras.layers.Dense(2)]
    )


def sum_of(*names):
    """Adds inputs of these names."""
    return tf.function(
        lambda *inputs: tf.add_n(inputs),
        input_signature=[
            tf.TensorSpec((None, 3), tf.float32, name) for name in names
        ],
    )


BAD = ["my image", "bild_ü", "a:0", "a\\b", "_a", "-a", "self", "class", "None"]


@pytest.mark.parametrize("name", BAD)
def test_names_that_tensorflow_refuses(name, tmp_path):
    message = "name of an input of the export must start with a letter"
    with pytest.raises(ValueError, match=message) as info:
        export_saved_model(encoder(name), tmp_path)
    assert f"received {name!r}" in str(info.value)
    with pytest.raises(ValueError, match=message):
        export_saved_model(encoder(), tmp_path, preprocessing=sum_of(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.b", "a-b", "0abc", "a>b"])
def test_names_that_it_accepts(name, tmp_path):
    model = encoder(name)
    served = tf.saved_model.load(export_saved_model(model, tmp_path))
    x = np.ones((1, 3), "float32")
    found = served.signatures["serving_default"](tf.constant(x))["embedding"]
    np.testing.assert_allclose(found, model(x), rtol=1e-6)


@pytest.mark.parametrize(
    "names", [("x", "x"), ("x", "X"), ("a.b", "a_b"), ("y", "x", "x")]
)
def test_two_inputs_of_one_name(names, tmp_path):
    with pytest.raises(ValueError, match="must have different names"):
        export_saved_model(encoder(), tmp_path, preprocessing=sum_of(*names))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["labels", "Labels"])
def test_an_input_named_like_the_class_ids(name, tmp_path):
    """With its prefix it is `support_labels`, if there is `classify`."""
    preprocessing = sum_of("x", name)
    model = EmbeddingModel(encoder(), SoftContrastive())
    with pytest.raises(ValueError, match="must have different names"):
        export_saved_model(model, tmp_path, preprocessing=preprocessing)
    assert not list(tmp_path.iterdir())
