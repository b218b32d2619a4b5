"""Verification with a trained model: are two examples of one class?"""

import functools
import pathlib

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import viz
from trainers.data import load
from trainers.embed import embed
from trainers.folds import class_ids


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
    EER comes with a 95 % interval from resampled classes.
    """
    x, labels = load(config, config.split)
    plda = models.PLDA(**config.evaluation.plda)
    plda.fit(embed(model, x), class_ids(labels))
    results, curves = {}, {}
    for split in config.evaluation.splits:
        x, labels = load(config, split)
        classes = class_ids(labels)
        first, second = np.triu_indices(len(x), 1)
        groups = np.stack([classes[first], classes[second]], axis=1)
        is_target = groups[:, 0] == groups[:, 1]
        results[split] = {
            "examples": len(x),
            "classes": len(np.unique(classes)),
            "trials": len(is_target),
            "targets": int(np.sum(is_target)),
        }
        for name, scores in all_scores(model, plda, embed(model, x)).items():
            scores = scores[first, second]
            results[split][name] = measures(
                scores, is_target, groups, config.evaluation.num_resamples
            )
            title = f"{split}: {name}".replace("_", " ")
            curves[title] = metrics.det_curve(scores, is_target)
    viz.save_figure(
        viz.det_figure(curves),
        workdir / "det.png",
        log_dir=workdir / "tensorboard" / "evaluation",
    )
    return results


def all_scores(model, plda, embeddings) -> dict[str, np.ndarray]:
    """Scores `(n, n)` of each embedding with each, the first one enrolled."""
    from scipy.special import expit

    every = functools.partial(metrics.score_all_pairs, first=embeddings)
    found = {"cosine": every(metrics.cosine_scores), "plda": every(plda.score)}
    learned = learned_score(model)
    if learned is not None:
        logits = every(learned)
        # float64, in which large logits have probabilities below 1.
        probability = expit(logits.astype(np.float64))
        found |= {
            "learned_distance": logits,
            "fused": metrics.fuse_scores(probability, found["cosine"]),
        }
    return found


def measures(scores, is_target, groups, num_resamples: int) -> dict:
    """The errors of one score; `groups` are the classes of both sides."""
    return {
        "equal_error_rate": metrics.equal_error_rate(scores, is_target)[0],
        "interval": metrics.bootstrap_interval(
            metrics.equal_error_rate,
            scores,
            is_target,
            groups,
            num_resamples=num_resamples,
        ),
        "one_minus_auc": 1 - metrics.roc_auc(scores, is_target),
        "min_dcf": metrics.min_dcf(scores, is_target),
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
                low, high = (f"{100 * end:.2f}" for end in row["interval"])
                lines.append(
                    f"{name.replace('_', ' '):<18}"
                    f"{100 * row['equal_error_rate']:>8.2f}"
                    f"{f'{low} to {high}':>16}"
                    f"{100 * row['one_minus_auc']:>12.2f}"
                    f"{row['min_dcf']:>8.3f}"
                )
        lines.append(
            f"{found['trials']} trials, {found['targets']} of them targets, "
            f"of {found['classes']} classes"
        )
    return "\n".join(lines)
