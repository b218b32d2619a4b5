"""Few-shot evaluation of a trained model: accuracy, uncertainty, pictures.

Of any data set with classes. Images are evaluated clean and partly occluded,
other examples clean only. `trainers.n_digit` adds what n-digit numbers tell.
"""

import functools
import pathlib
import sys
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import viz
from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import corrupt
from embeddings_tf.datasets import occlusion_mask
from embeddings_tf.models.few_shot_classifier import class_log_prob
from embeddings_tf.models.few_shot_classifier import class_prototypes
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import positive_integer
from trainers import n_digit
from trainers.data import load
from trainers.data import load_labels
from trainers.data import preprocessing
from trainers.embed import embed
from trainers.folds import class_ids
from trainers.held_out import HeldOut

BLOCK = 1000
CONDITIONS = ("clean", "corrupt_support", "corrupt_query")


def episode_log_prob(model, num_samples: int):
    """A `log_prob` for `metrics.few_shot_accuracy`, compiled.

    Prototypes from the supports, then log-probabilities of the queries, the
    way the model was trained to classify. XLA makes 200 samples two to three
    times faster; its random numbers differ from TensorFlow's for equal seeds.
    """

    @tf.function(jit_compile=True, autograph=False)
    def log_prob(support, support_labels, query, num_classes, seed):
        prototypes = class_prototypes(
            model, support, support_labels, num_classes
        )
        return class_log_prob(model, query, prototypes, num_samples, seed)

    return log_prob


def embed_corrupted(model, x, draw: int, num_digits: int = 1) -> np.ndarray:
    """Embeddings of all of `x`, `num_digits` parts of each image corrupted."""
    parts = []
    for first in range(0, len(x), BLOCK):
        block = tf.convert_to_tensor(x[first : first + BLOCK])
        block = corrupt(block, _seed(draw, first), num_digits=num_digits)
        parts.append(model.predict_on_batch(block))
    return np.concatenate(parts)


def occluded_fraction(shape, draw: int, num_digits: int = 1) -> np.ndarray:
    """How much of each part of an image a draw hides, `(n, num_digits)`.

    Args:
        shape: `(n, height, width, channels)`.
        draw: Which draw.
        num_digits: Parts side by side in an image.
    """
    num_images, height, width = shape[:3]
    width //= num_digits
    parts = []
    for first in range(0, num_images, BLOCK):
        count = min(BLOCK, num_images - first)
        seed = _seed(draw, first)
        mask = occlusion_mask(count, (height, width), num_digits, seed)
        cells = np.reshape(mask, (count, height, num_digits, width))
        parts.append(cells.mean(axis=(1, 3)))
    return np.concatenate(parts)


def _seed(draw: int, first: int) -> tf.Tensor:
    return tf.constant([draw, first], tf.int32)


def classes_of(labels) -> np.ndarray:
    """Class numbers `(n,)` of any labels; integers keep their values."""
    labels = np.asarray(labels)
    if labels.ndim == 1 and labels.dtype.kind in "iu":
        return labels
    return class_ids(labels)


def validation(config, model) -> callbacks.EmbeddingEvaluation:
    """Few-shot accuracy on the validation part, preprocessed as training.

    One fixed draw of the preprocessing and of the episodes, so that epochs
    are compared on the same task.
    """
    x, labels = load(config, config.validation.split)
    labels = classes_of(labels)
    preprocess = preprocessing(config)
    if preprocess is not None:
        x = tf.concat(
            [
                preprocess(x[first : first + BLOCK], tf.constant([-1, first]))
                for first in range(0, len(x), BLOCK)
            ],
            axis=0,
        ).numpy()
    episodes = dict(config.validation)
    del episodes["split"]
    num_samples = episodes.pop("num_samples")
    log_prob = episode_log_prob(
        model, positive_integer("validation.num_samples", num_samples)
    )
    # Checks the numbers against the labels now, not after an epoch.
    metrics.few_shot_episodes(np.zeros((len(labels), 1)), labels, **episodes)

    def few_shot_accuracy(embeddings, labels):
        return metrics.few_shot_accuracy(
            embeddings,
            labels,
            log_prob=log_prob,
            seed=config.seed,
            **episodes,
        )

    measures = {"few_shot_accuracy": few_shot_accuracy}
    if isinstance(x, Utterances):
        return HeldOut(x, labels, measures)
    return callbacks.EmbeddingEvaluation(x, labels, measures, batch_size=BLOCK)


def check(config) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If a count is too small, there is not one entry of
            `num_classes` for each split, or a split does not exist or has too
            few classes or examples.
    """
    wanted = config.evaluation
    if len(wanted.splits) != len(wanted.num_classes):
        raise ValueError(
            "config.evaluation.num_classes must have an entry for each of "
            f"config.evaluation.splits; received {tuple(wanted.num_classes)} "
            f"for {tuple(wanted.splits)}"
        )
    for field, least in (
        ("num_episodes", 2),
        ("num_draws", 1),
        ("num_samples", 1),
    ):
        if wanted[field] < least:
            raise ValueError(
                f"config.evaluation.{field} must be at least {least}; "
                f"received {wanted[field]}"
            )
    for split, num_classes in zip(
        wanted.splits, wanted.num_classes, strict=True
    ):
        labels = classes_of(load_labels(config, split))
        try:
            metrics.few_shot_episodes(
                np.zeros((len(labels), 1)),
                labels,
                wanted.num_support,
                wanted.num_query,
                num_classes,
            )
        except ValueError as error:
            raise ValueError(
                f"config.evaluation does not fit the split {split!r}: {error}"
            ) from error


class _Split(NamedTuple):
    """One test split: its examples clean and in every corruption draw.

    Examples that are no images have neither `corrupted` nor `occluded`.
    """

    name: str
    num_classes: int
    num_digits: int
    labels: np.ndarray
    clean: np.ndarray
    corrupted: list[np.ndarray]
    occluded: list[np.ndarray]

    @classmethod
    def embedded(cls, config, model, name: str, num_classes: int):
        x, labels = load(config, name)
        shape, draws = _image_shape(x), range(config.evaluation.num_draws)
        num_digits = 0 if shape is None else n_digit.num_digits(config, shape)
        if shape is None:
            draws = ()
        parts = num_digits or 1
        return cls(
            name,
            num_classes,
            num_digits,
            classes_of(labels),
            embed(model, x),
            [embed_corrupted(model, x, draw, parts) for draw in draws],
            [
                occluded_fraction((len(x), *shape), draw, parts)
                for draw in draws
            ],
        )

    @property
    def conditions(self) -> tuple[str, ...]:
        return CONDITIONS if self.corrupted else CONDITIONS[:1]


def _image_shape(x):
    """Height, width and channels of the examples; None if they are no images"""
    if isinstance(x, Utterances):
        return None
    shape = np.shape(x[:1])[1:]
    return shape if len(shape) == 3 else None


def evaluate(config, model, workdir: pathlib.Path) -> dict:
    """All measures of one trained model, and its pictures in the workdir.

    Every split of `config.evaluation.splits`, for images under three
    conditions: clean, corrupt supports, corrupt queries. Each image is embedded
    once clean and once per corruption draw; `num_episodes` random episodes are
    shared out over the draws. With `leave_one_out` also the accuracy of the
    nearest neighbour among all other examples of the split, in the first draw.
    """
    wanted = config.evaluation
    splits = [
        _Split.embedded(config, model, name, num_classes)
        for name, num_classes in zip(
            wanted.splits, wanted.num_classes, strict=True
        )
    ]
    log_prob = episode_log_prob(model, wanted.num_samples)
    progress = _Progress(
        sum(len(split.conditions) for split in splits) * wanted.num_episodes
    )
    results, reliability, reject = {}, {}, {}
    for split in splits:
        results[split.name] = {}
        for condition in split.conditions:
            episodes = []
            for episode in _episodes(split, condition, wanted, log_prob):
                episodes.append(episode)
                progress.advance()
            cell, *curves = _measure(episodes)
            if wanted.get("leave_one_out", False):
                cell["leave_one_out_accuracy"] = leave_one_out_accuracy(
                    model, *_sides(split, condition), split.labels
                )
            results[split.name][condition] = cell
            title = f"{split.name.removeprefix('test_')}, {condition}"
            title = title.replace("_", " ")
            reliability[title], reject[title] = curves

    num_digits = splits[0].num_digits
    mean, variance = np.concatenate([split.clean for split in splits]), None
    labels = np.concatenate([split.labels for split in splits])
    occlusion = {}
    if models.has_gaussian_output(model):
        mean, variance = (part.numpy() for part in gaussian.unpack(mean))
        if splits[0].corrupted:
            results["uncertainty"], occlusion = _uncertainty(splits)
    objective = getattr(model, "objective", None)
    for name in ("noise_variance", "scale", "offset"):
        if hasattr(objective, name):
            results[name] = float(getattr(objective, name))
    factors = {"class": labels}
    if num_digits:
        digits = n_digit.digits(labels, num_digits)
        results["axes"] = n_digit.axis_alignment(mean, digits)
        factors = dict(zip(n_digit.NAMES, digits.T, strict=False))

    figures = {
        "evaluation": viz.evaluation_figure(reliability, reject, occlusion)
    }
    if mean.shape[1] >= 2:
        figures["embedding"] = _embedding_figure(
            config, mean, variance, labels, factors
        )
    for name, figure in figures.items():
        viz.save_figure(
            figure,
            workdir / f"{name}.png",
            log_dir=workdir / "tensorboard" / "evaluation",
        )
    return results


def _episodes(split: _Split, condition: str, wanted, log_prob):
    """Yields the episodes of one condition, shared out over the draws."""
    num_draws = wanted.num_draws if split.corrupted else 1
    for draw in range(num_draws):
        supports, queries = _sides(split, condition, draw)
        num_episodes = len(range(draw, wanted.num_episodes, num_draws))
        if num_episodes:
            yield from metrics.few_shot_episodes(
                supports,
                split.labels,
                wanted.num_support,
                wanted.num_query,
                num_classes=split.num_classes,
                num_episodes=num_episodes,
                seed=draw,
                log_prob=log_prob,
                query_embeddings=queries,
            )


def _sides(split: _Split, condition: str, draw: int = 0):
    """Embeddings to draw supports and queries from."""
    if condition == "corrupt_support":
        return split.corrupted[draw], split.clean
    if condition == "corrupt_query":
        return split.clean, split.corrupted[draw]
    return split.clean, split.clean


def leave_one_out_accuracy(model, gallery, queries, labels) -> float:
    """How often the nearest other row of the gallery has the query's label.

    Nearest by the probability of a match with `HedgedInstances`, else by the
    Euclidean distance, between means if embeddings are Gaussian. Row i of
    `gallery` and of `queries` is about the same image, which is left out.
    """
    objective, distance = getattr(model, "objective", None), "l2"
    if hasattr(objective, "match_log_probability"):
        distance = tf.function(
            functools.partial(objective.match_log_probability, seed=0),
            jit_compile=True,
        )
    elif models.has_gaussian_output(model):
        gallery, queries = (gaussian.unpack(x)[0] for x in (gallery, queries))
    return metrics.recall_at_k(
        queries,
        labels,
        1,
        distance,
        gallery,
        labels,
        exclude=lambda query, row: query == row,
    )[1]


def _embedding_figure(config, mean, variance, labels, factors):
    """The first examples of each class, seen and unseen ones marked."""
    rows = _rows_per_class(labels, 30)
    trained = classes_of(load_labels(config, config.split))
    return viz.embedding_figure(
        mean[rows],
        None if variance is None else variance[rows],
        labels[rows],
        np.isin(labels[rows], trained),
        {name: values[rows] for name, values in factors.items()},
        title=f"{config.dataset}: clean test images",
    )


def summary(results: dict) -> str:
    """The accuracies as a small table for people."""
    splits = [
        name
        for name, found in results.items()
        if isinstance(found, dict) and CONDITIONS[0] in found
    ]
    lines = [f"{'accuracy, %':<17}" + "".join(f"{s:>16}" for s in splits)]
    for condition in CONDITIONS:
        cells = [results[split].get(condition) for split in splits]
        if None not in cells:
            lines.append(
                f"{condition.replace('_', ' '):<17}"
                + "".join(
                    f"{100 * c['accuracy']:>9.1f} ±{100 * c['interval']:>5.2f}"
                    for c in cells
                )
            )
    return "\n".join(lines)


def _measure(episodes) -> tuple[dict, dict, dict]:
    """Accuracy, calibration and rejection over all episodes."""
    accuracies = [
        float(np.mean(log_prob.argmax(-1) == target))
        for log_prob, target in episodes
    ]
    probability = np.exp(np.concatenate([e[0] for e in episodes]))
    targets = np.concatenate([e[1] for e in episodes])
    is_error = probability.argmax(-1) != targets
    reject = metrics.error_versus_reject(1 - probability.max(-1), is_error)
    measured = {
        "accuracy": float(np.mean(accuracies)),
        "interval": metrics.confidence_interval(accuracies),
        "episodes": len(accuracies),
        "expected_calibration_error": metrics.expected_calibration_error(
            probability, targets
        ),
        "error_at_half": float(reject["error"][len(reject["error"]) // 2]),
        **{
            f"reject_{name}": reject[name]
            for name in ("area", "oracle_area", "random_area")
        },
    }
    return measured, metrics.reliability_curve(probability, targets), reject


def _uncertainty(splits: list[_Split]) -> tuple[dict, dict]:
    """Does variance rise with occlusion? Overall, and of digits by dimension"""
    from scipy.stats import spearmanr

    embeddings = np.concatenate([e for s in splits for e in s.corrupted])
    occluded = np.concatenate([o for s in splits for o in s.occluded])
    variance = gaussian.unpack(embeddings)[1].numpy()
    total = variance.sum(-1)
    overall = occluded.mean(-1)
    edges = np.linspace(0, overall.max(), 11)
    bins = np.clip(np.digitize(overall, edges) - 1, 0, 9)
    filled = [b for b in range(10) if (bins == b).any()]
    curve = {
        "occluded": [float(overall[bins == b].mean()) for b in filled],
        "stddev": [float(np.sqrt(total[bins == b]).mean()) for b in filled],
    }
    result = {
        "rank_correlation_with_occlusion": float(
            spearmanr(overall, total).statistic
        ),
        "median_variance_by_dimension": np.median(variance, 0).tolist(),
        **{f"curve_{name}": values for name, values in curve.items()},
    }
    if splits[0].num_digits:
        result["rank_correlation_dimension_digit"] = n_digit.occlusion_by_digit(
            variance, occluded
        )
    return result, curve


def _rows_per_class(labels, count: int) -> np.ndarray:
    """The first `count` rows of each class."""
    return np.concatenate(
        [np.flatnonzero(labels == c)[:count] for c in np.unique(labels)]
    )


class _Progress:
    """A Keras progress bar on a terminal, silence elsewhere."""

    def __init__(self, total: int):
        self.bar = (
            keras.utils.Progbar(total, unit_name="episode")
            if sys.stdout.isatty()
            else None
        )

    def advance(self):
        if self.bar is not None:
            self.bar.add(1)
