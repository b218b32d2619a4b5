"""Report of `benchmarks.serving_load`: percentiles, figure and tables."""

from benchmarks import _served_models as served_models
from benchmarks._side_by_side import shown
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
    runs = result["short_runs"]
    first = result["first_requests"]["first_seconds"]
    ready = {
        name: shown(seconds, 1)
        for name, seconds in result["first_requests"][
            "seconds_to_ready"
        ].items()
    }
    per_second = runs["requests_per_second"]
    lines = [
        f"![Memory of the server over the requests](figures/{FIGURE.name})",
        "",
        f"{measured['requests']:,} requests with {measured['rows']:,} rows to "
        f"{measured['endpoints']} signatures of {result['models']} models, "
        f"from {measured['threads']} threads, on {hardware([result])}, load "
        f"before {result['load_average_before']:.1f}, and "
        f"{result['load_average']:.1f} while requests were sent "
        f"(`{result['command']}`): {measured['errors']} errors, "
        f"{measured['requests_per_second']:,.0f} requests per second. The "
        "largest difference between two answers to one request is "
        f"{measured['largest_deviation']:.1g}. "
        f"{measured['share_unknown']:.0%} of the identified rows get the "
        "answer for unknown inputs. Memory changes by "
        f"{growth(measured['memory']):+.2f} MiB per 10,000 requests in the "
        "second half.",
        "",
        f"{len(per_second)} more runs of {runs['requests']:,} requests, each "
        f"of a new server: {shown(per_second, 0)} requests per second, as "
        "median (quartiles). The columns p50 and first request are of "
        f"{len(per_second)} such runs; p95 and p99 are of the long run. A "
        f"server is ready after {ready['warm']} s, and without the warm-up "
        f"after {ready['cold']} s.",
        "",
        "| signature | requests | p50 ms | p95 ms | p99 ms | first request, "
        "no warm-up, ms | first request, warm-up, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, of_signature in first.items():
        row, ms = measured["by_signature"][name], "milliseconds"
        cold, warm = (
            shown((1000 * s for s in of_signature[kind]), digits)
            for kind, digits in (("cold", 0), ("warm", 1))
        )
        lines.append(
            f"| `{name}` | {row['requests']:,} | "
            f"{shown(runs['median_milliseconds'][name], 1)} | "
            f"{row[f'p95_{ms}']:.1f} | {row[f'p99_{ms}']:.1f} | {cold} | "
            f"{warm} |"
        )
    lines += [
        "",
        f"Embedding images of {'x'.join(map(str, served_models.IMAGE))} "
        f"pixels, one call at a time, in {len(per_second)} rounds in which the "
        "ways take turns: the median of the rounds' p50 (quartiles), and p99 "
        "of all calls.",
        "",
        "| | rows | p50 ms | p99 ms | rows per second |",
        "|---|---|---|---|---|",
    ]
    for name, row in result["beside"].items():
        way, _, rows = name.rpartition("/")
        medians = row["median_milliseconds"]
        per_second = shown((1000 * int(rows) / m for m in medians), 0)
        lines.append(
            f"| {way} | {rows} | {shown(medians, 2)} | "
            f"{row['p99_milliseconds']:.2f} | {per_second} |"
        )
    return "\n".join(lines)
