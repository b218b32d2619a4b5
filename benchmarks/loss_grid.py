"""Compares losses with all peers, for many sizes of the batch.

    python -m benchmarks.loss_grid
    python -m benchmarks.loss_grid triplet contrastive    # these losses only

A step is the loss and its gradient in the embeddings, with all cores. Peers
are pytorch-metric-learning, the same formula in PyTorch, eager and compiled,
and for the F-statistic the loop over pairs of classes of its authors. To save
time, a peer is not run on larger batches if it was stopped, or if its step
would take over 10 s by its growth so far. The exponent is the slope of log
time against log rows, from 512 rows on. The limit is what a loss cannot avoid,
at the rates of the machine: two products of the batch with itself, and a number
of each pair written and read once. For prototypes these are three products of
queries and prototypes; for the F-statistic, no product, and a number of each
pair of classes and dimension.
"""

import json

from benchmarks import _loss_step as loss_step
from benchmarks import _side_by_side as side_by_side
from benchmarks import _size_grid as size_grid
from benchmarks import _speed_table as speed_table
from benchmarks import f_statistic_loss
from benchmarks import machine_limits
from benchmarks import rival_losses
from benchmarks._aims import OURS
from benchmarks._aims import PAIRS
from benchmarks._aims import PML
from benchmarks._aims import XLA
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from benchmarks._speed_plots import draw_growth
from benchmarks._speed_plots import pictures
from trainers.terminal.quiet import import_tensorflow

TORCH, COMPILED = "torch", "torch compiled"
THEIRS = (PML, TORCH, COMPILED, PAIRS)
STAR = r"\*"  # a mark in Markdown
LOSSES = (*rival_losses.LOSSES, "prototypical", "f_statistic")
NUM_SUPPORT, NUM_DIMS = 4, 10


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


def limit_seconds(loss, batch):
    """Returns the time that the machine itself needs, or None."""
    limits = machine_limits.limits()
    if not limits:
        return None
    num_classes, num_per_class, dim = map(int, batch.split("x"))
    if loss == "prototypical":
        # Queries and prototypes: the product, and one for each gradient.
        pairs = num_classes * (num_per_class - NUM_SUPPORT) * num_classes
        products = 3
    elif loss == "f_statistic":
        # A number of each pair of classes and dimension; no products.
        pairs, products = num_classes * (num_classes - 1) / 2 * dim, 0
    else:
        pairs, products = (num_classes * num_per_class) ** 2, 2
    seconds = 2 * products * pairs * dim / limits["sgemm"]
    return seconds + 8 * pairs / limits["copy"]


def text_of(result, rows):
    """Returns the function of `size_grid.table`."""
    ratio = BENCHMARK.comparisons[0].what
    factors = {row["case"]: row for row in rows if row["what"] == ratio}

    def text(case, cell):
        found = size_grid.time_of(case, cell)
        if factor := factors.get(case):
            shown = speed_table.cell(factor | {"aim": "", "note": ""})
            found += f", {shown} times as fast"
            found += "" if factor["met"] else ", short"
        peers = result["cases"].get(case, {})
        if any("stopped" in peers.get(peer, {}) for peer in THEIRS):
            found += STAR
        return found

    return text


def table(result, rows):
    """Returns our time and the factor to the fastest peer by batch."""
    dims_of = dict.fromkeys(LOSSES, size_grid.DIMS)
    text = text_of(result, rows)
    grid = size_grid.table(result, rows, "loss", dims_of, text)
    return "\n".join([grid, *pictures("losses")])


BENCHMARK = Benchmark(
    "loss_grid",
    minutes=27,
    comparisons=(
        Comparison(OURS, THEIRS),
        Comparison(XLA, THEIRS),
    ),
    packages=("pytorch-metric-learning", "torch"),
    table=table,
    note="Our time as a plain graph, and how many times faster it is than the "
    "fastest peer at this size, each with quartiles over the rounds; every "
    "contender is in `speed.csv`. *short*: below the aim. "
    "\\*: a peer was stopped at this size, or not run because it would take "
    "over 10 s.",
)


def argument_of(case):
    return NUM_DIMS if case.startswith("f_statistic") else case.split()[0]


def check(case, found):
    """Refuses contenders that have another value than ours."""
    others = set(found) - {OURS}
    if case.split()[0] in rival_losses.OTHER_FORMULA:
        others -= {PML}
    side_by_side.refuse_other_values(found, OURS, others, 1e-3)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        cases = size_grid.cases_of(LOSSES, run.quick)
        for case, found in size_grid.measure(
            run, together, cases, functions_of, argument_of, check, [OURS]
        ):
            limit = limit_seconds(*case.split())
            run.add(case, found, size_grid.limit_row(limit, found[OURS]))
    if not run.quick:
        draw_growth(json.loads(BENCHMARK.path.read_text()), "losses")
        BENCHMARK.write_page()  # with the plots


if __name__ == "__main__":
    main()
