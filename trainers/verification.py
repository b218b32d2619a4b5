"""Verification with a trained model: are two examples of one class?"""

import pathlib
from collections.abc import Callable

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import viz
from trainers.data import load
from trainers.data import load_labels
from trainers.data import load_trials
from trainers.embed import HeldOutPoints
from trainers.embed import embed_points
from trainers.folds import class_ids

# More than these are not held in memory but counted in bins.
EXACT_TRIALS = 5_000_000
# All pairs of these are held for the study of the distance.
PROPERTY_ITEMS = 2_000
# 64 MiB of bins; fused scores crowd near 1.
NUM_BITS = 22


def validation(config, model) -> callbacks.EmbeddingEvaluation:
    """1 - EER over all pairs of the validation classes; larger is better.

    Of the learned distance, or of the cosine if the model has none. With a
    field `validation.trials`, a list of trials, over these instead, or over
    `validation.num_trials` of them. More pairs than `EXACT_TRIALS` are counted
    in bins.
    """
    if "trials" in config.validation:
        return _listed_validation(config, model)
    x, labels = load(config, config.validation.split)
    score = learned_score(model) or metrics.cosine_scores

    def accuracy_at_equal_error(embeddings, classes):
        if len(classes) * (len(classes) - 1) // 2 > EXACT_TRIALS:
            found = streamed(score, embeddings, classes)
            return 1 - found["equal_error_rate"]
        first, second = np.triu_indices(len(classes), 1)
        scores = metrics.score_all_pairs(score, embeddings)[first, second]
        is_target = classes[first] == classes[second]
        return 1 - metrics.equal_error_rate(scores, is_target)[0]

    measures = {"accuracy_at_equal_error": accuracy_at_equal_error}
    return HeldOutPoints(x, class_ids(labels), measures)


def _listed_validation(config, model) -> callbacks.EmbeddingEvaluation:
    x, *sides, is_target = load_trials(
        config,
        config.validation.split,
        config.validation.trials,
        config.validation.num_trials,
    )
    score = learned_score(model, "pairs") or metrics.cosine_score_pairs

    def accuracy_at_equal_error(embeddings, numbers):
        scores = metrics.score_trials(
            score, embeddings, numbers, np.stack(sides, axis=1)
        )
        return 1 - metrics.equal_error_rate(scores, is_target)[0]

    measures = {"accuracy_at_equal_error": accuracy_at_equal_error}
    return HeldOutPoints(x, np.arange(len(x)), measures)


def learned_score(model, of: str = "all_pairs"):
    """The score of the model's own distance; None if it has no distance.

    Of `"all_pairs"` of two sets, or of `"pairs"`, row by row.
    """
    objective = getattr(model, "objective", None)
    distance = getattr(objective, "distance", None)
    if distance is None or isinstance(distance, str):
        return None  # a plain loss has the name of one
    if of == "pairs":
        return lambda first, second: distance((first, second))
    return distance.all_pairs


def check(config) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If PLDA has no such argument, a number is negative, or a
            split does not exist or has fewer than two classes.
    """
    wanted = config.evaluation
    try:
        models.PLDA(**wanted.plda)
    except TypeError as error:
        raise ValueError(f"config.evaluation.plda: {error}") from error
    num_enrolled = wanted.get("num_enrolled", 0)
    for name, number in (
        ("num_resamples", wanted.num_resamples),
        ("num_enrolled", num_enrolled),
    ):
        if number < 0:
            raise ValueError(
                f"config.evaluation.{name} must be at least 0; received "
                f"{number}"
            )
    for split in wanted.splits:
        count = np.bincount(class_ids(load_labels(config, split)))
        if len(count) < 2 or count.max() < 2:
            raise ValueError(
                f"the split {split!r} has {len(count)} classes, the largest "
                f"with {count.max(initial=0)} examples; verification needs two "
                "classes, and two examples of one"
            )


def evaluate(config, model, workdir: pathlib.Path) -> dict:
    """EER and its kin over all unordered pairs of the test classes.

    Of the cosine and of PLDA, fitted to the embeddings of the training split;
    of a model with a learned distance also of that and of both fused. Each
    EER comes with a 95 % interval from resampled classes, unless
    `evaluation.num_resamples` is 0. More than `EXACT_TRIALS` trials are
    counted in bins instead, each measure with the bound of its error.

    Lists of trials, by name in a section `evaluation.trials`, are measured over
    the split `evaluation.trials_split`, without intervals. With a field
    `evaluation.num_enrolled` also claims of classes are measured, see
    `claimed_classes`.

    By how much a learned distance, 1 - D, breaks the rules of a metric is
    told of at most `PROPERTY_ITEMS` examples. Embeddings in a plane are drawn,
    with what the distance accepts there.
    """
    x, labels = load(config, config.split)
    plda = models.PLDA(**config.evaluation.plda)
    embeddings = embed_points(model, x)
    plda.fit(embeddings, class_ids(labels))
    scores = all_scores(model, plda)
    results, curves, figures = {}, {}, {}
    for split in config.evaluation.splits:
        x, labels = load(config, split)
        classes, embeddings = class_ids(labels), embed_points(model, x)
        num_trials = len(x) * (len(x) - 1) // 2
        pairs_of_class = np.bincount(classes) * (np.bincount(classes) - 1) // 2
        results[split] = {
            "examples": len(x),
            "classes": len(np.unique(classes)),
            "trials": num_trials,
            "targets": int(np.sum(pairs_of_class)),
        }
        for name, score in scores.items():
            if num_trials > EXACT_TRIALS:
                results[split][name] = streamed(score, embeddings, classes)
                continue
            first, second = np.triu_indices(len(x), 1)
            groups = np.stack([classes[first], classes[second]], axis=1)
            is_target = groups[:, 0] == groups[:, 1]
            found = metrics.score_all_pairs(score, embeddings)[first, second]
            results[split][name] = measures(
                found, is_target, groups, config.evaluation.num_resamples
            )
            title = f"{split}: {name}".replace("_", " ")
            curves[title] = metrics.det_curve(found, is_target)
        if "learned_distance" in scores:
            properties = distance_properties(
                scores["learned_distance"], embeddings
            )
            for name, values in properties.items():
                results[split] |= {
                    f"mean_{name}": float(np.mean(values, dtype=np.float64)),
                    f"largest_{name}": float(np.max(values)),
                }
            figures["distance_properties"] = viz.distance_properties_figure(
                properties, title=split.replace("_", " ")
            )
        num_enrolled = config.evaluation.get("num_enrolled", 0)
        if num_enrolled:
            results[f"{split}_claimed"] = claimed_classes(
                scores, embeddings, classes, num_enrolled
            )
    for name, path in config.evaluation.get("trials", {}).items():
        results[name], found = listed_trials(config, model, plda, path)
        curves |= {f"{name}: {title}": curve for title, curve in found.items()}
    if curves:
        figures["det"] = viz.det_figure(curves)
    if embeddings.shape[1] == 2:
        figures["embedding"] = viz.acceptance_figure(
            embeddings, labels, scores.get("learned_distance", scores["cosine"])
        )
    for name, figure in figures.items():
        viz.save_figure(
            figure,
            workdir / f"{name}.png",
            log_dir=workdir / "tensorboard" / "evaluation",
        )
    return results


def all_scores(model, plda, of: str = "all_pairs") -> dict[str, Callable]:
    """Scores of embeddings `(a, dim)` and `(b, dim)`, the first enrolled.

    Of `"all_pairs"`, or of `"pairs"`, row by row.
    """
    from scipy.special import expit

    if of == "pairs":
        cosine, likelihood = metrics.cosine_score_pairs, plda.score_pairs
    else:
        cosine, likelihood = metrics.cosine_scores, plda.score
    found = {"cosine": cosine, "plda": likelihood}
    learned = learned_score(model, of)
    if learned is not None:

        def fused(first, second):
            # float64, in which large logits have probabilities below 1.
            logits = np.asarray(learned(first, second), np.float64)
            return metrics.fuse_scores(expit(logits), cosine(first, second))

        found |= {"learned_distance": learned, "fused": fused}
    return found


def measures(scores, is_target, groups=None, num_resamples: int = 0) -> dict:
    """The errors of one score; `groups` are the classes of both sides."""
    found = {
        "equal_error_rate": metrics.equal_error_rate(scores, is_target)[0],
        "one_minus_auc": 1 - metrics.roc_auc(scores, is_target),
        "min_dcf": metrics.min_dcf(scores, is_target),
    }
    if num_resamples:
        found["interval"] = metrics.bootstrap_interval(
            metrics.equal_error_rate,
            scores,
            is_target,
            groups,
            num_resamples=num_resamples,
        )
    return found


def claimed_classes(scores, embeddings, classes, num_enrolled: int) -> dict:
    """The errors where a test example claims to be of a class ("type II").

    The first `num_enrolled` examples of each class enrol it, by the average of
    their embeddings; each other example claims each class once.
    """
    order = np.argsort(classes, kind="stable")
    rank = np.empty(len(classes), int)
    rank[order] = np.arange(len(classes)) - np.searchsorted(
        classes[order], classes[order]
    )
    is_enrolled = rank < num_enrolled
    if is_enrolled.all():
        raise ValueError(
            f"config.evaluation.num_enrolled={num_enrolled} leaves no example "
            "to test; set it below the number of examples of a class"
        )
    results = {"examples": len(classes), "classes": len(np.unique(classes))}
    for name, score in scores.items():
        enrolled, found = metrics.score_enrolments(
            score,
            embeddings[is_enrolled],
            classes[is_enrolled],
            embeddings[~is_enrolled],
        )
        is_target = enrolled[:, None] == classes[~is_enrolled]
        results |= {
            "trials": is_target.size,
            "targets": int(np.sum(is_target)),
            name: measures(found.reshape(-1), is_target.reshape(-1)),
        }
    return results


def listed_trials(config, model, plda, path: str) -> tuple[dict, dict]:
    """The errors over a list of trials, and the DET curves."""
    x, first, second, is_target = load_trials(
        config, config.evaluation.trials_split, path
    )
    embeddings = embed_points(model, x)
    results = {
        "examples": len(x),
        "trials": len(is_target),
        "targets": int(np.sum(is_target)),
    }
    curves = {}
    for name, score in all_scores(model, plda, "pairs").items():
        scores = metrics.score_trials(
            score, embeddings, range(len(x)), np.stack([first, second], axis=1)
        )
        results[name] = measures(scores, is_target)
        curves[name.replace("_", " ")] = metrics.det_curve(scores, is_target)
    return results, curves


def distance_properties(learned, embeddings) -> dict[str, np.ndarray]:
    """Those of 1 - D, D the probability that both are of one class."""
    from scipy.special import expit

    if len(embeddings) > PROPERTY_ITEMS:
        rng = np.random.default_rng(0)
        rows = rng.choice(len(embeddings), PROPERTY_ITEMS, replace=False)
        embeddings = embeddings[np.sort(rows)]
    logits = metrics.score_all_pairs(learned, embeddings)
    return metrics.distance_properties(expit(-logits.astype(np.float64)))


def streamed(score, embeddings, classes) -> dict:
    """The errors of a score, and by how much they may be wrong at most."""
    histogram = metrics.TrialHistogram(NUM_BITS)
    metrics.stream_trials(score, embeddings, classes, histogram.update)
    rate, _, rate_bound = histogram.equal_error_rate()
    auc, auc_bound = histogram.roc_auc()
    cost, cost_bound = histogram.min_dcf()
    return {
        "equal_error_rate": rate,
        "equal_error_rate_bound": rate_bound,
        "one_minus_auc": 1 - auc,
        "one_minus_auc_bound": auc_bound,
        "min_dcf": cost,
        "min_dcf_bound": cost_bound,
    }


def summary(results: dict) -> str:
    """The errors in per cent, minDCF apart, as a small table for people."""
    lines = []
    for split, found in results.items():
        lines.append(
            f"{split.replace('_', ' '):<18}{'EER, %':>8}{'95 %':>16}"
            f"{'1 - AUC, %':>12}{'minDCF':>8}"
        )
        for name, row in found.items():
            if isinstance(row, dict):
                ends = [f"{100 * end:.2f}" for end in row.get("interval", ())]
                lines.append(
                    f"{name.replace('_', ' '):<18}"
                    f"{100 * row['equal_error_rate']:>8.2f}"
                    f"{' to '.join(ends):>16}"
                    f"{100 * row['one_minus_auc']:>12.2f}"
                    f"{row['min_dcf']:>8.3f}"
                )
        lines.append(
            f"{found['trials']} trials, {found['targets']} of them targets"
            + (f", of {found['classes']} classes" if "classes" in found else "")
        )
    return "\n".join(lines)
