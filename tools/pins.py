"""Compares the numbers of small runs before and after a change of the code.

    python -m tools.pins write before.json
    python -m tools.pins compare before.json

Each kind of run is made once, small, on data that needs no download:

- the demo recipe, which is few-shot classification,
- the same run killed and resumed, and the same run on two replicas,
- disentanglement, an autoencoder, retrieval and verification of recordings,
- a search of two trials,
- the answers of two exported models.

`compare` makes the runs again, prints every number that differs, and exits
with code 1 if one does.

Both files have to come from the same machine: another processor or another
TensorFlow rounds differently. On one machine two runs of the same code agree
exactly, or nearly: TensorFlow sums in one thread here. The tolerance is
1e-5 of the larger number, plus 1e-6.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-5, 1e-6
# Timings, and what says how a number was made.
LEFT_OUT = {"cores", "input_wait", "seconds", "settings"}

DEMO = (
    "steps_per_epoch=10",
    "num_epochs=3",
    "validation.num_episodes=2",
    "validation.num_samples=10",
    "evaluation.num_episodes=4",
    "evaluation.num_draws=1",
    "evaluation.num_samples=20",
)
SHORT = ("steps_per_epoch=5", "num_epochs=2")
SPRITES = (*SHORT, "encoder.width=16", "folds.num_folds=4")
# What each cross-validation runs: a recipe, and what makes it small.
FOLDS = {
    "disentanglement": ("sprites_f_statistic", *SPRITES),
    "autoencoder": (
        "sprites_beta_vae_2",
        *SPRITES,
        "batches.num_classes=6",
        "decoder.width=16",
    ),
    "retrieval": ("omniglot_retrieval_learned_distance", *SHORT),
    "verification": (
        "spoken_digit_learned_distance_babble",
        *SHORT,
        "batches.num_per_class=4",
        "encoder.dim=16",
        "encoder.channels=(16, 16, 16, 16, 32)",
        "evaluation.num_resamples=20",
    ),
}


def measure(folder: pathlib.Path) -> dict[str, float]:
    """Makes all runs in a folder; returns their numbers by name."""
    from tools.fabricated_data import write_data_sets

    write_data_sets(folder / "data")
    found = {}

    def collect(name, workdir):
        results = json.loads((workdir / "results.json").read_text())
        found.update(numbers(results, f"{name}."))

    def module(name, *words, **environment):
        started = time.monotonic()
        finish(start(name, folder / "data", *words, **environment))
        seconds = time.monotonic() - started
        workdir = words[words.index("--workdir") + 1]
        print(f"{name}, {workdir.name}: {seconds:.0f} s", flush=True)

    few_shot = folder / "few_shot"
    demo = ("--config", "demo", *map("--config.{}".format, DEMO))
    module("trainers.train", *demo, "--workdir", few_shot)
    module("trainers.evaluate", "--workdir", few_shot)
    collect("few_shot", few_shot)

    resumed = folder / "resumed"
    words = (*demo, "--workdir", resumed)
    kill_after_checkpoint(
        start("trainers.train", folder / "data", *words), resumed
    )
    module("trainers.train", *words)
    collect("resumed", resumed)

    replicas = folder / "replicas"
    words = (*demo, "--workdir", replicas, "--config.strategy=mirrored")
    module("trainers.train", *words, EMBEDDINGS_TF_VIRTUAL_CPUS="2")
    collect("replicas", replicas)

    search = folder / "search"
    words = (*demo, "--workdir", search, "--space", "stochastic_prototypes")
    module("tuning.search", *words, "--trials", 2)
    collect("search", search)

    for name, (recipe, *overrides) in FOLDS.items():
        words = ("--config", recipe, *map("--config.{}".format, overrides))
        words += ("--workdir", folder / name, "--folds", 1)
        module("trainers.cross_validate", *words)
        collect(name, folder / name)

    for name, workdir, ask in (
        ("few_shot", few_shot, ask_classifier),
        ("verification", folder / "verification" / "fold_1", ask_verifier),
    ):
        directory = folder / f"{name}_exported"
        words = ("--workdir", workdir, "--directory", directory)
        module("trainers.export", *words)
        found |= numbers(ask(directory / "1"), f"export.{name}.")
    return found


def ask_classifier(saved_model: pathlib.Path) -> dict:
    """Answers of the exported demo about some unseen numbers."""
    import tensorflow as tf

    from embeddings_tf import datasets

    x, labels = datasets.load("n_digit/digits_2_number", "test_unseen")
    x = tf.constant(x[:30], tf.float32)
    # Keep `model` alive: its functions refer to its variables.
    model = tf.saved_model.load(str(saved_model))
    answers = model.signatures["serving_default"](image=x)
    answers |= model.signatures["classify"](
        support=x[:20],
        support_labels=tf.constant(labels[:20], tf.int32),
        query=x[20:],
        seed=tf.constant([0, 0]),
    )
    return {name: value.numpy().tolist() for name, value in answers.items()}


def ask_verifier(saved_model: pathlib.Path) -> dict:
    """Answers of an exported model of recordings about three pairs."""
    import numpy as np
    import tensorflow as tf

    random = np.random.default_rng(0)
    first, second = random.normal(0, 1000, (2, 3, 6000)).astype("float32")
    lengths = tf.constant([6000, 5000, 4000])
    model = tf.saved_model.load(str(saved_model))
    answers = model.signatures["score_pairs"](
        first=tf.constant(first),
        first_length=lengths,
        second=tf.constant(second),
        second_length=lengths[::-1],
    )
    return {name: value.numpy().tolist() for name, value in answers.items()}


def start(module, data_dir, *words, **environment) -> subprocess.Popen:
    """Starts a command of the library in an interpreter of its own."""
    environment = {
        **os.environ,
        "EMBEDDINGS_TF_DATA": str(data_dir),
        # Sums depend on the number of threads in their last digit.
        "TF_NUM_INTRAOP_THREADS": "1",
        **environment,
    }
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=ROOT,
        env=environment,
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
    """Kills a training as soon as it has written a checkpoint."""
    checkpoint = workdir / "checkpoints" / "latest.keras"
    while not checkpoint.exists():
        if process.poll() is not None:
            finish(process)
            raise OSError("the training ended before its first checkpoint")
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def numbers(results, prefix: str = "") -> dict[str, float]:
    """The numbers of nested results as `outer.inner.position`."""
    found = {}
    items = results if isinstance(results, dict) else dict(enumerate(results))
    for name, value in items.items():
        if name in LEFT_OUT:
            continue
        if isinstance(value, dict | list):
            found |= numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{prefix}{name}"] = value
    return found


def differences(before: dict, after: dict) -> list[str]:
    """One line for each number that differs or is on one side only."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            lines.append(f"{name}: {old} before, {new} now")
        elif not math.isclose(
            old, new, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE
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
        arguments.file.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    lines = differences(before, found)
    print("\n".join(lines) if lines else "All numbers are the same.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
