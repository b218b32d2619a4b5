"""Warm-up requests, against the messages of tensorflow-serving-api."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from embeddings_tf.export import export_saved_model
from embeddings_tf.export.example_inputs import example_inputs
from embeddings_tf.export.serving_files import example_requests
from embeddings_tf.export.warm_up import prediction_log
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import SoftContrastive


def reference(model, signature, inputs):
    """The message as tensorflow-serving-api serializes it."""
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "inputs",
    [
        {"image": np.linspace(0, 255, 600, dtype="float32").reshape(1, 20, 30)},
        # Several inputs, not in alphabetical order, one of them empty.
        {
            "support": np.ones((2, 3), "float32"),
            "support_labels": np.array([7, -1], "int32"),
            "query": np.zeros((0, 3), "float32"),
            "seed": np.array([0, 0], "int32"),
        },
        {"image_bytes": np.array([b"\x89PNG\0", b""], object)},
        # Lengths of one, two and three bytes.
        *({"x": np.zeros(n, "uint8")} for n in (1, 127, 128, 16_383, 16_384)),
        {"größe": np.array(3, "int64")},
    ],
)
def test_bytes_of_tensorflow_serving_api(inputs):
    expected = reference("a model", "classify", inputs)
    assert prediction_log("a model", "classify", inputs) == expected


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    encoder = keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(2)]
    )
    model = EmbeddingModel(encoder, SoftContrastive())
    folder = tmp_path_factory.mktemp("a") / "points"
    return export_saved_model(model, folder, max_rows=5)


@pytest.mark.slow
def test_requests_are_answered_and_can_be_batched(exported):
    """With batching, TensorFlow Serving refuses other numbers of rows."""
    served = tf.saved_model.load(exported)
    file = f"{exported}/assets.extra/tf_serving_warmup_requests"
    rows = {name: [] for name in served.signatures}
    for record in tf.data.TFRecordDataset(file).as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(record)
        request = log.predict_log.request
        assert request.model_spec.name == "points"
        assert log.SerializeToString(deterministic=True) == record
        name = request.model_spec.signature_name
        inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
        outputs = served.signatures[name](
            **{k: tf.constant(v) for k, v in inputs.items()}
        )
        assert all(np.isfinite(v).all() for v in outputs.values())
        (size,) = {len(value) for value in inputs.values()}
        assert {len(value) for value in outputs.values()} == {size}
        rows[name].append(size)
    joint = {name: [] for name in rows if name.startswith("classify")}
    assert len(joint) == 2, "with and without a seed"
    expected = {name: [1, 5] for name in served.signatures} | joint
    assert rows == expected | {"embed": [1, 8]}, "embed has no limit"


def test_a_version_whose_input_refuses_noise_has_no_request(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, "x")])
    def small(x):
        check = tf.debugging.assert_less(x, 0.5, "`x` must be below 0.5")
        with tf.control_dependencies([check]):
            return tf.identity(x)

    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    path = export_saved_model(encoder, tmp_path / "small", preprocessing=small)
    file = f"{path}/assets.extra/tf_serving_warmup_requests"
    assert list(tf.data.TFRecordDataset(file)) == []
    with open(f"{path}/model_card.json") as card:
        assert "`x` must be below 0.5" in card.read()


@pytest.mark.slow
def test_a_decoder_that_fails_in_its_own_way_has_no_request(tmp_path):
    def decoder(name, contents):
        check = tf.debugging.Assert(False, ["no header in a file"])
        with tf.control_dependencies([check]):
            return (tf.zeros((tf.shape(contents)[0], 3)),)

    encoder = keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(2)]
    )
    path = export_saved_model(encoder, tmp_path / "own", decoder=decoder)
    with open(f"{path}/model_card.json") as card:
        found = json.load(card)["signatures"]
    assert found["embed_bytes"]["warm_up"] is False
    assert "no header in" in found["embed_bytes"]["warm_up_error"]
    assert found["serving_default"]["warm_up"] is True
    with open(f"{path}/model_card.md") as card:
        line = next(row for row in card if row.startswith("| `embed_bytes`"))
    assert "no: InvalidArgumentError: " in line and "no header in" in line


def numbers(texts):
    """Three numbers of each text, separated by spaces."""
    parts = tf.strings.split(texts).to_tensor("nan", shape=(None, 3))
    return tf.strings.to_number(parts)


@pytest.mark.parametrize("part", ["preprocessing", "decoder"])
def test_models_that_parse_texts_are_exported(part, tmp_path):
    """TensorFlow's error about an example file quotes it."""
    text = tf.TensorSpec((None,), tf.string, "text")
    options, input_name = {
        "preprocessing": (tf.function(numbers, input_signature=[text]), "text"),
        "decoder": (lambda name, contents: (numbers(contents),), "x_bytes"),
    }[part]
    encoder = keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(2)]
    )
    path = export_saved_model(encoder, tmp_path / "own", **{part: options})
    signature = "embed_bytes" if part == "decoder" else "serving_default"
    with open(f"{path}/model_card.json") as card:
        found = json.load(card)["signatures"][signature]
    assert found["warm_up"] is False
    # The error of the last example, a sound, quotes its first bytes only.
    assert "convert string: RIFF" in found["warm_up_error"]
    serve = tf.saved_model.load(path).signatures[signature]
    embedding = serve(**{input_name: tf.constant(["1 2 3"])})["embedding"]
    np.testing.assert_allclose(
        embedding, encoder(np.array([[1.0, 2, 3]])), rtol=1e-6
    )


def test_an_error_that_quotes_a_file_that_is_no_text_is_recorded():
    text = tf.TensorSpec((None,), tf.string, "text")
    function = tf.function(numbers).get_concrete_function(text)
    requests, error = example_requests(function, 8, ("png",))
    assert requests == []
    assert "TensorFlow's error quotes the example file" in error


def test_too_little_memory_is_no_property_of_a_signature():
    def function(*inputs):
        raise tf.errors.ResourceExhaustedError(None, None, "no memory")

    function.structured_input_signature = (
        (tf.TensorSpec((None, 3), tf.float32, "x"),),
    )
    with pytest.raises(tf.errors.ResourceExhaustedError, match="no memory"):
        example_requests(function, 8, ("png",))


def test_example_inputs_fit_the_specs():
    specs = [
        tf.TensorSpec((None, None), tf.float32, "first"),
        tf.TensorSpec((None,), tf.int32, "first_length"),
        tf.TensorSpec((None, None), tf.int16, "second"),
        tf.TensorSpec((None,), tf.int32, "second_length"),
        tf.TensorSpec((None, None), tf.int64, "tokens"),
        tf.TensorSpec((None,), tf.int32, "tokens_length"),
        tf.TensorSpec((None, None, 9, 1), tf.uint8, "image"),
        tf.TensorSpec((None,), tf.int32, "support_labels"),
        tf.TensorSpec((2,), tf.int32, "seed"),
        tf.TensorSpec((), tf.int32, "k"),
        tf.TensorSpec((None,), tf.string, "image_bytes"),
    ]
    found = example_inputs(specs, 5)
    for spec in specs:
        value = found[spec.name]
        assert spec.shape.is_compatible_with(value.shape)
        assert tf.constant(value).dtype == spec.dtype
        assert spec.shape.rank in (0, None) or len(value) == (
            spec.shape[0] or 5
        )
    for name in ("first", "second", "tokens"):
        assert (found[f"{name}_length"] == found[name].shape[1]).all()
    assert np.ptp(found["second"]) > 1, "silence"
    assert set(found["support_labels"]) == {0, 1} and found["k"] == 1
    assert tf.io.decode_image(found["image_bytes"][0]).shape == (24, 24, 3)
    wave = example_inputs(specs[-1:], 1, 8000)["image_bytes"][0]
    assert tf.audio.decode_wav(wave).sample_rate == 8000
