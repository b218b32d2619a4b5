"""The code in the README and the docs pages runs unchanged."""

import pathlib
import re

import keras
import numpy as np
import pytest

from tests.datasets.image_folders import write_classes

ROOT = pathlib.Path(__file__).parents[1]
LINK = re.compile(r'\[[^\]"]+\]\(([^)#]+)(?:#[^)]*)?\)')


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def run(blocks, name, namespace):
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)  # noqa: S102


def assert_prints_about(name, printed):
    """The first `text` block of a page is printed, up to rounding."""
    page = (ROOT / "docs" / f"{name}.md").read_text()
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
    printed = "".join(printed.splitlines(True)[: shown.count("\n")])
    number = r"\d\.\d\d"
    assert re.sub(number, "0.00", printed) == re.sub(number, "0.00", shown)
    found, expected = (
        [float(value) for value in re.findall(number, text)]
        for text in (printed, shown)
    )
    assert found == pytest.approx(expected, abs=0.05)


@pytest.fixture(scope="module")
def readme(tmp_path_factory):
    """The folder and the names that the snippets of README leave."""
    folder, namespace = tmp_path_factory.mktemp("readme"), {}
    keras.utils.set_random_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(python_blocks(ROOT / "README.md"), "README.md", namespace)
    return folder, namespace


def test_readme_snippets_run_in_order(readme):
    folder, namespace = readme
    assert len(python_blocks(ROOT / "README.md")) == 2
    first, last = namespace["history"].history["loss"]
    assert last < first
    probabilities = namespace["probabilities"]
    assert probabilities.shape == (25, 5)
    x, labels, new = (namespace[name] for name in ("x", "labels", "new"))
    answers = namespace["classifier"].predict(x[new][1::6])
    accuracy = np.mean(answers == labels[new][1::6])
    assert accuracy == pytest.approx(0.88, abs=0.1)  # as printed
    clear, unclear = (
        np.median(np.split(namespace["model"].predict(inputs), 2, axis=1)[1])
        for inputs in (x, namespace["middle"])
    )
    assert unclear > 5 * clear
    assert (folder / "saved_models" / "mine" / "1").is_dir()


@pytest.mark.slow
def test_the_page_on_training_goes_on_from_there(readme, monkeypatch):
    folder, namespace = readme
    monkeypatch.chdir(folder)
    namespace = dict(namespace)
    run(python_blocks(ROOT / "docs/training.md"), "training", namespace)
    assert namespace["stop"].best > 0
    assert namespace["model"].piece_size == 64
    assert namespace["half"].compute_dtype == "bfloat16"
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.slow
def test_the_page_on_watching_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(python_blocks(ROOT / "docs/watching.md"), "watching", {})
    board = tmp_path / "runs" / "triplet" / "tensorboard"
    found = {path.name for path in board.iterdir()}
    assert {"train", "validation", "settings", "embedding.tsv"} <= found


def test_readme_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150


@pytest.mark.slow
def test_snippet_of_the_start_page_runs(capsys):
    namespace = {}
    run(python_blocks(ROOT / "docs/index.md"), "index", namespace)
    assert namespace["recall"][1] > 0.1, "of 30 classes"
    assert_prints_about("index", capsys.readouterr().out)


def test_snippet_of_the_page_on_data_sets_runs(capsys):
    run(python_blocks(ROOT / "docs/data_sets.md"), "data_sets", {})
    assert ", 8, 16, 1)" in capsys.readouterr().out


def test_snippets_of_the_page_on_trust_print_what_it_shows(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "trust.md"
    run(python_blocks(page), "trust", {})
    shown = re.findall(r"```text\n(.*?)```", page.read_text(), re.S)
    assert capsys.readouterr().out == "".join(shown)
    assert (tmp_path / "calibration.json").stat().st_size


def test_snippets_of_the_page_on_own_data_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_classes(tmp_path / "photos", list("abcdef"))
    namespace = {}
    run(python_blocks(ROOT / "docs/own_data.md"), "folder", namespace)
    printed = capsys.readouterr().out
    assert "(4, 5, 3) " in printed and "(16, 5) [0 0 1]" in printed
    assert set(namespace["names"]) == {n[0] for n in namespace["x"].names}


@pytest.mark.slow
def test_examples_of_the_page_on_own_objectives_run(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "own"}
    run(python_blocks(ROOT / "docs/own_objective.md"), "own", namespace)
    losses = namespace["history"].history["loss"]
    assert losses[-1] < losses[0]
    assert namespace["accuracy"] > 0.1, "of 30 classes"
    assert namespace["evidence"].shape == (100,)
    assert capsys.readouterr().out.splitlines()[-1] == "(5,)"


def test_snippet_of_the_journey_of_a_batch_prints_what_the_page_says(capsys):
    page = ROOT / "docs/journey_of_a_batch.md"
    run(python_blocks(page), page.name, {})
    printed = capsys.readouterr().out.splitlines()[-1]
    assert f"It prints `{printed}`" in page.read_text()
    files = re.findall(r"(?m)^\| (\d+) \|", page.read_text())
    assert [int(number) for number in files] == list(range(1, 11))


def test_the_journey_of_a_batch_has_the_order_of_the_callbacks():
    """TensorBoard logs the rate of an epoch before the plateau lowers it."""
    page = (ROOT / "docs/journey_of_a_batch.md").read_text()
    rows = re.findall(r"(?m)^\d\. (?:The )?(\w+)", page)
    assert rows == ["evaluator", "TensorBoard", "plateau", "checkpoint"]
    code = (ROOT / "trainers/fit.py").read_text()
    made = code.partition("    callbacks = [")[2].partition("    ]")[0]
    order = ("validation,", "*watch(", "*_plateau(", "saver,\n")
    places = [made.index(name) for name in order]
    assert places == sorted(places)


def test_first_snippet_is_ten_lines():
    code = python_blocks(ROOT / "README.md")[0].splitlines()
    assert sum(bool(s) and "import " not in s for s in code) <= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "is_learned"),
    [
        ("f_statistic_loss", lambda found: found["modularity"] > 0.5),
        ("pair_and_triplet_losses", lambda found: found["recall"][1] > 0.5),
    ],
)
def test_examples_of_the_page_run(name, is_learned, capsys):
    page = ROOT / "docs" / f"{name}.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    losses = namespace["history"].history["loss"]
    assert losses[-1] < losses[0]
    assert is_learned(namespace)
    assert_prints_about(name, capsys.readouterr().out)


@pytest.mark.slow
def test_example_of_stochastic_prototypes_runs(capsys):
    namespace = {}
    page = ROOT / "docs/stochastic_prototypes.md"
    run(python_blocks(page), page.name, namespace)
    assert namespace["accuracy"] > 0.5, "of 10 classes"
    assert_prints_about("stochastic_prototypes", capsys.readouterr().out)


@pytest.mark.slow
def test_example_of_hedged_instances_runs(capsys):
    namespace = {}
    page = ROOT / "docs/hedged_instances.md"
    run(python_blocks(page), page.name, namespace)
    match, same = namespace["match"], namespace["same"]
    assert match[same].mean() > 2 * match[~same].mean()
    assert ((namespace["unclear"] > 0) & (namespace["unclear"] < 1)).all()
    sure = namespace["sure"]  # of points
    assert sure[same].mean() > 2 * sure[~same].mean()
    truth = namespace["labels"][~namespace["train"]][1::4]
    assert (namespace["predicted"] == truth).mean() > 0.5, "of 10 classes"
    assert_prints_about("hedged_instances", capsys.readouterr().out)


@pytest.mark.slow
def test_examples_of_the_page_of_speech_run():
    page = ROOT / "docs" / "speech.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    # 100 frames per second, 8000 samples; noise is loud all the time.
    assert namespace["x"].lengths.tolist() == [150, 88, 119, 200]
    probability = namespace["scores"]["probability"].numpy()
    assert probability.shape == (2,)
    assert (probability > 0).all() and (probability < 1).all()


@pytest.mark.slow
def test_examples_of_the_page_of_the_learned_distance_run(capsys):
    page = ROOT / "docs" / "learned_distance.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    assert namespace["recall"][1] > 0.5  # of ten classes
    asymmetry = namespace["properties"]["asymmetry"]
    assert asymmetry.shape == (100 * 99 // 2,) and asymmetry.max() < 1
    assert_prints_about("learned_distance", capsys.readouterr().out)


def test_links_of_the_documents_exist():
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for link in LINK.findall(document.read_text()):
            if "://" not in link:
                assert (document.parent / link).exists(), (document, link)


@pytest.mark.slow
def test_the_page_on_uncertainty(capsys):
    namespace = {}
    run(python_blocks(ROOT / "docs/uncertainty.md"), "uncertainty", namespace)
    clean, hidden = capsys.readouterr().out.strip().splitlines()[-2:]
    assert float(hidden.split()[1]) > float(clean.split()[1])
