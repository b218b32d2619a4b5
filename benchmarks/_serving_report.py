"""Report of `benchmarks.serving_load`: percentiles, figure and tables."""

from benchmarks import _served_models as served_models
from tools.generated_text import FIGURES
from tools.generated_text import hardware

FIGURE = FIGURES / "serving_memory.png"


def percentiles(seconds) -> dict:
    import numpy as np

    names = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {
        f"{name}_milliseconds": 1000 * float(np.quantile(seconds, level))
        for name, level in names.items()
    }


def growth(memory) -> float:
    """Slope of memory over the second half, in MiB for 10,000 requests."""
    import numpy as np

    number, size = np.array(memory, float).T
    half = number >= number[-1] / 2
    return float(np.polyfit(number[half], size[half], 1)[0] * 10_000 / 2**20)


def draw(result) -> None:
    """Draws the server's memory over the requests."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    number, size = zip(*result["load"]["memory"], strict=True)
    axes.plot(number, [b / 2**20 for b in size])
    axes.set(
        xlabel="requests answered",
        ylabel="resident memory (MiB)",
        ylim=(0, 1.15 * max(size) / 2**20),
        xlim=(0, number[-1]),
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURE, dpi=150)


def text(result) -> str:
    """Returns the Markdown between the marks."""
    measured = result["load"]
    first = result["first_requests"]
    names = [name for name in first if "/" in name]
    lines = [
        f"![Memory of the server over the requests](figures/{FIGURE.name})",
        "",
        f"{measured['requests']:,} requests with {measured['rows']:,} rows to "
        f"{measured['endpoints']} signatures of {result['models']} models, "
        f"from {measured['threads']} threads, on {hardware([result])}, load "
        f"{result['load_average']:.1f} (`{result['command']}`): "
        f"{measured['errors']} errors, "
        f"{measured['requests_per_second']:,.0f} requests per second. The "
        "largest difference between two answers to one request is "
        f"{measured['largest_deviation']:.1g}. "
        f"{measured['share_unknown']:.0%} of the identified rows get the "
        "answer for unknown inputs. Memory grows by "
        f"{growth(measured['memory']):.2f} MiB per 10,000 requests in the "
        "second half.",
        "",
        "| signature | requests | p50 ms | p95 ms | p99 ms | first request, "
        "no warm-up, ms | first request, warm-up, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names:
        row, ms = measured["by_signature"][name], "milliseconds"
        lines.append(
            f"| `{name}` | {row['requests']:,} | {row[f'p50_{ms}']:.1f} | "
            f"{row[f'p95_{ms}']:.1f} | {row[f'p99_{ms}']:.1f} | "
            f"{1000 * first[name]['cold_first']:.0f} | "
            f"{1000 * first[name]['warm_first']:.1f} |"
        )
    lines += [
        "",
        f"Embedding images of {'x'.join(map(str, served_models.IMAGE))} "
        "pixels, one call at a time:",
        "",
        "| | rows | p50 ms | p99 ms | rows per second |",
        "|---|---|---|---|---|",
    ]
    for name, row in result["beside"].items():
        way, _, rows = name.rpartition("/")
        p50, p99 = row["p50_milliseconds"], row["p99_milliseconds"]
        lines.append(
            f"| {way} | {rows} | {p50:.2f} | {p99:.2f} | "
            f"{1000 * int(rows) / p50:,.0f} |"
        )
    return "\n".join(lines)
