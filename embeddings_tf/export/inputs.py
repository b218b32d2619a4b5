"""What a signature embeds: tensors as they are, or contents of files."""

from collections.abc import Callable

import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.export import checks
from embeddings_tf.export import row_checks
from embeddings_tf.export.embedder import Embedder
from embeddings_tf.export.image_decoder import CHANNELS
from embeddings_tf.export.image_decoder import ImageDecoder
from embeddings_tf.export.input_names import check_input_names
from embeddings_tf.export.limits import Limits
from embeddings_tf.export.wave_decoder import WaveDecoder
from embeddings_tf.layers import PixelRange


def input_specs(model, preprocessing) -> list[tf.TensorSpec]:
    """Returns the input specs, with any batch size, under their names."""
    specs = _input_specs(model, preprocessing)
    check_input_names(specs)
    return specs


def _input_specs(model, preprocessing) -> list[tf.TensorSpec]:
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


def _of_type(part: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Casts pixels or samples, which are float32, and lengths."""
    if part.dtype.is_floating and dtype.is_integer:
        return tf.saturate_cast(tf.round(part), dtype)
    return tf.cast(part, dtype)


def input_ranges(embedder: Embedder, decoder) -> dict[str, str]:
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


class Inputs:
    """Inputs of a signature that are checked, then embedded."""

    def __init__(self, embedder: Embedder, limits: Limits):
        self._embedder = embedder
        self._limits = limits

    def embed(self, tensors, name: str | None = None) -> tuple[tf.Tensor, ...]:
        """The embedding, and the uncertainty if the model has it."""
        return self.embed_checked(self.checked(tensors, name), name)

    def specs(self, name: str | None = None) -> list[tf.TensorSpec]:
        """The inputs, renamed if there is a `name`."""
        raise NotImplementedError

    def checked(self, tensors, name: str | None = None) -> list[tf.Tensor]:
        """The inputs, checked for shape, number of rows and values."""
        checked = [
            checks.checked_input(tensor, spec, self._limits.max_rows)
            for tensor, spec in zip(tensors, self.specs(name), strict=True)
        ]
        return row_checks.consistent(checked, self.specs(name))

    def _small(self, tensors, specs) -> list[tf.Tensor]:
        """The raw inputs, refused if a size that is open is too large."""
        return [
            self._limits.checked_size(x, spec, self._embedder.values_per_value)
            if None in spec.shape[1:]
            else x
            for x, spec in zip(tensors, specs, strict=True)
        ]

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
        specs = self.specs(name)
        return self._embedder.checked(
            self._small(tensors, specs), specs[0].name
        )


class FileInputs(Inputs):
    """Contents of files, strings in an input whose name ends in `_bytes`."""

    def __init__(self, embedder: Embedder, limits: Limits, decoder: Callable):
        super().__init__(embedder, limits)
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
        if is_good and isinstance(self._decoder, ImageDecoder | WaveDecoder):
            inputs = [
                _of_type(part, dtype)
                for part, (dtype, _) in zip(inputs, expected, strict=True)
            ]
        if not is_good or not all(
            part.dtype == dtype and shape.is_compatible_with(part.shape)
            for part, (dtype, shape) in zip(inputs, expected, strict=True)
        ):
            raise ValueError(
                "`decoder` must return a tuple of the model's inputs, "
                f"{self._embedder.specs}; received {inputs!r}."
            )
        same = row_checks.same_rows(
            contents, spec.name, inputs[0], "the result of `decoder`"
        )
        with tf.control_dependencies([same]):
            inputs = [tf.identity(part) for part in inputs]
        inputs = row_checks.consistent(
            inputs, self._embedder.specs, f"of the decoded `{spec.name}` "
        )
        renamed = [
            tf.TensorSpec(part.shape, part.dtype, name=spec.name)
            for part in self._embedder.specs
        ]
        inputs = self._small(inputs, renamed)
        return self._embedder.checked(inputs, spec.name)
