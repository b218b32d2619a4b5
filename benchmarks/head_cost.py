"""Measures how much longer a training step takes with an uncertainty head.

    python -m benchmarks.head_cost

Steps of prototypical networks without a head, with a head, and with a head on
a frozen encoder, for an encoder with batch normalisation and for one without.
They take turns in one process. The seconds are of the processor, on one thread.
Writes `benchmarks/results/head_cost.json` and a table of `docs/uncertainty.md`.
"""

import os
import statistics
import time

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULT = ROOT / "benchmarks" / "results" / "head_cost.json"
PAGE = ROOT / "docs" / "uncertainty.md"
BEGIN, END = "<!-- head cost: begin -->", "<!-- head cost: end -->"
ROUNDS = 12
NUM_CLASSES, NUM_PER_CLASS = 20, 10
ENCODERS = {
    "image_encoder": ("batch normalisation, 32 x 32 x 3", (32, 32, 3)),
    "n_digit_encoder": ("no batch normalisation, 28 x 56 x 1", (28, 56, 1)),
}


def one_thread() -> None:
    """Makes TensorFlow compute on one thread."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def step(name: str, has_head: bool, is_frozen: bool = False):
    """Returns a function that takes a compiled step."""
    import keras
    import numpy as np

    from embeddings_tf import layers
    from embeddings_tf import losses
    from embeddings_tf import models

    shape = ENCODERS[name][1]
    more = {"num_filters": 32} if name == "image_encoder" else {}
    keras.utils.set_random_seed(0)
    encoder = getattr(models, name)(
        64, gaussian=False, image_shape=shape, **more
    )
    encoder.trainable = not is_frozen
    model = models.EmbeddingModel(
        encoder,
        losses.PrototypicalLoss(num_support=5),
        uncertainty=layers.UncertaintyHead() if has_head else None,
    )
    model.compile(keras.optimizers.Adam(1e-3, global_clipnorm=10.0))
    labels = np.repeat(np.arange(NUM_CLASSES), NUM_PER_CLASS)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (len(labels), *shape)).astype("uint8")
    return lambda: model.train_on_batch(x, labels)


def measure(name: str) -> dict:
    """Median seconds of each kind of step, and ratios to a step without.

    `over_without` has the quartiles of the ratios within a round.
    """
    steps = {
        "without": step(name, has_head=False),
        "with": step(name, has_head=True),
        "frozen": step(name, has_head=True, is_frozen=True),
    }
    seconds = {kind: [] for kind in steps}
    for round_ in range(ROUNDS + 2):
        for kind, take in steps.items():
            started = time.process_time()
            take()
            if round_ > 1:  # the first are traced
                seconds[kind].append(time.process_time() - started)
    ratios = {
        kind: [a / b for a, b in zip(found, seconds["without"], strict=True)]
        for kind, found in seconds.items()
        if kind != "without"
    }
    return {
        **{kind: statistics.median(found) for kind, found in seconds.items()},
        "over_without": {
            kind: statistics.quantiles(found) for kind, found in ratios.items()
        },
    }


def table(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| encoder, 64 dimensions | without a head | with a head | frozen, "
        "with a head |",
        "|---|---:|---:|---:|",
    ]
    for name, found in result["encoders"].items():
        without = found["without"]
        cells = [
            f"{found[kind]:.3f} s ({median:.2f}, {low:.2f} to {high:.2f})"
            for kind, (low, median, high) in found["over_without"].items()
        ]
        lines.append(
            f"| `{name}`, {ENCODERS[name][0]} | {without:.3f} s | "
            + " | ".join(cells)
            + " |"
        )
    rows = NUM_CLASSES * NUM_PER_CLASS
    about = (
        f"{rows} images. Medians of {result['rounds']} steps taken in turns; "
        "in brackets: over a step without a head, median and quartiles. Load "
        f"{result['load_average_before']:.1f}, commit {result['commit'][:7]}, "
        f"{hardware([result])}."
    )
    return "\n".join([*lines, "", about])


def main() -> None:
    started, load = time.perf_counter(), os.getloadavg()[0]
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow(one_thread)
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    result = {
        "command": "python -m benchmarks.head_cost",
        "step": "seconds of the processor, one thread",
        "rounds": ROUNDS,
        "load_average_before": load,
        "encoders": {name: measure(name) for name in ENCODERS},
        "seconds": time.perf_counter() - started,
        **provenance(),
    }
    write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, table(result))
    print(f"Wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
