"""Files of a version besides the model: warm-up, batching and card."""

import pathlib
from collections.abc import Mapping

import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.export.batching import FILE as BATCHING
from embeddings_tf.export.batching import batching_parameters
from embeddings_tf.export.example_inputs import example_inputs
from embeddings_tf.export.model_card import model_card
from embeddings_tf.export.model_card import write_model_card
from embeddings_tf.export.warm_up import prediction_log
from embeddings_tf.export.warm_up import write_warm_up
from embeddings_tf.layers import PixelRange
from embeddings_tf.models.method import Method
from embeddings_tf.scoring.fingerprint import fingerprint

# Rows of the warm-up requests of each signature.
_WARM_UP_ROWS = (1, 8)
_LARGEST_BATCH = 64


def write_serving_files(
    folder: pathlib.Path,
    target: pathlib.Path,
    model,
    specs: list[tf.TensorSpec],
    functions: Mapping,
    facts: Mapping,
) -> None:
    """Writes warm-up requests, batching parameters and the model card.

    Every warm-up request is answered here first: TensorFlow Serving does not
    load a version whose warm-up fails. A signature that refuses the example
    inputs gets no request, and the card says so.

    Args:
        folder: Where the version is being written.
        target: Where it will be.
        model: The exported Keras model.
        specs: The inputs of `serving_default`.
        functions: Concrete functions by name of the signature.
        facts: Result of `model_card.check_facts`.
    """
    name = target.parent.resolve().name
    logs, errors = [], {}
    for signature, function in functions.items():
        requests, errors[signature] = _requests(function)
        logs += [prediction_log(name, signature, found) for found in requests]
    write_warm_up(folder, logs)
    (folder / BATCHING).write_text(
        batching_parameters(_LARGEST_BATCH), encoding="utf-8"
    )
    tables = {
        signature: (
            {spec.name: spec for spec in input_specs_of(function)},
            function.structured_outputs,
        )
        for signature, function in functions.items()
    }
    described = _described(model, specs)
    card = model_card(name, int(target.name), described, tables, errors, facts)
    write_model_card(folder, card)


def input_specs_of(function) -> list[tf.TensorSpec]:
    """Returns the inputs of a concrete function, under their names."""
    return list(function.structured_input_signature[0])


def _requests(function) -> tuple[list[dict], str | None]:
    """Returns example requests that succeed, or the last error."""
    specs, error = input_specs_of(function), None
    encodings = ("png", "wav") if _has_strings(specs) else ("",)
    for encoded in encodings:
        requests = [example_inputs(specs, r, encoded) for r in _WARM_UP_ROWS]
        try:
            for request in requests:
                function(*map(tf.constant, request.values()))
        except tf.errors.InvalidArgumentError as found:
            error = _first_line(found.message)
        else:
            return requests, None
    return [], error


def _first_line(message: str) -> str:
    """The message of an error of a graph, without its trace."""
    _, _, assertion = message.partition("assertion failed: ")
    return (assertion or message).partition("\n")[0][:300]


def _has_strings(specs) -> bool:
    return any(spec.dtype == tf.string for spec in specs)


def _described(model, specs) -> dict:
    """Facts about the model itself."""
    encoder = getattr(model, "encoder", model)
    method = Method(model)
    width = encoder.output_shape[-1]
    has_pixels = any(isinstance(x, PixelRange) for x in every_layer(model))
    return {
        "method": method.name,
        "gaussian": method.is_gaussian,
        "dim": width // 2 if method.is_gaussian else width,
        "parameters": model.count_params(),
        "fingerprint": fingerprint(model),
        "inputs": {
            spec.name: {
                "dtype": spec.dtype.name,
                "shape": spec.shape.as_list(),
                "range": [0, 255] if has_pixels and spec is specs[0] else None,
            }
            for spec in specs
        },
    }
