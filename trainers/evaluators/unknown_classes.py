"""Few-shot episodes with queries of classes that are not enrolled."""

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf.models.method import Method
from embeddings_tf.scoring.nearest_rows import nearest_by_distance
from trainers.evaluators.occluded import EmbeddedSplit

# More episodes take long, and hardly change the mean.
MOST_EPISODES = 100


def measure(model, split: EmbeddedSplit, wanted) -> dict | None:
    """Measures how well scores tell unknown from enrolled classes.

    In each episode `num_classes` classes are enrolled by `num_support` clean
    examples. Known queries are other examples of these classes. As many unknown
    queries are examples of the other classes of the split. The scores are the
    method's `log_evidence`, minus the distance to the nearest support, and the
    largest posterior probability.

    Returns:
        By score the mean AUROC and FPR at 95 % TPR over the episodes, with the
        half width of the 95 % interval of the mean; None if the split has no
        other classes.
    """
    classes, sizes = np.unique(split.labels, return_counts=True)
    needed = wanted.num_support + wanted.num_query
    eligible = classes[sizes >= needed]
    if len(eligible) < split.num_classes or len(classes) == split.num_classes:
        return None
    scores = _scores(model, wanted.num_samples)
    found: dict[str, list] = {}
    for episode in range(min(wanted.num_episodes, MOST_EPISODES)):
        rng = np.random.default_rng(episode)
        enrolled = rng.choice(eligible, split.num_classes, replace=False)
        rows = np.stack(
            [
                rng.choice(np.flatnonzero(split.labels == c), needed, False)
                for c in enrolled
            ]
        )
        support, known = np.split(rows, [wanted.num_support], axis=1)
        others = np.flatnonzero(~np.isin(split.labels, enrolled))
        unknown = rng.choice(others, min(known.size, len(others)), False)
        queries = np.concatenate([known.reshape(-1), unknown])
        answers = scores(
            split.clean[support.reshape(-1)],
            np.repeat(np.arange(split.num_classes), wanted.num_support),
            split.clean[queries],
            split.num_classes,
        )
        for name, values in answers.items():
            sides = np.split(-values, [known.size])
            found.setdefault(name, []).append(
                (
                    metrics.out_of_distribution_auroc(*sides),
                    metrics.out_of_distribution_fpr(*sides),
                )
            )
    return {name: _summary(np.array(pairs)) for name, pairs in found.items()}


def _scores(model, num_samples: int):
    """Returns a function of an episode that returns scores by name."""
    method = Method(model)

    # Without XLA, whose compilation takes longer than these episodes.
    @tf.function(autograph=False)
    def by_method(support, labels, query, num_classes):
        represented = method.represent(support, labels, num_classes)
        seed = tf.constant([0, 0])
        return (
            method.log_evidence(query, represented, num_samples, seed),
            method.log_prob(query, represented, num_samples, seed),
        )

    def scores(support, labels, query, num_classes):
        evidence, log_prob = by_method(support, labels, query, num_classes)
        distance, _ = nearest_by_distance(method, query, support, 1)
        return {
            "log_evidence": evidence.numpy().astype(np.float64),
            "nearest_distance": -distance[:, 0],
            "largest_probability": log_prob.numpy().max(axis=1),
        }

    return scores


def _summary(pairs: np.ndarray) -> dict:
    auroc, fpr = pairs.T
    return {
        "auroc": float(np.mean(auroc)),
        "auroc_interval": metrics.confidence_interval(auroc),
        "fpr_at_95_tpr": float(np.mean(fpr)),
        "fpr_at_95_tpr_interval": metrics.confidence_interval(fpr),
        "episodes": len(pairs),
    }


def lines(results: dict) -> list[str]:
    """Returns the results of several tasks as lines of text."""
    found = []
    for name, scores in results.items():
        found.append(f"unknown classes, {name.replace('_', ' ')}")
        for score, row in scores.items():
            found.append(
                f"  {score.replace('_', ' '):<22}"
                f"AUROC {row['auroc']:.3f} ±{row['auroc_interval']:.3f}"
                f"   FPR at 95 % TPR {row['fpr_at_95_tpr']:.3f}"
            )
    return found
