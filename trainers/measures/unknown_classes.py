"""Few-shot episodes with queries of classes that are not enrolled."""

import numpy as np

from trainers.measures import promises
from trainers.measures import unknown_scores
from trainers.measures.occluded import EmbeddedSplit
from trainers.measures.open_set_episode import draw_enrolled
from trainers.measures.open_set_episode import draw_unknown
from trainers.terminal.progress import Progress

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
        half width of the 95 % interval of the mean, and the means of
        `promises.kept_promise`; None if the split has no other classes.
    """
    _, sizes = np.unique(split.labels, return_counts=True)
    num_eligible = np.sum(sizes >= wanted.num_support + wanted.num_query)
    if num_eligible < split.num_classes or len(sizes) == split.num_classes:
        return None
    scores = unknown_scores.score_function(model, wanted.num_samples)
    found: dict[str, list] = {}
    kept: dict[str, list] = {}
    num_episodes = min(wanted.num_episodes, MOST_EPISODES)
    progress = Progress(num_episodes, "open-set episode")
    for episode in range(num_episodes):
        rng = np.random.default_rng(episode)
        support, known = draw_enrolled(
            rng, split.labels, wanted, split.num_classes
        )
        enrolled = split.labels[support[:, 0]]
        others = np.flatnonzero(~np.isin(split.labels, enrolled))
        unknown = draw_unknown(rng, others, known)
        queries = np.concatenate([known, unknown])
        answers, log_prob = scores(
            split.clean[support.reshape(-1)],
            np.repeat(np.arange(split.num_classes), wanted.num_support),
            split.clean[queries],
            split.num_classes,
        )
        answers["largest_probability"] = -log_prob.max(axis=1)
        for name, values in answers.items():
            found.setdefault(name, []).append(
                unknown_scores.error_rates(*np.split(values, [len(known)]))
            )
            promise = promises.kept_promise(
                *np.split(-values, [len(known)]), split.labels[unknown], episode
            )
            kept.setdefault(name, []).append(promise)
        progress.advance()
    return {
        name: unknown_scores.mean_rates(rates)
        | {"episodes": len(rates)}
        | promises.mean_promise(kept[name])
        for name, rates in found.items()
    }


def lines(results: dict) -> list[str]:
    """Returns the results of several tasks as lines of text."""
    found = []
    for name, scores in results.items():
        found.append(f"unknown classes, {name.replace('_', ' ')}")
        for score, row in scores.items():
            found.append(
                f"  {score.replace('_', ' '):<22}"
                f"AUROC {unknown_scores.auroc_text(row)}"
                f"   FPR at 95 % TPR {row['fpr_at_95_tpr']:.3f}"
                + promises.text_of_promise(row)
            )
    return found
