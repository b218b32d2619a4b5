"""Compares the numbers of small runs before and after a change of the code.

    python -m tools.pins write before.json
    python -m tools.pins compare before.json

Each kind of run is made once, with few steps, on data that needs no download:

- the demo recipe, a few-shot classification;
- the same run killed and resumed, and the same run on two replicas;
- disentanglement, an autoencoder, retrieval and verification of recordings;
- a search of two trials;
- the answers of two exported models.

`compare` makes the runs again, prints every number that differs, and exits
with code 1 if a number differs.

Both files must come from the same machine, because other processors and other
versions of TensorFlow round differently. On one machine, two runs of the same
code agree almost exactly: TensorFlow sums in one thread here. The tolerance is
1e-5 of the larger number, plus 1e-6.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from tools.run_files import run_results
from trainers.workdirs import layout

ROOT = pathlib.Path(__file__).parents[1]
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-5, 1e-6
# Timings, and fields that describe how a number was made.
LEFT_OUT = {"config", "cores", "input_wait", "load", "seconds", "settings"}

DEMO = (
    "--config=demo",
    "--config.steps_per_epoch=10",
    "--config.num_epochs=3",
    "--config.validation.num_episodes=2",
    "--config.validation.num_samples=10",
    "--config.evaluation.num_episodes=4",
    "--config.evaluation.num_draws=1",
    "--config.evaluation.num_samples=20",
)
SHORT = ("--config.steps_per_epoch=5", "--config.num_epochs=2", "--folds=1")
SPRITES = (*SHORT, "--config.encoder.width=16", "--config.folds.num_folds=4")
CROSS_VALIDATIONS = {
    "disentanglement": ("--config=sprites_f_statistic", *SPRITES),
    "autoencoder": (
        "--config=sprites_beta_vae_2",
        *SPRITES,
        "--config.batches.num_classes=6",
        "--config.decoder.width=16",
    ),
    "retrieval": (
        "--config=omniglot_retrieval_learned_distance",
        *SHORT,
        "--config.batches.num_classes=4",
        "--config.batches.num_per_class=3",
    ),
    "verification": (
        "--config=spoken_digit_learned_distance_babble",
        *SHORT,
        "--config.batches.num_per_class=4",
        "--config.encoder.dim=16",
        "--config.encoder.channels=(16, 16, 16, 16, 32)",
        "--config.evaluation.num_resamples=20",
    ),
}


def measure(folder: pathlib.Path) -> dict[str, float]:
    """Makes all runs in a folder; returns their numbers by name."""
    os.environ["EMBEDDINGS_TF_DATA"] = str(folder / "data")
    # The last digit of sums depends on the number of threads.
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
    from tools.fabricated_data import write_data_sets

    write_data_sets(folder / "data")
    kinds = [few_shot, resumed, replicas, search]
    kinds += [
        functools.partial(cross_validation, name) for name in CROSS_VALIDATIONS
    ]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(lambda kind: kind(folder), kinds):
            found |= part
    return found


def few_shot(folder: pathlib.Path) -> dict[str, float]:
    workdir = folder / "few_shot"
    run("trainers.train", workdir, *DEMO)
    run("trainers.evaluate", workdir)
    return results(workdir) | answers(workdir, ask_classifier)


def resumed(folder: pathlib.Path) -> dict[str, float]:
    workdir = folder / "resumed"
    kill_after_checkpoint(start("trainers.train", workdir, *DEMO), workdir)
    run("trainers.train", workdir, *DEMO)
    return results(workdir)


def replicas(folder: pathlib.Path) -> dict[str, float]:
    workdir = folder / "replicas"
    words = (*DEMO, "--config.strategy=mirrored")
    run("trainers.train", workdir, *words, EMBEDDINGS_TF_VIRTUAL_CPUS="2")
    return results(workdir)


def search(folder: pathlib.Path) -> dict[str, float]:
    workdir = folder / "search"
    words = (*DEMO, "--space=stochastic_prototypes", "--trials=2")
    run("tuning.search", workdir, *words)
    return results(workdir)


def cross_validation(name: str, folder: pathlib.Path) -> dict[str, float]:
    workdir = folder / name
    run("trainers.cross_validate", workdir, *CROSS_VALIDATIONS[name])
    found = results(workdir)
    if name == "verification":
        found |= answers(workdir / "fold_1", ask_verifier)
    return found


def results(workdir: pathlib.Path) -> dict[str, float]:
    """Returns all numbers that a run has written."""
    found = run_results(workdir)
    return numbers(found, f"{workdir.name}.")


def answers(workdir: pathlib.Path, ask) -> dict[str, float]:
    """Exports a run; returns all numbers that `ask` gets from the export."""
    directory = workdir / "exported"
    run("trainers.export", workdir, "--directory", str(directory))
    return numbers(ask(directory / "1"), f"{ask.__name__}.")


def ask_classifier(saved_model: pathlib.Path) -> dict:
    """Asks the exported demo about some held-out numbers."""
    import tensorflow as tf

    from embeddings_tf import datasets

    x, labels = datasets.load("n_digit/digits_2_number", "test_unseen")
    x = tf.constant(x[:30], tf.float32)
    # Keep `model` alive: its functions refer to its variables.
    model = tf.saved_model.load(str(saved_model))
    found = model.signatures["serving_default"](image=x)
    found |= model.signatures["classify"](
        support=x[:20],
        support_labels=tf.constant(labels[:20], tf.int32),
        query=x[20:],
        seed=tf.constant([0, 0]),
    )
    return {name: value.numpy().tolist() for name, value in found.items()}


def ask_verifier(saved_model: pathlib.Path) -> dict:
    """Asks an exported model of recordings about three pairs."""
    import numpy as np
    import tensorflow as tf

    random = np.random.default_rng(0)
    first, second = random.normal(0, 1000, (2, 3, 6000)).astype("float32")
    lengths = tf.constant([6000, 5000, 4000])
    model = tf.saved_model.load(str(saved_model))
    found = model.signatures["score_pairs"](
        first=tf.constant(first),
        first_length=lengths,
        second=tf.constant(second),
        second_length=lengths[::-1],
    )
    return {name: value.numpy().tolist() for name, value in found.items()}


def run(module: str, workdir: pathlib.Path, *words, **environment) -> None:
    """Runs a command of the library in a new interpreter."""
    started = time.monotonic()
    finish(start(module, workdir, *words, **environment))
    seconds = time.monotonic() - started
    print(f"{workdir.name}, {module}: {seconds:.0f} s", flush=True)


def start(module, workdir, *words, **environment) -> subprocess.Popen:
    """Starts a command of the library in a new interpreter."""
    return subprocess.Popen(
        [sys.executable, "-m", module, "--workdir", str(workdir), *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen) -> None:
    """Waits for a command; raises OSError with its output if it failed."""
    output, _ = process.communicate()
    if process.returncode:
        raise OSError(f"{' '.join(process.args)} failed:\n{output[-4000:]}")


def kill_after_checkpoint(process, workdir: pathlib.Path) -> None:
    """Kills a training after its first checkpoint."""
    checkpoint = layout.latest(workdir)
    while not checkpoint.exists():
        if process.poll() is not None:
            finish(process)
            raise OSError("the training ended before its first checkpoint")
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def numbers(found, prefix: str = "") -> dict[str, float]:
    """Returns the numbers of nested results as `outer.inner.position`."""
    flat = {}
    items = found if isinstance(found, dict) else dict(enumerate(found))
    for name, value in items.items():
        if name in LEFT_OUT:
            continue
        if isinstance(value, dict | list):
            flat |= numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[f"{prefix}{name}"] = value
    return flat


def differences(before: dict, after: dict) -> list[str]:
    """Returns one line per number that differs or is missing on one side."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if (
            old is None
            or new is None
            or not math.isclose(
                old, new, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE
            )
        ):
            lines.append(f"{name}: {old} before, {new} now")
    return lines


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m tools.pins", description=__doc__.partition("\n")[0]
    )
    result.add_argument("action", choices=("write", "compare"))
    result.add_argument("file", type=pathlib.Path, help="JSON of the numbers")
    return result


def main(words=None) -> int:
    arguments = parser().parse_args(words)
    before = None
    if arguments.action == "compare":
        before = json.loads(arguments.file.read_text())
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(pathlib.Path(folder))
    print(f"{len(found)} numbers in {time.monotonic() - started:.0f} s")
    if before is None:
        from trainers.workdirs.json_files import write_json

        write_json(arguments.file, found)
        return 0
    lines = differences(before, found)
    print("\n".join(lines) if lines else "All numbers are the same.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
