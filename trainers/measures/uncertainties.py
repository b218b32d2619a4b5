"""Uncertainties of inputs, and which of them retrieval gets wrong."""

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.models.has_uncertainty import has_uncertainty
from embeddings_tf.models.method import Method
from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest
from embeddings_tf.ops.other_rows import other_rows
from trainers.measures.embed import head_uncertainty
from trainers.terminal.progress import Progress


def sources(model) -> list[str]:
    """Names of the uncertainties of a model: `head`, `variance`."""
    has_variances = Method(model).has_variances
    return ["head"] * has_uncertainty(model) + ["variance"] * has_variances


def uncertainties(model, x, embeddings) -> dict[str, np.ndarray]:
    """Each uncertainty of inputs, `(n,)`, by name."""
    head = head_uncertainty(model, x, shown=False)
    found = {} if head is None else {"head": head}
    variances = Method(model).variances(embeddings)
    if variances is not None:
        found["variance"] = variances.numpy().sum(-1)
    return found


def is_wrong(
    queries, gallery, labels, distance: str, progress: Progress | None = None
) -> np.ndarray:
    """Whether the nearest other row of the gallery has another class.

    Neighbours are found as in `metrics.recall_at_k`. `progress` advances by
    the queries.
    """
    queries = arrays.numbers("queries", queries, 2, "(n, dim)")
    gallery = arrays.numbers("gallery", gallery, 2, "(n, dim)")
    distances = Distances(queries, gallery, distance)
    rows = np.arange(len(labels))
    advance = None if progress is None else progress.advance
    wrong = np.empty(len(labels), bool)
    for block, found in nearest(distances, rows, 2, progress=advance):
        other = other_rows(found, block)[:, 0]
        wrong[block] = labels[other] != labels[block]
    return wrong
