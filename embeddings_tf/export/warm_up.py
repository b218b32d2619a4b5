"""Warm-up requests that TensorFlow Serving replays when it loads a version."""

import pathlib
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

FILE = "tf_serving_warmup_requests"

# Field numbers of TensorFlow Serving's messages, from prediction_log.proto,
# predict.proto and model.proto. tensorflow-serving-api would be a dependency
# for these seven numbers.
_PREDICT_LOG, _REQUEST = 6, 1
_MODEL_SPEC, _INPUTS = 1, 2
_MODEL_NAME, _SIGNATURE_NAME = 1, 3
_KEY, _VALUE = 1, 2


def write_warm_up(folder: pathlib.Path, logs: Iterable[bytes]) -> None:
    """Writes requests as `assets.extra/tf_serving_warmup_requests`.

    Args:
        folder: Folder of the version.
        logs: Results of `prediction_log`, at most 1,000.
    """
    file = folder / "assets.extra" / FILE
    file.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(file)) as writer:
        for log in logs:
            writer.write(log)


def prediction_log(
    model: str, signature: str, inputs: Mapping[str, np.ndarray]
) -> bytes:
    """Returns a serialized `PredictionLog` of a predict request.

    The bytes equal the deterministic serialization by tensorflow-serving-api.

    Args:
        model: Name of the served model.
        signature: Name of the signature.
        inputs: Arrays by input name.
    """
    spec = _field(_MODEL_NAME, model.encode())
    spec += _field(_SIGNATURE_NAME, signature.encode())
    request = _field(_MODEL_SPEC, spec)
    # protobuf puts a name behind longer names that start with it.
    for name in sorted(inputs, key=lambda name: name.encode() + b"\xff"):
        tensor = tf.make_tensor_proto(inputs[name])
        entry = _field(_KEY, name.encode())
        entry += _field(_VALUE, tensor.SerializeToString(deterministic=True))
        request += _field(_INPUTS, entry)
    return _field(_PREDICT_LOG, _field(_REQUEST, request))


def _field(number: int, payload: bytes) -> bytes:
    """One length-delimited field of the protocol buffer wire format."""
    length_delimited = 2
    tag = number << 3 | length_delimited
    return _varint(tag) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all bytes but the last have 0x80."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])
