"""Figures of cross-validated runs."""

import statistics

from tools.cross_validation_results import DISENTANGLING
from tools.cross_validation_results import MEASURES
from tools.cross_validation_results import RETRIEVAL
from tools.cross_validation_results import disentangled
from tools.cross_validation_results import rankings
from tools.cross_validation_results import retrieved
from tools.cross_validation_results import runs_of
from tools.cross_validation_results import values


def figures(found: dict[tuple[str, str], dict]) -> dict:
    """Draws bars, AUC distributions and curves; returns them by file name."""
    drawn = {}
    for dataset, title in DISENTANGLING.items():
        if rows := disentangled(found, dataset):
            for name, figure in _disentangling_figures(rows, title).items():
                drawn[f"{dataset.replace('/', '_')}_{name}"] = figure
    for dataset, title in RETRIEVAL.items():
        if rows := retrieved(found, dataset):
            name = f"{dataset.replace('/', '_')}_recall"
            drawn[name] = _recall_figure(rows, title)
    return drawn


def _disentangling_figures(rows: dict[str, dict], title: str) -> dict:
    from embeddings_tf import viz

    first = next(iter(rows.values()))
    measures, untrained, starts = {}, {}, {}
    for measure, name in MEASURES.items():
        measures[name] = {
            method: values(results, f"test.{measure}")
            for method, results in rows.items()
        }
        untrained[name] = values(first, f"test_untrained.{measure}")
        starts[name] = _start([*measures[name].values(), untrained[name]])
    figures = {
        "measures": viz.bars_figure(
            measures, baselines=untrained, starts=starts, title=title
        ),
        "auc_distribution": viz.auc_distribution_figure(
            {
                method: [
                    run["evaluation"]["test"]["nonredundant_values"]["auc"]
                    for run in runs_of(results)
                ]
                for method, results in rows.items()
            },
            title=title,
        ),
    }
    for measure in ("explicitness", "modularity"):
        figures[f"{measure}_curves"] = viz.learning_curves_figure(
            {
                method: _curves(results, f"val_{measure}")
                for method, results in rows.items()
            },
            f"{measure} on validation identities",
            step="batch",
            title=title,
        )
    return figures


def _recall_figure(rows: dict[str, dict], title: str):
    from embeddings_tf import viz

    first = next(iter(rows.values()))
    ks = first["config"]["evaluation"]["k"]
    return viz.recall_figure(
        {
            method: [
                {k: run["evaluation"][ranking][f"recall_at_{k}"] for k in ks}
                for run in runs_of(results)
            ]
            for method, (results, ranking) in rankings(rows).items()
        },
        ceiling=statistics.fmean(values(first, "test.ceiling")),
        title=title,
    )


def _start(runs: list[list[float]]) -> float:
    """Start of an axis that shows differences between the means."""
    lowest = min(statistics.fmean(numbers) for numbers in runs)
    return max(0.0, int(20 * lowest) / 20 - 0.05)


def _curves(results: dict, measure: str) -> list[dict[int, float]]:
    """Returns the measure by batch, for each fold."""
    curves = []
    for run in runs_of(results):
        training = run["training"]
        batches = training["steps"] // training["epochs"]
        curves.append(
            {
                row["epoch"] * batches: row[measure]
                for row in training["history"]
            }
        )
    return curves
