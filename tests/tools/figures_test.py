"""Every picture of the docs comes from a script."""

import json
from importlib import metadata

import numpy as np
import pytest
from matplotlib import image

from benchmarks import _speed_plots as speed_plots
from embeddings_tf import viz
from tools import colour_orientation_table
from tools import comparison_table
from tools import cross_validation_figures
from tools import cross_validation_results
from tools import distance_depth_table
from tools import equal_budgets_table
from tools import generated_text
from tools import method_bars
from tools import prototype_planes
from tools import samplers_study
from tools import trust_study
from tools import trust_table
from tools import uncertainty_table
from tools import verification_figures
from tools import verification_results
from tools import watching_pictures


def copied():
    """Names of the pictures that the scripts copy from workdirs."""
    of_folds = cross_validation_results.DRAWN
    names = {f"{run}-{p}" for run, kinds in of_folds.items() for p in kinds}
    for pictures in verification_results.DRAWN.values():
        names |= set(pictures.values())
    names |= set(prototype_planes.load())
    return names | {f"trust_{run}" for run in trust_study.DRAWN}


def has_other_pixels(figure, name, folder):
    """Whether a picture of the docs is another than the figure.

    Some pixels may differ a little: another processor rounds differently.
    """
    viz.save_figure(figure, folder / f"{name}.png")
    new, kept = (
        image.imread(place / f"{name}.png")
        for place in (folder, generated_text.FIGURES)
    )
    if new.shape != kept.shape:
        return True
    return np.mean(np.abs(new - kept).max(axis=-1) > 0.1) > 1e-4


@pytest.fixture(scope="module")
def figures():
    """Draws the pictures of all result files."""
    found = {}
    for draw, results in (
        (cross_validation_figures.figures, cross_validation_results.load()),
        (verification_figures.figures, verification_results.load()),
        (equal_budgets_table.figures, equal_budgets_table.load()),
        (distance_depth_table.figures, distance_depth_table.load()),
        (trust_table.figures, trust_table.load()),
        (colour_orientation_table.figures, colour_orientation_table.load()),
        (samplers_study.figures, samplers_study.load()),
        (method_bars.figures, method_bars.load()),
        (uncertainty_table.figures, uncertainty_table.load()),
        (comparison_table.figures, comparison_table.load()),
    ):
        found |= draw(results)
    return found


@pytest.mark.slow
def test_pictures_are_of_the_present_results(figures, tmp_path):
    lock = (generated_text.ROOT / "requirements.lock").read_text()
    if f"matplotlib=={metadata.version('matplotlib')} " not in lock:
        pytest.skip("another version of Matplotlib draws other letters")
    older = [
        name
        for name, figure in figures.items()
        if has_other_pixels(figure, name, tmp_path)
    ]
    assert not older  # drawn from other results than the committed ones


@pytest.mark.slow
def test_every_picture_is_drawn_or_copied_by_a_script(figures):
    drawn = set(figures)
    assert not drawn & copied()
    # Each script in examples/ draws the picture of its page.
    examples = generated_text.ROOT / "examples"
    drawn |= {f"example_{script.stem}" for script in examples.glob("*.py")}
    watched = [*watching_pictures.TABS, "collapse_or_progress"]
    drawn |= {f"watching_{name}" for name in watched}
    # The commands of docs/use.md draw it.
    drawn.add("use_confusion")
    # `benchmarks.serving_load` and the two grids of `benchmarks.speed`.
    drawn.add("serving_memory")
    for kind in ("losses", "objectives"):
        drawn |= {path.stem for path in speed_plots.paths(kind).values()}
    there = {p.stem for p in generated_text.FIGURES.iterdir()}
    assert there == drawn | copied()


def test_pictures_of_a_run_are_kept_with_its_numbers(tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    run = runs / "plane"
    run.mkdir(parents=True)
    results = {
        "recipe": "mnist_learned_distance",
        "training": {"commit": "0123456"},
        "evaluation": {},
    }
    (run / "results.json").write_text(json.dumps(results))
    config = {"config": {"seed": 0}}
    (run / "config.json").write_text(json.dumps(config))
    for name in ("embedding", "distance_properties"):
        (run / f"{name}.png").write_bytes(name.encode())
    for name in ("RESULTS", "FIGURES"):
        monkeypatch.setattr(verification_results, name, tmp_path / name)
    (tmp_path / "RESULTS").mkdir()
    verification_results.collect(runs)
    kept = {p.name: p.read_text() for p in (tmp_path / "FIGURES").iterdir()}
    assert kept == {
        "mnist_plane.png": "embedding",
        "mnist_plane_distance_properties.png": "distance_properties",
    }
    (found,) = (tmp_path / "RESULTS").iterdir()
    assert json.loads(found.read_text())["runs"].keys() == {"plane"}
