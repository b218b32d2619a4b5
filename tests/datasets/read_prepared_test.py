import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.datasets.read_prepared import read_split


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, 2**40 + 1])
def test_labels_do_not_wrap(tmp_path, largest):
    x = np.eye(3, dtype="float32")
    labels = np.array([5, largest, 5], "int64")
    builder = tfds.dataset_builders.TfDataBuilder(
        name="large_ids",
        version="1.0.0",
        data_dir=tmp_path,
        split_datasets={
            "train": tf.data.Dataset.from_tensor_slices(
                {"image": x, "label": labels}
            )
        },
        features=tfds.features.FeaturesDict(
            {
                "image": tfds.features.Tensor(shape=(3,), dtype=np.float32),
                "label": tfds.features.Scalar(dtype=np.int64),
            }
        ),
    )
    builder.download_and_prepare()
    if largest < 2**31:
        found_x, found = read_split(tfds, builder, "train", None)
        assert found.dtype == np.int32
        order = np.argsort(found_x.argmax(1))
        np.testing.assert_array_equal(found[order], labels)
    else:
        with pytest.raises(ValueError, match=f"32 bits; .* to {largest}"):
            read_split(tfds, builder, "train", None)
