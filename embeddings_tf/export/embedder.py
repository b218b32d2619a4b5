"""Embeds raw inputs inside an exported graph."""

import functools

import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.export import memory
from embeddings_tf.layers.pixel_range import exported_checks
from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.has_uncertainty import has_uncertainty
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.tensors import real_numbers

# Numbers that a block of rows may need at once: 256 MiB in float32.
BLOCK = 2**26


class Embedder:
    """Raw inputs to embeddings in float32, with or without checks.

    Args:
        model, preprocessing, unit_range: As in `export_saved_model`.
        specs: From `input_specs`.
    """

    def __init__(self, model, preprocessing, specs, unit_range: str):
        self.model = model
        self.preprocessing = preprocessing
        self.specs = specs
        self.has_uncertainty = has_uncertainty(model)
        self._unit_range = unit_range
        # Traced once for all signatures, so the name of the input is a tensor.
        signature = [tf.TensorSpec((), tf.string, "name_of_input"), *specs]
        self._rows, self._traced = (
            tf.function(function, input_signature=signature, autograph=False)
            for function in (self._with_range_check, self._in_blocks)
        )

    def checked(self, inputs, name: str) -> tuple[tf.Tensor, ...]:
        """Embedding and, if the model has it, uncertainty; all finite.

        No variance is negative.
        """
        embedding, *more = (
            tf.debugging.assert_all_finite(
                found,
                f"The embedding of `{name}` is not finite. Its values may be "
                "too large for the model, a row may be empty, or the weights "
                "of the model may contain NaN",
            )
            for found in self._traced(tf.constant(name), *inputs)
        )
        if has_gaussian_output(self.model):
            least = tf.reduce_min(gaussian.unpack(embedding)[1])
            is_good = checks.require(
                least >= 0,
                f"The embedding of `{name}` has a negative variance. End the "
                "encoder with GaussianEmbedding(dim). Received:",
                least,
            )
            with tf.control_dependencies([is_good]):
                embedding = tf.identity(embedding)
        return embedding, *more

    def unchecked(self, inputs) -> tuple[tf.Tensor, ...]:
        """The same, in operations that converters know."""
        with exported_checks("accept"):
            return self._run(inputs, self.preprocessing)

    @functools.cached_property
    def values_per_value(self) -> int:
        """Numbers that are needed at once for a value of a row of open size."""
        return memory.values_per_value(self._opened, self.specs)

    def _opened(self, *inputs):
        """Runs without the function calls that hide tensors from the graph."""
        preprocessing = self.preprocessing
        preprocessing = getattr(preprocessing, "python_function", preprocessing)
        with exported_checks("accept"):
            return self._run(inputs, preprocessing)

    @property
    def _graph(self) -> tf.Graph:
        return self._rows.get_concrete_function().graph

    def numbers_per_row(self, inputs):
        """Numbers that are needed at once for a row of these inputs."""
        if None not in self.specs[0].shape[1:]:
            return memory.values_of_row(self._graph)
        of_row = tf.reduce_prod(tf.shape(inputs[0], tf.int64)[1:])
        return of_row * self.values_per_value

    def _in_blocks(self, name, *inputs):
        """Embeds blocks of rows, so that memory does not grow with them."""
        outputs = self._rows.get_concrete_function().structured_outputs
        specs = {
            str(number): tf.TensorSpec(found.shape, found.dtype)
            for number, found in enumerate(outputs)
        }
        found = checks.in_blocks(
            lambda *rows: dict(
                zip(specs, self._rows(name, *rows), strict=True)
            ),
            inputs,
            self.numbers_per_row(inputs),
            specs,
            BLOCK,
        )
        return tuple(found.values())

    def _with_range_check(self, name, *inputs):
        with exported_checks(self._unit_range, name):
            found = self._run(inputs, self.preprocessing)
        if self.preprocessing is None:
            return found
        rows = tf.shape(inputs[0])[0], tf.shape(found[0])[0]
        one_each = checks.require(
            tf.equal(*rows),
            "`preprocessing` of the export must return one row for each row of "
            "its inputs. Received and returned rows:",
            *rows,
        )
        with tf.control_dependencies([one_each]):
            return tuple(map(tf.identity, found))

    def _run(self, inputs, preprocessing):
        x = inputs[0]
        if preprocessing is not None:
            x = real_numbers(
                "The result of `preprocessing`", preprocessing(*inputs)
            )
            require_input_shape("preprocessing(...)", x, self.model)
        # TensorFlow's convolutions on an empty batch return the wrong shape
        # (oneDNN), so one row is added here and removed from the result.
        rows, shape = tf.shape(x)[0], tf.shape(x)
        one_if_empty = tf.cast(tf.equal(rows, 0), tf.int32)
        row = tf.zeros(tf.concat([[one_if_empty], shape[1:]], 0), x.dtype)
        x = tf.concat([x, row], 0)
        if self.has_uncertainty:
            found = self.model.embed_with_uncertainty(x)
        else:
            found = (self.model(x, training=False),)
        require_embeddings(found[0])
        # In half precision, scores would be too coarse.
        return tuple(tf.cast(part[:rows], tf.float32) for part in found)
