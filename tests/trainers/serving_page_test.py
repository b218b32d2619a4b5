"""Every command and all code of docs/serving.md runs as printed."""

import json
import shutil

import numpy as np
import pytest

from tests.trainers.page_commands import DOCS
from tests.trainers.page_commands import run_page
from tools import served_open_set

PAGE = "serving.md"


@pytest.mark.slow
def test_every_block_runs_after_the_page_that_it_names(
    use_page, tmp_path, monkeypatch
):
    """The example of docs/use.md comes first, to its last command."""
    shutil.copytree(use_page[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(served_open_set, "NUM_DIVISIONS", 2)
    examples, classified, identified = run_page(PAGE)
    with np.load("examples.npz") as file:
        assert file["support"].shape == (30 * 5, 8, 16, 1)
        assert file["query_labels"].shape == (30 * 10,)
    assert {*examples["labels"]} >= {*classified["answers"].tolist()}
    with np.load("served.npz") as file:
        assert file["probability"].shape == (30 * 10, 30)
    versions = tmp_path / "saved_models" / "trained"
    assert {path.name for path in versions.iterdir()} == {"1", "2"}
    config = (tmp_path / "saved_models" / "models.config").read_text()
    trained = config.partition('name: "trained"')[2].partition("config {")[0]
    assert 'key: "stable"' in trained and "value: 2" in trained
    signature = identified["model"].signatures["identify_bytes"]
    assert "answer" in signature.structured_outputs
    gallery = tmp_path / "saved_models" / "numbers" / "1" / "assets.extra"
    classes = json.loads((gallery / "gallery.json").read_text())["classes"]
    assert len(classes) == 10 and "33" in classes and "88" not in classes


def test_no_command_of_the_page_is_outside_of_a_block():
    """Text that is only indented would not be run.

    The commands behind the generated table train for many minutes.
    """
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- open set table: begin -->")
    text = before + rest.partition("<!-- open set table: end -->")[2]
    assert "\n    python" not in text and "\n    import" not in text
