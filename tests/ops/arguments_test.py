import numpy as np
import pytest

from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer


@pytest.mark.parametrize("value", [1, 7, np.int64(7), np.uint8(7)])
def test_positive_integer(value):
    number = positive_integer("dim", value)
    assert number == value
    assert type(number) is int


@pytest.mark.parametrize(
    "value", [0, -1, 2.0, np.float32(2), "2", None, True, [1]]
)
def test_not_a_positive_integer(value):
    with pytest.raises(ValueError, match="`dim` must be an integer") as caught:
        positive_integer("dim", value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [0, 1, 2.5, np.float32(3)])
def test_number_at_least(value):
    number = number_at_least("margin", value, 0)
    assert number == value
    assert type(number) is float


@pytest.mark.parametrize(
    "value", [-1e-9, float("nan"), float("inf"), "1", None, True, [1.0], 1j]
)
def test_not_a_number_at_least(value):
    with pytest.raises(ValueError, match="`margin` must be a finite number"):
        number_at_least("margin", value, 0)


def test_one_of():
    assert one_of("sampler", "naive", ("intersection", "naive")) == "naive"
    with pytest.raises(
        ValueError,
        match="`sampler` must be one of 'intersection', 'naive'; received None",
    ):
        one_of("sampler", None, ("intersection", "naive"))
