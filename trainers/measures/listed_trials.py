"""Errors over a list of trials."""

import numpy as np

from embeddings_tf import metrics
from embeddings_tf.models.method import Method
from trainers.measures.embed import embed
from trainers.measures.scores import scores_of_pairs
from trainers.measures.trial_measures import measures
from trainers.terminal.progress import Progress


def listed_trials(run, data, model, plda, path: str) -> tuple[dict, dict]:
    """Returns the errors over a list of trials, and the DET curves."""
    x, first, second, is_target = data.trials(run.evaluation.trials_split, path)
    embeddings = embed(model, x)
    results = {
        "examples": len(x),
        "trials": len(is_target),
        "targets": int(np.sum(is_target)),
        "own_score": Method(model).name,
    }
    curves = {}
    scorers = scores_of_pairs(Method(model), plda, run.evaluation.euclidean)
    for name, score in scorers.items():
        scores = metrics.score_trials(
            Progress(len(first), "trial").counting_scores(score),
            embeddings,
            range(len(x)),
            np.stack([first, second], axis=1),
        )
        results[name] = measures(scores, is_target)
        curves[name.replace("_", " ")] = metrics.det_curve(scores, is_target)
    return results, curves
