"""Retrieval with a trained model: is the nearest image in the same class?"""

import hashlib
from collections.abc import Iterator

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import datasets
from embeddings_tf import metrics
from embeddings_tf import scoring
from embeddings_tf import viz
from embeddings_tf.models.method import Method
from embeddings_tf.ops.other_rows import other_rows
from trainers.data.examples import take
from trainers.data.folds import class_ids
from trainers.data.sprite_images import images_of
from trainers.measures.embed import BLOCK
from trainers.measures.embed import embed
from trainers.measures.embed import embed_points
from trainers.measures.embed import split_to_embed
from trainers.measures.scores import likelihood_ratio
from trainers.measures.uncertainties import is_wrong
from trainers.measures.uncertainties import uncertainties
from trainers.measures.validation import PointValidation
from trainers.terminal.progress import Progress
from trainers.terminal.progress import counted_images
from trainers.training.model import untrained_model

TITLES = {"area_under_risk_coverage": "AURC", "recall_auroc": "R-AUROC"}
# Queries whose neighbours are searched for the picture, and that it shows.
QUERIES_SEARCHED, QUERIES_DRAWN, NEIGHBOURS_DRAWN = 500, 8, 6
QUERIES_PER_BLOCK = 50


def validation(run, data, model) -> callbacks.EmbeddingEvaluation:
    """Logs recall@1 among the validation classes.

    With `validation.max_k`, it also logs `mean_recall`, the mean of recall@1 to
    recall@max_k, by which the paper stops early on persons and birds.
    """
    wanted = run.evaluation.validation
    x, labels = data.split(wanted.split)
    distance = run.evaluation.distance

    def recall_at_1(embeddings, classes):
        return metrics.recall_at_k(embeddings, classes, 1, distance)[1]

    def mean_recall(embeddings, classes):
        ks = range(1, wanted.max_k + 1)
        recall = metrics.recall_at_k(embeddings, classes, ks, distance)
        return np.mean(list(recall.values()))

    measures = {"recall_at_1": recall_at_1}
    if wanted.max_k:
        measures["mean_recall"] = mean_recall
    return PointValidation(x, class_ids(labels), measures)


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If `k` or `distance` is invalid for recall@k, or a split
            does not exist or has no two examples of one class.
    """
    wanted = run.evaluation
    for split in wanted.splits:
        classes = class_ids(data.labels(split))
        metrics.recall_at_k(np.eye(2), [0, 0], wanted.k, wanted.distance)
        if len(classes) == 0 or np.bincount(classes).max() < 2:
            raise ValueError(
                f"the split {split!r} has no two examples of one class, which "
                "recall@k needs"
            )


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns recall@k of trained and untrained model, and the ceiling.

    If the method scores pairs by a log-likelihood ratio, the ratio also ranks.
    With `evaluation.cluster`, the results also contain the normalized mutual
    information of classes and clusters, with as many clusters as classes.
    Clusters are found by k-means; for points, they are also assigned by that
    ratio to the centroids of k-means and to the class means.
    """
    method = Method(model)
    untrained = untrained_model(run, data, model)
    ks, results, curves = run.evaluation.k, {}, {}
    figures: dict = {}
    for split in run.evaluation.splits:
        x, labels = split_to_embed(data, split)
        classes = class_ids(labels)
        embeddings, ratio = embed(model, x), likelihood_ratio(method)
        points = method.points(embeddings).numpy()
        rankings = {
            "": (points, run.evaluation.distance),
            "_untrained": (
                embed_points(untrained, x),
                run.evaluation.distance,
            ),
        }
        if ratio is not None:
            rankings[f"_{method.name}"] = embeddings, ratio
        progress = Progress(len(rankings) * len(classes), "example")
        for name, (found, distance) in rankings.items():
            recall = metrics.recall_at_k(
                found, classes, ks, distance, progress=progress.advance
            )
            results[split + name] = {
                f"recall_at_{k}": value for k, value in recall.items()
            }
            curves[(split + name).replace("_", " ")] = [recall]
        results[split] |= {
            "ceiling": ceiling(counted_images(x), classes),
            "examples": len(x),
        }
        results[split] |= _uncertainty(model, x, embeddings, points, classes)
        if "neighbours" not in figures:
            names = np.asarray(data.class_names(labels)).astype(str)
            figures |= neighbours(model, x, embeddings, classes, names)
        if run.evaluation.cluster:
            scores = (
                {method.name: ratio} if ratio and not method.is_gaussian else {}
            )
            results[split] |= clustering(points, classes, scores)
    splits = run.evaluation.splits
    # The ceiling is of recall@1, and of one split.
    is_drawn = 1 in run.evaluation.k and len(splits) == 1
    highest = results[splits[0]]["ceiling"] if is_drawn else None
    recall = viz.recall_figure(curves, ceiling=highest)
    return results, {"recall": recall, **figures}


def neighbours(model, x, embeddings, classes, names) -> dict:
    """Returns a figure of queries with their nearest examples, if images.

    Half of the queries are drawn at random, half among the queries whose
    nearest example is of another class, as far as there are any.
    """
    rows = np.random.default_rng(0).permutation(len(x))[:QUERIES_SEARCHED]
    count = min(NEIGHBOURS_DRAWN, len(x) - 1)
    found = _others(model, embeddings, rows, count)
    is_right = classes[found] == classes[rows][:, None]
    random = np.arange(min(QUERIES_DRAWN // 2, len(rows)))
    wrong = np.setdiff1d(np.flatnonzero(~is_right[:, 0]), random)
    chosen = np.concatenate([random, wrong[: QUERIES_DRAWN // 2]])
    shown = np.concatenate([rows[chosen, None], found[chosen]], axis=1)
    images = images_of(take(x, shown.ravel()))
    if images is None:
        return {}
    images = images.reshape(*shown.shape, *images.shape[1:])
    return {
        "neighbours": viz.neighbours_figure(
            list(images[:, 0]),
            [list(line) for line in images[:, 1:]],
            names[found[chosen]].tolist(),
            is_right[chosen].tolist(),
            query_captions=names[rows[chosen]].tolist(),
            title=f"{len(random)} queries at random, "
            f"{len(chosen) - len(random)} with a wrong nearest example",
        )
    }


def _others(model, embeddings, rows, count: int) -> np.ndarray:
    """Returns the rows nearest to each of `rows`, except itself."""
    search = scoring.NearestNeighbors(model, embedded=True).fit(embeddings)
    progress, blocks = Progress(len(rows), "example"), []
    for first in range(0, len(rows), QUERIES_PER_BLOCK):
        block = embeddings[rows[first : first + QUERIES_PER_BLOCK]]
        blocks.append(search.kneighbors(block, count + 1)[1])
        progress.advance(len(block))
    return other_rows(np.concatenate(blocks), rows)


def _uncertainty(model, x, embeddings, points, classes) -> dict:
    """R-AUROC and AURC of each uncertainty of the model, if it has any.

    As for the recall, a query needs another example of its class.
    """
    distance, found = Method(model).distance, {}
    sources = uncertainties(model, x, embeddings)
    if not sources:
        return {}
    progress = Progress(len(classes), "example")
    wrong = is_wrong(points, points, classes, distance, progress)
    is_query = np.bincount(classes)[classes] > 1
    wrong = wrong[is_query]
    for name, values in sources.items():
        values = values[is_query]
        row = {
            "area_under_risk_coverage": metrics.area_under_risk_coverage(
                values, wrong
            )
        }
        if wrong.any() and not wrong.all():
            row["recall_auroc"] = metrics.roc_auc(values, wrong)
        found[f"uncertainty_{name}"] = row
    return found


def clustering(embeddings, classes, scores) -> dict[str, float]:
    """Normalized mutual information with the classes, by name of the clusters.

    `scores` of all pairs, by name, also assign clusters.
    """
    num_classes = len(np.unique(classes))
    print(
        f"Clustering {len(classes)} examples by k-means, {num_classes} "
        "clusters.",
        flush=True,
    )
    k_means = metrics.k_means_centroids(embeddings, num_classes)
    centroids = {"k_means": (k_means, None)}
    for name, score in scores.items():
        means = metrics.class_means(embeddings, classes)
        centroids[f"{name}_to_k_means"] = k_means, score
        centroids[f"{name}_to_class_means"] = means, score
    assign = Progress(len(centroids), "assignment").counting(
        metrics.assign_clusters
    )
    return {
        f"mutual_information_{name}": metrics.normalized_mutual_information(
            classes, assign(embeddings, found, score)
        )
        for name, (found, score) in centroids.items()
    }


def ceiling(x, classes) -> float:
    """The highest recall@1 that any function of the input can expect.

    Equal inputs have equal embeddings and are nearest to each other. A query
    with equal inputs finds its class with the share of its class among them.
    Queries without an equal input may all be right.
    """
    digests = [
        hashlib.sha256(np.ascontiguousarray(example)).hexdigest()
        for example in _one_by_one(x)
    ]
    group = np.unique(digests, return_inverse=True)[1]
    equal = np.bincount(group)[group] - 1
    _, both = np.unique(
        np.stack([group, classes], axis=1), axis=0, return_inverse=True
    )
    equal_and_same = np.bincount(both.ravel())[both.ravel()] - 1
    best = np.where(equal > 0, equal_and_same / np.maximum(equal, 1), 1.0)
    is_query = np.bincount(classes)[classes] > 1
    return float(best[is_query].mean())


def _one_by_one(x) -> Iterator:
    """Each example; arrays and images are read in blocks."""
    if isinstance(x, datasets.Utterances):  # a block has one length
        yield from (x[number] for number in range(len(x)))
        return
    for first in range(0, len(x), BLOCK):
        yield from x[first : first + BLOCK]


def summary(results: dict) -> str:
    """Returns recall@k as a small text table."""
    names = [n for n in next(iter(results.values())) if n.startswith("recall")]
    heads = [name.replace("recall_at_", "recall@") for name in names]
    lines = [" " * 24 + "".join(f"{head:>12}" for head in heads)]
    for split, found in results.items():
        lines.append(
            f"{split.replace('_', ' '):<24}"
            + "".join(f"{found[name]:>12.4f}" for name in names)
        )
        if "ceiling" in found:
            ceiling_ = f"{found['ceiling']:>12.4f}"
            lines.append(f"{'ceiling of recall@1':<24}{ceiling_}")
    for split, found in results.items():
        for name, value in found.items():
            if name.startswith("uncertainty_"):
                lines.append(
                    f"{split}, {name}".replace("_", " ")
                    + "".join(
                        f", {TITLES[key]} {number:.3f}"
                        for key, number in value.items()
                    )
                )
            if name.startswith("mutual_information"):
                name = f"{split}, {name}".replace("_", " ")
                lines.append(f"{name:<64}{value:.4f}")
    return "\n".join(lines)
