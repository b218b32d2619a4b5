import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.sampling import episodes
from tests.sampling.labels import shuffled_labels
from tests.sampling.labels import take


def test_supports_come_before_queries():
    """The same draws as a batch of support + query instances per class."""
    labels = shuffled_labels()
    dataset = episodes(labels, 4, 2, 3, seed=9)
    assert dataset.element_spec == tf.TensorSpec((20,), tf.int32)
    for indices in take(dataset, 10):
        assert len(set(indices)) == 20
        rows = indices.reshape(4, 5)
        support, query = rows[:, :2], rows[:, 2:]
        assert (labels[support] == labels[rows[:, :1]]).all()
        assert (labels[query] == labels[rows[:, :1]]).all()


def test_an_instance_is_as_often_support_as_chance_says():
    labels = np.arange(20) % 2
    counted = np.zeros(20)
    for indices in take(episodes(labels, 2, 3, 2, seed=0), 1000):
        counted[indices.reshape(2, 5)[:, :3].ravel()] += 1
    assert stats.chisquare(counted).pvalue > 1e-3


def test_too_few_instances():
    with pytest.raises(
        ValueError,
        match=r"at least 6 instances "
        r"\(num_support \+ num_query = 1 \+ 5\)",
    ):
        episodes(np.repeat([7, 8], [5, 6]), 2, 1, 5, seed=0)
