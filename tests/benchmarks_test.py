"""Printed numbers are those of the result files, and comparisons are fair."""

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import cross_validation_table
from benchmarks import f_statistic_loss
from benchmarks import n_digit_table
from benchmarks import search_table
from benchmarks import verification_table
from embeddings_tf import losses


@pytest.mark.parametrize(
    ("module", "found"),
    [
        (n_digit_table, n_digit_table.runs),
        (cross_validation_table, cross_validation_table.load),
        (verification_table, verification_table.load),
    ],
)
def test_the_recipes_tables_are_generated_from_the_result_files(module, found):
    text = n_digit_table.README.read_text()
    between = text.partition(module.BEGIN)[2].partition(module.END)[0]
    assert between.strip() == module.table(found()).strip()


def test_the_tables_of_searches_are_generated_from_the_result_files():
    text = search_table.PAGE.read_text()
    between = text.partition(search_table.BEGIN)[2]
    between = between.partition(search_table.END)[0]
    assert between.strip() == search_table.table(search_table.load()).strip()


def test_pair_by_pair_is_the_f_statistic_loss():
    labels = tf.constant(np.random.default_rng(0).permutation(30) % 4)
    z = tf.constant(np.random.default_rng(1).normal(size=(30, 6)), tf.float32)
    results = []
    for function in (
        f_statistic_loss.pair_by_pair,
        lambda *arguments: losses.f_statistic_loss(*arguments)[0],
    ):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.function(function)(labels, z, 2)
        results.append((value, tape.gradient(value, z)))
    (theirs, their_gradient), (ours, our_gradient) = results
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    np.testing.assert_allclose(
        our_gradient, their_gradient, rtol=1e-3, atol=1e-5
    )
