"""The example of docs/learned_distance.md: PLDA of a trained model."""

import shutil

import numpy as np

from tests.trainers.page_commands import DOCS


def test_pairs_of_one_class_have_larger_ratios(colours, tmp_path, monkeypatch):
    shutil.copytree(colours / "run", tmp_path / "runs" / "verify_triplet")
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "learned_distance.md").read_text(encoding="utf-8")
    section = page.partition("### PLDA of a trained model\n")[2]
    lines = section.partition("\nA learned distance")[0].splitlines()
    code = [line[4:] for line in lines if line.startswith("    ")]
    names = {"np": np}
    exec("\n".join(code), names)
    ratios = names["ratios"]
    same = names["labels"][:, None] == names["labels"]
    np.fill_diagonal(same, False)
    different = ratios[names["labels"][:, None] != names["labels"]]
    assert np.median(ratios[same]) > 1 > 0 > np.median(different)
