"""Verification with a trained model: are two examples of one class?"""

import pathlib
from collections.abc import Callable

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import viz
from trainers.data import load
from trainers.embed import embed
from trainers.folds import class_ids

# More than these are not held in memory but counted in bins.
EXACT_TRIALS = 5_000_000
# All pairs of these are held for the study of the distance.
PROPERTY_ITEMS = 2_000
# 64 MiB of bins; fused scores crowd near 1.
NUM_BITS = 22


class _HeldOut(callbacks.EmbeddingEvaluation):
    """Embeds utterances whole, as the evaluation does."""

    def embed(self) -> np.ndarray:
        return embed(self.model, self.x)


def validation(config, model) -> callbacks.EmbeddingEvaluation:
    """1 - EER over all pairs of the validation classes; larger is better.

    Of the learned distance, or of the cosine if the model has none.
    """
    x, labels = load(config, config.validation.split)
    score = learned_score(model) or metrics.cosine_scores

    def accuracy_at_equal_error(embeddings, classes):
        first, second = np.triu_indices(len(classes), 1)
        scores = metrics.score_all_pairs(score, embeddings)[first, second]
        is_target = classes[first] == classes[second]
        return 1 - metrics.equal_error_rate(scores, is_target)[0]

    measures = {"accuracy_at_equal_error": accuracy_at_equal_error}
    return _HeldOut(x, class_ids(labels), measures)


def learned_score(model):
    """The score of the model's own distance; None if it has no distance."""
    objective = getattr(model, "objective", None)
    distance = getattr(objective, "distance", None)
    return None if distance is None else distance.all_pairs


def evaluate(config, model, workdir: pathlib.Path) -> dict:
    """EER and its kin over all unordered pairs of the test classes.

    Of the cosine and of PLDA, fitted to the embeddings of the training split;
    of a model with a learned distance also of that and of both fused. Each
    EER comes with a 95 % interval from resampled classes, unless
    `evaluation.num_resamples` is 0. More than `EXACT_TRIALS` trials are
    counted in bins instead, each measure with the bound of its error.

    By how much a learned distance, 1 - D, breaks the rules of a metric is
    told of at most `PROPERTY_ITEMS` examples. Embeddings in a plane are drawn,
    with what the distance accepts there.
    """
    x, labels = load(config, config.split)
    plda = models.PLDA(**config.evaluation.plda)
    plda.fit(embed(model, x), class_ids(labels))
    scores = all_scores(model, plda)
    results, curves, figures = {}, {}, {}
    for split in config.evaluation.splits:
        x, labels = load(config, split)
        classes, embeddings = class_ids(labels), embed(model, x)
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


def all_scores(model, plda) -> dict[str, Callable]:
    """Scores of embeddings `(a, dim)` and `(b, dim)`, the first enrolled."""
    from scipy.special import expit

    found = {"cosine": metrics.cosine_scores, "plda": plda.score}
    learned = learned_score(model)
    if learned is not None:

        def fused(first, second):
            # float64, in which large logits have probabilities below 1.
            logits = np.asarray(learned(first, second), np.float64)
            return metrics.fuse_scores(
                expit(logits), metrics.cosine_scores(first, second)
            )

        found |= {"learned_distance": learned, "fused": fused}
    return found


def measures(scores, is_target, groups, num_resamples: int) -> dict:
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
            f"{found['trials']} trials, {found['targets']} of them targets, "
            f"of {found['classes']} classes"
        )
    return "\n".join(lines)
