"""Writes the tables of docs/trust.md, and the figure of promised rates.

    python -m tools.trust_table

Reads `benchmarks/results/trust`, which `tools.trust_study` writes.
"""

import numpy as np

from tools import n_digit_table
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import results_by_name
from tools.keep_result import results_of
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.trust_study import RESULTS

PAGE = ROOT / "docs" / "trust.md"
MARKS = "<!-- trust tables: begin -->", "<!-- trust tables: end -->"
FEW_SHOT = {
    "prototypical": "PrototypicalLoss",
    "stochastic_prototypes": "StochasticPrototypes",
}
SETS = {"an4": "AN4, speakers", "omniglot_rotations": "Omniglot, characters"}


def load() -> dict[str, dict]:
    """Returns the results of every run by name, sets and methods in order."""
    order = [*SETS]
    return dict(
        sorted(
            results_by_name(RESULTS).items(),
            key=lambda item: (order.index(item[1]["dataset"]), item[0]),
        )
    )


def title(result: dict) -> str:
    return f"{SETS[result['dataset']]} | `{result['method']}`"


def pairs_table(found: dict[str, dict]) -> list[str]:
    """Cllr of every score, before and after calibration."""
    lines = [
        "| test classes | trained with | score | EER, % | Cllr as trained | "
        "logistic | isotonic | minimum | false accepts at 1 %, % |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for result in found.values():
        for name, row in result["pairs"].items():
            before = f"{row['cllr']:.3f}" if "cllr" in row else ""
            (at,) = row["at_false_accept_rate"]
            lines.append(
                f"| {title(result)} | {name.replace('_', ' ')} "
                f"| {100 * row['equal_error_rate']:.1f} | {before} "
                f"| {row['cllr_logistic']:.3f} | {row['cllr_isotonic']:.3f} "
                f"| {row['min_cllr']:.3f} "
                f"| {100 * at['false_accept_rate']:.2f} |"
            )
    return lines


def promises_table(found: dict[str, dict]) -> list[str]:
    """Promised and reached false-accept rates."""
    rates = sorted(
        {
            row["promised"]
            for result in found.values()
            for row in result["promises"]["log_evidence"]
        }
    )
    heads = "".join(f" {100 * rate:g} % |" for rate in rates)
    lines = [
        f"| test classes | trained with | score | classes: enrolled, "
        f"calibration, unknown |{heads}",
        "|---|---|---|---|" + "---:|" * len(rates),
    ]
    for result in found.values():
        promises = result["promises"]
        counts = ", ".join(map(str, promises["classes"].values()))
        for score in ("log_evidence", "nearest_distance"):
            by_rate = {row["promised"]: row for row in promises[score]}
            cells = "".join(
                f" {_percent(by_rate[rate])} |" if rate in by_rate else " |"
                for rate in rates
            )
            lines.append(
                f"| {title(result)} | {score.replace('_', ' ')} | {counts} "
                f"|{cells}"
            )
    return lines


def _percent(row: dict) -> str:
    return (
        f"{100 * row['reached']:.1f} ±{100 * row['standard_error']:.1f} "
        f"({100 * row['known_accepted']:.0f})"
    )


def unknown_table(found: dict[str, dict]) -> list[str]:
    """AUROC and FPR at 95 % TPR of unknown classes."""
    scores = ("log_evidence", "nearest_distance", "largest_probability")
    heads = "".join(f" {score.replace('_', ' ')} |" for score in scores)
    lines = [
        f"| test classes | trained with | enrolled classes |{heads}",
        "|---|---|---:|" + "---:|" * len(scores),
    ]
    for result in found.values():
        unknown = result["unknown_classes"]
        cells = "".join(
            f" {unknown[score]['auroc']:.3f}, "
            f"{100 * unknown[score]['fpr_at_95_tpr']:.0f} % |"
            for score in scores
        )
        lines.append(f"| {title(result)} | {unknown['num_classes']} |{cells}")
    return lines


def probabilities_table(found: dict[str, dict]) -> list[str]:
    """Expected calibration error of the class probabilities of new classes.

    From the runs of this page that have measured it, and from the committed
    runs on numbers of several digits, whose unseen numbers are new classes.
    Runs of studies, and with settings that the recipe does not have, are left
    out.
    """
    rows: dict[str, list] = {}
    for result in found.values():
        if "few_shot" in result:
            rows[title(result)] = [result["few_shot"]]
    for result in results_of(n_digit_table.RESULTS):
        test = result.get("evaluation", {}).get("test_unseen", {})
        words = result["recipe"].split("_")
        method = "_".join(words[5:])
        is_shown = "clean" in test and method in FEW_SHOT
        changed = n_digit_table.is_of_a_study(
            result
        ) or n_digit_table.other_settings(result)
        if is_shown and not changed:
            name = (
                f"{words[2]}-digit numbers, {words[4]} dimensions "
                f"| `{FEW_SHOT[method]}`"
            )
            rows.setdefault(name, []).append(test["clean"])
    lines = [
        "| test classes | trained with | runs | accuracy, % | expected "
        "calibration error, % |",
        "|---|---|---:|---:|---:|",
    ]
    for name, cells in rows.items():
        columns = " | ".join(
            _range([100 * cell[key] for cell in cells])
            for key in ("accuracy", "expected_calibration_error")
        )
        lines.append(f"| {name} | {len(cells)} | {columns} |")
    missing = {r["method"] for r in found.values() if "few_shot" not in r}
    missing -= {name.rpartition("`")[0].rpartition("`")[2] for name in rows}
    if missing:
        names = ", ".join(f"`{name}`" for name in sorted(missing))
        lines += ["", f"Not measured yet: {names}."]
    return lines


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    if len(values) == 1:
        return f"{low:.1f}"
    return f"{low:.1f} to {high:.1f}"


def trainings_table(found: dict[str, dict]) -> list[str]:
    """How long each run was trained."""
    lines = [
        "| run | recipe | steps | seconds | commit of training, study |",
        "|---|---|---:|---:|---|",
    ]
    for name, result in found.items():
        training = result["training"]
        lines.append(
            f"| `{name}` | `{result['recipe']}` | {training['steps']} "
            f"| {training['seconds']:.0f} | {training['commit'][:7]}, "
            f"{result['commit'][:7]} |"
        )
    lines += ["", f"Hardware: {hardware(found.values())}."]
    commands = {
        name: rerun_command(
            result["recipe"], result["config"], f"runs/{name}"
        ).partition(" && ")[0]
        + f" && python -m tools.trust_study runs/{name}"
        for name, result in found.items()
    }
    return lines + command_lines(commands)


def tables(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    parts = [
        ("Likelihood ratios of pairs", pairs_table),
        ("Promised and reached false-accept rates", promises_table),
        ("Unknown classes in few-shot episodes", unknown_table),
        ("Class probabilities of new classes", probabilities_table),
        ("The runs", trainings_table),
    ]
    return "\n".join(
        line
        for heading, make in parts
        for line in (f"### {heading}", "", *make(found), "")
    ).rstrip()


def figures(found: dict[str, dict]) -> dict:
    """Draws the reached over the promised rates, a panel for each run."""
    from matplotlib.figure import Figure

    from embeddings_tf.viz import methods

    columns = 5
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(2.3 * columns, 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True)
    panels = np.ravel(panels)
    for panel, result in zip(panels, found.values(), strict=False):
        panel.plot([0, 22], [0, 22], color="black", linestyle=":")
        for index, score in enumerate(("log_evidence", "nearest_distance")):
            of_score = result["promises"][score]
            panel.errorbar(
                [100 * row["promised"] for row in of_score],
                [100 * row["reached"] for row in of_score],
                [200 * row["standard_error"] for row in of_score],
                label=score.replace("_", " "),
                markersize=4,
                **methods.style(index),
            )
        place = SETS[result["dataset"]].partition(",")[0]
        panel.set_title(f"{place}, {result['method']}", fontsize=9)
        panel.grid(alpha=0.3)
    for panel in panels[len(found) :]:
        panel.set_axis_off()
    for number, panel in enumerate(panels[: len(found)]):
        # The lowest panel of a column may be above a hidden one.
        panel.xaxis.set_tick_params(labelbottom=number + columns >= len(found))
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2,
        frameon=False,
    )
    figure.supxlabel("promised false-accept rate, %", fontsize=10)
    figure.supylabel(
        "reached false-accept rate, % (± 2 standard errors)", fontsize=10
    )
    return {"trust_promises": figure}


def main() -> None:
    remake_page(
        __doc__,
        "run tools.trust_study instead, which measures all runs",
        load,
        PAGE,
        MARKS,
        tables,
        figures,
    )


if __name__ == "__main__":
    main()
