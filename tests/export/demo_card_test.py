"""The committed example export: its card is what today's code writes."""

import json
import pathlib

from embeddings_tf.export import signature_table
from embeddings_tf.export.model_card import card_markdown
from trainers.workdirs.run_card import _divided

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "saved_models" / "demo"
(VERSION,) = [path for path in FOLDER.iterdir() if path.is_dir()]


def test_the_card_is_generated():
    card = json.loads((VERSION / "model_card.json").read_text())
    assert card_markdown(card) == (VERSION / "model_card.md").read_text()
    assert card["version"] == int(VERSION.name)
    rows = signature_table(VERSION)
    assert list(card["signatures"]) == [row.name for row in rows]


def test_the_card_has_the_metrics_of_the_evaluation():
    """Seconds, settings and machine are not metrics."""
    card = json.loads((VERSION / "model_card.json").read_text())
    found = json.loads((FOLDER / "evaluation.json").read_text())
    metrics, about = _divided(found["evaluation"])
    assert card["metrics"] == metrics
    assert card["recipe"]["evaluation"]["seconds"] == about["seconds"]
    assert card["recipe"]["commit"] == found["training"]["commit"]
