"""Draws the planes of stochastic prototypes, Figures 5 and 7.

    python -m tools.prototype_planes [FOLDER ...]

Figure 5 of Scott, Ridgeway & Mozer 2019 is the plane of Omniglot, Figure 7 the
plane of two digits. A FOLDER is a workdir of one of both, in two dimensions.
Other methods are refused, because the figures are of stochastic prototypes.
The script draws characters at their embeddings from the best checkpoint, and
copies the plane of numbers that the evaluation drew. The text in
`docs/results/prototypes.md` says which run a picture comes from.
"""

import pathlib
import shutil

from tools.generated_text import FIGURES
from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.rerun_command import rerun_command
from tools.run_files import run_config
from tools.run_files import run_results

PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = "<!-- planes: begin -->", "<!-- planes: end -->"
RESULTS = ROOT / "benchmarks" / "results" / "planes"
METHOD = "StochasticPrototypes"
CHARACTERS, NUMBERS = "prototypes_omniglot_plane", "prototypes_n_digit_plane"
PLANE_OF = {"omniglot_rotations": CHARACTERS, "n_digit/2_number": NUMBERS}
ABOUT = {
    CHARACTERS: "Characters of the test at their embeddings, one drawing of "
    "a class and only characters that do not cover others",
    NUMBERS: "Test images of two digits; boxed numbers were not in training",
}
# Most characters that are drawn, and the least distance between two of them
# as a share of the plane.
MOST, APART = 400, 0.035


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Draws the plane of a run, and keeps where it comes from."""
    results = run_results(workdir)
    config = run_config(workdir)
    name = PLANE_OF.get(config["dataset"])
    if name is None or config["encoder"]["dim"] != 2:
        raise ValueError(
            f"{workdir} must be a run in two dimensions on one of "
            f"{[*PLANE_OF]}; received {config['dataset']} in "
            f"{config['encoder']['dim']} dimensions"
        )
    method = (config.get("objective") or config["loss"])["name"]
    if method != METHOD:
        raise ValueError(
            f"{workdir} must be a run of {METHOD}, which Figures 5 and 7 show; "
            f"received {method}"
        )
    origin = {
        "recipe": results["recipe"],
        "config": config,
        "training": results["training"],
        "data_fingerprint": results["data_fingerprint"],
    }
    path = RESULTS / f"{name}.json"
    keep_result(path, {"picture_of": origin}, replace=replace)
    FIGURES.mkdir(parents=True, exist_ok=True)
    if config["dataset"] == "omniglot_rotations":
        _save_characters(workdir, FIGURES / f"{name}.png")
    else:
        shutil.copyfile(workdir / "embedding.png", FIGURES / f"{name}.png")


def _save_characters(workdir: pathlib.Path, path: pathlib.Path) -> None:
    """Draws one drawing of each of some test classes at its embedding."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np

    from embeddings_tf import viz
    from trainers.data.data import Data
    from trainers.measures.embed import embed_points
    from trainers.training.checkpoint import load_best
    from trainers.workdirs.workdir import run_of_workdir

    _, run = run_of_workdir(workdir)
    x, labels = Data(run).split("test")
    _, first = np.unique(labels, return_index=True)
    images = x[np.sort(first)]
    mean = embed_points(load_best(workdir), images)
    rows = apart(mean)
    figure = viz.picture_plane_figure(
        mean[rows],
        images[rows],
        size=20,
        title="Omniglot: characters of the test",
    )
    viz.save_figure(figure, path)


def apart(mean, most: int = MOST, distance: float = APART) -> list[int]:
    """Returns rows of embeddings that do not cover one another.

    Args:
        mean: Embeddings `(n, 2)`.
        most: Largest number of rows.
        distance: Least distance between two, as a share of each axis.
    """
    import numpy as np

    low, high = np.percentile(mean, [1, 99], axis=0)
    places, chosen = (mean - low) / (high - low), []
    for row in np.random.default_rng(0).permutation(len(mean)):
        inside = np.all((places[row] >= 0) & (places[row] <= 1))
        free = np.abs(places[chosen] - places[row]).max(axis=1) >= distance
        if inside and free.all() and len(chosen) < most:
            chosen.append(row)
    return chosen


def load() -> dict[str, dict]:
    """Returns the origin of each plane by the name of its picture."""
    return {
        path.stem: found["picture_of"]
        for path, found in kept_results(RESULTS).items()
    }


def text(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks."""
    lines = []
    for name, origin in found.items():
        command = rerun_command(
            origin["recipe"], origin["config"], "runs/plane"
        )
        lines += [
            f"{ABOUT[name]}: `{origin['recipe']}`, seed "
            f"{origin['config']['seed']}, {origin['training']['steps']:,} "
            f"episodes, commit {origin['training']['commit'][:7]}"
            f"{_data(origin)}.",
            "",
            f"![{ABOUT[name]}](../figures/{name}.png)",
            "",
            f"    {command} && python -m tools.prototype_planes runs/plane",
            "",
        ]
    return "\n".join(lines).rstrip()


def _data(origin: dict) -> str:
    """The data of a picture; empty if its file has no fingerprint."""
    data = origin.get("data_fingerprint")
    return f", data {data}" if data else ""


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), text)


if __name__ == "__main__":
    main()
