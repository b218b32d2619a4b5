"""Compares a training step of stochastic and of plain prototypes.

    python -m benchmarks.step_cost

Both use the same network and the same episode: 70 classes, 5 supports and 5
queries each, 28x56 images. Their steps take turns in one process. Prints and
writes the ratio of the medians, and the ratio of one model to itself.
"""

import json
import pathlib
import time

from trainers.quiet import import_tensorflow

RESULT = pathlib.Path(__file__).parent / "results" / "step_cost.json"
ROUNDS, WARM_UP = 60, 8


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
    labels = np.repeat(np.arange(70), 10)

    keras.utils.set_random_seed(0)
    models = {
        name: build_model(load_recipe(f"n_digit_2_dim_2_{recipe}"))
        for name, recipe in (
            ("stochastic", "stochastic_prototypes"),
            ("prototypical", "prototypical"),
            ("prototypical_again", "prototypical"),
        )
    }
    seconds = {name: [] for name in models}
    bar = keras.utils.Progbar(ROUNDS, unit_name="round")
    for round_ in range(ROUNDS):
        for name, model in models.items():
            started = time.perf_counter()
            model.train_on_batch(x, labels)
            if round_ >= WARM_UP:
                seconds[name].append(time.perf_counter() - started)
        bar.update(round_ + 1)
    median = {name: float(np.median(s)) for name, s in seconds.items()}
    result = {
        "command": "python -m benchmarks.step_cost",
        "rounds": ROUNDS - WARM_UP,
        "median_seconds": median,
        "ratio": median["stochastic"] / median["prototypical"],
        "ratio_of_equal_models": median["prototypical_again"]
        / median["prototypical"],
        **provenance(),
    }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
