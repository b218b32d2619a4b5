"""Clients in docs/deploying.md, against the messages of TensorFlow Serving."""

import base64
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from benchmarks import _predict_client
from embeddings_tf import layers
from embeddings_tf.export import export_saved_model
from embeddings_tf.export import signature_table
from embeddings_tf.scoring import Gallery

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "deploying.md"
SHAPE = (4, 4, 1)


def block(word: str) -> str:
    """The code of the page that contains a word."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [code for code in blocks if word in code]
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a model with a gallery, and a file of class "b"."""
    folder = tmp_path_factory.mktemp("clients")
    inputs = keras.Input(SHAPE, name="image")
    x = keras.layers.Flatten()(layers.PixelRange()(inputs))
    model = keras.Model(inputs, keras.layers.Dense(3)(x))
    x = np.random.default_rng(0).integers(0, 256, (4, *SHAPE))
    gallery = Gallery(model).enroll(x.astype("float32"), list("abcd"))
    export_saved_model(model, folder / "numbers", gallery=gallery)
    contents = tf.io.encode_png(x[1].astype("uint8")).numpy()
    (folder / "digit.png").write_bytes(contents)
    return folder


def request_of_json(path, body) -> predict_pb2.PredictRequest:
    """A REST body as TensorFlow Serving reads it, as a message."""
    rows = {row.name: row for row in signature_table(path)}
    request = predict_pb2.PredictRequest()
    request.model_spec.signature_name = body["signature_name"]
    specs = {t.name: t for t in rows[body["signature_name"]].inputs}
    assert set(body["inputs"]) == set(specs)
    for name, value in body["inputs"].items():
        if name.endswith("_bytes"):
            value = [base64.b64decode(v["b64"], validate=True) for v in value]
        dtype = tf.as_dtype(specs[name].dtype)
        tensor = tf.make_tensor_proto(value, dtype)
        request.inputs[name].CopyFrom(tensor)
    return request


@pytest.mark.slow
def test_rest_client(trained, monkeypatch):
    path = trained / "numbers" / "1"
    signature = tf.saved_model.load(str(path)).signatures["identify_bytes"]
    sent = []

    @contextlib.contextmanager
    def urlopen(request, timeout):
        sent.append(request)
        message = request_of_json(path, json.loads(request.data))
        outputs = signature(
            **{k: tf.make_ndarray(v) for k, v in message.inputs.items()}
        )
        answer = {
            name: np.char.decode(value.numpy().astype(bytes)).tolist()
            if value.dtype == tf.string
            else value.numpy().tolist()
            for name, value in outputs.items()
        }
        yield io.StringIO(json.dumps({"outputs": answer}))

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.chdir(trained)
    names = {}
    exec(block("b64encode"), names)  # noqa: S102
    assert names["answer"] == "b"
    (request,) = sent
    assert request.get_method() == "POST"
    assert request.full_url.endswith("/models/numbers/labels/stable:predict")


@pytest.mark.slow
def test_grpc_client(trained, monkeypatch):
    monkeypatch.chdir(trained)
    root = str(pathlib.Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", root)
    with _predict_client.server(trained) as (_, ready):
        assert ready["imported"] == []
        address = f"localhost:{ready['port']}"
        code = block("predict_pb2")
        assert "localhost:8500" in code
        names = {}
        exec(code.replace("localhost:8500", address), names)  # noqa: S102
    assert names["answer"] == "b"


@pytest.mark.slow
def test_http_server(trained):
    bentoml = shutil.which("bentoml")
    if bentoml is None:
        pytest.skip("bentoml is not installed: pip install bentoml tensorflow")
    (trained / "service.py").write_text(block("@bentoml.service"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            *(bentoml, "serve", "service.py:Identify"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ],
        cwd=trained,
        env={
            **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            "SAVED_MODEL": "numbers/1",
            "BENTOML_DO_NOT_TRACK": "1",
            "BENTOML_HOME": str(trained / "bentoml"),
        },
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/readyz", process)
        contents = (trained / "digit.png").read_bytes()
        assert post(f"{url}/identify", contents)["answer"] == "b"
        with pytest.raises(urllib.error.HTTPError) as refused:
            post(f"{url}/identify", contents[:20])
        assert refused.value.code == 400
        assert "image_bytes" in refused.value.read().decode()
        assert post(f"{url}/identify", contents)["answer"] == "b"
    finally:
        process.terminate()
        process.wait(timeout=60)


def wait_for(url, process):
    deadline = time.monotonic() + 240
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(1)


def post(url, contents):
    """Posts a file as `curl -F image=@digit.png` does."""
    mark = uuid.uuid4().hex
    head = (
        f"--{mark}\r\nContent-Disposition: form-data; "
        'name="image"; filename="digit.png"\r\n'
        "Content-Type: image/png\r\n\r\n"
    )
    body = head.encode() + contents + f"\r\n--{mark}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
    request = urllib.request.Request(url, body, kind)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)
