"""Compares samplers of balanced batches with pytorch-metric-learning's.

    python -m benchmarks.samplers

Batches of 60 classes with 5 instances each, from 10 instances a class. Ours is
a `tf.data` dataset of `class_balanced_batches`; theirs is `MPerClassSampler`
as PyTorch iterates over it, of the same batches. A turn takes batches for a
while, also over the ends of epochs. The first batch, for which a new sampler
is made, is timed separately.
"""

import functools
import itertools
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._aims import PML
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow
from trainers.terminal.quiet import quiet_import

SIZES, QUICK = (1_000, 10_000, 100_000, 1_000_000), (100, 200)
NUM_CLASSES, NUM_PER_CLASS, INSTANCES = 60, 5, 10
SECONDS_A_TURN = 1.0
BENCHMARK = Benchmark(
    "samplers",
    minutes=4,
    comparisons=(Comparison(OURS, PML),),
    packages=("pytorch-metric-learning", "torch"),
    note="Seconds of a batch.",
)


def labels_of(num_classes):
    import numpy as np

    return np.repeat(np.arange(num_classes), INSTANCES)


@functools.lru_cache(1)
def our_batches(num_classes):
    import_tensorflow()
    from embeddings_tf import sampling

    return iter(
        sampling.class_balanced_batches(
            labels_of(num_classes), NUM_CLASSES, NUM_PER_CLASS, seed=0
        )
    )


@functools.lru_cache(1)
def their_batches(num_classes):
    sampler_class = their_sampler()
    labels = labels_of(num_classes)
    size = NUM_CLASSES * NUM_PER_CLASS
    sampler = sampler_class(
        labels,
        NUM_PER_CLASS,
        batch_size=size,
        length_before_new_iter=len(labels),
    )
    indices = itertools.chain.from_iterable(itertools.repeat(sampler))
    return iter(lambda: list(itertools.islice(indices, size)), None)


def their_sampler():
    with quiet_import():
        from pytorch_metric_learning.samplers import MPerClassSampler

    return MPerClassSampler


def prepare(batches, num_classes):
    labels_of(num_classes)
    if batches is our_batches:
        import_tensorflow()
        from embeddings_tf import sampling  # noqa: F401
    else:
        their_sampler()
    return {}


def first_batch(batches, num_classes):
    """Makes a new sampler, which later turns use, and takes a batch."""
    batches.cache_clear()
    started = time.perf_counter()
    size = len(next(batches(num_classes)))
    assert size == NUM_CLASSES * NUM_PER_CLASS, size
    return {"seconds": time.perf_counter() - started}


def turn(batches, num_classes):
    iterator, number = batches(num_classes), 0
    started = time.perf_counter()
    while time.perf_counter() - started < SECONDS_A_TURN:
        next(iterator)
        number += 1
    return {"seconds": (time.perf_counter() - started) / number}


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        sizes = {f"{n} classes": n for n in (QUICK if run.quick else SIZES)}
        for case in run.each(sizes):
            contenders = {
                name: (batches, sizes[case])
                for name, batches in (
                    (OURS, our_batches),
                    (PML, their_batches),
                )
            }
            first = together.compare(prepare, first_batch, contenders, 0)
            stopped = {n: e for n, e in first.items() if "stopped" in e}
            going = {n: contenders[n] for n in contenders if n not in stopped}
            found = stopped | together.compare(
                prepare, turn, going, run.seconds
            )
            rows = [
                {
                    "what": f"first batch of {name}",
                    "unit": "s",
                    **side_by_side.spread(first[name]["seconds"]),
                }
                for name in going
            ]
            run.add(case, found, rows)


if __name__ == "__main__":
    main()
