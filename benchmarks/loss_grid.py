"""Compares losses with all peers, for many sizes of the batch.

    python -m benchmarks.loss_grid
    python -m benchmarks.loss_grid triplet contrastive    # these losses only

A step is the loss and its gradient in the embeddings, with all cores. Peers
are pytorch-metric-learning, the same formula in PyTorch, eager and compiled,
and for the F-statistic the loop over pairs of classes of its authors. To save
time, a peer is not run on larger batches if it was stopped, or if its step
would take over 10 s by its growth so far. The exponent is the slope of log
time against log rows, from 512 rows on. The limit is two products of the size
of the batch at the machine's rate, and a matrix of all pairs written and read
once.
"""

import json
import math
import statistics

from benchmarks import _loss_step as loss_step
from benchmarks import _side_by_side as side_by_side
from benchmarks import _speed_table as speed_table
from benchmarks import f_statistic_loss
from benchmarks import machine_limits
from benchmarks import rival_losses
from benchmarks._aims import OURS
from benchmarks._aims import PAIRS
from benchmarks._aims import PML
from benchmarks._aims import XLA
from benchmarks._benchmark import NOT_RUN
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from benchmarks._speed_plots import COSTS
from benchmarks._speed_plots import draw_growth
from tools.generated_text import FIGURES
from trainers.quiet import import_tensorflow

TORCH, COMPILED = "torch", "torch compiled"
THEIRS = (PML, TORCH, COMPILED, PAIRS)
STAR = r"\*"  # a mark in Markdown
LOSSES = (*rival_losses.LOSSES, "prototypical", "f_statistic")
DIMS = (22, 128, 500)
# Classes and instances of a class.
BATCHES = ((12, 10), (64, 8), (128, 8), (256, 8), (512, 8))
QUICK = ((3, 6), (4, 6))
NUM_SUPPORT, NUM_DIMS = 4, 10
SECONDS_A_CASE, LEAST_ROWS, LARGEST_EXPECTED = 4, 512, 10.0


def our_step(loss, **options):
    import_tensorflow()
    from embeddings_tf import losses

    if loss != "prototypical":
        return rival_losses.our_step(loss, **options)
    return loss_step.tensorflow_contender(
        lambda labels, z: losses.prototypical_loss(labels, z, NUM_SUPPORT),
        **options,
    )


def our_step_compiled(loss):
    return our_step(loss, jit_compile=True)


def torch_step(loss):
    from benchmarks import _torch_losses as torch_losses

    return torch_losses.plain(loss)


def torch_step_compiled(loss):
    from benchmarks import _torch_losses as torch_losses

    return torch_losses.plain(loss, compiled=True)


def functions_of(loss):
    """Returns the contenders of a loss by name."""
    if loss == "f_statistic":
        return {
            OURS: f_statistic_loss.our_step,
            XLA: f_statistic_loss.our_step_compiled,
            PAIRS: f_statistic_loss.their_step,
        }
    found = {OURS: our_step, XLA: our_step_compiled}
    found |= {TORCH: torch_step, COMPILED: torch_step_compiled}
    if loss not in rival_losses.MISSING:
        found[PML] = rival_losses.their_step
    return found


def too_slow(before, num_rows):
    """Returns why a contender is not run, given its smaller batches.

    Args:
        before: Reason, or `(rows, seconds)` of each smaller batch.
        num_rows: Rows of the next batch.
    """
    if isinstance(before, str):
        return before
    (rows, seconds), exponent = before[-1], 2
    if len(before) > 1:
        exponent = max(2, slope(before[-2:]))
    expected = seconds * (num_rows / rows) ** exponent
    if expected > LARGEST_EXPECTED:
        return f"not run: about {expected:.0f} s expected"


def limit_share(loss, batch, entry):
    """Returns the share of the time that the machine itself needs."""
    limits = machine_limits.limits()
    if not limits or loss in ("prototypical", "f_statistic"):
        return []
    num_classes, num_per_class, dim = map(int, batch.split("x"))
    pairs = (num_classes * num_per_class) ** 2
    seconds = 4 * pairs * dim / limits["sgemm"] + 8 * pairs / limits["copy"]
    share = seconds / statistics.median(entry["seconds"])
    what = f"share of the limit, {OURS}"
    return [{"what": what, "unit": "share", "median": share}]


def exponents(cases):
    """Returns rows of the growth of time and memory by loss and dimension."""
    points = {}
    for case, contenders in cases.items():
        if not contenders:  # these rows, of an earlier run
            continue
        loss, batch = case.split()
        num_classes, num_per_class, dim = map(int, batch.split("x"))
        rows = num_classes * num_per_class
        for name, entry in contenders.items():
            if rows < LEAST_ROWS or "stopped" in entry:
                continue
            key = f"{loss}, {dim} dimensions", name
            measured = {
                "time": statistics.median(entry["seconds"]),
                "memory": entry.get("peak_bytes"),
            }
            for what, cost in measured.items():
                if cost:
                    points.setdefault((*key, what), []).append((rows, cost))
    found = {}
    for (case, name, what), costs in points.items():
        if len(costs) > 2:
            found.setdefault(case, []).append(
                {
                    "what": f"exponent of {what}, {name}",
                    "unit": "exponent",
                    "median": slope(costs),
                }
            )
    return found


def slope(points):
    """Returns the least-squares slope of log cost against log rows."""
    x, y = zip(*[map(math.log, point) for point in points], strict=True)
    return statistics.linear_regression(x, y).slope


def table(result, rows):
    """Returns our time and the factor to the fastest peer by batch."""
    by_case = {(row["case"], row["what"]): row for row in rows}
    ratio = BENCHMARK.comparisons[0].what
    names = {c.split()[1].rpartition("x")[0] for c in result["cases"]} - {""}
    sizes = {name: math.prod(map(int, name.split("x"))) for name in names}
    sizes = dict(sorted(sizes.items(), key=lambda pair: pair[1]))
    heads = [f"{num_rows:,} rows" for num_rows in sizes.values()]
    heads = ["loss", "dim", *heads, "exponent", "its limit, largest batch"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]

    def cell(case, what):
        row = by_case.get((case, what))
        return speed_table.cell(row | {"aim": ""}) if row else ""

    for loss in LOSSES:
        for dim in DIMS:
            cells = [loss.replace("_", " "), str(dim)]
            for size in sizes:
                case = f"{loss} {size}x{dim}"
                factor = by_case.get((case, ratio))
                text = cell(case, OURS) or cell(case, NOT_RUN)
                if factor:
                    text += f", {factor['median']:.3g} times as fast"
                    text += "" if factor["met"] else " (short)"
                peers = result["cases"].get(case, {})
                if any("stopped" in peers.get(peer, {}) for peer in THEIRS):
                    text += STAR
                cells.append(text)
            if not any(cells[2:]):
                continue
            grown = f"exponent of time, {OURS}"
            cells.append(cell(f"{loss}, {dim} dimensions", grown))
            cells.append(cell(case, f"share of the limit, {OURS}"))
            lines.append(f"| {' | '.join(cells)} |")
    for cost in COSTS:
        path = FIGURES / f"speed_{cost}.png"
        if path.exists():
            lines += ["", f"![{cost} of losses](../figures/{path.name})"]
    return "\n".join(lines)


BENCHMARK = Benchmark(
    "loss_grid",
    minutes=33,
    comparisons=(
        Comparison(OURS, THEIRS),
        Comparison(XLA, THEIRS),
    ),
    packages=("pytorch-metric-learning", "torch"),
    table=table,
    note="Our time as a plain graph, and how many times faster it is than the "
    "fastest peer at this size; every contender is in `speed.csv`. "
    "\\*: a peer was stopped at this size, or not run because it would take "
    "over 10 s.",
)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        before = {}
        cases = [
            f"{loss} {num_classes}x{num_per_class}x{dim}"
            for num_classes, num_per_class in (QUICK if run.quick else BATCHES)
            for loss in LOSSES
            for dim in (DIMS[:1] if run.quick else DIMS)
        ]
        for case in run.each(cases):
            loss, batch = case.split()
            num_classes, num_per_class, dim = map(int, batch.split("x"))
            rows = num_classes * num_per_class
            smaller = before.setdefault((loss, dim), {})
            reasons = {
                name: reason
                for name, costs in smaller.items()
                if name != OURS and (reason := too_slow(costs, rows))
            }
            functions = functions_of(loss)
            argument = NUM_DIMS if loss == "f_statistic" else loss
            found = loss_step.compare(
                together,
                {n: f for n, f in functions.items() if n not in reasons},
                argument,
                batch,
                min(SECONDS_A_CASE, run.seconds),
            )
            others = set(found) - {OURS}
            if loss in rival_losses.OTHER_FORMULA:
                others -= {PML}
            side_by_side.refuse_other_values(found, OURS, others, 1e-3)
            found |= {name: {"stopped": why} for name, why in reasons.items()}
            for name, entry in found.items():
                if "stopped" in entry:
                    reason = entry["stopped"].partition(" (")[0]
                    smaller[name] = f"{reason} (smaller batch)"
                else:
                    seconds = statistics.median(entry["seconds"])
                    smaller.setdefault(name, []).append((rows, seconds))
            ours = found[OURS]
            share = limit_share(loss, batch, ours) if "seconds" in ours else []
            run.add(case, found, share)
        for case, grown in exponents(run.all_cases()).items():
            run.add(case, {}, grown)
    if not run.quick:
        draw_growth(json.loads(BENCHMARK.path.read_text()))
        BENCHMARK.write_page()  # with the plots


if __name__ == "__main__":
    main()
