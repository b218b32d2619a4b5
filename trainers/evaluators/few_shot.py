"""Few-shot evaluation of a trained model: accuracy, uncertainty, figures.

For any data set with classes. Images are evaluated clean and partly occluded,
other examples only clean. Images of n-digit numbers have `n_digit_few_shot`,
which adds metrics of digits.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import viz
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.method import Method
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz.plane import plane
from trainers.data.folds import number_classes
from trainers.evaluators.require_at_least import require_at_least
from trainers.measures import promises
from trainers.measures import unknown_classes
from trainers.measures.embed import split_to_embed
from trainers.measures.episodes import confusion
from trainers.measures.episodes import episode_log_prob
from trainers.measures.episodes import episodes
from trainers.measures.episodes import leave_one_out_accuracy
from trainers.measures.episodes import measure_episodes
from trainers.measures.episodes import tasks_of
from trainers.measures.few_classes import few_classes_lines
from trainers.measures.occluded import BLOCK
from trainers.measures.occluded import CONDITIONS
from trainers.measures.occluded import embed_split
from trainers.measures.occluded import uncertainty
from trainers.measures.validation import Validation
from trainers.terminal.progress import Progress

# The legend of a figure has no room for more classes.
CLASSES_DRAWN = 30


def validation(run, data, model) -> callbacks.EmbeddingEvaluation:
    """Logs few-shot accuracy on validation data, preprocessed as in training.

    Preprocessing and episodes are drawn once, so that all epochs are compared
    on the same task.
    """
    wanted = dataclasses.asdict(run.evaluation.validation)
    x, labels = data.split(wanted.pop("split"))
    (labels,) = number_classes(labels)
    if data.preprocess is not None:
        x = tf.concat(
            [
                data.preprocess(
                    x[np.arange(first, min(first + BLOCK, len(x)))],
                    tf.constant([-1, first]),
                )
                for first in range(0, len(x), BLOCK)
            ],
            axis=0,
        ).numpy()
    num_samples = wanted.pop("num_samples")
    log_prob = episode_log_prob(
        model, positive_integer("validation.num_samples", num_samples)
    )
    # Checks the numbers against the labels now, not after an epoch.
    metrics.few_shot_episodes(np.zeros((len(labels), 1)), labels, **wanted)

    def few_shot_accuracy(embeddings, labels):
        return metrics.few_shot_accuracy(
            embeddings,
            labels,
            log_prob=log_prob,
            seed=run.training.seed,
            **wanted,
        )

    measures = {"few_shot_accuracy": few_shot_accuracy}
    if isinstance(x, Utterances):
        return Validation(x, labels, measures)
    return callbacks.EmbeddingEvaluation(x, labels, measures, batch_size=BLOCK)


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If a count is too small, there is not one entry of
            `num_classes` for each split, or a split does not exist or has too
            few classes or examples.
    """
    wanted = run.evaluation
    if len(wanted.splits) != len(wanted.num_classes):
        raise ValueError(
            "config.evaluation.num_classes must have an entry for each of "
            f"config.evaluation.splits; received {wanted.num_classes} "
            f"for {wanted.splits}"
        )
    require_at_least(wanted, num_episodes=2, num_draws=1, num_samples=1)
    for split, num_classes in zip(
        wanted.splits, wanted.num_classes, strict=True
    ):
        (labels,) = number_classes(data.labels(split))
        first = num_classes, wanted.num_support
        for classes, num_support in (first, *wanted.more_tasks):
            try:
                metrics.few_shot_episodes(
                    np.zeros((len(labels), 1)),
                    labels,
                    num_support,
                    wanted.num_query,
                    classes,
                )
            except ValueError as error:
                raise ValueError(
                    "config.evaluation does not fit the split "
                    f"{split!r}: {error} Set config.evaluation.num_support "
                    "and num_query"
                ) from error


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns all metrics of one trained model, and its figures by name.

    Evaluates every split of `config.evaluation.splits`, images under three
    conditions: clean, corrupt supports, corrupt queries. Each image is embedded
    once clean and once per corruption draw; `num_episodes` random episodes are
    divided among the draws. Pairs in `more_tasks` are evaluated on the same
    embeddings, under names such as `test_20_class_1_shot`. With
    `leave_one_out`, the results also contain the accuracy of the nearest
    neighbour among all other examples of the split, in the first draw.
    `unknown_classes` tells enrolled classes from other classes of the split, if
    none of them is in the training.
    """
    splits, trained = embed_splits(run, data, model)
    names = np.concatenate([split.class_names for split in splits])
    return measure(
        run,
        model,
        splits,
        trained,
        {"class": names},
        num_classes_drawn=CLASSES_DRAWN,
    )


def embed_splits(run, data, model, **options):
    """Returns embedded test splits and class numbers of the training split.

    `options` are passed to `embed_split`.
    """
    wanted, splits = run.evaluation, []
    for name, num_classes in zip(
        wanted.splits, wanted.num_classes, strict=True
    ):
        x, labels = split_to_embed(data, name)
        splits.append(
            embed_split(
                model,
                name,
                num_classes,
                x,
                labels,
                data.class_names(labels),
                wanted.num_draws,
                **options,
            )
        )
    *labels, trained = number_classes(
        *(split.labels for split in splits), data.labels(run.data.split)
    )
    splits = [
        split._replace(labels=numbers)
        for split, numbers in zip(splits, labels, strict=True)
    ]
    return splits, trained


def measure(
    run, model, splits, trained, factors, *, num_classes_drawn=None
) -> tuple[dict, dict]:
    """Returns results and figures of embedded splits.

    Args:
        run: The typed run.
        model: The trained model.
        splits: The result of `embed_splits`.
        trained: Class numbers of training examples; the figure marks all
            other classes.
        factors: Mapping from names to values `(n,)` of the examples of all
            splits; the figure of the embeddings has one panel per factor.
        num_classes_drawn: Number of classes in that figure; None: all.
    """
    tasks = tasks_of(splits, run.evaluation)
    results: dict = {}
    for name, split, task in tasks:
        if np.isin(split.labels, trained).any():
            continue  # the promise is about new classes
        found = unknown_classes.measure(model, split, task)
        if found is not None:
            results.setdefault("unknown_classes", {})[name] = found
    cells, reliability, reject, confusions = _over_episodes(
        run.evaluation, model, tasks
    )
    results |= cells
    method, occlusion = Method(model), {}
    if method.has_variances and splits[0].corrupted:
        results["uncertainty"], occlusion = uncertainty(method, splits)
    results |= method.diagnostics()
    figures = {
        "evaluation": viz.evaluation_figure(reliability, reject, occlusion),
        "confusion": viz.confusion_figure(
            *confusions,
            title=f"{tasks[0][0].replace('_', ' ')}: answers in random "
            f"episodes of {splits[0].num_classes} classes",
        ),
    }
    if method.points(splits[0].clean[:1]).shape[1] >= 2:
        figures["embedding"] = _embedding_figure(
            method,
            splits,
            trained,
            factors,
            num_classes_drawn,
            f"{run.data.dataset}: clean examples",
        )
    return results, figures


def _over_episodes(wanted, model, tasks) -> tuple[dict, dict, dict, tuple]:
    """Measures random episodes of every task and condition.

    Returns:
        The results by task and condition, the curves of reliability and of
        rejection by title, and the confusion of the first task.
    """
    log_prob = episode_log_prob(model, wanted.num_samples)
    progress = Progress(
        sum(len(split.conditions) for _, split, _ in tasks)
        * wanted.num_episodes
    )
    results: dict = {}
    reliability, reject, confusions = {}, {}, ()
    for name, split, task in tasks:
        results[name] = {}
        for condition in split.conditions:
            measured = []
            for episode in episodes(split, condition, task, log_prob):
                measured.append(episode)
                progress.advance()
            cell, *curves = measure_episodes(measured)
            cell["classes"] = split.num_classes
            cell["test_classes"] = len(np.unique(split.labels))
            cell["supports"] = task.num_support
            if condition == CONDITIONS[0]:
                of_task = confusion(split, task, measured)
                confusions = confusions or of_task
                cell |= promises.accepted_answers(measured, *of_task)
            if wanted.leave_one_out and name == split.name:
                cell["leave_one_out_accuracy"] = leave_one_out_accuracy(
                    model, *split.sides(condition), split.labels
                )
            results[name][condition] = cell
            title = f"{name.removeprefix('test_')}, {condition}"
            title = title.replace("_", " ")
            reliability[title], reject[title] = curves
    return results, reliability, reject, confusions


def _embedding_figure(method, splits, trained, factors, num_classes, title):
    """Draws clean examples of some or all classes, as `measure` says."""
    embeddings = np.concatenate([split.clean for split in splits])
    labels = np.concatenate([split.labels for split in splits])
    names = np.concatenate([split.class_names for split in splits])
    rows = _rows_per_class(labels, 30, num_classes)
    return viz.embedding_figure(
        **plane(method, embeddings[rows]),
        labels=names[rows],
        seen=np.isin(labels[rows], trained),
        factors={name: values[rows] for name, values in factors.items()},
        title=title,
    )


def summary(results: dict) -> str:
    """Returns the accuracies as a small text table."""
    splits = [
        name
        for name, found in results.items()
        if isinstance(found, dict) and CONDITIONS[0] in found
    ]
    width = max([16, *(len(name) + 2 for name in splits)])
    lines = [f"{'accuracy, %':<17}" + "".join(f"{s:>{width}}" for s in splits)]
    for condition in CONDITIONS:
        cells = [results[split].get(condition) for split in splits]
        if None not in cells:
            lines.append(
                f"{condition.replace('_', ' '):<17}"
                + "".join(
                    f"{100 * c['accuracy']:>{width - 7}.1f} "
                    f"±{100 * c['interval']:>5.2f}"
                    for c in cells
                )
            )
    lines += _about_the_task([results[s][CONDITIONS[0]] for s in splits], width)
    for split in splits:
        lines += promises.lines_of_trust(split, results[split][CONDITIONS[0]])
    lines += unknown_classes.lines(results.get("unknown_classes", {}))
    lines += few_classes_lines(
        results[split][CONDITIONS[0]]["test_classes"] for split in splits
    )
    return "\n".join(lines)


def _about_the_task(cells: list[dict], width: int) -> list[str]:
    """Rows without which an accuracy says little."""
    rows = {
        "by chance": [f"{100 / cell['classes']:.1f}" for cell in cells],
        "classes": [cell["classes"] for cell in cells],
        "supports a class": [cell["supports"] for cell in cells],
    }
    return [
        f"{name:<17}" + "".join(f"{value:>{width - 7}}       " for value in row)
        for name, row in rows.items()
    ]


def _rows_per_class(labels, count: int, num_classes) -> np.ndarray:
    """Returns the first `count` rows of each class, or of some classes."""
    classes = np.unique(labels)
    if num_classes is not None and len(classes) > num_classes:
        chosen = np.linspace(0, len(classes) - 1, num_classes).astype(int)
        classes = classes[chosen]
    return np.concatenate(
        [np.flatnonzero(labels == c)[:count] for c in classes]
    )
