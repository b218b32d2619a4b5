"""Few-shot episodes of embedded splits: classification and metrics."""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf import sampling
from embeddings_tf.models.method import Method
from trainers.measures.occluded import EmbeddedSplit


def episode_log_prob(model, num_samples: int):
    """Returns a compiled `log_prob` for `metrics.few_shot_accuracy`.

    It makes prototypes from the supports and returns log-probabilities of the
    queries, with the model's own method. XLA makes 200 samples two to three
    times faster; its random numbers differ from TensorFlow's for equal seeds.
    """

    method = Method(model)

    @tf.function(jit_compile=True, autograph=False)
    def log_prob(support, support_labels, query, num_classes, seed):
        represented = method.represent(support, support_labels, num_classes)
        return method.log_prob(query, represented, num_samples, seed)

    return log_prob


def episodes(split: EmbeddedSplit, condition: str, wanted, log_prob):
    """Yields the episodes of one condition, divided among the draws."""
    num_draws = wanted.num_draws if split.corrupted else 1
    for draw, num_episodes in enumerate(
        episodes_of_draws(wanted.num_episodes, num_draws)
    ):
        supports, queries = split.sides(condition, draw)
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


def episodes_of_draws(num_episodes: int, num_draws: int) -> list[int]:
    """Numbers of episodes of each draw, in order.

    The episodes of a draw depend on its number and on the labels alone. So all
    models have the same episodes, and more episodes begin with the fewer.
    """
    return [
        len(range(draw, num_episodes, num_draws)) for draw in range(num_draws)
    ]


def measure_episodes(episodes) -> tuple[dict, dict, dict]:
    """Computes accuracy, calibration and rejection over all episodes.

    `correct` are the correct queries of each episode, of `queries`, as one
    text, which keeps result files small. They pair two models by episode.
    """
    is_correct = [
        log_prob.argmax(-1) == target for log_prob, target in episodes
    ]
    accuracies = [float(np.mean(found)) for found in is_correct]
    probability = np.exp(np.concatenate([e[0] for e in episodes]))
    targets = np.concatenate([e[1] for e in episodes])
    is_error = ~np.concatenate(is_correct)
    reject = metrics.error_versus_reject(1 - probability.max(-1), is_error)
    measured = {
        "accuracy": float(np.mean(accuracies)),
        "interval": metrics.confidence_interval(accuracies),
        "episodes": len(accuracies),
        "queries": len(is_correct[0]),
        "correct": " ".join(str(np.sum(found)) for found in is_correct),
        "expected_calibration_error": metrics.expected_calibration_error(
            probability, targets
        ),
        "area_under_risk_coverage": reject["area"],
        "error_at_half": float(reject["error"][len(reject["error"]) // 2]),
        **{
            f"reject_{name}": reject[name]
            for name in ("oracle_area", "random_area")
        },
    }
    return measured, metrics.reliability_curve(probability, targets), reject


def leave_one_out_accuracy(model, gallery, queries, labels) -> float:
    """Accuracy of the nearest other row of the gallery.

    Nearest means the highest log-likelihood ratio if the method has one,
    otherwise the smallest distance by the method's own distance, between means
    for Gaussians. Row i of `gallery` and of `queries` is the same image and is
    excluded.
    """
    method = Method(model)
    if method.has_likelihood_ratio:
        distance = tf.function(
            functools.partial(method.score_all_pairs, seed=tf.constant([0, 0])),
            jit_compile=True,
        )
    else:
        distance = method.distance
        gallery, queries = (method.points(x) for x in (gallery, queries))
    return metrics.recall_at_k(
        queries,
        labels,
        1,
        distance,
        gallery,
        labels,
        exclude=lambda query, row: query == row,
    )[1]


def confusion(split: EmbeddedSplit, wanted, measured):
    """Returns names of classes and answers of all queries of episodes.

    Args:
        split: The embedded split.
        wanted: As for `episodes`.
        measured: The list of what `episodes` yielded.
    """
    names = dict(zip(split.labels, split.class_names.astype(str), strict=True))
    shape = split.num_classes, wanted.num_support + wanted.num_query
    num_draws = wanted.num_draws if split.corrupted else 1
    classes = []
    counts = episodes_of_draws(wanted.num_episodes, num_draws)
    for draw, count in enumerate(counts):
        indices = sampling.episodes(
            split.labels, shape[0], wanted.num_support, wanted.num_query, draw
        ).take(count)
        for rows in indices.as_numpy_iterator():
            first = split.labels[rows.reshape(shape)[:, 0]]
            classes.append(np.array([names[label] for label in first]))
    pairs = [
        (of_episode[target], of_episode[log_prob.argmax(-1)])
        for of_episode, (log_prob, target) in zip(
            classes, measured, strict=True
        )
    ]
    return [np.concatenate(side) for side in zip(*pairs, strict=True)]


def tasks_of(splits, wanted) -> list[tuple]:
    """Returns name, split and fields of everything that is evaluated."""
    tasks = []
    for split in splits:
        tasks.append((split.name, split, wanted))
        for num_classes, num_support in wanted.more_tasks:
            tasks.append(
                (
                    f"{split.name}_{num_classes}_class_{num_support}_shot",
                    split._replace(num_classes=num_classes),
                    dataclasses.replace(wanted, num_support=num_support),
                )
            )
    return tasks
