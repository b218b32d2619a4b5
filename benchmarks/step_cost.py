"""Compares training steps of stochastic embeddings and of prototypes.

    python -m benchmarks.step_cost

All methods use the same network on 28x56 images. Stochastic prototypes are
compared with prototypical networks on an episode of 70 classes with 5 supports
and 5 queries each. Hedged instances take pairs: they are compared with
prototypical networks on as many images, 70 classes of 4 beside 28 classes of
10. Contenders take turns, each in its own process (`_side_by_side.py`); one of
them is a second process of the same model.
"""

import functools

from benchmarks import _side_by_side as side_by_side
from benchmarks._benchmark import ROOT
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

BENCHMARK = Benchmark(
    "step_cost",
    minutes=2,
    comparisons=(
        Comparison("stochastic", "prototypical", by_time=True),
        Comparison("prototypical again", "prototypical", by_time=True),
        Comparison("hedged", "prototypical", by_time=True),
    ),
    page=ROOT / "docs" / "stochastic_prototypes.md",
    mark="step cost",
)
RECIPES = {
    "stochastic": "stochastic_prototypes",
    "prototypical": "prototypical",
    "prototypical again": "prototypical",
    "hedged": "hedged_instances",
}
# Classes and images of a class, by contender.
CASES = {
    "70 x 10 images": dict.fromkeys(
        ("stochastic", "prototypical", "prototypical again"), (70, 10)
    ),
    "280 images": {"hedged": (70, 4), "prototypical": (28, 10)},
}
QUICK = {
    "6 x 10 images": dict.fromkeys(CASES["70 x 10 images"], (6, 10)),
    "40 images": {"hedged": (10, 4), "prototypical": (4, 10)},
}


@functools.lru_cache(1)
def step_of(name, num_classes, num_per_class):
    """Returns a step; runs in the process of the contender."""
    import_tensorflow()
    import keras
    import numpy as np

    from trainers.config import load_recipe
    from trainers.fit import build_model

    keras.utils.set_random_seed(0)
    model = build_model(load_recipe(f"n_digit_2_dim_2_{RECIPES[name]}"))
    labels = np.repeat(np.arange(num_classes), num_per_class)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (len(labels), 28, 56, 1)).astype("uint8")
    return functools.partial(model.train_on_batch, x, labels)


def prepare(*case):
    step = step_of(*case)
    for _ in range(8):
        step()
    return {}


def turn(*case):
    return side_by_side.timed(step_of(*case), at_least=0.5)


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        cases = QUICK if run.quick else CASES
        for case in run.each(cases):
            contenders = {
                name: (name, *size) for name, size in cases[case].items()
            }
            found = together.compare(
                prepare, turn, contenders, run.seconds, most_rounds=40
            )
            run.add(case, found)


if __name__ == "__main__":
    main()
