"""What a signature embeds: tensors as they are, or contents of files."""

from collections.abc import Callable

import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.export import checks
from embeddings_tf.export import row_checks
from embeddings_tf.export.image_decoder import CHANNELS
from embeddings_tf.export.image_decoder import ImageDecoder
from embeddings_tf.layers import PixelRange
from embeddings_tf.layers.pixel_range import exported_checks
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.ops.labelled_batch import real_numbers


def input_specs(model, preprocessing) -> list[tf.TensorSpec]:
    """Returns the input specs, with any batch size, under their names."""
    own = getattr(preprocessing, "input_signature", None)
    if own is not None:
        _check_input_signature(own)
        return list(own)
    source = model
    if getattr(preprocessing, "input_shape", None) is not None:
        source = preprocessing
    elif hasattr(model, "encoder"):
        source = model.encoder
    inputs = getattr(source, "inputs", None) or []
    if len(inputs) != 1:
        raise ValueError(
            "The exported model needs one input tensor; received a model with "
            f"{len(inputs)} declared inputs. Use a functional or Sequential "
            "encoder that starts with keras.Input."
        )
    (tensor,) = inputs
    return [
        tf.TensorSpec((None, *tensor.shape[1:]), tensor.dtype, name=tensor.name)
    ]


def _check_input_signature(signature) -> None:
    is_good = signature and all(
        isinstance(spec, tf.TensorSpec)
        and spec.name
        and spec.shape.rank
        and spec.shape[0] is None
        for spec in signature
    )
    if not is_good:
        raise ValueError(
            "The `input_signature` of `preprocessing` must have named tensors "
            "with the batch as their first axis, for instance "
            'tf.TensorSpec((None, None), tf.float32, "waveform"); received '
            f"{signature!r}."
        )


def takes_pixels(model, preprocessing) -> bool:
    """Whether the inputs are images with values of 0 to 255."""
    parts = [model]
    if preprocessing is not None:
        parts = [preprocessing] if hasattr(preprocessing, "layers") else []
    return any(
        isinstance(layer, PixelRange)
        for part in parts
        for layer in every_layer(part)
    )


def default_decoder(model, preprocessing, specs) -> ImageDecoder | None:
    """Returns a decoder of image files for models of images, else None."""
    shape = specs[0].shape
    if len(specs) != 1 or shape.rank != 4 or shape[-1] not in CHANNELS:
        return None
    if None in shape[1:] or not takes_pixels(model, preprocessing):
        return None
    return ImageDecoder(tuple(shape[1:]))


def input_ranges(embedder: "Embedder", decoder) -> dict[str, str]:
    """Returns the ranges of all possible inputs in words, by name."""
    first, *others = embedder.specs
    values = "any finite number"
    if first.dtype == tf.string:
        values = "any text"
    elif takes_pixels(embedder.model, embedder.preprocessing):
        values = "0 to 255"
    elif first.name == "waveform":
        values = "-32768 to 32767, as 16-bit integers"
    ranges = {
        "seed": "any integers",
        "support_labels": "any integers; they name the classes",
    }
    for name in (None, "first", "second", "support", "query"):
        ranges[name or first.name] = values
        ranges[f"{name or first.name}_bytes"] = getattr(
            decoder, "about", "contents of files"
        )
        for spec in others:
            found = f"{name}_{spec.name}" if name else spec.name
            ranges[found] = f"{spec.name} of each row"
    return ranges


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
        self.has_uncertainty = getattr(model, "uncertainty", None) is not None
        self._unit_range = unit_range
        # Traced once for all signatures.
        self._traced = tf.function(
            self._with_range_check, input_signature=specs, autograph=False
        )

    def checked(self, inputs, name: str) -> tuple[tf.Tensor, ...]:
        """Embedding and, if the model has it, uncertainty; all finite."""
        return tuple(
            tf.debugging.assert_all_finite(
                found,
                f"The embedding of `{name}` is not finite. Its values may be "
                "too large for the model, a row may be empty, or the weights "
                "of the model may contain NaN",
            )
            for found in self._traced(*inputs)
        )

    def unchecked(self, inputs) -> tuple[tf.Tensor, ...]:
        """The same, in operations that converters know."""
        with exported_checks("accept"):
            return self._run(inputs)

    def _with_range_check(self, *inputs):
        with exported_checks(self._unit_range):
            return self._run(inputs)

    def _run(self, inputs):
        x = inputs[0]
        if self.preprocessing is not None:
            x = real_numbers(
                "The result of `preprocessing`", self.preprocessing(*inputs)
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
        # In half precision, scores would be too coarse.
        return tuple(tf.cast(part[:rows], tf.float32) for part in found)


class Inputs:
    """Inputs of a signature that are checked, then embedded."""

    def __init__(self, embedder: Embedder, max_rows: int | None):
        self._embedder = embedder
        self._max_rows = max_rows

    def embed(self, tensors, name: str | None = None) -> tuple[tf.Tensor, ...]:
        """The embedding, and the uncertainty if the model has it."""
        return self.embed_checked(self.checked(tensors, name), name)

    def specs(self, name: str | None = None) -> list[tf.TensorSpec]:
        """The inputs, renamed if there is a `name`."""
        raise NotImplementedError

    def checked(self, tensors, name: str | None = None) -> list[tf.Tensor]:
        """The inputs, checked for shape, number of rows and values."""
        checked = [
            checks.checked_input(tensor, spec, self._max_rows)
            for tensor, spec in zip(tensors, self.specs(name), strict=True)
        ]
        return row_checks.consistent(checked, self.specs(name))

    def embed_checked(
        self, tensors, name: str | None = None
    ) -> tuple[tf.Tensor, ...]:
        """The embedding of inputs from `checked`."""
        raise NotImplementedError


class TensorInputs(Inputs):
    """Tensors that are embedded as they are."""

    def specs(self, name: str | None = None) -> list[tf.TensorSpec]:
        """The tensors: under their own names, or as `name`, `name_length`."""
        if name is None:
            return self._embedder.specs
        first, *others = self._embedder.specs
        renamed = [(first, name)]
        renamed += [(spec, f"{name}_{spec.name}") for spec in others]
        return [
            tf.TensorSpec(spec.shape, spec.dtype, name=new)
            for spec, new in renamed
        ]

    def embed_checked(
        self, tensors, name: str | None = None
    ) -> tuple[tf.Tensor, ...]:
        """The embedding of the tensors."""
        return self._embedder.checked(tensors, self.specs(name)[0].name)


class FileInputs(Inputs):
    """Contents of files, strings in an input whose name ends in `_bytes`."""

    def __init__(
        self, embedder: Embedder, max_rows: int | None, decoder: Callable
    ):
        super().__init__(embedder, max_rows)
        self._decoder = decoder

    def specs(self, name: str | None = None) -> list[tf.TensorSpec]:
        """One string for each row."""
        name = f"{name or self._embedder.specs[0].name}_bytes"
        return [tf.TensorSpec((None,), tf.string, name=name)]

    def embed_checked(
        self, tensors, name: str | None = None
    ) -> tuple[tf.Tensor, ...]:
        """The embedding of the decoded files."""
        (contents,), (spec,) = tensors, self.specs(name)
        inputs = self._decoder(spec.name, contents)
        expected = [(part.dtype, part.shape) for part in self._embedder.specs]
        is_good = isinstance(inputs, tuple | list)
        is_good = is_good and len(inputs) == len(expected)
        if not is_good or not all(
            part.dtype == dtype and shape.is_compatible_with(part.shape)
            for part, (dtype, shape) in zip(inputs, expected, strict=True)
        ):
            raise ValueError(
                "`decoder` must return a tuple of the model's inputs, "
                f"{self._embedder.specs}; received {inputs!r}."
            )
        inputs = row_checks.consistent(
            inputs, self._embedder.specs, f"of the decoded `{spec.name}` "
        )
        return self._embedder.checked(inputs, spec.name)
