"""Starts `_predict_server`, and sends predict requests to it over gRPC."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

from benchmarks import _served_models as served_models


@contextlib.contextmanager
def server(folder, *flags):
    """Starts the answering process; yields it and what it says when ready."""
    errors = tempfile.TemporaryFile("w+", errors="replace")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "benchmarks._predict_server"),
            *(str(folder), *flags),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    try:
        ready = process.stdout.readline()
        if not ready:
            raise RuntimeError(_why_it_ended(process, errors))
        yield process, json.loads(ready)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()
        errors.close()


def _why_it_ended(process, errors) -> str:
    """The end of what a server wrote that said no port."""
    code = process.wait(timeout=60)
    errors.seek(0)
    last = "".join(errors.readlines()[-20:]).strip() or "nothing"
    return (
        f"the server ended with {code} before it was ready "
        f"({' '.join(process.args)}). It wrote: {last}"
    )


def stub(port):
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    channel = grpc.insecure_channel(
        f"localhost:{port}",
        options=[("grpc.max_receive_message_length", -1)],
    )
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def messages(exported) -> dict:
    """Predict requests by (model, signature, rows)."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    found = {}
    for model, (_, path) in exported.items():
        for (signature, rows), inputs in served_models.calls(path).items():
            request = predict_pb2.PredictRequest()
            request.model_spec.name = model
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            found[model, signature, rows] = request
    return found


def values(response) -> dict:
    import tensorflow as tf

    return {k: tf.make_ndarray(v) for k, v in response.outputs.items()}


def deviation(found, expected) -> float:
    """Largest difference between outputs; infinite for other labels.

    Differences of values above 1 are relative.
    """
    import numpy as np

    if found.keys() != expected.keys():
        return float("inf")
    worst = 0.0
    for name, value in found.items():
        other = expected[name]
        if value.shape != other.shape:
            return float("inf")
        if value.dtype.kind != "f":
            equal = bool((value == other).all())
            worst = worst if equal else float("inf")
        elif not np.isfinite(value).all():
            return float("inf")
        else:
            apart = np.abs(value - other) / np.maximum(1, np.abs(other))
            worst = max(worst, float(np.max(apart, initial=0)))
    return worst


def memory_bytes(process) -> int:
    """Resident set of a process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    line = next(s for s in status.splitlines() if s.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])
