"""Whether an input is in any enrolled class: scores and their threshold."""

import numpy as np

from embeddings_tf.metrics import conformal_threshold
from embeddings_tf.models.few_shot_classifier import FewShotClassifier
from embeddings_tf.models.method import Method
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.nearest_rows import distances_and_rows
from embeddings_tf.scoring.typicality import Typicality

# The decision of an input that is not typical.
LEAST = np.finfo(np.float64).min
SCORES = ("log_evidence", "nearest_distance")
# The promised false-accept rate, if the calibration classes suffice.
DEFAULT_RATE = 0.05


def default_rate(num_classes: int) -> float:
    """Returns the false-accept rate that a number of classes can promise."""
    return max(DEFAULT_RATE, 1 / (num_classes + 1))


def open_set_scores(
    score: str,
    classifier: FewShotClassifier,
    examples: LabelledEmbeddings,
    embeddings: np.ndarray,
) -> np.ndarray:
    """Returns scores `(n,)`, higher for inputs of enrolled classes.

    Args:
        score: A name of `SCORES`.
        classifier: Fitted to the embeddings of the enrolled examples.
        examples: The enrolled examples.
        embeddings: Queries `(n, width)`.
    """
    if score == "log_evidence":
        return classifier.predict_log_evidence(embeddings).astype(np.float64)
    if not len(embeddings):
        return np.zeros(0)
    distances, _ = distances_and_rows(
        Method(classifier.model), embeddings, examples.embeddings, 1
    )
    return -distances[:, 0]


def checked_typicality(typicality) -> Typicality | None:
    """Returns the check of a gallery, or raises ValueError."""
    if typicality is None or isinstance(typicality, Typicality):
        return typicality
    raise ValueError(
        "The `typicality` of a gallery must be a scoring.Typicality or None; "
        f"received {typicality!r}."
    )


def checked_unknown(unknown) -> str | int | None:
    """Returns the answer for other classes, or raises ValueError."""
    if unknown is None or isinstance(unknown, str):
        return unknown
    is_integer = isinstance(unknown, int | np.integer)
    limits = np.iinfo(np.int64)
    if (
        not is_integer
        or isinstance(unknown, bool)
        or not limits.min <= unknown <= limits.max
    ):
        raise ValueError(
            "`unknown` must be a string, an integer of 64 bits or None; "
            f"received {unknown!r}."
        )
    return int(unknown)


def answer_for_unknown(unknown: str | int | None, labels: np.ndarray):
    """Returns the answer "unknown" for labels of this kind."""
    is_text = labels.dtype.kind == "U"
    if unknown is None:
        return "unknown" if is_text else -1
    if isinstance(unknown, str) != is_text:
        raise ValueError(
            f"`unknown` must be of the kind of the labels, {labels.dtype}; "
            f"received {unknown!r}."
        )
    return unknown


def require_free_answer(
    unknown,
    labels: np.ndarray,
    remedy: str = "Rename the class, or set Gallery(..., unknown=...).",
) -> None:
    """Raises ValueError if a label is the answer for other classes."""
    answer = answer_for_unknown(unknown, labels)
    if answer in labels:
        raise ValueError(
            f"The label {answer!r} is the answer for other classes. {remedy}"
        )


def answers(
    scores: np.ndarray,
    log_prob: np.ndarray,
    labels: np.ndarray,
    threshold: float | None,
    unknown: str | int | None,
    typical: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Returns the columns of `Gallery.identify`, `(n,)`.

    Args:
        scores: `(n,)`.
        log_prob: Log-probabilities of the classes, `(n, classes)`.
        labels: The labels of the classes, `(classes,)`.
        threshold: The smallest accepted score; None accepts every input.
        unknown: As in `answer_for_unknown`.
        typical: Whether the inputs are typical, `(n,)`; None if the gallery
            does not check them.
    """
    best = labels[log_prob.argmax(axis=1)]
    accepted = np.ones(len(scores), bool)
    if threshold is not None:
        accepted = scores >= threshold
    columns = {}
    if typical is not None:
        accepted, columns = accepted & typical, {"typical": typical}
    unknown = answer_for_unknown(unknown, best)
    return {
        "answer": np.where(accepted, best, unknown),
        "class": best,
        "probability": np.exp(log_prob.max(axis=1)),
        "score": scores,
        "accepted": accepted,
        **columns,
    }


def not_enrolled(
    held_out: LabelledEmbeddings, examples: LabelledEmbeddings
) -> LabelledEmbeddings:
    """Returns the held-out examples of classes that are not enrolled."""
    is_other = ~np.isin(
        held_out.labels.astype(str), examples.labels.astype(str)
    )
    return held_out.take(np.flatnonzero(is_other))


def typical_rows(
    typicality: Typicality | None, embedded: bool, x, inputs
) -> np.ndarray | None:
    """Returns whether inputs are typical, `(n,)`; None without a check.

    Args:
        typicality: The check of the gallery, or None.
        embedded: Whether `x` are embeddings.
        x: Inputs, or their embeddings.
        inputs: The inputs of embeddings, or None.

    Raises:
        ValueError: If there is a check, and the inputs of the embeddings are
            missing or of another number.
    """
    typicality = checked_typicality(typicality)
    if typicality is None:
        return None
    if embedded and inputs is None:
        raise ValueError(
            "`inputs` must be the inputs of the embeddings, because the "
            "gallery checks whether they are typical; received None. Pass "
            "inputs=..., or set gallery.typicality = None."
        )
    typical = typicality.predict(inputs if embedded else x)
    if len(typical) != len(x):
        raise ValueError(
            f"`inputs` must be one input per embedding, {len(x)}; received "
            f"{len(typical)}."
        )
    return typical


def calibrated(
    score: str,
    classifier: FewShotClassifier,
    examples: LabelledEmbeddings,
    held_out: LabelledEmbeddings,
    rate: float | None,
) -> tuple[float, dict]:
    """Returns the threshold for a rate, and how it was obtained.

    Classes of `held_out` that are enrolled do not count. The rate None is
    `default_rate` of the classes that are left.

    Raises:
        ValueError: If too few classes are left for the rate.
    """
    others = not_enrolled(held_out, examples)
    if not len(others):
        raise ValueError(
            "No calibration class is left: all of them are enrolled. Calibrate "
            "on examples of other classes."
        )
    if rate is None:
        rate = default_rate(len(np.unique(others.labels)))
    scores = open_set_scores(score, classifier, examples, others.embeddings)
    found = conformal_threshold(scores, others.labels, rate)
    threshold = found.pop("threshold")
    return threshold, {
        **found,
        "method": "split conformal over classes that are not enrolled",
        "num_examples": len(others),
    }
