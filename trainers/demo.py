"""Demo: trains, evaluates, draws, exports, and classifies without Keras.

`python -m trainers.demo --workdir runs/demo` trains stochastic prototypes on
2-digit numbers in real handwriting that ships with scikit-learn. If you run it
again, it continues where it stopped, and exports the next version.
"""

import argparse
import pathlib
import shlex
import subprocess
import sys
import time

from trainers import command_line
from trainers.config.load import load_recipe
from trainers.terminal import command_names

CLIENT = pathlib.Path(__file__).parent / "saved_model_client.py"


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.demo"),
        description=__doc__.partition("\n")[0],
    )
    result.add_argument("--workdir", default="runs/demo")
    return result


def demo(workdir: str, overrides: list[str]) -> None:
    """Trains, evaluates, exports and uses the demo recipe."""
    if load_recipe("demo", overrides).training.strategy == "multi_worker":
        raise ValueError(
            "the demo runs on one machine; train on several machines with "
            f"{command_names.shell_command('trainers.train')}"
        )
    from trainers.evaluate import evaluate
    from trainers.export import export
    from trainers.train import train
    from trainers.workdirs.model_folder import writable_model_folder

    # Refused before it trains.
    folder = writable_model_folder("--workdir", workdir)
    seconds = {}

    def step(title, function, *arguments):
        print(f"\n=== {len(seconds) + 1} of 4: {title}", flush=True)
        started = time.monotonic()
        result = function(*arguments)
        seconds[function.__name__] = time.monotonic() - started
        return result

    step(
        "train with model.fit on 70 of the 100 two-digit numbers",
        train,
        "demo",
        workdir,
        overrides,
    )
    step(
        "evaluate on new handwriting and on 30 held-out numbers",
        evaluate,
        workdir,
        [],  # the run has the fields of its evaluation
    )
    saved_model = step(
        "export a SavedModel",
        export,
        workdir,
        str(folder / "saved_model"),
        None,
    )
    step(
        "classify held-out numbers with only TensorFlow, 5 supports each",
        use,
        folder,
        saved_model,
    )
    print(
        "\n=== Done: "
        + ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
        + f".\nLook at {folder / 'embedding.png'} and "
        f"{folder / 'evaluation.png'}.\nNext:\n"
        f"  {command_names.shell_command('tensorboard.main')} --logdir "
        f"{shlex.quote(workdir)}\n"
        f"  {command_names.shell_command('trainers.train')} --list"
        "      (all recipes)"
    )


def use(folder: pathlib.Path, saved_model: str) -> None:
    """Calls the exported model in a process without Keras; compares."""
    import numpy as np

    from embeddings_tf import datasets
    from embeddings_tf import models
    from embeddings_tf import sampling
    from embeddings_tf.ops.atomic_file import atomic_file
    from trainers.training.checkpoint import load_best

    x, labels = datasets.load("n_digit/digits_2_number", "test_unseen")
    indices = next(iter(sampling.episodes(labels, 30, 5, 10, seed=0))).numpy()
    indices = indices.reshape(30, 15)
    support, query = indices[:, :5].ravel(), indices[:, 5:].ravel()
    examples = folder / "examples.npz"
    with atomic_file(examples) as file:
        np.savez(
            file,
            support=x[support],
            support_labels=labels[support],
            query=x[query],
            query_labels=labels[query],
        )
    # -P: does not import from the script's folder.
    client = subprocess.run(
        [sys.executable, "-P", CLIENT, saved_model, examples],
        stderr=subprocess.PIPE,
        text=True,
    )
    if client.returncode:
        raise OSError(f"the client failed: {client.stderr[-2000:]}")
    served = np.load(folder / "served.npz")["probability"]
    model = load_best(folder)
    classifier = models.FewShotClassifier(model, batch_size=len(query))
    classifier.fit(x[support], labels[support])
    difference = np.abs(classifier.predict_proba(x[query]) - served).max()
    print(f"largest difference from the Keras model: {difference:.1g}")
    if difference > 1e-4:
        raise ArithmeticError(
            f"the served model differs from the Keras model by {difference}"
        )


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(demo, arguments.workdir, arguments.overrides)


if __name__ == "__main__":
    sys.exit(main())
