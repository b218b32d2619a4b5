"""Compares training steps of stochastic embeddings and of prototypes.

    python -m benchmarks.step_cost

All methods use the same network on 28x56 images. Stochastic prototypes are
compared with prototypical networks on an episode of 70 classes with 5 supports
and 5 queries each. Hedged instances take pairs: they are compared with
prototypical networks on as many images, 70 classes of 4 beside 28 classes of
10. Steps take turns in one process. Prints and writes the ratios of the
medians, and the ratio of one model to itself.
"""

import json
import pathlib
import time

from trainers.quiet import import_tensorflow

RESULT = pathlib.Path(__file__).parent / "results" / "step_cost.json"
ROUNDS, WARM_UP = 60, 8
# Recipe, classes and images of a class by the name of a row.
ROWS = {
    "stochastic": ("stochastic_prototypes", 70, 10),
    "prototypical": ("prototypical", 70, 10),
    "prototypical_again": ("prototypical", 70, 10),
    "hedged": ("hedged_instances", 70, 4),
    "prototypical_fewer_classes": ("prototypical", 28, 10),
}
# Rows whose medians are divided.
RATIOS = {
    "ratio": ("stochastic", "prototypical"),
    "ratio_of_equal_models": ("prototypical_again", "prototypical"),
    "ratio_of_hedged": ("hedged", "prototypical_fewer_classes"),
}


def main() -> None:
    import_tensorflow()
    import keras
    import numpy as np

    from trainers.config import load_recipe
    from trainers.fit import build_model
    from trainers.provenance import provenance
    from trainers.workdir import write_json

    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (700, 28, 56, 1)).astype("uint8")

    keras.utils.set_random_seed(0)
    models = {
        name: build_model(load_recipe(f"n_digit_2_dim_2_{recipe}"))
        for name, (recipe, _, _) in ROWS.items()
    }
    seconds = {name: [] for name in models}
    bar = keras.utils.Progbar(ROUNDS, unit_name="round")
    for round_ in range(ROUNDS):
        for name, model in models.items():
            _, classes, per_class = ROWS[name]
            labels = np.repeat(np.arange(classes), per_class)
            started = time.perf_counter()
            model.train_on_batch(x[: len(labels)], labels)
            if round_ >= WARM_UP:
                seconds[name].append(time.perf_counter() - started)
        bar.update(round_ + 1)
    median = {name: float(np.median(s)) for name, s in seconds.items()}
    result = {
        "command": "python -m benchmarks.step_cost",
        "rounds": ROUNDS - WARM_UP,
        "images": {name: n * k for name, (_, n, k) in ROWS.items()},
        "median_seconds": median,
        **{
            ratio: median[first] / median[second]
            for ratio, (first, second) in RATIOS.items()
        },
        **provenance(),
    }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
