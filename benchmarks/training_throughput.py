"""Compares training throughput with the same networks in PyTorch.

    make bench              # all benchmarks, with the other libraries
    python -m benchmarks.training_throughput
    python -m benchmarks.training_throughput omniglot dense    # prints only

Each network trains on one batch in memory with Adam: ours by `model.fit`, as
users call it; theirs by a loop of steps, eager and with `torch.compile`,
images in the memory format channels_last. Contenders take turns, each in its
own process, with all cores. A ratio is the median over rounds of our images a
second to theirs, with the least and the largest. `10 steps a call` is Keras's
`steps_per_execution=10`.

Writes `benchmarks/results/training_throughput.json` and the table of
`docs/results/speed.md`.
"""

import argparse
import contextlib
import functools
import importlib.metadata
import os
import pathlib
import statistics
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks import _spread as spread
from tools.generated_text import hardware
from trainers.quiet import import_tensorflow
from trainers.quiet import quiet_import

# Classes of a batch, instances of a class, shape of an example.
BATCHES = {
    "omniglot": (60, 10, (28, 28, 1)),
    "n_digit": (70, 10, (28, 56, 1)),
    "sprites": (12, 10, (60, 60, 3)),
    "dense": (64, 8, (64,)),
    "x_vector": (8, 4, (200, 30)),
    "resnet18": (10, 4, (32, 32, 3)),
}
METHODS = {
    "omniglot": "prototypical networks",
    "n_digit": "prototypical networks",
    "sprites": "all triplets",
    "dense": "all triplets",
    "x_vector": "learned distance and classifier",
    "resnet18": "learned distance and classifier",
}
ROUNDS, SECONDS_A_TURN = 5, 2.0
OURS, OURS_IN_TENS = "fit", "10 steps a call"
THEIRS = ("eager", "compiled")
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "results" / "speed.md"
BEGIN, END = "<!-- training: begin -->", "<!-- training: end -->"


def batch(name):
    import numpy as np

    num_classes, num_per_class, shape = BATCHES[name]
    labels = np.repeat(np.arange(num_classes), num_per_class)
    rng = np.random.default_rng(0)
    x = rng.random((len(labels), *shape), np.float32)
    return (255 * x if len(shape) == 3 and name != "dense" else x), labels


# The following functions run in the processes of the contenders.


def our_model(name):
    import keras

    from embeddings_tf import layers
    from embeddings_tf import losses
    from embeddings_tf import models
    from embeddings_tf import objectives

    def learned_distance():
        return objectives.LearnedDistance(
            layers.PairDistance((256, 256, 256), dropout=0.1),
            num_classes=64,
            auxiliary="softmax",
            label_smoothing=0.0,
        )

    def dense():
        return keras.Sequential(
            [
                keras.Input((64,)),
                keras.layers.Dense(256, "relu"),
                keras.layers.Dense(64),
            ]
        )

    keras.utils.set_random_seed(0)
    shape = BATCHES[name][2]
    encoder, loss = {
        "omniglot": lambda: (
            models.omniglot_encoder(
                64, image_shape=shape, dark_ink=False, fused=True
            ),
            losses.PrototypicalLoss(5),
        ),
        "n_digit": lambda: (
            models.n_digit_encoder(2, gaussian=False),
            losses.PrototypicalLoss(5),
        ),
        "sprites": lambda: (models.sprites_encoder(), losses.TripletLoss()),
        "dense": lambda: (dense(), losses.TripletLoss()),
        "x_vector": lambda: (models.x_vector_encoder(), learned_distance()),
        "resnet18": lambda: (
            models.cifar_resnet18_encoder(),
            learned_distance(),
        ),
    }[name]()
    if hasattr(loss, "distance") and hasattr(loss, "classifier"):
        return models.EmbeddingModel(encoder, loss), None
    return encoder, loss


@functools.cache
def our_steps(name, steps_a_call):
    """Returns a function that takes a number of steps."""
    import_tensorflow()
    import tensorflow as tf

    model, loss = our_model(name)
    model.compile("adam", loss, steps_per_execution=steps_a_call)
    repeated = tf.data.Dataset.from_tensors(batch(name)).repeat()
    return lambda steps: model.fit(repeated, steps_per_epoch=steps, verbose=0)


@functools.cache
def their_steps(name, mode):
    with quiet_import():
        from benchmarks._torch_training import training_step

    step = training_step(name, *batch(name), mode)

    def steps(number):
        for _ in range(number):
            step()

    return steps


def turn(maker, name, argument, multiple=1):
    """Seconds a step, of as many steps as fit in a turn."""
    steps = maker(name, argument)
    steps(multiple)
    started = time.perf_counter()
    steps(multiple)
    once = (time.perf_counter() - started) / multiple
    number = max(1, round(SECONDS_A_TURN / once / multiple)) * multiple
    started = time.perf_counter()
    steps(number)
    return (time.perf_counter() - started) / number


# The following functions run in the comparing process.

CONTENDERS = {
    OURS: (our_steps, 1, 1),
    OURS_IN_TENS: (our_steps, 10, 10),
    "eager": (their_steps, "eager", 1),
    "compiled": (their_steps, "compiled", 1),
}


def compare(name):
    """Returns seconds a step of each contender in each round, and ratios."""
    seconds = {who: [] for who in CONTENDERS}
    with contextlib.ExitStack() as stack:
        processes = {
            who: stack.enter_context(side_by_side.process())
            for who in CONTENDERS
        }
        for round_ in range(ROUNDS + 1):
            for who, (maker, argument, multiple) in CONTENDERS.items():
                work = processes[who].submit(
                    turn, maker, name, argument, multiple
                )
                if round_:  # the first compiles
                    seconds[who].append(work.result())
                else:
                    work.result()
            print(".", end="", flush=True)
    best = min(THEIRS, key=lambda who: statistics.median(seconds[who]))
    pairs = {
        who: zip(seconds[best], seconds[who], strict=True)
        for who in (OURS, OURS_IN_TENS)
    }
    return {
        "seconds_a_step": seconds,
        "their_best": best,
        "faster_by": {
            who: sorted(theirs / ours for theirs, ours in found)
            for who, found in pairs.items()
        },
    }


def table(networks: dict) -> str:
    """Returns the measurements in Markdown."""
    lines = [
        "| network | method | batch | ms | 10 steps a call, ms | PyTorch, ms "
        "| compiled, ms | ours to its best | range |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in networks.items():
        num_classes, num_per_class, _ = BATCHES[name]
        cells = [
            name.replace("_", "-"),
            METHODS[name],
            f"{num_classes} x {num_per_class}",
            *(
                spread.cell(found["seconds_a_step"][who], 1000, 1)
                for who in CONTENDERS
            ),
        ]
        ratios = found["faster_by"][OURS]
        cells += [
            f"{statistics.median(ratios):.2f}",
            f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def text(result: dict) -> str:
    """Returns the Markdown between the marks: table, versions, machine."""
    return (
        f"{table(result['networks'])}\n\nMedians and quartiles of {ROUNDS} "
        f"rounds; commit {result['commit'][:7]}, {hardware([result])}, "
        f"{spread.load_of(result)}; torch "
        f"{result['torch']}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Times training steps.")
    parser.add_argument(
        "networks", nargs="*", metavar="NETWORK", help=", ".join(BATCHES)
    )
    names = parser.parse_args().networks or list(BATCHES)
    load_average, started = os.getloadavg()[0], time.perf_counter()
    networks = {name: compare(name) for name in names}
    print()
    print(table(networks))
    if names != list(BATCHES):
        return
    from trainers.provenance import provenance
    from trainers.workdir import write_json

    import_tensorflow()
    result = {
        "command": "python -m benchmarks.training_throughput",
        "networks": networks,
        "load_average_before": load_average,
        "torch": importlib.metadata.version("torch"),
        "seconds": time.perf_counter() - started,
        **provenance(),
    }
    path = side_by_side.RESULTS / "training_throughput.json"
    write_json(path, result)
    print(f"Wrote {path.relative_to(side_by_side.RESULTS.parents[1])}")
    side_by_side.write_page(PAGE, BEGIN, END, text(result))


if __name__ == "__main__":
    main()
