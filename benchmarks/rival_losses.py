"""Compares speed and memory of pair and triplet losses with another library.

    pip install torch pytorch-metric-learning      # CPU builds suffice
    python -m benchmarks.rival_losses

A step is the loss and its gradient in the embeddings; `_side_by_side.py`
explains the measurement. Prints a table, and writes it to its page. Without
the other library, only prints our measurements.
"""

import functools
import importlib.metadata
import importlib.util
import pathlib
import warnings

from benchmarks import _side_by_side as side_by_side
from trainers.quiet import import_tensorflow
from trainers.quiet import quiet_import

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "pair_and_triplet_losses.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
OURS, THEIRS = "embeddings_tf", "pytorch_metric_learning"
COMPILED = "embeddings_tf_xla"
INSTALL = "pip install torch pytorch-metric-learning"
LOSSES = (
    "triplet",
    "histogram",
    "lifted_structure",
    "contrastive",
    "binomial_deviance",
)
# Required speed-up of our losses.
AIMS = {
    ("12x10x500", "triplet"): 3,
    ("12x10x500", "histogram"): 50,
    ("12x10x500", "lifted_structure"): 50,
    ("12x10x500", "contrastive"): 1,
    ("64x8x128", "triplet"): 10,
    ("64x8x128", "contrastive"): 1,
}
# Why the other library has no number, or a different value.
MISSING = {
    "binomial_deviance": "pytorch-metric-learning has no such loss",
    ("64x8x128", "histogram"): "left out: more than 10 s a step",
    ("64x8x128", "lifted_structure"): "left out: a matrix of 3,584 positive "
    "times 258,048 negative pairs, 3.4 GiB, several times",
}
OTHER_FORMULA = {"contrastive": "distances there, half their squares here"}


def our_step(loss, **options):
    import_tensorflow()
    from embeddings_tf import losses

    return side_by_side.tensorflow_contender(
        getattr(losses, f"{loss}_loss"), **options
    )


def our_step_compiled(loss):
    return our_step(loss, jit_compile=True)


def their_step(loss):
    with quiet_import():
        import torch
        from pytorch_metric_learning import distances
        from pytorch_metric_learning import losses
        from pytorch_metric_learning import reducers
    warnings.simplefilter("ignore")  # its indexing is deprecated

    raw = functools.partial(distances.LpDistance, normalize_embeddings=False)
    function = {
        "triplet": lambda: losses.TripletMarginLoss(
            margin=0.1,
            distance=raw(power=2),
            reducer=reducers.MeanReducer(),
        ),
        "histogram": lambda: losses.HistogramLoss(n_bins=200),
        "lifted_structure": lambda: losses.LiftedStructureLoss(distance=raw()),
        "contrastive": lambda: losses.ContrastiveLoss(distance=raw()),
    }[loss]()

    def step(z, labels):
        z = z.detach().requires_grad_()
        value = function(z, labels)
        value.backward()
        return value.detach().numpy()

    return torch.tensor, step


def cases(libraries):
    """Returns the libraries that have a loss, by batch and loss."""

    def has(library, name, loss):
        return library != THEIRS or not {loss, (name, loss)} & MISSING.keys()

    return {
        (name, loss): {
            library: step
            for library, step in libraries.items()
            if has(library, name, loss)
        }
        for name in side_by_side.BATCHES
        for loss in LOSSES
    }


def add_ratios(measured):
    """Adds ratios and aims, or the reason for a gap; checks the values."""
    for name, entries in measured.items():
        for loss, entry in entries.items():
            side_by_side.assert_same_value(entry, COMPILED, OURS)
            del entry[COMPILED]["peak_bytes"]  # includes compiling
            if THEIRS not in entry:
                entry["missing"] = MISSING.get(
                    loss, MISSING.get((name, loss), f"to compare: {INSTALL}")
                )
                continue
            if loss in OTHER_FORMULA:
                entry["other_formula"] = OTHER_FORMULA[loss]
            else:
                side_by_side.assert_same_value(entry, OURS, THEIRS)
            side_by_side.assess(entry, OURS, THEIRS, AIMS.get((name, loss)))


def table(batches: dict) -> str:
    """Returns the measurements in Markdown."""
    return side_by_side.table(batches, "loss", "theirs", OURS, THEIRS, COMPILED)


def text(result: dict) -> str:
    """Returns the Markdown between the marks: table, versions, machine."""
    others = "; ".join(f"{loss}: {why}" for loss, why in OTHER_FORMULA.items())
    return (
        f"{table(result['batches'])}\n\n{side_by_side.made_with(result)} "
        f"pytorch-metric-learning {result[THEIRS]}, torch {result['torch']}. "
        f"Not the same formula: {others}."
    )


def main() -> None:
    complete = all(importlib.util.find_spec(name) for name in ("torch", THEIRS))
    start = side_by_side.start()
    libraries = {OURS: our_step, COMPILED: our_step_compiled}
    libraries |= {THEIRS: their_step} if complete else {}
    measured = side_by_side.compare(cases(libraries))
    add_ratios(measured)
    print(table(measured))
    if not complete:
        print(f"Ours alone, and nothing written; to compare: {INSTALL}")
        return
    versions = {
        "torch": importlib.metadata.version("torch"),
        THEIRS: importlib.metadata.version("pytorch-metric-learning"),
    }
    side_by_side.write_result("rival_losses", measured, **start, **versions)
    result = side_by_side.load("rival_losses")
    side_by_side.write_page(PAGE, BEGIN, END, text(result))


if __name__ == "__main__":
    main()
