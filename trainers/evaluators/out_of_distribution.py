"""How well scores tell enrolled classes from anything else.

In each episode some test classes are enrolled. Known queries are other
examples of these classes. Unknown queries are examples of the other test
classes, of other groups (such as alphabets), of other data sets, and noise.
"""

import numpy as np
from scipy import special

from embeddings_tf import viz
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.method import Method
from embeddings_tf.ops.counted import counted
from trainers.data.folds import class_ids
from trainers.evaluators import few_shot
from trainers.evaluators.require_at_least import require_at_least
from trainers.measures import unknown_scores
from trainers.measures.embed import embed
from trainers.measures.embed import head_uncertainty
from trainers.measures.embed import split_to_embed
from trainers.measures.few_classes import few_classes_lines
from trainers.measures.open_set_episode import draw_enrolled
from trainers.measures.open_set_episode import draw_unknown
from trainers.terminal.progress import Progress

# Examples of a data set, and of noise, that are embedded.
MOST_EXAMPLES = 2000
# The test split, among the inputs of `measure`.
OWN = ""

validation = few_shot.validation


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If a count is too small, there are too few classes or
            examples, examples are recordings, or another data set has other
            examples.
    """
    wanted = run.evaluation
    counts = {"num_classes": 1, "num_support": 1, "num_query": 1}
    # An interval needs two episodes.
    require_at_least(wanted, **counts, num_episodes=2, num_samples=1)
    for split in wanted.splits:
        counts = np.bincount(class_ids(data.labels(split)))
        needed = wanted.num_support + wanted.num_query
        enough = int(np.sum(counts >= needed))
        if min(enough, len(counts) - 1) < wanted.num_classes:
            raise ValueError(
                f"the split {split!r} has "
                f"{counted(len(counts), 'class', 'classes')}, {enough} of them "
                f"with {needed} examples; config.evaluation.num_classes="
                f"{wanted.num_classes} needs as many, and one other class"
            )
        if wanted.group:
            groups = class_ids(data.other_labels(split, wanted.group))
            labels = class_ids(data.labels(split))
            rng = np.random.default_rng(0)
            draw_enrolled(rng, labels, wanted, wanted.num_classes, groups)
        x, _ = data.split(split)
        if isinstance(x, Utterances):
            raise ValueError(
                "config.evaluation.name='out_of_distribution' is for images "
                "and features; received recordings"
            )
        for name, part in wanted.others:
            found = _other(data, name, part)[:1].shape[1:]
            if found != x[:1].shape[1:]:
                raise ValueError(
                    f"config.evaluation.others: {name} has examples of shape "
                    f"{found}; this model takes {x[:1].shape[1:]}"
                )


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns AUROC and FPR at 95 % TPR of each score, by kind of unknown."""
    wanted, results, figures = run.evaluation, {}, {}
    for split in wanted.splits:
        x, labels = split_to_embed(data, split)
        labels = class_ids(labels)
        groups = np.zeros(len(labels), int)
        if wanted.group:
            groups = class_ids(data.other_labels(split, wanted.group))
        others = {
            name: _other(data, name, part) for name, part in wanted.others
        }
        others["uniform noise"] = _noise(x)
        foreign = {name: embed(model, other) for name, other in others.items()}
        head = {
            name: head_uncertainty(model, rows)
            for name, rows in {OWN: x, **others}.items()
        }
        results[split] = measure(
            model, embed(model, x), labels, groups, foreign, wanted, head
        )
        figures[f"out_of_distribution_{split}"] = viz.bars_figure(
            {
                kind: {
                    name.replace("_", " "): [row["auroc"]]
                    for name, row in scores.items()
                }
                for kind, scores in results[split].items()
            },
            title="AUROC of unknown inputs",
        )
    return results, figures


def measure(
    model, embeddings, labels, groups, foreign, wanted, head=None
) -> dict:
    """Measures the scores over episodes.

    Args:
        model: The trained model.
        embeddings: Of the test split, `(n, width)`.
        labels: Class numbers `(n,)`.
        groups: Group numbers `(n,)`; the enrolled classes of an episode are
            of one group.
        foreign: Embeddings of inputs of no class, by name.
        wanted: Numbers of classes, supports, queries, episodes and samples.
        head: Uncertainties of an `UncertaintyHead` of the test split, at the
            key OWN, and of each entry of `foreign`; each may be None.

    Returns:
        By kind of unknown inputs and score: mean AUROC and FPR at 95 % TPR,
        each with the half width of its 95 % interval, and the number of test
        classes.
    """
    scores, found = _scores(model, wanted.num_samples), {}
    inputs = {OWN: embeddings, **foreign}
    alone = {
        name: _of_inputs(model, rows, None if head is None else head[name])
        for name, rows in inputs.items()
    }
    progress = Progress(wanted.num_episodes, "open-set episode")
    for episode in range(wanted.num_episodes):
        rng = np.random.default_rng(episode)
        support, known = draw_enrolled(
            rng, labels, wanted, wanted.num_classes, groups
        )
        of_group = groups == groups[support[0, 0]]
        is_new = ~np.isin(labels, labels[support[:, 0]])
        kinds = {"other classes": (OWN, np.flatnonzero(is_new & of_group))}
        if not of_group.all():
            kinds["other groups"] = OWN, np.flatnonzero(~of_group)
        kinds |= {
            name: (name, np.arange(len(foreign[name]))) for name in foreign
        }
        kinds = {kind: place for kind, place in kinds.items() if len(place[1])}
        # Queries of the enrolled classes, then of each kind.
        drawn = [(OWN, known)]
        for name, rows in kinds.values():
            drawn.append((name, draw_unknown(rng, rows, known)))
        answers = scores(
            embeddings[support.reshape(-1)],
            np.repeat(np.arange(len(support)), support.shape[1]),
            np.concatenate([inputs[name][rows] for name, rows in drawn]),
            len(support),
        )
        answers |= {
            score: np.concatenate(
                [alone[name][score][rows] for name, rows in drawn]
            )
            for score in alone[OWN]
        }
        ends = np.cumsum([len(rows) for _, rows in drawn])[:-1]
        for name, values in answers.items():
            inside, *outside = np.split(values, ends)
            for kind, unknown in zip(kinds, outside, strict=True):
                found.setdefault(kind, {}).setdefault(name, []).append(
                    unknown_scores.error_rates(inside, unknown)
                )
        progress.advance()
    count = {"test_classes": len(np.unique(labels))}
    return {
        kind: {
            n: unknown_scores.mean_rates(v) | count for n, v in by_score.items()
        }
        for kind, by_score in found.items()
    }


def _scores(model, num_samples: int):
    """Returns a function of an episode: uncertainties of queries by name."""
    by_method = unknown_scores.score_function(model, num_samples)

    def scores(support, labels, query, num_classes):
        found, log_prob = by_method(support, labels, query, num_classes)
        entropy = special.entr(np.exp(log_prob)).sum(axis=-1)
        return {"posterior_entropy": entropy, **found}

    return scores


def _of_inputs(model, embeddings, head) -> dict[str, np.ndarray]:
    """Uncertainties `(n,)` that need no enrolled classes, by name."""
    found = {}
    variances = Method(model).variances(embeddings)
    if variances is not None:
        variances = variances.numpy().astype(np.float64)
        found["predicted_variance"] = np.log(variances).sum(axis=-1)
    if head is not None:
        found["head_uncertainty"] = np.asarray(head, np.float64)
    return found


def _other(data, name: str, split: str):
    """Some examples of another data set, of one size."""
    x, _ = data.of_other_set(name, split)
    rng = np.random.default_rng(0)
    count = min(MOST_EXAMPLES, len(x))
    return x[np.sort(rng.choice(len(x), count, replace=False))]


def _noise(x) -> np.ndarray:
    """Uniform noise in the range and of the shape of the examples."""
    example = x[: min(len(x), MOST_EXAMPLES)]
    rng = np.random.default_rng(0)
    if example.dtype == np.uint8:
        return rng.integers(0, 256, example.shape, np.uint8)
    ends = example.min(axis=0), example.max(axis=0)
    return rng.uniform(*ends, example.shape).astype(example.dtype)


def summary(results: dict) -> str:
    """Returns the AUROC as a small text table."""
    lines = []
    for split, kinds in results.items():
        names = list(next(iter(kinds.values())))
        lines.append(
            f"{split + ': AUROC':<20}"
            + "".join(f"{name.replace('_', ' '):>20}" for name in names)
        )
        for kind, scores in kinds.items():
            cells = (scores[name] for name in names)
            lines.append(
                f"{kind:<20}"
                + "".join(
                    f"{unknown_scores.auroc_text(row):>20}" for row in cells
                )
            )
    counts = (
        row["test_classes"]
        for kinds in results.values()
        for scores in kinds.values()
        for row in scores.values()
    )
    return "\n".join([*lines, *few_classes_lines(counts)])
