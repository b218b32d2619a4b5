"""Files of a version besides the model: warm-up, batching and card."""

import pathlib
from collections.abc import Mapping

import tensorflow as tf

from embeddings_tf.export.batching import FILE as BATCHING
from embeddings_tf.export.batching import LARGEST_BATCH
from embeddings_tf.export.batching import batching_parameters
from embeddings_tf.export.example_inputs import example_inputs
from embeddings_tf.export.model_card import model_card
from embeddings_tf.export.model_card import write_model_card
from embeddings_tf.export.signature_table import SignatureRow
from embeddings_tf.export.warm_up import prediction_log
from embeddings_tf.export.warm_up import write_warm_up
from embeddings_tf.models.method import Method
from embeddings_tf.scoring.fingerprint import fingerprint

# Rows of the warm-up requests of each signature.
_WARM_UP_ROWS = (1, 8)
# Why a signature that a server cannot batch has none: see `can_batch`.
_NOT_JOINED = "a server with batching cannot answer it"
# Of files for a decoder that does not say its rate.
_SAMPLE_RATE = 16_000


def write_serving_files(
    folder: pathlib.Path,
    target: pathlib.Path,
    model,
    table: list[SignatureRow],
    functions: Mapping,
    decoder,
    facts: Mapping,
) -> None:
    """Writes warm-up requests, batching parameters and the model card.

    Every warm-up request is answered here first: TensorFlow Serving does not
    load a version whose warm-up fails. A signature that fails on the example
    inputs gets no request, and the card has the error. Signatures that cannot
    be batched get no request either: with `--enable_batching`, the warm-up is
    batched too, and fails for them.

    Args:
        folder: Where the version is being written.
        target: Where it will be.
        model: The exported Keras model.
        table: The signatures.
        functions: Concrete functions by name of the signature.
        decoder: Decoder of files, or None.
        facts: Result of `model_card.check_facts`.
    """
    name = target.parent.resolve().name
    sample_rate = getattr(decoder, "sample_rate", None)
    contents = (sample_rate,) if sample_rate else ("png", _SAMPLE_RATE)
    logs: list[bytes] = []
    errors: dict[str, str | None] = {}
    for row in table:
        if not row.can_batch:
            errors[row.name] = _NOT_JOINED
            continue
        requests, errors[row.name] = example_requests(
            functions[row.name], row.max_rows or LARGEST_BATCH, contents
        )
        logs += [prediction_log(name, row.name, found) for found in requests]
    write_warm_up(folder, logs)
    (folder / BATCHING).write_text(
        batching_parameters(
            min((row.max_rows for row in table if row.max_rows), default=None),
            any(row.can_batch and row.has_open_inputs for row in table),
        ),
        encoding="utf-8",
    )
    card = model_card(
        name,
        int(target.name),
        _described(model, table[0]),
        table,
        errors,
        facts,
    )
    write_model_card(folder, card)


def example_requests(
    function, max_rows: int, contents
) -> tuple[list[dict], str | None]:
    """Returns example requests that succeed, or the last error.

    `contents` are the kinds of files to try, as in `example_inputs`.
    """
    specs, error = list(function.structured_input_signature[0]), None
    has_files = any(spec.dtype == tf.string for spec in specs)
    for encoded in contents if has_files else ("",):
        sizes = sorted({min(rows, max_rows) for rows in _WARM_UP_ROWS})
        requests = [example_inputs(specs, rows, encoded) for rows in sizes]
        try:
            for request in requests:
                function(*map(tf.constant, request.values()))
        except tf.errors.ResourceExhaustedError:
            raise
        except tf.errors.OpError as found:
            # Decoders and preprocessing of users may raise any of them.
            error = f"{type(found).__name__}: {_first_line(found.message)}"
        except UnicodeDecodeError:
            # Python cannot read an error of TensorFlow that quotes the file.
            error = (
                "UnicodeDecodeError: TensorFlow's error quotes the example "
                "file, which is not text"
            )
        else:
            return requests, None
    return [], error


def _first_line(message: str) -> str:
    """The message of an error of a graph, without its trace."""
    _, _, assertion = message.partition("assertion failed: ")
    return (assertion or message).partition("\n")[0][:300]


def _described(model, default: SignatureRow) -> dict:
    """Facts about the model itself, and the size of its embeddings."""
    method = Method(model)
    (embedding,) = [o for o in default.outputs if o.name == "embedding"]
    return {
        "method": method.name,
        "gaussian": method.has_variances,
        "dim": embedding.shape[-1],
        "parameters": model.count_params(),
        "fingerprint": fingerprint(model),
    }
