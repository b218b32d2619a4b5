"""Measures how the few-shot loss itself rises with damage to the images.

    python -m tools.loss_rank_study [FOLDER ...]

A FOLDER is a workdir of `uncertainty_*` with a head. A head predicts the loss
of an image, so a head hardly rises with damage that hardly changes the order of
the losses. The script classifies test images, clean and damaged, in many
few-shot episodes. It writes the rank correlations of their mean losses, and of
the head, with the damage to `benchmarks/results/loss_ranks`, also whether both
tell wrong nearest neighbours, and the table of `docs/results/uncertainty.md`.
"""

import pathlib

import numpy as np

from tools.damage_figure import LABELS
from tools.generated_text import NOT_RUN
from tools.generated_text import remake_page
from tools.keep_result import kept_results
from tools.run_files import run_results
from tools.uncertainty_study import keep_study
from tools.uncertainty_study import origins
from tools.uncertainty_table import LOSSES as RESULTS
from tools.uncertainty_table import PAGE
from tools.uncertainty_table import row_name

BEGIN, END = (
    "<!-- loss ranks: begin -->",
    "<!-- loss ranks: end -->",
)
SPLIT = "test"
# Times that an image is a query, on average.
NUM_LOSSES = 20
# Conditions of which the aims have an R-AUROC.
TOLD = ("clean", "corrupt")


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Measures a run, and writes its result file."""
    keep_study(workdir, measure(workdir), RESULTS, replace)


def measure(workdir: pathlib.Path) -> dict[str, dict]:
    """Measures the loss of test images beside the head of a run.

    Returns:
        `kinds`: rank correlations of loss and head with each damage;
        `recall_auroc`: R-AUROC of both, clean and with the rectangle.
    """
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from trainers.data.data import Data
    from trainers.data.folds import class_ids
    from trainers.evaluators import uncertainty
    from trainers.measures.embed import embed
    from trainers.measures.episodes import episode_log_prob
    from trainers.measures.rank_correlation import rank_correlation
    from trainers.trained import open_trained

    results = run_results(workdir)
    of_head = results["evaluation"][SPLIT]
    trained = open_trained(str(workdir))
    model, wanted = trained.model, trained.run.evaluation
    x, labels = Data(trained.run).split(SPLIT)
    x, labels = uncertainty.chosen_images(
        x, class_ids(labels), wanted.num_per_class
    )
    log_prob = episode_log_prob(model, wanted.num_samples)

    clean = embed(model, x, shown=False)
    kinds, told, of_clean = {}, {}, None
    # In the order of the evaluation, for the same damaged images.
    for number, kind in enumerate(("clean", "corrupt", *wanted.kinds)):
        images, strength = uncertainty.damaged(x, kind, number)
        queries = embed(model, images, shown=False)
        losses = mean_losses(clean, queries, labels, wanted, log_prob)
        head = of_head[kind]["head"]
        if kind in TOLD:
            told[kind] = {
                "loss": recall_auroc(losses, queries, clean, labels, model),
                "head": head["recall_auroc"],
            }
        if of_clean is None:
            of_clean = losses
            continue
        both = np.concatenate([np.zeros(len(x)), strength])
        values = np.concatenate([of_clean, losses])
        kinds[kind] = {
            "loss": rank_correlation(both, values),
            "head": head["rank_correlation"],
        }
    return {"kinds": kinds, "recall_auroc": told}


def recall_auroc(values, queries, gallery, labels, model) -> float:
    """Whether values tell which nearest clean image is of another class."""
    from embeddings_tf import metrics
    from embeddings_tf.models.method import Method
    from trainers.measures.uncertainties import is_wrong

    method = Method(model)
    points = [method.points(side).numpy() for side in (queries, gallery)]
    wrong = is_wrong(*points, labels, method.distance)
    return metrics.roc_auc(values, wrong)


def mean_losses(supports, queries, labels, wanted, log_prob) -> np.ndarray:
    """Returns the mean loss `(n,)` of each image over many episodes.

    Args:
        supports: Embeddings `(n, width)` of clean images.
        queries: Embeddings of the same images under a condition.
        labels: `(n,)`, class ids.
        wanted: Numbers of classes, supports and queries of an episode.
        log_prob: As `trainers.measures.episodes.episode_log_prob` returns.
    """
    from embeddings_tf import sampling

    shape = wanted.num_support, wanted.num_query
    episodes = sampling.episodes(labels, wanted.num_classes, *shape, seed=0)
    sums, counts = np.zeros(len(labels)), np.zeros(len(labels))
    per_episode = wanted.num_classes * wanted.num_query
    number = round(NUM_LOSSES * len(labels) / per_episode)
    for step, indices in enumerate(episodes.take(number)):
        rows = indices.numpy().reshape(wanted.num_classes, -1)
        chosen = rows[:, : wanted.num_support].ravel()
        asked = rows[:, wanted.num_support :].ravel()
        supported = np.repeat(np.arange(len(rows)), wanted.num_support)
        targets = np.repeat(np.arange(len(rows)), wanted.num_query)
        found = log_prob(
            supports[chosen],
            supported.astype("int32"),
            queries[asked],
            len(rows),
            np.array([0, step], "int32"),
        )
        losses = -np.asarray(found)[np.arange(len(asked)), targets]
        np.add.at(sums, asked, losses)
        np.add.at(counts, asked, 1)
    return sums / np.maximum(counts, 1)


def table(found: dict[pathlib.Path, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    kinds = list(next(iter(found.values()))["study"]["kinds"])
    names = " | ".join(LABELS.get(kind, kind) for kind in kinds)
    told = " | ".join(LABELS.get(kind, kind) for kind in TOLD)
    lines = [
        f"| data | dim | setting | number | rank: {names} | R-AUROC: {told} |",
        "|---|---:|---|---|" + "---:|" * (len(kinds) + len(TOLD)),
    ]
    for run in found.values():
        for number in ("loss", "head"):
            study = run["study"]
            cells = [f"{study['kinds'][k][number]:.2f}" for k in kinds]
            cells += [f"{study['recall_auroc'][k][number]:.2f}" for k in TOLD]
            lines.append(
                f"| {row_name(run)} | {number} | {' | '.join(cells)} |"
            )
    return "\n".join([*lines, *origins(found, "loss_rank_study")])


def main() -> None:
    remake_page(
        __doc__,
        collect,
        lambda: kept_results(RESULTS),
        PAGE,
        (BEGIN, END),
        table,
    )


if __name__ == "__main__":
    main()
