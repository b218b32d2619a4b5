"""Advice for a training that waits for its input."""

import os
import pathlib

from embeddings_tf.datasets.table_columns import table_columns
from trainers.config.run import DataFields

# Share of the step time spent waiting for input, above which there is advice.
LARGE_WAIT = 0.2
# Shorter trainings say little about their input.
SHORT_SECONDS = 60
FEW_STEPS = 100


def wait_hint(fields: DataFields, training: dict) -> str:
    """Returns the advice, or "" for a training that needs none.

    Args:
        fields: The data of the run.
        training: The section `training` of its results.
    """
    wait = training.get("input_wait", 0)
    is_long = training["seconds"] > SHORT_SECONDS
    if wait <= LARGE_WAIT or not is_long or training["steps"] < FEW_STEPS:
        return ""
    advice = []
    if not _is_in_memory(fields):
        kept = "keep decoded examples in memory or in a memory-mapped array"
        if not fields.front_end.name:
            cache = fields.images.cache_gib
            kept += f" (image files: config.images.cache_gib, now {cache:g})"
        advice.append(kept)
    if fields.preprocess.name:
        advice.append("do less in config.preprocess")
    if not advice:
        return ""
    return (
        f"{100 * wait:.0f} % of the step time was spent waiting for input: "
        f"{', '.join(advice)}, or use more cores (docs/training.md)."
    )


def _is_in_memory(fields: DataFields) -> bool:
    """Whether the examples are arrays or features, as far as is known."""
    kind, _, path = fields.dataset.partition(":")
    if kind == "csv" and pathlib.Path(os.path.expanduser(path)).is_file():
        kind = "arrays" if table_columns(path).features else kind
    return kind == "arrays" or bool(fields.backbone.network)
