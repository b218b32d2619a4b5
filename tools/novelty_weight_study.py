"""Measures weights of the penalty of uncertainty heads, on validation classes.

    python -m tools.novelty_weight_study [FOLDER ...]

A FOLDER is a workdir of `uncertainty_*` whose head has a penalty. The script
evaluates the head on images of the validation classes with several
`novelty_weight`; the network and the scale of the penalty stay as they are. It
writes the numbers to `benchmarks/results/novelty_weight`, and the table of
`docs/results/uncertainty.md`.
"""

import dataclasses
import pathlib

from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.keep_result import kept_results
from tools.uncertainty_study import keep_study
from tools.uncertainty_study import origins
from tools.uncertainty_table import row_name

RESULTS = ROOT / "benchmarks" / "results" / "novelty_weight"
PAGE = ROOT / "docs" / "results" / "uncertainty.md"
BEGIN, END = (
    "<!-- novelty weight: begin -->",
    "<!-- novelty weight: end -->",
)
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5)
SPLIT = "validation"
# Columns: condition, measure, head of the column.
COLUMNS = (
    ("noise", "rank_correlation", "rank: noise"),
    ("blur", "rank_correlation", "blur"),
    ("corrupt", "rank_correlation", "rectangle"),
    ("clean", "recall_auroc", "R-AUROC: clean"),
    ("corrupt", "recall_auroc", "rectangle"),
    ("noise", "recall_auroc", "noise"),
)


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Measures a run, and writes its result file."""
    keep_study(workdir, {"weights": measure(str(workdir))}, RESULTS, replace)


def measure(workdir: str) -> list[dict]:
    """Returns the measures of the head of a run for each weight."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from trainers.data.data import Data
    from trainers.evaluators import uncertainty
    from trainers.trained import open_trained

    trained = open_trained(workdir)
    head = trained.model.uncertainty
    if head is None or head.novelty is None:
        raise ValueError(
            f"the run {workdir} has no uncertainty head with a penalty; train "
            "one with config.uncertainty.novelty_weight above 0"
        )
    evaluation = dataclasses.replace(
        trained.run.evaluation, splits=(SPLIT,), kinds=("blur", "noise")
    )
    run = dataclasses.replace(trained.run, evaluation=evaluation)
    data, found = Data(run), []
    for weight in WEIGHTS:
        head.novelty_weight = weight
        trained.model.compile()  # traces predictions again
        results, _ = uncertainty.evaluate(run, data, trained.model)
        found.append(
            {
                "novelty_weight": weight,
                **{
                    condition: results[SPLIT][condition]["head"]
                    for condition in ("clean", "corrupt", *evaluation.kinds)
                },
            }
        )
    return found


def table(found: dict[pathlib.Path, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    names = " | ".join(name for *_, name in COLUMNS)
    lines = [
        f"| data | dim | setting | novelty_weight | {names} |",
        "|---|---:|---|" + "---:|" * (1 + len(COLUMNS)),
    ]
    for run in found.values():
        for row in run["study"]["weights"]:
            cells = [f"{row[c][measure]:.3f}" for c, measure, _ in COLUMNS]
            lines.append(
                f"| {row_name(run)} | {row['novelty_weight']:g} | "
                f"{' | '.join(cells)} |"
            )
    return "\n".join([*lines, *origins(found, "novelty_weight_study")])


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
