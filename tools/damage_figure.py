"""Draws how uncertainties rise with damage, sorted by the accuracy it costs.

`tools.uncertainty_table` draws it with its tables.
"""

import statistics

COLOURS = ("tab:blue", "black", "lightskyblue", "tab:orange")
LABELS = {"corrupt": "rectangle", "zooming_out": "zooming out"}


def points(runs: list[dict], source: str) -> dict[str, tuple]:
    """Returns, by kind of damage, lost accuracy and rank correlation.

    Args:
        runs: Runs of one setting that differ in their seed.
        source: "head", "variance" or "loss".

    Returns:
        By kind: few-shot accuracy that it costs, in % of the accuracy of clean
        images, the mean over runs; rank correlation, the mean, minimum and
        maximum.
    """
    tests = [run["evaluation"]["test"] for run in runs]
    found = {}
    for kind, cell in tests[0].items():
        if not isinstance(cell, dict):
            continue
        if "rank_correlation" not in cell[source]:
            continue
        left = [
            test[kind]["few_shot_accuracy"] / test["clean"]["few_shot_accuracy"]
            for test in tests
        ]
        ranks = [test[kind][source]["rank_correlation"] for test in tests]
        cost = 100 * (1 - statistics.fmean(left))
        found[kind] = cost, statistics.fmean(ranks), min(ranks), max(ranks)
    return found


def figure(panels: dict[str, dict], unseen: tuple[str, ...]):
    """Draws one panel for each data set, one row for each kind of damage.

    Args:
        panels: By the title of a panel, its series: by the name of a series,
            runs and source as in `points`. The first series sorts the kinds.
        unseen: Kinds of damage that were not in training.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for axes, (title, series) in zip(all_axes, panels.items(), strict=True):
        costs = {
            kind: values[0]
            for kind, values in points(*next(iter(series.values()))).items()
        }
        kinds = sorted(costs, key=costs.get)
        for number, (name, (runs, source)) in enumerate(series.items()):
            found = [points(runs, source)[kind] for kind in kinds]
            _, ranks, lows, highs = zip(*found, strict=True)
            axes.hlines(range(len(kinds)), lows, highs, COLOURS[number])
            axes.plot(
                ranks,
                range(len(kinds)),
                "o",
                color=COLOURS[number],
                label=name,
                zorder=9 - number,
            )
        names = [LABELS.get(k, k) + " *" * (k in unseen) for k in kinds]
        axes.set_yticks(
            range(len(kinds)),
            [
                f"{name}, {costs[k]:.0f} %"
                for name, k in zip(names, kinds, strict=True)
            ],
        )
        axes.axvline(0, color="black", linewidth=0.6)
        axes.set(title=title, xlabel="rank correlation with the damage")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("damage, and few-shot accuracy that it costs")
    names, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(names, labels, loc="outside lower center", ncols=len(labels))
    return figure
