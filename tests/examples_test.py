"""The examples run, show what they claim, and are pages of the site."""

import json
import pathlib
import re
import runpy
import sys
from types import SimpleNamespace

import pytest

from tools import site_examples
from tools import site_links

ROOT = pathlib.Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py"))
PNG = b"\x89PNG"


def code_cells(name):
    path = EXAMPLES / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_notebook(name) -> dict:
    """Runs the code without Jupyter and its magics; returns its names."""
    namespace = {}
    for cell in code_cells(name):
        code = re.sub(r"(?m)^%.*$", "", "".join(cell["source"]))
        exec(compile(code, name, "exec"), namespace)  # noqa: S102
    return namespace


def run_script(name, monkeypatch, *words):
    path = str(EXAMPLES / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [path, *map(str, words)])
    return runpy.run_path(path)["main"]()


@pytest.mark.slow
def test_few_shot_with_uncertainty_runs():
    found = run_notebook("few_shot_with_uncertainty")
    accuracy = {k: 1 - v[1].mean() for k, v in found["answers"].items()}
    assert accuracy["clean"] > 0.45 > accuracy["occluded"] > 3 / 30
    for curve in found["reject"].values():
        assert curve["area"] < 0.8 * curve["random_area"]


@pytest.mark.slow
def test_disentangling_runs():
    found = run_notebook("disentangling")["measures"]
    ours, theirs = found["F-statistic"], found["triplet"]
    assert ours["modularity"] > theirs["modularity"] + 0.04
    assert ours["explicitness"] > found["untrained"]["explicitness"]


@pytest.mark.slow
def test_speaker_verification_runs(tmp_path, monkeypatch):
    figure = tmp_path / "det.png"
    rates = run_script("speaker_verification", monkeypatch, "--figure", figure)
    assert rates["learned distance"] < min(0.2, rates["cosine"])
    assert figure.read_bytes().startswith(PNG)


@pytest.mark.slow
def test_retrieval_on_own_images_runs(tmp_path, monkeypatch):
    figure = tmp_path / "neighbours.png"
    recall = run_script(
        "retrieval_on_own_images", monkeypatch, "--figure", figure
    )
    assert recall["trained"][1] > recall["pixels"][1] + 0.08
    assert figure.read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_have_outputs_and_are_small(name):
    cells = code_cells(name)
    counts = [cell["execution_count"] for cell in cells]
    assert counts == list(range(1, len(cells) + 1)), "run from top to bottom"
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output["output_type"] == "error" for output in outputs)
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size < 300_000


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_pages_with_their_figures(name):
    text, figures = site_examples.notebook_page(EXAMPLES / f"{name}.ipynb")
    assert text.startswith("# ")
    assert re.findall(r"!\[figure\]\((.+)\)", text) == list(figures)
    assert all(png.startswith(PNG) for png in figures.values())
    for cell in code_cells(name):
        assert "".join(cell["source"]) in text
    for link in re.findall(r"\]\((\.\./[^)#]+)", text):
        assert (ROOT / "docs" / "examples" / link).resolve().exists(), link


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_pages_with_their_figures(name):
    path = EXAMPLES / f"{name}.py"
    text, figures = site_examples.script_page(path)
    assert text.startswith("# ") and path.read_text() in text and not figures
    (link,) = re.findall(r"!\[figure\]\(\.\./(.+)\)", text)
    assert (ROOT / "docs" / link).read_bytes().startswith(PNG)


def test_links_to_examples_lead_to_their_pages():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="examples.md"))
    config = {"docs_dir": str(ROOT / "docs")}
    text = "[a](../examples/disentangling.ipynb) [b](../Makefile) [c](api.md)"
    found = site_links.on_page_markdown(text, page, config, None)
    assert found == "[a](examples/disentangling.md) b [c](api.md)"
