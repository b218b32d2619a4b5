"""The checks of a layer."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from embeddings_tf.testing.entry import Configurable
from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import assert_finite
from embeddings_tf.testing.made_up_batches import features
from embeddings_tf.testing.made_up_batches import scaled


@dataclasses.dataclass(frozen=True, eq=False)
class Layer(Configurable):
    """A layer without state that changes in training.

    Args:
        inputs: Function that returns the list of the layer's inputs. A layer
            with several inputs receives them as one tuple.
    """

    inputs: Callable = features

    def call(self, layer, inputs, method="__call__", **kwargs):
        inputs = tuple(inputs) if len(inputs) > 1 else inputs[0]
        return getattr(layer, method)(inputs, **kwargs)

    def functional(self):
        inputs = [keras.Input(x.shape[1:]) for x in self.inputs()]
        outputs = self.call(self.make(), inputs)
        inputs = tuple(inputs) if len(inputs) > 1 else inputs[0]
        return keras.Model(inputs, outputs)

    def check_output_shape(self):
        inputs = self.inputs()
        layer = self.make()
        real = tuple(self.call(layer, inputs).shape)
        for batch in (len(inputs[0]), None):
            shapes = tuple((batch, *x.shape[1:]) for x in inputs)
            shape = layer.compute_output_shape(
                shapes if len(shapes) > 1 else shapes[0]
            )
            assert tuple(shape) == (batch, *real[1:]), "compute_output_shape"
        assert self.functional().output_shape == (None, *real[1:]), "symbolic"

    def check_functional(self):
        model = self.functional()
        layer = self.make()
        inputs = self.inputs()
        expected = self.call(layer, inputs)
        model.set_weights(layer.get_weights())
        assert_close(self.call(model, inputs), expected, "functional use")

    def check_sequential(self):
        inputs = self.inputs()
        assert len(inputs) == 1, "several inputs"
        layer = self.make()
        expected = layer(inputs[0])
        model = keras.Sequential([self.make()])
        model.build(inputs[0].shape)
        model.set_weights(layer.get_weights())
        assert_close(model(inputs[0]), expected, "in a Sequential")

    def check_rows(self):
        """Each row of the output depends on the same row of the input."""
        inputs = self.inputs()
        layer = self.make()
        expected = self.call(layer, inputs).numpy()[::-1]
        reverse = self.call(layer, [x[::-1] for x in inputs])
        assert_close(reverse, expected, "rows influence each other")
        part = self.call(layer, [x[::-1][:5] for x in inputs])
        assert_close(part, expected[:5], "rows influence each other")

    def check_mixed_precision(self):
        before = keras.config.dtype_policy()
        try:
            for policy in ("mixed_bfloat16", "mixed_float16"):
                keras.config.set_dtype_policy(policy)
                layer = self.make()
                half = layer.compute_dtype
                body = keras.layers.Activation("linear")
                output = self.call(layer, [body(x) for x in self.inputs()])
                assert output.dtype == tf.float32, f"{policy}: {half} output"
                assert_finite([output], policy)
                for weight in layer.weights:
                    assert weight.dtype == "float32", (
                        f"{policy}: a weight is {weight.dtype}"
                    )
        finally:
            keras.config.set_dtype_policy(before)

    def saved(self, folder: Path):
        """Saves a model; returns the results that loading must restore."""
        model = self.functional()
        model.save(folder / "model.keras")
        model.run_eagerly = True
        inputs = self.inputs()
        output = self.call(model, inputs, "predict", verbose=0)
        return {"inputs": inputs, "output": output}

    def check_saving(self, saved_and_loaded):
        expected, found = saved_and_loaded(self)
        assert "error" not in found, found["error"]
        assert_close(found["output"], expected["output"], "predictions differ")

    def check_export(self, tmp_path):
        model = self.functional()
        model.export(str(tmp_path), verbose=False)
        served = tf.saved_model.load(str(tmp_path))
        inputs = [tf.constant(x) for x in self.inputs()]
        for few in (inputs, [x[:3] for x in inputs]):
            expected = self.call(model, few)
            served_too = self.call(served, few, "serve")
            assert_close(served_too, expected, "the SavedModel differs")

    def check_complex(self):
        """Complex inputs would lose their imaginary part."""
        inputs = [tf.cast(x, "complex64") for x in self.inputs()]
        layer = self.make()
        self.call(layer, self.inputs())  # builds the layer
        try:
            self.call(layer, inputs)
        except ValueError as error:
            assert "real numbers" in str(error), error
        else:
            raise AssertionError("complex inputs are accepted")

    def check_gradients(self):
        inputs = [tf.constant(x) for x in self.inputs()]
        layer = self.make()
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            # Squared, since the gradient of a plain sum may vanish (softmax).
            output = tf.reduce_sum(self.call(layer, inputs) ** 2)
        gradients = tape.gradient(output, [*inputs, *layer.trainable_weights])
        assert all(g is not None for g in gradients), (
            "a weight or input is unused"
        )
        assert_finite(gradients, "a gradient is not finite")

    def check_huge_inputs(self):
        for factor in (1e18, -1e18, 0.0):
            inputs = [tf.constant(scaled(x, factor)) for x in self.inputs()]
            layer = self.make()
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                output = self.call(layer, inputs)
                total = tf.reduce_sum(output)
            sources = [*inputs, *layer.trainable_weights]
            gradients = tape.gradient(total, sources)
            what = f"inputs times {factor}"
            assert_finite([output], f"{what}: the output is not finite")
            assert_finite(gradients, f"{what}: a gradient is not finite")
