"""Checks of a loss or objective when compiled or distributed."""

import functools

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import assert_finite
from embeddings_tf.testing.made_up_batches import separable
from embeddings_tf.testing.trainable import Trainable


class GraphChecks(Trainable):
    """Checks that graphs, XLA and two replicas agree with eager execution."""

    def _compiled(self, **options):
        """Returns `evaluate` on a new object as a function of labels and z."""
        labels, z = self.batch()
        loss = self.new()
        if isinstance(loss, keras.layers.Layer):
            loss.build(labels.shape, z.shape)
        evaluate = functools.partial(self.evaluate, loss=loss)
        # Like Keras, without AutoGraph.
        function = tf.function(evaluate, autograph=False, **options)
        return lambda y, z: function(tf.constant(y), tf.constant(z))

    def check_compiled(self):
        labels, z = self.batch()
        expected = self.evaluate(labels, z)
        values, gradients = self._compiled()(labels, z)
        assert_close(values, expected[0], "the value as a tf.function")
        for got, gradient in zip(gradients, expected[1], strict=True):
            assert_close(got, gradient, "the gradient", rtol=1e-4, atol=1e-5)

    def check_xla(self):
        """XLA draws other random numbers; only `quiet` values are compared."""
        labels, z = self.batch()
        expected, _ = self.evaluate(labels, self.quiet(z))
        compiled = self._compiled(jit_compile=True)
        try:
            values, gradients = compiled(labels, z)
        except tf.errors.InvalidArgumentError as error:
            raise AssertionError("does not compile with XLA") from error
        assert_finite([values, *gradients], "not finite with XLA")
        values, _ = compiled(labels, self.quiet(z))
        assert_close(values, expected, "with XLA", rtol=1e-4)

    def check_replicas(self, strategy):
        """Every replica computes the values of the global batch."""
        labels, z = self.batch()
        expected = self.values(labels, z)
        rows = len(labels)
        for first in (rows // 2, rows // 2 + 1, rows):
            with strategy.scope():
                loss = self.new()
                if isinstance(loss, keras.layers.Layer):
                    loss.build(labels.shape, z.shape)
            pieces = [
                strategy.experimental_distribute_values_from_function(
                    lambda context, array=array, cut=cut: tf.constant(
                        np.split(array, [cut])[context.replica_id_in_sync_group]
                    )
                )
                for array, cut in ((labels, first), (z, first))
            ]
            values = strategy.run(loss, args=pieces)
            assert_close(
                tf.concat(strategy.experimental_local_results(values), 0),
                expected,
                f"{first} of {rows} rows on the first replica",
            )

    def check_replicas_fit(self, strategy):
        """Equal losses and weights; the second batch splits unevenly."""
        labels, _ = self.batch()
        rows = len(labels)
        labels = np.concatenate([labels, labels[:-1]])
        x = separable(labels)
        models = [self.model(keras.optimizers.SGD(0.01))]
        with strategy.scope():
            models.append(self.model(keras.optimizers.SGD(0.01)))
        models[0].run_eagerly = True  # faster, since it needs no tracing
        models[1].set_weights(models[0].get_weights())
        before = models[0].get_weights()
        losses = [
            model.fit(
                x, labels, batch_size=rows, shuffle=False, verbose=0
            ).history["loss"]
            for model in models
        ]
        one, two = (model.get_weights() for model in models)
        assert_close(losses[1], losses[0], "the loss differs", atol=1e-5)
        largest = max(
            np.max(np.abs(after - start))
            for start, after in zip(before, one, strict=True)
        )
        assert largest > 1e-3, "training did not change the weights"
        for start, a, b in zip(before, one, two, strict=True):
            assert_close(
                b - start,
                a - start,
                "the update differs",
                atol=min(1e-5, 1e-4 * largest),
            )
