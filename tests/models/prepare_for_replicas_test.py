"""Batch normalisation and noise of encoders on two replicas."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import embeddings_tf
from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import LearnedDistance


def replica_values(strategy, function):
    values = strategy.run(tf.function(function))
    return [v.numpy() for v in strategy.experimental_local_results(values)]


def test_only_the_first_replica_drops_the_units_of_one_replica(
    strategy,
):
    x = tf.ones((4, 50))

    def encoder():
        return keras.Sequential(
            [keras.Input((50,)), keras.layers.Dropout(0.5, seed=7)]
        )

    with strategy.scope():
        prepared = embeddings_tf.models.prepare_for_replicas(encoder())
    first, second = replica_values(strategy, lambda: prepared(x, training=True))
    assert np.any(first != second)
    alone = encoder()(x, training=True)
    np.testing.assert_array_equal(first, alone)
    # The state advances on all replicas: the next draw differs.
    again, _ = replica_values(strategy, lambda: prepared(x, training=True))
    assert np.any(again != first)


def test_replicas_mirror_other_images(strategy):
    images = tf.random.stateless_uniform((64, 1, 2, 1), (0, 1))
    with strategy.scope():
        prepared = embeddings_tf.models.prepare_for_replicas(
            keras.Sequential(
                [
                    keras.Input((1, 2, 1)),
                    keras.layers.RandomFlip("horizontal", seed=7),
                ]
            )
        )
    first, second = replica_values(
        strategy, lambda: prepared(images, training=True)
    )
    mirrored = [
        (x == images.numpy()[:, :, ::-1]).all(axis=(1, 2, 3))
        for x in (first, second)
    ]
    assert all(0 < rows.mean() < 1 for rows in mirrored)
    assert np.any(mirrored[0] != mirrored[1])


def test_noise_of_the_objective_stays_the_same_everywhere(strategy):
    with strategy.scope():
        distance = embeddings_tf.layers.PairDistance((8,), dropout=0.5)
        model = embeddings_tf.models.EmbeddingModel(
            keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5)]),
            embeddings_tf.objectives.LearnedDistance(distance),
        )
    x = tf.reshape(tf.range(12.0), (4, 3))
    first, second = replica_values(
        strategy, lambda: distance.all_pairs(x, x, training=True)
    )
    np.testing.assert_array_equal(first, second)
    first, second = replica_values(strategy, lambda: model(x, training=True))
    assert np.any(first != second)


def learned_distance(**arguments):
    """A dropout of each part is the only noise."""
    arguments = {"label_smoothing": 0.0, "seed": 3, **arguments}
    return LearnedDistance(PairDistance((8,), dropout=0.5, seed=4), **arguments)


def with_projection():
    return learned_distance(
        num_classes=2,
        auxiliary="softmax",
        projection=keras.Sequential([keras.layers.Dropout(0.5, seed=7)]),
    )


def values_of_equal_rows(strategy, make):
    """The objective's values on replicas with the same labels and rows."""
    labels = tf.constant([0, 1, 0, 1])
    z = tf.random.stateless_normal((4, 50), [1, 2])
    with strategy.scope():
        encoder = keras.Sequential([keras.Input((50,))])
        model = EmbeddingModel(encoder, make())
    values = strategy.run(lambda: model.objective(labels, z, training=True))
    return [v.numpy() for v in strategy.experimental_local_results(values)]


@pytest.mark.slow
def test_a_projection_drops_other_units_on_each_replica(strategy):
    """Each replica projects its own rows, and the rows here are equal."""
    first, second = values_of_equal_rows(strategy, with_projection)
    assert np.all(first != second)
    # Pairs of the gathered batch have the same noise.
    first, second = values_of_equal_rows(strategy, learned_distance)
    np.testing.assert_array_equal(first, second)


def test_one_replica_is_left_as_it_is():
    encoder = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
        ]
    )
    embeddings_tf.models.prepare_for_replicas(encoder)
    assert not encoder.layers[0].synchronized
    generator = encoder.layers[1].seed_generator
    assert type(generator) is keras.random.SeedGenerator


def normalized_dense():
    return embeddings_tf.models.prepare_for_replicas(
        keras.Sequential(
            [
                keras.Input((20, 4)),
                keras.layers.Dense(3),
                keras.layers.BatchNormalization(),
                keras.layers.GlobalAveragePooling1D(),
            ]
        )
    )


def x_vector():
    return embeddings_tf.models.x_vector_encoder(
        5, num_coefficients=4, channels=(4, 4, 4, 4, 6)
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [normalized_dense, x_vector])
def test_batch_normalisation_is_of_the_global_batch(strategy, encoder):
    """Equal weights and moving statistics after a step on uneven pieces."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 20, 4)).astype("float32")
    x[:3, 12:] = 0  # padding, on the first replica alone
    labels = np.arange(9) % 3
    models = [encoder()]
    with strategy.scope():
        models.append(encoder())
        models[1].set_weights(models[0].get_weights())
    before = models[0].get_weights()
    for model in models:
        with model.distribute_strategy.scope():
            model.compile(
                keras.optimizers.SGD(0.1),
                loss=embeddings_tf.losses.ContrastiveLoss(),
            )
        model.fit(
            # The first batch is even, as Keras requires.
            tf.data.Dataset.from_tensor_slices((x[:8], labels[:8]))
            .batch(8)
            .concatenate(tf.data.Dataset.from_tensors((x, labels))),
            verbose=0,
        )
    one, two = (model.get_weights() for model in models)
    for start, a, b in zip(before, one, two, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
        assert np.any(a != start)
