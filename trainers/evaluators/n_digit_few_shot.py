"""Few-shot evaluation of n-digit numbers, with metrics per digit.

Each digit of an image is occluded separately. Adds the information of each
dimension about each digit, and whether a dimension's variance rises with the
occlusion of its digit.
"""

import numpy as np

from embeddings_tf import metrics
from embeddings_tf.datasets.n_digit.composition import digits_of
from embeddings_tf.models.method import Method
from trainers.evaluators import few_shot
from trainers.measures.occluded import variance_and_occlusion
from trainers.measures.rank_correlation import rank_correlation

NAMES = ("first digit", "second digit", "third digit")

check = few_shot.check
summary = few_shot.summary
validation = few_shot.validation


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns the results of `few_shot.evaluate`, with metrics of digits."""
    splits, trained = few_shot.embed_splits(
        run, data, model, num_parts=num_digits
    )
    digits = digits_of(
        np.concatenate([split.labels for split in splits]),
        splits[0].occluded[0].shape[1],
    )
    factors = dict(zip(NAMES, digits.T, strict=False))
    results, figures = few_shot.measure(run, model, splits, trained, factors)
    method = Method(model)
    mean = np.concatenate([split.clean for split in splits])
    mean = method.points(mean).numpy()
    if "uncertainty" in results:
        results["uncertainty"]["rank_correlation_dimension_digit"] = (
            occlusion_by_digit(*variance_and_occlusion(method, splits))
        )
    results["axes"] = axis_alignment(mean, digits)
    return results, figures


def num_digits(shape) -> int:
    """Number of digits in an image `(height, width, channels)`."""
    return shape[1] // shape[0]


def axis_alignment(mean, digits) -> dict:
    """Mutual information of axes and digits, and the best rotation, in nats.

    Args:
        mean: Embeddings `(n, dim)`.
        digits: The result of `digits_of`, `(n, count)`.
    """
    information = metrics.mutual_information(mean, digits, binning="quantile")
    result = {"mutual_information": information.tolist()}
    if mean.shape[1] == digits.shape[1] == 2:
        rotation = metrics.best_rotation(mean, digits, binning="quantile")
        result["rotation"] = {
            name: np.asarray(value).tolist() for name, value in rotation.items()
        }
    return result


def occlusion_by_digit(variance, occluded) -> list[list[float | None]]:
    """Rank correlation of each dimension's variance and each digit's occlusion.

    Args:
        variance: `(n, dim)`.
        occluded: Hidden share of each digit, `(n, count)`.
    """
    return [
        [rank_correlation(of_digit, values) for of_digit in occluded.T]
        for values in variance.T
    ]
