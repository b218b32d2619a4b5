"""Bad requests to an export, answered by a process with only TensorFlow."""

import io
import json
import os
import pickle  # noqa: TID251  to write a file that must not be run
import struct
import subprocess
import sys
import wave
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf.export import WaveDecoder
from embeddings_tf.export import export_saved_model
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.scoring import Gallery

# One process loads both exports and answers all requests.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fail safe")]
SHAPE = (4, 6, 3)
MAX_ROWS = 16

CLIENT = """
import json
import sys

# None makes an import fail.
BLOCKED = ("keras", "tf_keras", "tensorflow_probability", "embeddings_tf")
sys.modules.update(dict.fromkeys(BLOCKED))

import numpy as np
import tensorflow as tf

folder = sys.argv[1]
arrays = np.load(f"{folder}/arrays.npz")
with open(f"{folder}/calls.json") as file:
    calls = json.load(file)
results, models = {}, {}
for number, (path, signature, names) in enumerate(calls):
    if path not in models:
        graph = tf.Graph()
        session = tf.compat.v1.Session(graph=graph)
        with graph.as_default():
            loaded = tf.compat.v1.saved_model.load(session, ["serve"], path)
        models[path] = graph, session, loaded
    graph, session, loaded = models[path]
    found = loaded.signature_def[signature]
    feed = {}
    for name in names:
        tensor = graph.get_tensor_by_name(found.inputs[name].name)
        value = arrays[f"{number}/{name}"]
        if value.dtype.kind == "S":  # lengths keep zeros at the end
            ends = arrays[f"{number}/{name}/lengths"]
            value = np.array(
                [v.ljust(n, b"\\0") for v, n in zip(value, ends)], object
            )
        feed[tensor._as_tf_output()] = value
    fetches = [
        graph.get_tensor_by_name(output.name)._as_tf_output()
        for output in found.outputs.values()
    ]
    # As a server does: without TensorFlow's checks in Python.
    try:
        answer = session._call_tf_sessionrun(None, feed, fetches, [], None)
        results[number] = [len(answer[0]), ""]
    except tf.errors.OpError as error:
        results[number] = [-1, f"{type(error).__name__}: {error.message}"]
with open(f"{folder}/results.json", "w") as file:
    json.dump(results, file)
"""


def png(shape=SHAPE):
    x = np.random.default_rng(0).integers(0, 256, shape)
    return tf.io.encode_png(tf.constant(x, tf.uint8)).numpy()


def jpeg():
    x = np.random.default_rng(0).integers(0, 256, SHAPE)
    return tf.io.encode_jpeg(tf.constant(x, tf.uint8)).numpy()


def bomb():
    """A small file that announces an image of 10 gigabytes."""
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + header + b"\0" * 99


def sound(rate=8000, channels=1, width=2, length=400):
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(b"\1" * (length * channels * width))
    return content.getvalue()


def pixels(rows=3, shape=SHAPE):
    return np.full((rows, *shape), 9, "float32")


def lengths(*values):
    return np.array(values, "int32")


IMAGE, SOUND = "image_bytes", "waveform_bytes"
# Model, signature, inputs, and words of the error or the rows of the answer.
CASES = {
    "good": ("images", "identify", {"image": pixels()}, 3),
    "good files": ("images", "identify_bytes", {IMAGE: [png(), jpeg()]}, 2),
    "no files": (
        "images",
        "identify_bytes",
        {IMAGE: []},
        "`image_bytes` must have at least one row. Received shape:] [0]",
    ),
    "no images": (
        "images",
        "nearest",
        {"image": pixels(0)},
        "`image` must have at least one row. Received shape:] [0 4 6",
    ),
    "no queries": (
        "images",
        "classify_without_seed",
        {
            "support": pixels(1),
            "support_labels": np.zeros(1, "int32"),
            "query": pixels(0),
        },
        "`query` must have at least one row",
    ),
    "truncated png": (
        "images",
        "identify_bytes",
        {IMAGE: [png()[:-30]]},
        IMAGE,
    ),
    "truncated jpeg": (
        "images",
        "nearest_bytes",
        {IMAGE: [png(), jpeg()[:-30]]},
        IMAGE,
    ),
    "a header of jpeg": ("images", "embed_bytes", {IMAGE: [jpeg()[:9]]}, IMAGE),
    "a header of png": ("images", "embed_bytes", {IMAGE: [png()[:20]]}, IMAGE),
    "empty file": ("images", "embed_bytes", {IMAGE: [b""]}, IMAGE),
    "text": ("images", "embed_bytes", {IMAGE: [png(), b"hello"]}, "row:] [1]"),
    "bomb": ("images", "embed_bytes", {IMAGE: [bomb()]}, "3600000000"),
    "NaN": ("images", "identify", {"image": pixels() * np.nan}, "`image`"),
    "wrong rank": (
        "images",
        "identify",
        {"image": pixels()[0]},
        "image",
        "[4,6,3] is not compatible with expected shape [?,4,6,3]",
    ),
    "wrong size": (
        "images",
        "serving_default",
        {"image": pixels(3, (5, 6, 3))},
        "image",
        "[3,5,6,3] is not compatible with expected shape [?,4,6,3]",
    ),
    "many rows": (
        "images",
        "nearest",
        {"image": pixels(MAX_ROWS + 1)},
        "`image` must have at most 16 rows",
    ),
    "many files": (
        "images",
        "embed_bytes",
        {IMAGE: [png()] * (MAX_ROWS + 1)},
        "`image_bytes` must have at most 16 rows",
    ),
    "100,000 supports": (
        "images",
        "classify_without_seed",
        {
            "support": pixels(100_000),
            "support_labels": np.zeros(100_000, "int32"),
            "query": pixels(1),
        },
        "`support` must have at most 16 rows",
    ),
    "no supports": (
        "images",
        "classify_without_seed",
        {
            "support": pixels(0),
            "support_labels": np.zeros(0, "int32"),
            "query": pixels(1),
        },
        "must have at least one row",
        "support",
    ),
    "labels of rank 2": (
        "images",
        "classify_without_seed",
        {
            "support": pixels(1),
            "support_labels": np.zeros((1, 1), "int32"),
            "query": pixels(1),
        },
        "support_labels",
        "[1,1] is not compatible with expected shape [?]",
    ),
    "few labels": (
        "images",
        "classify_without_seed",
        {
            "support": pixels(3),
            "support_labels": np.zeros(2, "int32"),
            "query": pixels(1),
        },
        "`support` and `support_labels` must have the same number of rows. "
        "Received rows:] [3] [2]",
    ),
    "support of rank 0": (
        "images",
        "classify_without_seed",
        {
            "support": np.float32(3),
            "support_labels": np.zeros(2, "int32"),
            "query": pixels(1),
        },
        "support",
        "[] is not compatible with expected shape [?,4,6,3]",
    ),
    "seed of three": (
        "samples",
        "classify",
        {
            "support": np.ones((1, 2), "float32"),
            "support_labels": np.zeros(1, "int32"),
            "query": np.ones((1, 2), "float32"),
            "seed": np.zeros(3, "int32"),
        },
        "seed",
        "[3] is not compatible with expected shape [2]",
    ),
    "good lengths": (
        "sounds",
        "serving_default",
        {"waveform": np.ones((2, 5), "float32"), "length": lengths(5, 1)},
        2,
    ),
    "no waveforms": (
        "sounds",
        "serving_default",
        {"waveform": np.ones((0, 5), "float32"), "length": lengths()},
        "must have at least one row",
    ),
    **{
        f"length {length}": (
            "sounds",
            "serving_default",
            {
                "waveform": np.ones((2, 5), "float32"),
                "length": lengths(3, length),
            },
            "`length` must be at least 1 and at most the size of axis 1 of "
            f"`waveform`. Received size, row and length:] [5] [1] [{length}]",
        )
        for length in (0, -1, 6, 2**31 - 1, -(2**31))
    },
    "few lengths": (
        "sounds",
        "serving_default",
        {"waveform": np.ones((2, 5), "float32"), "length": lengths(3)},
        "`waveform` and `length` must have the same number of rows. "
        "Received rows:] [2] [1]",
    ),
    "good recording": ("sounds", "embed_bytes", {SOUND: [sound()]}, 1),
    "another rate": (
        "sounds",
        "embed_bytes",
        {SOUND: [sound(), sound(16000)]},
        "`waveform_bytes` must have 8000 samples per second",
    ),
    "two channels": (
        "sounds",
        "embed_bytes",
        {SOUND: [sound(channels=2)]},
        "`waveform_bytes` must have one channel",
    ),
    "truncated sound": (
        "sounds",
        "embed_bytes",
        {SOUND: [sound()[:-9]]},
        SOUND,
    ),
    "empty sound": ("sounds", "embed_bytes", {SOUND: [b""]}, SOUND),
    "8 bits": ("sounds", "embed_bytes", {SOUND: [sound(width=1)]}, SOUND),
    "an image": ("sounds", "embed_bytes", {SOUND: [png()]}, SOUND),
    "long in all": (
        "sounds",
        "embed_bytes",
        {SOUND: [sound(length=4)] * 9 + [sound(length=900)]},
        "`waveform_bytes` must have at most 8000 padded samples in all",
        "[9000] [10] [900]",
    ),
    "queries of 0 to 1": (
        "images that are checked",
        "classify_without_seed",
        {
            "support": pixels(1),
            "support_labels": np.zeros(1, "int32"),
            "query": pixels(2) / 20,
        },
        "`query`: Pixels are 0 to 255 here; received images of floats in [0, 1",
    ),
    "supports of 0 to 1": (
        "images that are checked",
        "classify_without_seed",
        {
            "support": pixels(1) / 20,
            "support_labels": np.zeros(1, "int32"),
            "query": pixels(2),
        },
        "`support`: Pixels are 0 to 255 here",
    ),
    "good at the end": ("images", "identify", {"image": pixels(5)}, 5),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    keras.utils.set_random_seed(0)
    inputs = keras.Input(SHAPE, name="image")
    x = keras.layers.Flatten()(layers.PixelRange()(inputs))
    model = keras.Model(inputs, keras.layers.Dense(2)(x))
    gallery = Gallery(model).enroll(pixels(2), ["a", "b"])
    paths = {
        "images": export_saved_model(
            model, folder / "images", gallery=gallery, max_rows=MAX_ROWS
        )
    }

    paths["images that are checked"] = export_saved_model(
        model, folder / "checked", unit_range="refuse"
    )

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.float32, "waveform"),
            tf.TensorSpec((None,), tf.int32, "length"),
        ]
    )
    def mean_and_length(waveform, length):
        length = tf.cast(length, tf.float32)
        mean = tf.reduce_sum(waveform, axis=1) / length
        return tf.stack([mean, length], axis=1)

    inputs = keras.Input((2,), name="features")
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    paths["sounds"] = export_saved_model(
        model,
        folder / "sounds",
        preprocessing=mean_and_length,
        decoder=WaveDecoder(8000, max_samples=8000),
    )
    inputs = keras.Input((2,), name="features")
    head = layers.GaussianEmbedding(2)
    model = EmbeddingModel(keras.Model(inputs, head(inputs)), HedgedInstances())
    paths["samples"] = export_saved_model(model, folder / "samples")
    return paths


@pytest.fixture(scope="module")
def answers(paths, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fail_safe")
    calls, arrays = [], {}
    for number, (model, name, inputs, *_) in enumerate(CASES.values()):
        calls.append([paths[model], name, list(inputs)])
        for key, value in inputs.items():
            if isinstance(value, list):
                arrays[f"{number}/{key}/lengths"] = [len(v) for v in value]
                value = np.array(value, "S")
            arrays[f"{number}/{key}"] = value
    np.savez(folder / "arrays.npz", **arrays)
    (folder / "calls.json").write_text(json.dumps(calls))
    (folder / "client.py").write_text(CLIENT)
    subprocess.run(
        [sys.executable, str(folder / "client.py"), str(folder)],
        check=True,  # the process did not crash
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=1200,
    )
    found = json.loads((folder / "results.json").read_text())
    return dict(zip(CASES, found.values(), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_request(answers, name):
    _, _, _, *expected = CASES[name]
    rows, error = answers[name]
    if isinstance(expected[0], int):
        assert ([rows], error) == (expected, "")
    else:
        assert error.startswith("InvalidArgumentError")
        assert all(words in error for words in expected)


def test_python_names_input_and_shape(paths):
    loaded = tf.saved_model.load(paths["images"])
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"image \[4,6,3\] is not .* expected shape \[\?,4,6,3\]",
    ):
        loaded.signatures["identify"](image=tf.zeros((4, 6, 3)))


class TestNothingIsExecuted:
    """Files of galleries and models are read without running their code."""

    @pytest.fixture
    def marker(self, tmp_path):
        return tmp_path / "executed"

    @pytest.fixture
    def model(self):
        inputs = keras.Input((2,), name="x")
        return keras.Model(inputs, keras.layers.Dense(2)(inputs))

    def test_pickled_array(self, model, marker, tmp_path):
        class Code:
            def __reduce__(self):
                return os.system, (f"touch {marker}",)

        path = tmp_path / "gallery.npz"
        Gallery(model).enroll(np.eye(2), ["a", "b"]).save(path)
        content = io.BytesIO()
        header = "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"
        header = header.ljust(117) + "\n"
        content.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)))
        content.write(header.encode() + pickle.dumps(Code()))
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        parts["labels.npy"] = content.getvalue()
        with zipfile.ZipFile(path, "w") as file:
            for name, part in parts.items():
                file.writestr(name, part)
        with pytest.raises(ValueError, match=r"is not a gallery"):
            Gallery.load(path, model)
        assert not marker.exists()

    def test_lambda_in_the_model(self, marker, tmp_path):
        command = f"touch {marker}"
        inputs = keras.Input((2,), name="x")
        layer = keras.layers.Lambda(
            lambda x, command=command: (__import__("os").system(command), x)[1],
            output_shape=(2,),
        )
        model = keras.Model(inputs, layer(inputs))
        path = tmp_path / "gallery.npz"
        gallery = Gallery(model).enroll(np.eye(2), ["a", "b"])
        gallery.save(path, include_model=True)
        marker.unlink()
        with pytest.raises(ValueError, match="cannot be loaded"):
            Gallery.load(path)
        assert not marker.exists()
