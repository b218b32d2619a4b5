"""What the README shows runs as it stands."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
LINK = re.compile(r'\[[^\]"]+\]\(([^)#]+)\)')


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def test_readme_snippets_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(ROOT / "README.md")
    assert len(blocks) == 3
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)  # noqa: S102
    first, last = namespace["history"].history["loss"]
    assert last < first
    probabilities = namespace["probabilities"]
    assert probabilities.shape == (100, 20)
    assert (tmp_path / "saved_models" / "mine" / "1").is_dir()


def test_first_snippet_is_ten_lines():
    code = python_blocks(ROOT / "README.md")[0].splitlines()
    assert sum(bool(s) and "import " not in s for s in code) <= 10


@pytest.mark.parametrize(
    ("name", "is_learned"),
    [
        ("f_statistic_loss", lambda found: found["modularity"] > 0.5),
        ("pair_and_triplet_losses", lambda found: found["recall"][1] > 0.5),
    ],
)
def test_examples_of_the_page_run(name, is_learned):
    page = ROOT / "docs" / f"{name}.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    losses = namespace["history"].history["loss"]
    assert losses[-1] < losses[0]
    assert is_learned(namespace)


def test_examples_of_the_page_of_speech_run():
    page = ROOT / "docs" / "speech.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    # 100 frames a second, 8000 samples; noise is loud all the time.
    assert namespace["x"].lengths.tolist() == [150, 88, 119, 200]
    probability = namespace["scores"]["probability"].numpy()
    assert probability.shape == (2,)
    assert (probability > 0).all() and (probability < 1).all()


def test_examples_of_the_page_of_the_learned_distance_run():
    page = ROOT / "docs" / "learned_distance.md"
    namespace = {}
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), namespace)  # noqa: S102
    assert namespace["recall"][1] > 0.5  # of ten classes
    asymmetry = namespace["properties"]["asymmetry"]
    assert asymmetry.shape == (100 * 99 // 2,) and asymmetry.max() < 1


def test_links_of_the_documents_exist():
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for link in LINK.findall(document.read_text()):
            if "://" not in link:
                assert (document.parent / link).exists(), (document, link)
