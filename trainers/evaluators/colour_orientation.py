"""Evaluation of colour and orientation: accuracy, axes and variances."""

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf import viz
from embeddings_tf.datasets import ColourOrientation
from embeddings_tf.datasets.colour_orientation import CENTRES
from embeddings_tf.datasets.colour_orientation import bayes_accuracy
from embeddings_tf.datasets.l_shapes import draw_l_shapes
from embeddings_tf.models.method import Method
from trainers.evaluators import few_shot
from trainers.evaluators.require_at_least import require_at_least
from trainers.measures.embed import embed
from trainers.measures.episodes import episode_log_prob

# In the order of the labels, 2 * orientation + hue.
FACTORS = ("orientation", "colour")
NUM_CLASSES = 4
BLOCK = 500
# The first is the undistorted image.
HUE_NOISES = (0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0)
# From the first to the second centre.
GRID = tuple(np.linspace(*CENTRES, 7).tolist())
LEGS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)

validation = few_shot.validation


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If the data set is another one, a count is too small, or a
            split does not exist or has too few images.
    """
    wanted = run.evaluation
    if run.data.dataset != "colour_orientation":
        raise ValueError(
            "config.evaluation.name='colour_orientation' is for the data set "
            f"of this name; received {run.data.dataset!r}. Use "
            "--config.evaluation.name=few_shot"
        )
    require_at_least(wanted, num_support=1, num_samples=1, num_distorted=1)
    of_class = len(data.labels(run.data.split)) // NUM_CLASSES
    if wanted.num_support > of_class:
        raise ValueError(
            f"config.evaluation.num_support must be at most {of_class}, the "
            f"images of a class; received {wanted.num_support}"
        )
    for split in wanted.splits:
        data.labels(split)


def evaluate(run, data, model) -> tuple[dict, dict]:
    """All measures of one trained model, and its figures by name.

    The first `num_support` images of each class of the training split are the
    supports. Results of each split are: the accuracy beside the accuracy of the
    ideal classifier on the same images; the single-dimension AUC of each
    factor; and the mean variance of each dimension at the centres of the
    classes, for each noise of the hue and for each length of the legs. `grid`
    has the embeddings of shapes between the centres of the classes.
    """
    wanted, results, figures = run.evaluation, {}, {}
    x, labels = data.split(run.data.split)
    support = np.concatenate(
        [
            np.flatnonzero(labels == c)[: wanted.num_support]
            for c in range(NUM_CLASSES)
        ]
    )
    supports = embed(model, x[support]), labels[support]
    method = Method(model)
    for split in wanted.splits:
        x, labels = data.split(split)
        embeddings = embed(model, x)
        found = _predicted(model, supports, embeddings, wanted.num_samples)
        mean = method.points(embeddings).numpy()
        factors = np.stack([labels // 2, labels % 2], axis=1)
        results[split] = {
            "accuracy": float(np.mean(found == labels)),
            "ideal_accuracy": float(np.mean(x.ideal_classes() == labels)),
            "bayes_accuracy": bayes_accuracy(),
            **axes(mean, factors),
        }
        variance = method.variances(embeddings)
        if variance is not None:
            results[split]["variance"] = variances(
                model, x, wanted.num_distorted, results[split]["axis"]
            )
        rows = slice(0, 800)
        figures[f"embedding_{split}"] = viz.embedding_figure(
            mean[rows],
            None if variance is None else variance[rows],
            labels[rows],
            np.ones(len(labels[rows]), bool),
            dict(zip(FACTORS, factors[rows].T, strict=True)),
            title=f"{run.data.dataset}: {split}",
        )
    results["grid"] = grid(model, method)
    return results | method.diagnostics(), figures


def grid(model, method: Method) -> dict:
    """Embeddings of whole shapes on a grid of orientations and hues.

    Returns:
        `degrees`, the orientations and the hues, and `mean`, nested lists
        `(orientations, hues, dim)`; of Gaussians also `variance`, and in
        `half_way` the variance of each dimension half-way between two classes
        of a factor, divided by the variance at their centres.
    """
    orientation, hue = np.meshgrid(GRID, GRID, indexing="ij")
    embeddings = embed(model, draw_l_shapes(orientation.ravel(), hue.ravel()))
    shape = (len(GRID), len(GRID), -1)
    mean = np.reshape(method.points(embeddings), shape)
    found = {"degrees": list(GRID), "mean": mean.tolist()}
    if method.has_variances:
        variance = np.reshape(method.variances(embeddings), shape)
        ends, middle = [0, len(GRID) - 1], len(GRID) // 2
        corners = variance[np.ix_(ends, ends)].mean(axis=(0, 1))
        found |= {
            "variance": variance.tolist(),
            "half_way": {
                "orientation": (
                    variance[middle, ends].mean(axis=0) / corners
                ).tolist(),
                "colour": (
                    variance[ends, middle].mean(axis=0) / corners
                ).tolist(),
            },
        }
    return found


def axes(codes: np.ndarray, factors: np.ndarray) -> dict:
    """How well each dimension alone tells each factor.

    Args:
        codes: Embeddings `(n, dim)`.
        factors: Zeros and ones `(n, 2)`, in the order of `FACTORS`.

    Returns:
        `single_dimension_auc`, of each factor the AUC of every dimension, and
        `axis`, of each factor the dimension that tells it best.
    """
    auc = {
        name: [metrics.roc_auc(code, factor == 1) for code in codes.T]
        for name, factor in zip(FACTORS, factors.T, strict=True)
    }
    auc = {name: [max(a, 1 - a) for a in found] for name, found in auc.items()}
    return {
        "single_dimension_auc": auc,
        "axis": {name: int(np.argmax(found)) for name, found in auc.items()},
    }


def variances(model, x: ColourOrientation, num_images: int, axis: dict) -> dict:
    """Mean variance of each factor's axis against noise and leg length.

    Of shapes with the hue and the orientation of the centres of the classes.

    Args:
        model: Model of embeddings with predicted variances.
        x: Images.
        num_images: How many of them.
        axis: The dimension of each factor, as `axes` returns it.

    Returns:
        `hue_noise` and `leg`: the `levels`, of each factor the mean variances
        `(levels,)`, in `ratio` the mean over all levels but the first, divided
        by the first, and in `increase` this mean minus the first.
    """
    results = {}
    for name, levels in (("hue_noise", HUE_NOISES), ("leg", LEGS)):
        means = []
        for level in levels:
            images = x.distorted(**{name: level}, centred=True)[:num_images]
            variance = Method(model).variances(embed(model, images))
            means.append(np.mean(variance, axis=0, dtype=np.float64))
        means = np.stack(means)
        distorted = means[1:].mean(axis=0)
        ratio, increase = distorted / means[0], distorted - means[0]
        results[name] = {
            "levels": list(levels),
            **{factor: means[:, axis[factor]].tolist() for factor in FACTORS},
            "ratio": {factor: float(ratio[axis[factor]]) for factor in FACTORS},
            "increase": {
                factor: float(increase[axis[factor]]) for factor in FACTORS
            },
        }
    return results


def summary(results: dict) -> str:
    """The measures of the aims as a text for people."""
    lines = []
    for split, found in results.items():
        if not isinstance(found, dict) or "accuracy" not in found:
            continue
        lines.append(
            f"{split}: accuracy {100 * found['accuracy']:.2f} %, ideal "
            f"classifier {100 * found['ideal_accuracy']:.2f} % "
            f"(expected {100 * found['bayes_accuracy']:.2f} %)"
        )
        for factor in FACTORS:
            axis = found["axis"][factor]
            auc = found["single_dimension_auc"][factor][axis]
            lines.append(
                f"{factor}: dimension {axis + 1} (`embedding[:, {axis}]`), "
                f"AUC {auc:.3f}"
            )
        for name, curve in found.get("variance", {}).items():
            ratios = ", ".join(
                f"{factor} {curve['ratio'][factor]:.2f}" for factor in FACTORS
            )
            lines.append(f"variance with {name} over without: {ratios}")
    return "\n".join(lines)


def _predicted(model, supports, queries, num_samples: int) -> np.ndarray:
    """The most probable class of each query."""
    log_prob = episode_log_prob(model, num_samples)
    seed = tf.constant([0, 0])
    return np.concatenate(
        [
            log_prob(
                *supports, queries[first : first + BLOCK], NUM_CLASSES, seed
            )
            .numpy()
            .argmax(axis=-1)
            for first in range(0, len(queries), BLOCK)
        ]
    )
