"""Evaluates uncertainties on damaged images of held-out classes.

For all image data sets, and two uncertainties: `head` of an `UncertaintyHead`,
and `variance`, the sum of the variances that an embedding predicts.
"""

import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf import datasets
from embeddings_tf import metrics
from embeddings_tf.callbacks.variance_shares import variance_shares
from embeddings_tf.datasets.degrade import KINDS
from embeddings_tf.models.method import Method
from trainers.data.examples import rows_of_classes
from trainers.data.folds import class_ids
from trainers.evaluators.require_at_least import require_at_least
from trainers.measures.embed import embed
from trainers.measures.embed import split_to_embed
from trainers.measures.episodes import episode_log_prob
from trainers.measures.occluded import BLOCK
from trainers.measures.rank_correlation import rank_correlation
from trainers.measures.uncertainties import is_wrong
from trainers.measures.uncertainties import sources
from trainers.measures.uncertainties import uncertainties
from trainers.terminal.progress import Progress

CLEAN, CORRUPT = "clean", "corrupt"
# Printed names of conditions; others are printed as they are.
PRINTED = {CORRUPT: "rectangle"}


def validation(run, data, model) -> callbacks.EmbeddingEvaluation:
    """Logs recall@1 and the R-AUROC of each uncertainty on clean images."""
    _require_source(model)
    wanted = run.evaluation.validation
    x, labels = data.split(wanted.split)
    x, labels = chosen_images(x, class_ids(labels), wanted.num_per_class)
    distance = Method(model).distance

    def recall_at_1(embeddings, labels):
        points = Method(model).points(embeddings)
        return metrics.recall_at_k(points, labels, 1, distance)[1]

    def recall_auroc(name):
        def measure(embeddings, labels):
            points = Method(model).points(embeddings).numpy()
            queries = _have_another(labels)
            wrong = is_wrong(points, points, labels, distance)[queries]
            if wrong.all() or not wrong.any():
                return 0.5  # nothing to tell apart
            found = uncertainties(model, x, embeddings)[name]
            return metrics.roc_auc(found[queries], wrong)

        return measure

    names = sources(model)
    measures = {f"recall_auroc_{name}": recall_auroc(name) for name in names}
    return callbacks.EmbeddingEvaluation(
        x, labels, {"recall_at_1": recall_at_1, **measures}, batch_size=BLOCK
    )


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If the examples are not images, a split has too few classes
            or examples for an episode, or a field has an impossible value.
    """
    wanted = run.evaluation
    unknown = set(wanted.kinds) - set(KINDS)
    if unknown:
        raise ValueError(
            f"config.evaluation.kinds has {', '.join(sorted(unknown))}; there "
            f"are {', '.join(KINDS)}"
        )
    require_at_least(wanted, num_per_class=0, num_samples=1)
    require_at_least(
        wanted.validation, "evaluation.validation", num_per_class=0
    )
    for split in wanted.splits:
        x, labels = data.split(split)
        shape = np.shape(x[np.arange(1)])[1:] if len(x) else ()
        if len(shape) != 3:
            raise ValueError(
                "the evaluation 'uncertainty' damages images; the split "
                f"{split!r} has examples of shape {shape}"
            )
        labels = class_ids(labels)
        labels = labels[rows_of_classes(labels, wanted.num_per_class)]
        try:
            metrics.few_shot_episodes(
                np.zeros((len(labels), 1)), labels, **_episode(wanted)
            )
        except ValueError as error:
            raise ValueError(
                f"config.evaluation does not fit the split {split!r}: {error} "
                "Set config.evaluation.num_support and num_query"
            ) from error


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns all measures of one trained model, and no figures.

    Every image is a query once clean, once with the random rectangle of
    `datasets.corrupt`, and once with each of `kinds`, by a random strength.
    Rank correlations compare an uncertainty with the share of hidden pixels or
    the strength, on clean (0) and damaged images together. Nearest neighbours
    are searched among the other clean images.
    """
    _require_source(model)
    wanted, method = run.evaluation, Method(model)
    results = {}
    log_prob = episode_log_prob(model, wanted.num_samples)
    conditions = (CLEAN, CORRUPT, *wanted.kinds)
    progress = Progress(len(conditions) * len(wanted.splits), "condition")
    for split in wanted.splits:
        x, labels = split_to_embed(data, split)
        x, labels = chosen_images(x, class_ids(labels), wanted.num_per_class)
        clean = embed(model, x, shown=False)
        found = {"examples": len(x), "classes": len(np.unique(labels))}
        if method.has_variances:
            found |= variance_shares(
                method.points(clean), method.variances(clean)
            )
        of_clean = uncertainties(model, x, clean)
        for number, condition in enumerate(conditions):
            images, strength = damaged(x, condition, number)
            embeddings = embed(model, images, shown=False)
            of_damaged = uncertainties(model, images, embeddings)
            points = [method.points(e).numpy() for e in (embeddings, clean)]
            queries = _have_another(labels)
            wrong = is_wrong(*points, labels, method.distance)[queries]
            found[condition] = {
                "recall_at_1": float(1 - wrong.mean()),
                "few_shot_accuracy": _accuracy(
                    clean, embeddings, labels, wanted, log_prob
                ),
                "mean_strength": float(strength.mean()),
            }
            for name, values in of_damaged.items():
                found[condition][name] = _measures(
                    of_clean[name], values, strength, wrong, queries
                )
            progress.advance()
        results[split] = found
    return results | method.diagnostics(), {}


def _require_source(model) -> None:
    if not sources(model):
        raise ValueError(
            "the model has no uncertainty to evaluate: train an encoder that "
            "ends in a Gaussian, or set "
            "--config.uncertainty.name=UncertaintyHead"
        )


def chosen_images(x, labels, num_per_class: int):
    """Images and labels of at most `num_per_class` of each class; 0: all."""
    rows = rows_of_classes(labels, num_per_class)
    blocks = [x[rows[i : i + BLOCK]] for i in range(0, len(rows), BLOCK)]
    return np.concatenate(blocks), labels[rows]


def damaged(x, condition: str, number: int):
    """Images under a condition, and the strength of each."""
    if condition == CLEAN:
        return x, np.zeros(len(x))
    shape, blocks, strengths = x.shape[1:3], [], []
    rng = np.random.default_rng(number)
    # In random order, so that images are mixed with images of other classes.
    order = rng.permutation(len(x))
    for first in range(0, len(x), BLOCK):
        block = x[order[first : first + BLOCK]]
        seed = tf.constant([number, first], tf.int32)
        if condition == CORRUPT:
            blocks.append(datasets.corrupt(block, seed, num_digits=1))
            mask = datasets.occlusion_mask(len(block), shape, 1, seed)
            strengths.append(np.mean(mask, axis=(1, 2, 3)))
        else:
            strength = rng.uniform(size=len(block)).astype("float32")
            blocks.append(datasets.degrade(block, condition, strength, seed))
            strengths.append(strength)
    back = np.argsort(order)
    return np.concatenate(blocks)[back], np.concatenate(strengths)[back]


def _episode(wanted) -> dict:
    return {
        "num_support": wanted.num_support,
        "num_query": wanted.num_query,
        "num_classes": wanted.num_classes,
        "num_episodes": wanted.num_episodes,
    }


def _accuracy(supports, queries, labels, wanted, log_prob) -> float:
    found = metrics.few_shot_episodes(
        supports,
        labels,
        **_episode(wanted),
        seed=0,
        log_prob=log_prob,
        query_embeddings=queries,
    )
    return float(
        np.mean([np.mean(p.argmax(-1) == target) for p, target in found])
    )


def _have_another(labels) -> np.ndarray:
    """Marks the examples with another one of their class to find."""
    return np.bincount(labels)[labels] > 1


def _measures(clean, damaged, strength, wrong, queries) -> dict:
    """Measures of one uncertainty under one condition; None if undefined.

    `wrong` is of the marked `queries` only.
    """
    asked = damaged[queries]
    area = metrics.area_under_risk_coverage(asked, wrong)
    found = {"area_under_risk_coverage": area}
    found |= {"recall_auroc": None, "variation": None}
    if damaged.mean() > 0:
        found["variation"] = float(damaged.std() / damaged.mean())
    if wrong.any() and not wrong.all():
        found["recall_auroc"] = metrics.roc_auc(asked, wrong)
    if strength.any():
        both = np.concatenate([np.zeros(len(clean)), strength])
        values = np.concatenate([clean, damaged])
        found["rank_correlation"] = rank_correlation(both, values)
    return found


def summary(results: dict) -> str:
    """Returns accuracy and measures by condition as a small text table."""
    lines = []
    for split, found in results.items():
        if not isinstance(found, dict) or CLEAN not in found:
            continue
        names = [n for n in ("head", "variance") if n in found[CLEAN]]
        head = f"{split:<14}{'recall@1':>10}{'few-shot':>10}"
        for name in names:
            head += f"{name + ' rank':>15}{'R-AUROC':>9}{'AURC':>7}"
        lines.append(head)
        for condition, cell in found.items():
            if not isinstance(cell, dict):
                continue
            printed = PRINTED.get(condition, condition)
            line = f"{printed:<14}{cell['recall_at_1']:>10.3f}"
            line += f"{cell['few_shot_accuracy']:>10.3f}"
            for name in names:
                values = cell[name]
                for key, width in (
                    ("rank_correlation", 15),
                    ("recall_auroc", 9),
                    ("area_under_risk_coverage", 7),
                ):
                    value = values.get(key)
                    shown = "-" if value is None else f"{value:.2f}"
                    line += f"{shown:>{width}}"
            lines.append(line)
        if "variance_share" in found:
            lines.append(
                f"share of the input's own variance "
                f"{found['variance_share']:.3f}, its variation over inputs "
                f"{found['variance_variation']:.3f}"
            )
    return "\n".join(lines)
