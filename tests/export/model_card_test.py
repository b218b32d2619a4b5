"""The model card of an export, as JSON and as Markdown."""

import json

import keras
import numpy as np
import pytest

from embeddings_tf.export import export_saved_model
from embeddings_tf.export.batching import batching_parameters
from embeddings_tf.models import n_digit_encoder

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


def test_facts_of_the_model(version):
    model, card, _ = version
    assert (card["model"], card["version"]) == ("numbers", 4)
    assert card["dim"] == 3 and card["gaussian"] is True
    weights = sum(np.prod(w.shape) for w in model.weights)
    assert card["parameters"] == weights


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
    ],
)
def test_bad_facts_write_nothing(card, tmp_path):
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="card must .*received"):
        export_saved_model(encoder, tmp_path / "bad", card=card)
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (64, [1, 2, 4, 8, 16, 32, 64])],
)
def test_allowed_sizes_increase_up_to_the_largest_batch(rows, sizes):
    lines = batching_parameters(rows).splitlines()
    allowed = [
        int(line.removeprefix("allowed_batch_sizes: "))
        for line in lines
        if line.startswith("allowed_batch_sizes: ")
    ]
    assert allowed == sizes
    assert lines[0] == f"max_batch_size {{ value: {rows} }}"
