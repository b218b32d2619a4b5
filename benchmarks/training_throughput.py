"""Compares training throughput with the same networks in PyTorch.

    python -m benchmarks.training_throughput
    python -m benchmarks.training_throughput omniglot dense    # these only

Each network trains on one batch in memory with Adam: ours by `model.fit`, as
users call it; theirs by a loop of steps, eager and with `torch.compile`,
images in the memory format channels_last. `10 steps a call` is Keras's
`steps_per_execution=10`. bfloat16 is a dtype policy here and autocast there,
and only measured if the processor has it. `loss` is the value and gradient of
the loss alone, on the embeddings of the batch. The input wait is the share of
a step that waits for batches of a sampler from arrays in memory.
"""

import functools
import pathlib
import statistics
import time

from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow
from trainers.terminal.quiet import quiet_import

# Classes of a batch, instances of a class, shape of an example.
BATCHES = {
    "omniglot": (60, 10, (28, 28, 1)),
    "n_digit": (70, 10, (28, 56, 1)),
    "n_digit_stochastic": (70, 10, (28, 56, 1)),
    "n_digit_hedged": (70, 4, (28, 56, 1)),
    "sprites": (12, 10, (60, 60, 3)),
    "sprites_f_statistic": (12, 10, (60, 60, 3)),
    "dense": (64, 8, (64,)),
    "x_vector": (8, 4, (200, 30)),
    "resnet18": (10, 4, (32, 32, 3)),
}
METHODS = {
    "omniglot": "prototypical networks",
    "n_digit": "prototypical networks",
    "n_digit_stochastic": "stochastic prototypes",
    "n_digit_hedged": "hedged instances",
    "sprites": "all triplets",
    "sprites_f_statistic": "F-statistic",
    "dense": "all triplets",
    "x_vector": "learned distance and classifier",
    "resnet18": "learned distance and classifier",
}
# The losses of the others are not in PyTorch.
WITH_PEERS = ("omniglot", "n_digit", "sprites", "dense", "x_vector", "resnet18")
SECONDS_A_TURN, SECONDS_TO_COMPILE = 1.0, 240
OURS, TENS, HALF = "fit", "fit, 10 steps a call", "fit, bfloat16"
PEERS = ("eager", "compiled")
HALF_PEERS = tuple(f"{mode}, bfloat16" for mode in PEERS)
BENCHMARK = Benchmark(
    "training_throughput",
    minutes=19,
    comparisons=(
        Comparison(OURS, PEERS),
        Comparison(TENS, PEERS),
        Comparison(TENS, OURS),
        Comparison(HALF, HALF_PEERS),
        Comparison("loss", OURS, by_time=True),
    ),
    packages=("torch",),
    note="Seconds of a step. Methods: "
    + "; ".join(f"{name}: {method}" for name, method in METHODS.items())
    + ".",
)


def has_bfloat16():
    """Whether the processor multiplies bfloat16 numbers."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def batch(name, quick=False):
    import numpy as np

    num_classes, num_per_class, shape = BATCHES[name]
    num_classes = min(3, num_classes) if quick else num_classes
    labels = np.repeat(np.arange(num_classes), num_per_class)
    rng = np.random.default_rng(0)
    x = rng.random((len(labels), *shape), np.float32)
    return (255 * x if len(shape) == 3 and name != "dense" else x), labels


# The following functions run in the processes of the contenders.


@functools.lru_cache(1)
def our_model(name, steps_a_call=1, policy="float32"):
    import_tensorflow()
    import keras

    from benchmarks import _our_training as our_training
    from embeddings_tf import models

    keras.config.set_dtype_policy(policy)
    model, loss = our_training.parts(name)
    if not isinstance(loss, keras.losses.Loss):
        model, loss = models.EmbeddingModel(model, loss), None
    model.compile("adam", loss, steps_per_execution=steps_a_call)
    return model


@functools.lru_cache(1)
def our_steps(name, quick, *options):
    """Returns a function that takes a number of steps."""
    model = our_model(name, *options)
    import tensorflow as tf

    repeated = tf.data.Dataset.from_tensors(batch(name, quick)).repeat()
    options = tf.data.Options()
    options.autotune.enabled = False  # as `datasets.batches`
    repeated = repeated.with_options(options)
    return lambda steps: model.fit(
        repeated, steps_per_epoch=steps, shuffle=False, verbose=0
    )


@functools.lru_cache(1)
def loss_steps(name, quick):
    import_tensorflow()
    import tensorflow as tf

    from benchmarks import _our_training as our_training

    encoder, loss = our_training.parts(name)
    x, labels = batch(name, quick)
    z = tf.constant(encoder.predict(x, verbose=0))
    options = {"training": True} if hasattr(loss, "classifier") else {}
    if hasattr(loss, "build"):
        loss.build((len(z),), z.shape)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.reduce_mean(loss(labels, z, **options))
        weights = getattr(loss, "trainable_variables", [])
        return tape.gradient(value, [z, *weights])

    return repeat(lambda: step()[0].numpy())


@functools.lru_cache(1)
def their_steps(name, quick, mode):
    with quiet_import():
        from benchmarks._torch_training import training_step

    return repeat(training_step(name, *batch(name, quick), mode))


def repeat(step):
    def steps(number):
        for _ in range(number):
            step()

    return steps


def prepare(maker, multiple, *options):
    maker(*options)(multiple)
    return {}


def turn(maker, multiple, *options):
    """Seconds a step, of as many steps as fit in a turn."""
    steps = maker(*options)
    started = time.perf_counter()
    steps(multiple)
    once = (time.perf_counter() - started) / multiple
    number = max(1, round(SECONDS_A_TURN / once / multiple)) * multiple
    started = time.perf_counter()
    steps(number)
    return {"seconds": (time.perf_counter() - started) / number}


def input_wait(name, quick, num_steps):
    """Returns the share of a step that waits for input."""
    from embeddings_tf import callbacks
    from embeddings_tf import datasets
    from embeddings_tf import sampling

    num_classes, num_per_class, _ = BATCHES[name]
    x, labels = batch(name, quick)
    batches = datasets.batches(
        x,
        labels,
        sampling.class_balanced_batches(
            labels, min(num_classes, labels.max() + 1), num_per_class, seed=0
        ),
    )
    throughput = callbacks.Throughput()
    history = our_model(name).fit(
        throughput.measured(batches),
        steps_per_epoch=num_steps,
        shuffle=False,
        verbose=0,
        callbacks=[throughput],
    )
    return float(history.history["input_wait"][-1])


# The following functions run in the comparing process.


def contenders_of(name, quick):
    """Returns the arguments of `prepare` and `turn` by contender."""
    found = {
        OURS: (our_steps, 1, name, quick),
        TENS: (our_steps, 10, name, quick, 10),
        "loss": (loss_steps, 1, name, quick),
    }
    if name in WITH_PEERS:
        found |= {mode: (their_steps, 1, name, quick, mode) for mode in PEERS}
    if has_bfloat16():
        found[HALF] = our_steps, 1, name, quick, 1, "mixed_bfloat16"
        if name in WITH_PEERS:
            found |= {
                mode: (their_steps, 1, name, quick, mode) for mode in HALF_PEERS
            }
    return found


def main(arguments=None) -> None:
    with BENCHMARK.run(__doc__, arguments) as run:
        for name in run.each(list(BATCHES)):
            # New processes for each network, because of the dtype policy.
            with run.side_by_side() as together:
                found = together.compare(
                    prepare,
                    turn,
                    contenders_of(name, run.quick),
                    min(run.seconds, 30),
                    limit_to_start=SECONDS_TO_COMPILE,
                )
                row = {"what": "input wait", "unit": "share"}
                if "seconds" in found[OURS]:
                    step = statistics.median(found[OURS]["seconds"])
                    steps = max(3, min(200, round(5 / step)))
                    wait = together.call(
                        OURS, input_wait, name, run.quick, steps
                    )
                    row["median"] = wait
            run.add(name, found, [row] * ("median" in row))


if __name__ == "__main__":
    main()
