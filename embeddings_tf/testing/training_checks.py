"""Checks that train and save a model."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.models.embedding_model import EmbeddingModel
from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import assert_finite
from embeddings_tf.testing.made_up_batches import separable
from embeddings_tf.testing.trainable import Trainable


class TrainingChecks(Trainable):
    """Training, half precision, steps in pieces, saving."""

    def check_training_lowers_it(self):
        """The mean of three steps is a tenth lower, within 30 steps."""
        model = self.model(keras.optimizers.Adam(0.05))
        losses = []
        for _ in range(10):
            losses += self.train(model, 3)
            assert_finite(losses, "a training loss is not finite")
            first, last = losses[0], np.mean(losses[-3:])
            if last < first - 0.1 * abs(first):
                return
        raise AssertionError(f"loss went from {first} to {last}")

    def check_mixed_precision(self):
        """Half precision in the body; embeddings and loss are float32."""
        labels, _ = self.batch()
        # Not separable; otherwise some losses are 0 and have no gradient.
        x = tf.constant(separable(labels, deviation=1))
        expected = weights = None
        before = keras.config.dtype_policy()
        try:
            for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
                keras.config.set_dtype_policy(policy)
                hidden = keras.layers.Dense(8, activation="tanh")
                model = self.model(keras.optimizers.SGD(0.01), [hidden])
                scaled = isinstance(
                    model.optimizer, keras.optimizers.LossScaleOptimizer
                )
                assert scaled == (policy == "mixed_float16"), policy
                assert hidden.compute_dtype == policy.removeprefix("mixed_")
                if weights is None:
                    weights = model.get_weights()
                model.set_weights(weights)
                self._check_loss_dtype(model, x, labels)
                losses = []
                # The scale of the loss starts high, so steps may be skipped.
                for _ in range(16):
                    losses += self.train(
                        *(model, 1),
                        deviation=1,
                        run_eagerly=policy != "mixed_float16",
                    )
                    after = model.get_weights()
                    moved = any(
                        np.any(a != b)
                        for a, b in zip(weights, after, strict=True)
                    )
                    if moved:
                        break
                assert moved, f"{policy}: every step was skipped"
                assert_finite(losses, f"{policy}: a loss is not finite")
                assert_finite(after, f"{policy}: a weight is not finite")
                if expected is None:
                    expected = losses[0]
                assert_close(
                    losses[0],
                    expected,
                    policy,
                    rtol=0.02,
                    atol=self.half_precision_atol,
                )
        finally:
            keras.config.set_dtype_policy(before)

    def _check_loss_dtype(self, model, x, labels):
        def value(labels):
            # A copy draws the same samples that this model will draw.
            y_pred = model(x)
            assert y_pred.dtype == tf.float32, "embeddings are not float32"
            twin = self.model()
            loss = twin.compute_loss(
                x, tf.constant(labels), y_pred, training=False
            )
            assert loss.dtype == tf.float32, "the loss is not float32"
            return loss

        if "class_ids" not in self.not_applicable:
            # These ids are one class in float16, bfloat16 and float32.
            far = np.array([20_240_101, 20_240_102, 20_240_103])[labels]
            assert_close(value(far), value(labels), "class ids were merged")

    def check_pieces(self):
        """A step in pieces, with a shorter last one, equals a whole step."""
        results, weights = [], None
        for piece_size in (None, 5):
            model = EmbeddingModel(
                self.encoder(keras.layers.Dense(8, activation="tanh")),
                self.make(),
                piece_size=piece_size,
            )
            model.compile(keras.optimizers.SGD(0.1))
            if weights is None:
                weights = model.get_weights()
            model.set_weights(weights)
            losses = self.train(model, 2, deviation=1)
            results.append((losses, model.get_weights()))
        (expected, whole), (losses, pieces) = results
        assert_close(losses, expected, "the loss differs", atol=1e-5)
        updates = [a - start for start, a in zip(weights, whole, strict=True)]
        largest = max(np.max(np.abs(update)) for update in updates)
        assert largest > 1e-5, "training did not change the weights"
        for start, update, b in zip(weights, updates, pieces, strict=True):
            assert_close(
                b - start,
                update,
                "the update differs",
                atol=min(1e-5, largest / 100),
            )

    def saved(self, folder: Path):
        """Trains and saves a model; returns what loading must restore."""
        model = self.model()
        self.train(model, 2)
        model.save(folder / "model.keras")
        labels, _ = self.batch()
        x = separable(labels)
        # A new model draws samples from the beginning, like a loaded model.
        twin = self.model()
        twin.run_eagerly = True
        twin.set_weights(model.get_weights())
        return {
            "inputs": [x],
            "labels": labels,
            "output": model.predict(x, verbose=0),
            "loss": twin.evaluate(x, labels, verbose=0),
        }

    def check_saving(self, saved_and_loaded):
        expected, found = saved_and_loaded(self)
        assert "error" not in found, found["error"]
        assert_close(found["output"], expected["output"], "predictions differ")
        assert_close(found["loss"], expected["loss"], "evaluate differs")
