"""Measures the step time of the distributed wrappers on one replica.

    python -m benchmarks.distributed_step

All contenders train the demo's model on the demo's batches. Each contender
runs in its own process and trains the same short epochs. The contenders take
turns, so that all runs of a round see the same load of the machine:

- `fit`, the reference; and `fit_again`, which shows the noise of the
  measurement;
- `mirrored`: `--config.strategy=mirrored` with one device;
- `mirrored_strategy`: TensorFlow's `MirroredStrategy` of one device through
  `fit`, which `mirrored` avoids because of its cost;
- `loop`: `MultiWorkerMirroredStrategy` of one worker through the loop.

The median over rounds of each ratio to `fit` is written to
`benchmarks/results/distributed_step.json` and to the table of
`docs/distributed.md`. The aim is at most 1.05.
"""

import contextlib
import json
import os
import pathlib
import statistics
import time

from benchmarks._side_by_side import process
from tools.generated_text import hardware
from tools.generated_text import write_between
from tuning.chief import free_port

RESULT = pathlib.Path(__file__).parent / "results" / "distributed_step.json"
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "distributed.md"
BEGIN = "<!-- distributed_step table: begin -->"
END = "<!-- distributed_step table: end -->"
TITLES = {
    "fit_again": "`one`, a second time",
    "mirrored": "`mirrored`, with one device",
    "mirrored_strategy": "`MirroredStrategy` of one device, not used",
    "loop": "`multi_worker`, with one worker of one device",
}
# The pipeline and the trace start in the first steps of an epoch.
ROUNDS, STEPS, WARM_UP = 24, 40, 10
AIM = 1.05
CONTENDERS = {
    "fit": "one",
    "fit_again": "one",
    "mirrored": "mirrored",
    "mirrored_strategy": "one",
    "loop": "multi_worker",
}


def prepare(contender: str) -> None:
    """Makes the model, in the process of the contender."""
    global train
    strategy_name = CONTENDERS[contender]
    os.environ["TF_CONFIG"] = json.dumps(
        {
            "cluster": {"worker": [f"127.0.0.1:{free_port()}"]},
            "task": {"type": "worker", "index": 0},
        }
    )
    from trainers.training import strategy as strategies

    strategies.start(strategy_name)
    import keras
    import tensorflow as tf

    from trainers.config import load_recipe
    from trainers.data.data import Data
    from trainers.fit import build_model
    from trainers.training.loop import loop

    run = load_recipe("demo")
    strategy = strategies.create(strategy_name)
    if contender == "mirrored_strategy":
        kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
        strategy = tf.distribute.MirroredStrategy([f"{kind}:0"])
    assert strategy.num_replicas_in_sync == 1
    keras.utils.set_random_seed(0)
    with contextlib.ExitStack() as stack:
        if contender not in ("fit", "fit_again"):
            stack.enter_context(strategy.scope())
        model = build_model(run)
    batches = strategies.replica_batches(strategy, Data(run).batches(0))

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch + 1 == WARM_UP:
                self.started = time.perf_counter()
            self.ended = time.perf_counter()

    def train() -> float:
        """Returns seconds per step, over an epoch without its first steps."""
        clock = Clock()
        if strategy_name == "multi_worker":
            loop(
                model,
                batches,
                epochs=1,
                initial_epoch=0,
                steps_per_epoch=STEPS,
                callbacks=[clock],
            )
        else:
            model.fit(
                batches,
                steps_per_epoch=STEPS,
                shuffle=False,
                verbose=0,
                callbacks=[clock],
            )
        return (clock.ended - clock.started) / (STEPS - WARM_UP)

    train()


def turn() -> float:
    return train()


def main() -> None:
    started, load_average = time.monotonic(), os.getloadavg()[0]
    seconds = {name: [] for name in CONTENDERS}
    with contextlib.ExitStack() as stack:
        processes = {}
        for name in CONTENDERS:
            processes[name] = stack.enter_context(process())
            processes[name].submit(prepare, name).result()
        for round_ in range(ROUNDS):
            # Every other round in reverse order, for fairness.
            order = list(CONTENDERS)[:: 1 if round_ % 2 == 0 else -1]
            for name in order:
                seconds[name].append(processes[name].submit(turn).result())
            print(".", end="", flush=True)
    print()
    ratios = {
        name: [a / b for a, b in zip(values, seconds["fit"], strict=True)]
        for name, values in seconds.items()
        if name != "fit"
    }
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    result = {
        "command": "python -m benchmarks.distributed_step",
        "rounds": ROUNDS,
        "steps_a_turn": STEPS - WARM_UP,
        "aim": AIM,
        "load_average_before": load_average,
        "median_seconds": {
            name: statistics.median(values) for name, values in seconds.items()
        },
        "ratio_to_fit": {
            name: {
                "median": statistics.median(values),
                "quartiles": statistics.quantiles(values)[::2],
            }
            for name, values in ratios.items()
        },
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, table(result))
    print(table(result))


def load() -> dict:
    return json.loads(RESULT.read_text())


def table(result: dict) -> str:
    """Returns the ratios, one row per contender."""
    lines = [
        "| one replica | step time relative to `one` | quartiles |",
        "|---|---:|---:|",
    ]
    for name, title in TITLES.items():
        found = result["ratio_to_fit"][name]
        low, high = found["quartiles"]
        lines.append(
            f"| {title} | {found['median']:.3f} | {low:.3f} to {high:.3f} |"
        )
    lines += [
        "",
        f"{result['rounds']} rounds; commit {result['commit'][:7]}, "
        f"{hardware([result])}, load "
        f"{result['load_average_before']:.1f} before.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
