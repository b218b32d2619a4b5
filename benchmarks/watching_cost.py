"""What the callbacks for TensorBoard cost on the demo, in CPU time.

    python -m benchmarks.watching_cost

Trains three epochs of 30 steps of the recipe `demo` with the callbacks of the
commands, and writes `benchmarks/results/watching_cost.json`. CPU time of the
process is little affected by other processes.
"""

import pathlib
import statistics
import tempfile
import time

EPOCHS, STEPS = 3, 30
RESULT = pathlib.Path(__file__).parent / "results" / "watching_cost.json"


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
    step = statistics.median(steps)
    first, *later, _ = costs["TrainingDiagnostics"]
    return {
        "recipe": "demo",
        "rows_per_batch": len(batch[1]),
        "seconds_per_step": step,
        "diagnostics_seconds": statistics.median(later),
        "diagnostics_share_of_100_steps": statistics.median(later) / step / 100,
        "first_diagnostics_seconds": first,
        "pictures_and_projector_seconds": costs["ShowHeldOut"][-1],
    }


def main() -> None:
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    made_by = provenance()
    found = measure()
    for name, value in found.items():
        print(f"{name}: {value}")
    write_json(RESULT, {**found, **made_by})


if __name__ == "__main__":
    main()
