"""What the few-shot evaluation tells of n-digit numbers besides."""

import numpy as np

from embeddings_tf import metrics

NAMES = ("first digit", "second digit", "third digit")


def num_digits(config, shape) -> int:
    """Digits side by side in an image of this shape; 0 for other data sets.

    Args:
        config: The recipe.
        shape: `(height, width, channels)`.
    """
    if not config.dataset.startswith("n_digit/"):
        return 0
    return shape[1] // shape[0]


def digits(numbers, count: int) -> np.ndarray:
    """The digits of `(n,)` numbers, `(n, count)`, the first one first."""
    powers = 10 ** np.arange(count - 1, -1, -1)
    return numbers[:, None] // powers % 10


def axis_alignment(mean, found) -> dict:
    """Mutual information of axes and digits, and the best rotation, in nats.

    Args:
        mean: Embeddings `(n, dim)`.
        found: What `digits` gave, `(n, count)`.
    """
    information = metrics.mutual_information(mean, found, binning="quantile")
    result = {"mutual_information": information.tolist()}
    if mean.shape[1] == found.shape[1] == 2:
        rotation = metrics.best_rotation(mean, found, binning="quantile")
        result["rotation"] = {
            name: np.asarray(value).tolist() for name, value in rotation.items()
        }
    return result


def occlusion_by_digit(variance, occluded) -> list[list[float]]:
    """Rank correlation of each dimension's variance and each digit's occlusion.

    Args:
        variance: `(n, dim)`.
        occluded: Part of each digit that is hidden, `(n, count)`.
    """
    from scipy.stats import spearmanr

    return [
        [
            float(spearmanr(of_digit, values).statistic)
            for of_digit in occluded.T
        ]
        for values in variance.T
    ]
