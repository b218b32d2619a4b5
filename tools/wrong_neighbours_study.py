"""Measures an uncertainty among few and among many classes.

    python -m tools.wrong_neighbours_study [FOLDER ...]

A FOLDER is a workdir of `uncertainty_*`. The script draws some of the test
classes, and finds the nearest neighbour of each of their clean images among
their images. It writes the R-AUROC over all draws to
`benchmarks/results/wrong_neighbours`, and the table of
`docs/results/uncertainty.md`.
"""

import pathlib

import numpy as np

from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.keep_result import kept_results
from tools.uncertainty_study import keep_study
from tools.uncertainty_study import origins
from tools.uncertainty_table import SOURCES
from tools.uncertainty_table import row_name

RESULTS = ROOT / "benchmarks" / "results" / "wrong_neighbours"
PAGE = ROOT / "docs" / "results" / "uncertainty.md"
BEGIN, END = (
    "<!-- wrong neighbours: begin -->",
    "<!-- wrong neighbours: end -->",
)
NUM_CLASSES = (5, 20, 100, 400)
NUM_IMAGES = 20  # of a class, besides the number of the run's evaluation
# Classes in all draws of one number of classes.
DRAWN = 4000


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Measures a run, and writes its result file."""
    keep_study(workdir, measure(str(workdir)), RESULTS, replace)


def measure(workdir: str) -> dict:
    """Embeds the clean test images of a run, and returns its measures."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf.models.method import Method
    from trainers.data.data import Data
    from trainers.data.folds import class_ids
    from trainers.evaluators import uncertainty
    from trainers.measures.embed import embed
    from trainers.measures.embed import split_to_embed
    from trainers.measures.uncertainties import uncertainties
    from trainers.trained import open_trained

    trained = open_trained(workdir)
    run, model = trained.run, trained.model
    method = Method(model)
    images, labels = split_to_embed(Data(run), "test")
    rows = []
    for num_images in sorted({run.evaluation.num_per_class, NUM_IMAGES}):
        x, of_x = uncertainty.chosen_images(
            images, class_ids(labels), num_images
        )
        embeddings = embed(model, x, shown=False)
        found = among_classes(
            method.points(embeddings).numpy(),
            of_x,
            uncertainties(model, x, embeddings),
            method.distance,
        )
        rows += [{"images": num_images, **row} for row in found]
    return {"among": rows}


def among_classes(
    points: np.ndarray,
    labels: np.ndarray,
    uncertainties: dict[str, np.ndarray],
    distance: str,
    num_classes: tuple[int, ...] = NUM_CLASSES,
) -> list[dict]:
    """Share of wrong neighbours and R-AUROC among some of the classes.

    Args:
        points: Embeddings `(n, dim)`.
        labels: Integers `(n,)`.
        uncertainties: Values `(n,)` by name.
        distance: "l2" or "cosine".
        num_classes: Numbers of classes to draw; larger ones than there are are
            left out. All classes are always measured.

    Returns:
        For each number of `classes`: `wrong`, the share of images with a wrong
        neighbour, and the R-AUROC of each uncertainty over all draws.
    """
    from embeddings_tf import metrics
    from trainers.measures.uncertainties import is_wrong

    classes, rng = np.unique(labels), np.random.default_rng(0)
    found = []
    numbers = [n for n in num_classes if n < len(classes)]
    for number in [*numbers, len(classes)]:
        num_draws = 1 if number == len(classes) else DRAWN // number
        rows, wrong = [], []
        for _ in range(num_draws):
            drawn = rng.choice(classes, number, replace=False)
            rows.append(np.flatnonzero(np.isin(labels, drawn)))
            of_draw = points[rows[-1]], labels[rows[-1]]
            wrong.append(is_wrong(of_draw[0], *of_draw, distance))
        rows, wrong = np.concatenate(rows), np.concatenate(wrong)
        auroc = {
            name: metrics.roc_auc(values[rows], wrong)
            for name, values in uncertainties.items()
        }
        found.append({"classes": number, "wrong": float(wrong.mean()), **auroc})
    return found


def table(found: dict[pathlib.Path, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    lines = [
        "| data | dim | setting | uncertainty | images of a class | classes "
        "| wrong neighbours, % | R-AUROC |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for run in found.values():
        head = f"| {row_name(run)} "
        for source, name in SOURCES.items():
            lines += [
                f"{head}| {name} | {row['images']} | {row['classes']:,} | "
                f"{100 * row['wrong']:.1f} | {row[source]:.3f} |"
                for row in run["study"]["among"]
                if source in row
            ]
    return "\n".join([*lines, *origins(found, "wrong_neighbours_study")])


def main() -> None:
    marks = BEGIN, END
    remake_page(
        __doc__,
        collect,
        lambda: kept_results(RESULTS),
        PAGE,
        marks,
        table,
    )


if __name__ == "__main__":
    main()
