"""What the callbacks for TensorBoard cost on the demo, in CPU time.

    python -m benchmarks.watching_cost

Trains three epochs of 30 steps of the recipe `demo` with the callbacks of the
commands, in five processes. Writes `benchmarks/results/watching_cost.json` and
the first sentences of the section in `docs/watching.md`. CPU time of a process
is little affected by other processes.
"""

import json
import os
import pathlib
import statistics
import tempfile
import time

from benchmarks._side_by_side import LEAST_ROUNDS
from benchmarks._side_by_side import process
from benchmarks._side_by_side import shown
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between
from trainers.recipes.demo import STEPS_PER_EPOCH

EPOCHS, STEPS = 3, 30
RESULT = pathlib.Path(__file__).parent / "results" / "watching_cost.json"
PAGE = ROOT / "docs" / "watching.md"
MARKS = "<!-- watching cost: begin -->", "<!-- watching cost: end -->"


def timed(callback, seconds: list) -> None:
    """Appends the CPU time of each `on_epoch_end` and `on_train_end`."""
    for name in ("on_epoch_end", "on_train_end"):
        call = getattr(callback, name)

        def measured(*arguments, call=call, **more):
            started = time.process_time()
            call(*arguments, **more)
            seconds.append(time.process_time() - started)

        setattr(callback, name, measured)


def measure() -> dict:
    import keras

    from trainers.config import load_recipe
    from trainers.data.data import Data
    from trainers.fit import check_recipe
    from trainers.training.watch import watch

    run = load_recipe("demo", [])
    keras.utils.set_random_seed(0)
    model, held_out = check_recipe(run)
    batches = Data(run).batches(0)
    batch = next(iter(batches))
    state = {"best_epoch": 0, "best_value": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        watching = watch(
            run, "demo", pathlib.Path(folder), batch, held_out, state, True
        )
        costs = {type(callback).__name__: [] for callback in watching}
        for callback in watching:
            timed(callback, costs[type(callback).__name__])
        steps = []

        class Steps(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                self.started = time.process_time()

            def on_train_batch_end(self, batch, logs=None):
                steps.append(time.process_time() - self.started)

        model.fit(
            batches,
            epochs=EPOCHS,
            steps_per_epoch=STEPS,
            shuffle=False,
            verbose=2,
            callbacks=[Steps(), held_out, *watching],
        )
    first, *later, _ = costs["TrainingDiagnostics"]
    return {
        "rows_per_batch": len(batch[1]),
        "seconds_per_step": statistics.median(steps),
        "diagnostics_seconds": statistics.median(later),
        "first_diagnostics_seconds": first,
        "pictures_and_projector_seconds": costs["ShowHeldOut"][-1],
    }


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""

    def times(name, factor, digits):
        return shown((factor * s for s in result[name]), digits)

    share = shown(
        (
            100 * diagnostics / (STEPS_PER_EPOCH * step)
            for diagnostics, step in zip(
                result["diagnostics_seconds"],
                result["seconds_per_step"],
                strict=True,
            )
        ),
        1,
    )
    return (
        f"On the recipe `demo` (batches of {result['rows_per_batch']} rows), a "
        f"step takes {times('seconds_per_step', 1000, 0)} ms of CPU time and "
        "the diagnostics of an epoch "
        f"{times('diagnostics_seconds', 1000, 0)} ms: {share} % of its "
        f"{STEPS_PER_EPOCH} steps. The first call of the diagnostics, which "
        "traces them, takes "
        f"{times('first_diagnostics_seconds', 1, 1)} s in all, and the "
        "pictures with the projector take "
        f"{times('pictures_and_projector_seconds', 1, 1)} s. Median and "
        f"quartiles of {LEAST_ROUNDS} processes; {hardware([result])}, load "
        f"before {result['load_before']:.1f}, `{result['command']}`."
    )


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(json.loads(RESULT.read_text()))


def main() -> None:
    from benchmarks._provenance import provenance
    from trainers.workdirs.json_files import write_json

    before = {"load_before": os.getloadavg()[0], **provenance()}
    rounds = []
    for _ in range(LEAST_ROUNDS):
        with process() as fresh:
            rounds.append(fresh.submit(measure).result())

    (rows,) = {found.pop("rows_per_batch") for found in rounds}
    result = {
        "command": "python -m benchmarks.watching_cost",
        "rows_per_batch": rows,
        **{name: [found[name] for found in rounds] for name in rounds[0]},
        **before,
    }
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, text(result))
    print(text(result))


if __name__ == "__main__":
    main()
