import numpy as np
import pytest

from embeddings_tf.ops.class_names import class_names


@pytest.mark.parametrize(
    ("labels", "received"),
    [
        ([0.0] * 1000 + [np.inf], "inf of dtype float64"),
        (np.array([1j] * 1000), "1j of dtype complex128"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), "NaT of dtype datetime64"),
    ],
)
def test_the_message_names_one_label(labels, received):
    with pytest.raises(ValueError, match="finite numbers; received") as error:
        class_names(labels)
    assert received in str(error.value) and len(str(error.value)) < 200
