"""The signatures of an export: names, types, shapes and ranges."""

import dataclasses
import json
import os
import pathlib

from embeddings_tf.export.row_checks import is_length

FILE = "signatures.json"
# Signatures for converters to other engines.
UNCHECKED = ("embed", "identify_unchecked")

# What the values of an output mean.
_OUTPUTS = {
    "accepted": "whether the score reaches the threshold of the gallery",
    "answer": "the enrolled class, or the answer for unknown inputs",
    "class": "the most probable enrolled class",
    "classes": "the labels of the supports, sorted",
    "distance": "at least 0, nearest first",
    "embedding": "any finite number",
    "label": "classes of the neighbours, nearest first",
    "logit": "log-likelihood ratio: same class versus different classes",
    "name": "names of the neighbours in the gallery",
    "probability": "0 to 1",
    "score": "higher for inputs of enrolled classes",
    "typical": "whether the input looks like the calibration examples",
    "uncertainty": "expected loss, higher for unclear inputs",
    "variance": "above 0",
}


@dataclasses.dataclass(frozen=True)
class TensorRow:
    """A named tensor of a signature.

    `dtype` is TensorFlow's name, such as `"float32"`; `shape` has None for any
    length; `range` says in words which values the tensor has.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    range: str


@dataclasses.dataclass(frozen=True)
class SignatureRow:
    """A signature of an export, for model cards and clients.

    `can_batch`: whether a server may join requests, because every input and
    output has the batch as its first axis, and inputs of open size, such as
    waveforms, have their lengths beside them. `max_rows`: largest number of
    rows of each input; None: any number, or no check.
    """

    name: str
    about: str
    inputs: tuple[TensorRow, ...]
    outputs: tuple[TensorRow, ...]
    can_batch: bool
    max_rows: int | None

    @property
    def has_open_inputs(self) -> bool:
        """Whether an input has an open axis besides the batch."""
        return any(None in row.shape[1:] for row in self.inputs)


def signature_table(version_folder: str | os.PathLike) -> list[SignatureRow]:
    """Reads the table of signatures of an export.

    Use it to write a model card, requests or a client. It needs neither
    TensorFlow nor the model: `export_saved_model` wrote the table into
    `assets.extra/signatures.json` of the version.

    Args:
        version_folder: The path that `export_saved_model` returned.

    Raises:
        ValueError: If the folder has no such table, or a damaged one.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2)
    >>> folder = tempfile.mkdtemp()
    >>> path = embeddings_tf.export.export_saved_model(encoder, folder)
    >>> default, *others = embeddings_tf.export.signature_table(path)
    >>> default.name, default.inputs[0].shape, default.inputs[0].range
    ('serving_default', (None, 28, 56, 1), '0 to 255')
    """
    try:
        file = pathlib.Path(version_folder) / "assets.extra" / FILE
        rows = json.loads(file.read_text(encoding="utf-8"))["signatures"]
        return [
            SignatureRow(
                **{**row, "inputs": _rows(row, "inputs")}
                | {"outputs": _rows(row, "outputs")}
            )
            for row in rows
        ]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            "`version_folder` must be a version that export_saved_model "
            f"wrote; received {version_folder!r}: {type(error).__name__}: "
            f"{error}."
        ) from error


def _rows(row: dict, kind: str) -> tuple[TensorRow, ...]:
    return tuple(
        TensorRow(**{**tensor, "shape": tuple(tensor["shape"])})
        for tensor in row[kind]
    )


def table_row(
    name: str, endpoint, outputs: dict, ranges: dict[str, str], max_rows
) -> SignatureRow:
    """Makes the row of a signature.

    Args:
        name: The name of the signature.
        endpoint: A `signatures.Endpoint`.
        outputs: Its outputs, tensors by name.
        ranges: Ranges of the inputs, by name.
        max_rows: The limit of the export.
    """
    inputs = tuple(
        _tensor_row(spec.name, spec, ranges[spec.name])
        for spec in endpoint.specs
    )
    results = tuple(
        _tensor_row(output, tensor, _OUTPUTS[output])
        for output, tensor in outputs.items()
    )
    is_checked = name not in UNCHECKED
    # Supports and queries have different numbers of rows.
    has_one_batch = all(
        row.shape[:1] == (None,) for row in (*inputs, *results)
    ) and not any(row.name == "support_labels" for row in inputs)
    row = SignatureRow(
        name,
        endpoint.about,
        inputs,
        results,
        has_one_batch,
        max_rows if is_checked else None,
    )
    # A server pads joined inputs; only with lengths the model ignores that.
    if row.has_open_inputs and not any(map(is_length, endpoint.specs)):
        row = dataclasses.replace(row, can_batch=False)
    return row


def _tensor_row(name: str, tensor, values: str) -> TensorRow:
    return TensorRow(
        name, tensor.dtype.name, tuple(tensor.shape.as_list()), values
    )


def table_text(rows: list[SignatureRow]) -> str:
    """The table as JSON, for `signature_table`."""
    found = {"signatures": [dataclasses.asdict(row) for row in rows]}
    return json.dumps(found, indent=1, ensure_ascii=False)
