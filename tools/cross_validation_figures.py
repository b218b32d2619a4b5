"""Figures of cross-validated runs."""

import statistics

from tools import num_dims_sweep
from tools import untrained_networks
from tools.cross_validation_results import DISENTANGLING
from tools.cross_validation_results import MEASURES
from tools.cross_validation_results import RETRIEVAL
from tools.cross_validation_results import by_fold
from tools.cross_validation_results import disentangled
from tools.cross_validation_results import rankings
from tools.cross_validation_results import retrieved
from tools.cross_validation_results import runs_of
from tools.cross_validation_results import seeds_of
from tools.cross_validation_results import shared_seeds
from tools.cross_validation_results import values
from tools.cross_validation_results import with_seeds
from trainers.measures.standard_error import standard_error

MODULARITIES = {
    "modularity": "modularity",
    "modularity_corrected": "modularity, corrected for chance",
}


def figures(found: dict[tuple[str, str], dict]) -> dict:
    """Draws bars, AUC distributions and curves; returns them by file name."""
    drawn = {}
    for dataset, title in DISENTANGLING.items():
        if rows := disentangled(found, dataset):
            rows, title = _of_shared_seeds(rows, title)
            for name, figure in _disentangling_figures(rows, title).items():
                drawn[f"{dataset.replace('/', '_')}_{name}"] = figure
    # The sweep has a figure of its own; one value of it stands for all.
    sweep = num_dims_sweep.sweep(found)
    swept = [
        results["recipe"]
        for number, results in sweep.items()
        if number != num_dims_sweep.REFERENCE
    ]
    for dataset, title in RETRIEVAL.items():
        if rows := _without(swept, retrieved(found, dataset)):
            name = f"{dataset.replace('/', '_')}_recall"
            drawn[name] = recall_figure(rows, title)
    if len(sweep) > 1:
        drawn["omniglot_num_dims"] = num_dims_sweep.figure(sweep)
    return drawn


def _without(recipes: list[str], rows: dict[str, dict]) -> dict[str, dict]:
    return {
        method: results
        for method, results in rows.items()
        if results["recipe"] not in recipes
    }


def _of_shared_seeds(rows: dict[str, dict], title: str) -> tuple[dict, str]:
    """Only the runs of the seeds of every method, which the title then names.

    Untrained networks of two seeds differ as much as methods do.
    """
    shared = shared_seeds(rows)
    if all(seeds_of(results) == shared for results in rows.values()):
        return rows, title
    if not shared:
        raise ValueError(f"{title}: received methods without a shared seed")
    rows = {m: with_seeds(results, shared) for m, results in rows.items()}
    return rows, f"{title}, seed {' '.join(map(str, shared))}"


def _disentangling_figures(rows: dict[str, dict], title: str) -> dict:
    from embeddings_tf import viz

    first = next(iter(rows.values()))
    networks = untrained_networks.load().get(first["dataset"], {})
    measures, untrained, starts = {}, {}, {}
    for measure, name in MEASURES.items():
        if not all(values(r, f"test.{measure}") for r in rows.values()):
            continue  # such as `modularity_corrected` in committed files
        measures[name] = {
            method: values(results, f"test.{measure}")
            for method, results in rows.items()
        }
        untrained[name] = [
            *untrained_networks.of_mean_network(networks, measure).values()
        ] or values(first, f"test_untrained.{measure}")
        starts[name] = _start([*measures[name].values(), untrained[name]])
    figures = {
        "plane": plane_figure(rows, title),
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


def plane_figure(rows: dict[str, dict], title: str):
    """Modularity against explicitness: one says little without the other."""
    from matplotlib.figure import Figure

    from embeddings_tf.viz import methods

    kinds = {
        name: heading
        for name, heading in MODULARITIES.items()
        if any(by_fold(results, f"test.{name}") for results in rows.values())
    }
    figure = Figure(figsize=(3.2 + 5.5 * len(kinds), 5), layout="constrained")
    panels = figure.subplots(
        1, len(kinds), sharex=True, sharey=True, squeeze=False
    )[0]
    first = next(iter(rows.values()))
    networks = untrained_networks.load().get(first["dataset"], {})
    fewer: dict[str, str] = {}
    for panel, (kind, heading) in zip(panels, kinds.items(), strict=True):
        num_methods = 0
        for index, (method, results) in enumerate(rows.items()):
            x = by_fold(results, "test.explicitness")
            y = by_fold(results, f"test.{kind}")
            folds = [fold for fold in x if fold in y]
            if not folds:
                continue
            num_methods += 1
            if len(folds) < len(x):
                fewer[method] = ", ".join(folds)
            panel.errorbar(
                statistics.fmean(x[fold] for fold in folds),
                statistics.fmean(y[fold] for fold in folds),
                standard_error([y[fold] for fold in folds]),
                standard_error([x[fold] for fold in folds]),
                label=method,
                **methods.style(index) | {"linestyle": "none"},
            )
        if networks:
            panel.errorbar(
                untrained_networks.by_network(networks, "explicitness"),
                untrained_networks.by_network(networks, kind),
                fmt="x",
                color="0.4",
                label="untrained networks",
            )
        panel.set(xlabel="explicitness", ylabel=heading)
        if num_methods < len(rows):
            panel.set_title(
                f"measured for {num_methods} of {len(rows)} methods"
            )
        panel.grid(alpha=0.3)
    # Beside the axes, where it hides no point; a method may be in one panel.
    handles = {}
    for panel in panels:
        for handle, method in zip(
            *panel.get_legend_handles_labels(), strict=True
        ):
            handles.setdefault(method, handle)
    names = [
        f"{method} (corrected: folds {fewer[method]})"
        if method in fewer
        else method
        for method in handles
    ]
    figure.legend(
        [*handles.values()], names, fontsize=8, loc="outside right upper"
    )
    figure.suptitle(f"{title}:\nmean and standard error over folds")
    return figure


def recall_figure(rows: dict[str, dict], title: str):
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
