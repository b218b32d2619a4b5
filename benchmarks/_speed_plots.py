"""Draws the cost of losses against the size of the batch."""

import statistics

from benchmarks._aims import OURS
from tools.generated_text import FIGURES
from tools.generated_text import ROOT

COSTS = {"time": "seconds", "memory": "MiB"}


def points(result, cost):
    """Returns `[(rows, cost)]` by loss, dimensions and contender."""
    found = {}
    for case, contenders in result["cases"].items():
        if "x" not in case.split()[-1]:
            continue
        loss, batch = case.split()
        num_classes, num_per_class, dim = map(int, batch.split("x"))
        for name, entry in contenders.items():
            if "stopped" in entry:
                continue
            value = statistics.median(entry["seconds"])
            if cost == "memory":
                value = (entry.get("peak_bytes") or 0) / 2**20
            if value > 0:
                found.setdefault((loss, dim, name), []).append(
                    (num_classes * num_per_class, value)
                )
    return found


def exponent_of(result, loss, dim, cost, name):
    """Returns the fitted exponent in words, or nothing."""
    what = f"exponent of {cost}, {name}"
    for row in result["rows"].get(f"{loss}, {dim} dimensions", ()):
        if row["what"] == what:
            return f", exponent {row['median']:.2f}"
    return ""


def figure(result, cost, dim):
    """Returns a figure with a panel per loss, a line per contender."""
    from matplotlib.figure import Figure

    lines = points(result, cost)
    losses = list(dict.fromkeys(loss for loss, of, _ in lines if of == dim))
    drawn = Figure((12, 4.6 * -(-len(losses) // 3)), layout="constrained")
    panels = drawn.subplots(-(-len(losses) // 3), 3, squeeze=False)
    for panel, loss in zip(panels.flat, losses, strict=False):
        for (of_loss, of_dim, name), costs in lines.items():
            if (of_loss, of_dim) != (loss, dim):
                continue
            label = name + exponent_of(result, loss, dim, cost, name)
            style = "-o" if name.startswith(OURS) else "--."
            panel.loglog(*zip(*costs, strict=True), style, label=label)
        panel.set_title(f"{loss.replace('_', ' ')}, {dim} dimensions")
        panel.set_xlabel("rows of the batch")
        sizes = sorted({rows for costs in lines.values() for rows, _ in costs})
        panel.set_xticks(sizes, sizes)
        panel.minorticks_off()
        panel.set_ylabel(COSTS[cost])
        # Below the panel, where it hides no line.
        panel.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.18),
            fontsize="small",
            frameon=False,
        )
    for panel in panels.flat[len(losses) :]:
        panel.remove()
    return drawn


def paths(kind):
    """Returns the path of the figure of each cost.

    Args:
        kind: `"losses"` or `"objectives"`.
    """
    stem = "speed" if kind == "losses" else f"speed_{kind}"
    return {cost: FIGURES / f"{stem}_{cost}.png" for cost in COSTS}


def draw_growth(result, kind):
    """Writes the figures of `paths`."""
    from embeddings_tf import viz

    for cost, path in paths(kind).items():
        viz.save_figure(figure(result, cost, dim=128), path)
        print(f"Wrote {path.relative_to(ROOT)}")


def pictures(kind):
    """Returns the figures that exist in Markdown, in a paragraph each."""
    return [
        f"\n![{cost} of {kind}](../figures/{path.name})"
        for cost, path in paths(kind).items()
        if path.exists()
    ]
