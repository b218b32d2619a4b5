import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.datasets.read_prepared import read_prepared


def prepared(tmp_path, examples, features):
    builder = tfds.dataset_builders.TfDataBuilder(
        name="fabricated",
        version="1.0.0",
        data_dir=tmp_path,
        split_datasets={"train": tf.data.Dataset.from_tensor_slices(examples)},
        features=tfds.features.FeaturesDict(features),
    )
    builder.download_and_prepare()
    return builder


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, 2**40 + 1])
def test_labels_do_not_wrap(tmp_path, largest):
    x = np.eye(3, dtype="float32")
    labels = np.array([5, largest, 5], "int64")
    builder = prepared(
        tmp_path,
        {"image": x, "label": labels},
        {
            "image": tfds.features.Tensor(shape=(3,), dtype=np.float32),
            "label": tfds.features.Scalar(dtype=np.int64),
        },
    )
    if largest < 2**31:
        found_x, found = read_prepared(tfds, builder, "train", None)
        assert found.dtype == np.int32
        order = np.argsort(found_x.argmax(1))
        np.testing.assert_array_equal(found[order], labels)
    else:
        with pytest.raises(ValueError, match=f"32 bits; .* to {largest}"):
            read_prepared(tfds, builder, "train", None)


IMAGES = np.arange(24, dtype="uint8").reshape(2, 2, 2, 3)
IMAGE = tfds.features.Image(shape=(2, 2, 3))


def test_an_image_declared_as_the_label_is_the_example(tmp_path, monkeypatch):
    """As in the set `lfw`."""
    builder = prepared(
        tmp_path,
        {"image": IMAGES, "label": ["ann", "bob"]},
        {"image": IMAGE, "label": tfds.features.Text()},
    )
    keys = "label", "image"
    monkeypatch.setattr(type(builder.info), "supervised_keys", keys)
    x, labels = read_prepared(tfds, builder, "train", None)
    order = np.argsort(labels)
    np.testing.assert_array_equal(x[order], IMAGES)
    assert labels[order].tolist() == ["ann", "bob"]


@pytest.mark.parametrize(
    ("examples", "features", "message"),
    [
        (
            {"image": IMAGES, "label": np.array([0.2, 0.7], "float32")},
            {"image": IMAGE, "label": tfds.features.Scalar(np.float32)},
            "the label 'label' of shape .* and type .*float32",
        ),
        (
            {"image": IMAGES, "label": np.array([[1, 2], [3, 4]])},
            {
                "image": IMAGE,
                "label": tfds.features.Tensor(shape=(None,), dtype=np.int64),
            },
            r"the label 'label' of shape \(None,\)",
        ),
        (
            {"image": ["good", "bad"], "label": np.array([0, 1])},
            {
                "image": tfds.features.Text(),
                "label": tfds.features.Scalar(np.int64),
            },
            "has examples of text",
        ),
    ],
)
def test_labels_and_examples_of_other_kinds_are_refused(
    tmp_path, examples, features, message
):
    builder = prepared(tmp_path, examples, features)
    with pytest.raises(ValueError, match=message):
        read_prepared(tfds, builder, "train", None)
