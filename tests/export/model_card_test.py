"""The model card of an export, as JSON and as Markdown."""

import json
import pathlib
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import export_saved_model
from embeddings_tf.export import signature_table
from embeddings_tf.export.batching import batching_parameters
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.objectives import FullCovariancePrototypes

CARD = {
    "data": {"name": "numbers | digits", "fingerprint": "5ffd19d14f70dce2"},
    "recipe": {"name": "demo", "config": {"seed": 3, "loss": {"margin": 0.1}}},
    "metrics": {
        "test": {
            "clean": {"accuracy": 0.71234567, "interval": 0.0125},
            "pairs": {
                "equal_error_rate": 0.05,
                "min_dcf": 0.3,
                "interval": [0.04, 0.061],
            },
            "unknown": {"auroc": 0.9, "auroc_interval": 0.02, "curve": [1, 2]},
            "one_episode": {"auroc": 0.8, "auroc_interval": None},
        }
    },
    "licence": "Apache-2.0",
}


@pytest.fixture(scope="module")
def version(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card") / "numbers"
    model = n_digit_encoder(3, image_shape=(8, 16, 1))
    path = export_saved_model(model, folder, 4, card=CARD)
    with open(f"{path}/model_card.json") as file:
        card = json.load(file)
    with open(f"{path}/model_card.md") as file:
        return model, card, file.read()


@pytest.mark.slow
def test_facts_of_the_model(version):
    model, card, _ = version
    assert (card["model"], card["version"]) == ("numbers", 4)
    assert card["dim"] == 3 and card["gaussian"] is True
    weights = sum(np.prod(w.shape) for w in model.weights)
    assert card["parameters"] == weights


@pytest.mark.slow
def test_signature_table(version):
    _, card, text = version
    default = card["signatures"]["serving_default"]
    (image,) = default["inputs"]
    assert image["name"] == "image" and image["range"] == "0 to 255"
    assert image["shape"] == [None, 8, 16, 1] and image["dtype"] == "float32"
    outputs = {row["name"]: row["shape"] for row in default["outputs"]}
    assert outputs == {"embedding": [None, 3], "variance": [None, 3]}
    assert default["warm_up"] is True and default["max_rows"] == 4096
    assert card["signatures"]["embed_bytes"]["warm_up"] is True
    assert "`support_labels` int32 (any)" in text
    classify = card["signatures"]["classify"]
    assert classify["warm_up"] is False and classify["can_batch"] is False
    (row,) = [r for r in text.splitlines() if r.startswith("| `classify` ")]
    assert row.endswith("| no: a server with batching cannot answer it |")
    assert "| `image` | float32 | (any, 8, 16, 1) | 0 to 255 |" in text


def test_facts_of_the_run(version):
    _, card, text = version
    assert {name: card[name] for name in CARD} == CARD
    for line in (
        "# Model card: numbers, version 4",
        "| licence | Apache-2.0 |",
        "| name | numbers \\| digits |",
        "| fingerprint | 5ffd19d14f70dce2 |",
        "| config.loss.margin | 0.1 |",
        "| test.clean.accuracy | 0.7123 | ±0.0125 |",
        "| test.pairs.equal_error_rate | 0.05 | 0.04 to 0.061 |",
        "| test.pairs.min_dcf | 0.3 |  |",
        "| test.unknown.auroc | 0.9 | ±0.02 |",
        "| test.one_episode.auroc | 0.8 |  |",
    ):
        assert line in text.splitlines()
    assert "curve" not in text


@pytest.mark.parametrize(
    "card",
    [
        "hostile",
        {"author": "me"},
        {"metrics": {"accuracy": float("nan")}},
        {"data": {"x": np.zeros(3)}},
        {"data": "numbers"},
        {"metrics": [0.7]},
        {"licence": 2},
    ],
)
def test_bad_facts_write_nothing(card, tmp_path):
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="card must .*received"):
        export_saved_model(encoder, tmp_path / "bad", card=card)
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (1, [1]),
        (2, [1, 2]),
        (6, [1, 2, 4, 6]),
        (64, [1, 2, 4, 8, 16, 32, 64]),
        (4096, [1, 2, 4, 8, 16, 32, 64]),
        (100_000, [1, 2, 4, 8, 16, 32, 64]),
        (None, [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_batching_splits_requests_of_the_largest_size(rows, sizes):
    """As TensorFlow Serving's `SharedBatchScheduler` requires."""
    text = batching_parameters(rows)
    value = dict(re.findall(r"(\w+) { value: (\w+) }", text))
    allowed = re.findall(r"allowed_batch_sizes: (\d+)", text)
    assert [int(size) for size in allowed] == sizes
    assert value["enable_large_batch_splitting"] == "true"
    largest = int(value["max_execution_batch_size"])
    assert sizes[-1] == largest <= int(value["max_batch_size"])
    assert int(value["max_batch_size"]) == rows or rows is None
    # The parts of a request must fit into the queue.
    parts = -(-int(value["max_batch_size"]) // largest)
    assert parts < int(value["max_enqueued_batches"])
    assert "pad_variable_length_inputs" not in text


@pytest.mark.parametrize("has_length", [True, False])
def test_inputs_of_open_size_are_padded_if_they_have_lengths(
    has_length, tmp_path
):
    waveform = tf.TensorSpec((None, None), tf.float32, "waveform")
    length = tf.TensorSpec((None,), tf.int32, "length")

    @tf.function(input_signature=[waveform, length][: 1 + has_length])
    def loudest(waveform, length=None):
        if length is not None:
            is_sample = tf.sequence_mask(length, tf.shape(waveform)[1])
            waveform = tf.where(is_sample, waveform, 0.0)
        return tf.reduce_max(waveform, axis=1, keepdims=True)

    encoder = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2)])
    path = export_saved_model(encoder, tmp_path / "a", preprocessing=loudest)
    default, *_ = signature_table(path)
    assert default.can_batch is has_length
    text = pathlib.Path(path, "batching_params.pbtxt").read_text()
    assert ("pad_variable_length_inputs: true" in text) is has_length
    card = json.loads(pathlib.Path(path, "model_card.json").read_text())
    found = card["signatures"]["serving_default"]
    assert found["warm_up"] is has_length
    assert has_length or "batching" in found["warm_up_error"]


@pytest.mark.slow
def test_full_covariances_are_points_and_variances(tmp_path):
    """Clients do not get the five numbers that only the objective reads."""
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
    model = EmbeddingModel(encoder, FullCovariancePrototypes(1))
    path = export_saved_model(model, tmp_path / "plane")
    rows = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    served = tf.saved_model.load(path)
    found = served.signatures["serving_default"](tf.constant(rows))
    raw = encoder(rows).numpy()
    np.testing.assert_allclose(found["embedding"], raw[:, :2], rtol=1e-5)
    variances = np.logaddexp(0, raw[:, 2:4])
    np.testing.assert_allclose(found["variance"], variances, rtol=1e-5)
    text = pathlib.Path(path, "model_card.md").read_text()
    assert "| embedding | 2 dimensions, Gaussian: mean and variance |" in text
