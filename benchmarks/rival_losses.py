"""Compares speed and memory of pair and triplet losses with another library.

    pip install torch pytorch-metric-learning      # CPU builds suffice
    python -m benchmarks.rival_losses

A step is the loss and its gradient in the embeddings, with all cores. Every
contender runs in its own process, and all take turns (`_side_by_side.py`). The
peak of memory is the growth of the resident set in a step.
"""

from benchmarks import _loss_step as loss_step
from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._aims import PML
from benchmarks._aims import XLA
from benchmarks._benchmark import ROOT
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

BATCHES, QUICK = ("12x10x500", "64x8x128"), ("3x5x4",)
LOSSES = (
    "triplet",
    "histogram",
    "lifted_structure",
    "contrastive",
    "binomial_deviance",
)
# pytorch-metric-learning has no such loss.
MISSING = ("binomial_deviance", "prototypical")
# Distances there, half their squares here.
OTHER_FORMULA = ("contrastive",)
BENCHMARK = Benchmark(
    "rival_losses",
    minutes=3,
    comparisons=(Comparison(OURS, PML), Comparison(XLA, PML)),
    packages=("pytorch-metric-learning", "torch"),
    page=ROOT / "docs" / "pair_and_triplet_losses.md",
    mark="speed",
    note="Not the same formula: contrastive, which there has distances, here "
    "half their squares. pytorch-metric-learning has no binomial deviance.",
)


def our_step(loss, **options):
    import_tensorflow()
    from embeddings_tf import losses

    function = getattr(losses, f"{loss}_loss")
    return loss_step.tensorflow_contender(function, **options)


def our_step_compiled(loss):
    return our_step(loss, jit_compile=True)


def their_step(loss):
    from benchmarks import _torch_losses as torch_losses

    return torch_losses.of_the_library(loss)


def compare(together, case, functions, seconds):
    """Returns a comparison of losses that must have the same value."""
    loss, batch = case.split()
    found = loss_step.compare(together, functions, loss, batch, seconds)
    names = [n for n in found if n != PML or loss not in OTHER_FORMULA]
    side_by_side.refuse_other_values(found, OURS, names)
    return found


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        batches = QUICK if run.quick else BATCHES
        cases = [f"{loss} {batch}" for batch in batches for loss in LOSSES]
        for case in run.each(cases):
            functions = {OURS: our_step, XLA: our_step_compiled}
            if case.split()[0] not in MISSING:
                functions[PML] = their_step
            run.add(case, compare(together, case, functions, run.seconds))


if __name__ == "__main__":
    main()
