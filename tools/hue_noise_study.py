"""Compares ranges of the hue noise in training, on validation images.

    python -m tools.hue_noise_study [FOLDER ...]

A FOLDER is a workdir of `colour_orientation_stochastic_prototypes`, with its
data or with `benchmarks/_hue_noise_90.py:images`. The script measures the mean
variance of each axis for shapes of the validation seed with each noise of the
hue. It writes the numbers to `benchmarks/results/hue_noise`, and the table of
`docs/results/prototypes.md`.
"""

import pathlib

from benchmarks import _hue_noise_90
from tools.colour_orientation_table import FACTORS
from tools.colour_orientation_table import PAGE
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_recipe_and_config
from tools.run_files import run_results

RESULTS = ROOT / "benchmarks" / "results" / "hue_noise"
BEGIN, END = "<!-- hue noise: begin -->", "<!-- hue noise: end -->"
NUM_IMAGES = 2000
# Largest hue noise in training, in degrees, by the name of the data.
LARGEST = {
    "benchmarks/_hue_noise_90.py:images": _hue_noise_90.LARGEST,
    "colour_orientation": 180.0,
}


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Measures a run, and writes its result file."""
    from trainers.workdirs.provenance import provenance

    config = run_recipe_and_config(workdir)
    results = run_results(workdir)
    largest = LARGEST[config["config"]["dataset"]]
    kept = {
        "recipe": config["recipe"],
        "config": config["config"],
        "seed": results["seed"],
        "data_fingerprint": results["data_fingerprint"],
        "training": results["training"],
        "study": {**measure(workdir), **provenance()},
    }
    path = RESULTS / f"up_to_{largest:g}_degrees.json"
    keep_result(path, kept, replace=replace)


def measure(workdir: pathlib.Path) -> dict:
    """Returns the variances of a run on shapes of the validation seed."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np

    from embeddings_tf.datasets import ColourOrientation
    from embeddings_tf.datasets.colour_orientation import SPLITS
    from embeddings_tf.models.method import Method
    from trainers.evaluators import colour_orientation
    from trainers.measures.embed import embed
    from trainers.trained import open_trained

    model = open_trained(str(workdir)).model
    x = ColourOrientation(NUM_IMAGES, SPLITS["validation"][1], 0.0)
    codes = Method(model).points(embed(model, x[:NUM_IMAGES])).numpy()
    factors = np.stack([x.labels // 2, x.labels % 2], axis=1)
    axis = colour_orientation.axes(codes, factors)["axis"]
    found = colour_orientation.variances(model, x, NUM_IMAGES, axis)
    return {"axis": axis, "hue_noise": found["hue_noise"]}


def table(found: dict[pathlib.Path, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    runs = sorted(found.values(), key=_largest)
    levels = runs[0]["study"]["hue_noise"]["levels"]
    names = " | ".join(f"{level:g}" for level in levels)
    lines = [
        f"| hue noise in training, degrees | variance of | {names} |",
        "|---|---|" + "---:|" * len(levels),
    ]
    commands = {}
    for run in runs:
        largest = f"up to {_largest(run):g}"
        for factor in FACTORS:
            curve = run["study"]["hue_noise"][factor]
            cells = " | ".join(f"{value / curve[0]:.2f}" for value in curve)
            lines.append(f"| {largest} | {factor} | {cells} |")
        workdir = f"runs/hue_noise_{_largest(run):g}"
        trained = rerun_command(run["recipe"], run["config"], workdir)
        trained = trained.rpartition(" && ")[0]  # without the evaluation
        commands[largest] = (
            f"{trained} && python -m tools.hue_noise_study {workdir}"
        )
    training = [run["training"] for run in runs]
    studied = [run["study"] for run in runs]
    about = (
        "Columns: hue noise of the validation shapes, in degrees; the variance "
        f"over the variance without noise. {training[0]['steps']:,} episodes; "
        f"trained at {commits(training)}, measured at {commits(studied)}; "
        f"{hardware(studied)}."
    )
    return "\n".join([*lines, "", about, *command_lines(commands)])


def _largest(run: dict) -> float:
    return LARGEST[run["config"]["dataset"]]


def main() -> None:
    remake_page(
        __doc__,
        collect,
        lambda: kept_results(RESULTS),
        PAGE,
        (BEGIN, END),
        table,
    )


if __name__ == "__main__":
    main()
