"""Committed results come from committed code."""

import re
from pathlib import Path

import pytest

from trainers.workdirs import provenance

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
MARKED = re.compile(r'"commit": "(?![0-9a-f]{40}")[^"]*"')


def test_no_result_was_made_by_code_with_changes():
    files = sorted(RESULTS.rglob("*.json"))
    assert len(files) > 80
    marked = [
        f"{path.relative_to(RESULTS)}: {found.group()}"
        for path in files
        for found in MARKED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not marked, "\n".join(marked)


def test_only_a_clean_commit_counts():
    clean = f'"commit": "{"ab" * 20}"'
    assert not MARKED.search(clean)
    for commit in ("ab" * 20 + "-dirty", "installed", "abcdef", ""):
        assert MARKED.search(f'"commit": "{commit}"')


@pytest.mark.parametrize(("changed", "mark"), [("", ""), (" M x", "-dirty")])
def test_changes_are_marked(monkeypatch, changed, mark):
    answers = {"ls-files": "", "status": changed, "rev-parse": "ab" * 20}

    def run(words, **_):
        class Done:
            stdout = answers[words[3]]

        return Done

    monkeypatch.setattr(provenance.subprocess, "run", run)
    found = provenance.provenance()
    assert found["commit"] == "ab" * 20 + mark
    for name in ("numpy", "scikit_learn", "tensorflow", "keras"):
        assert re.fullmatch(r"\d+\.\d+[\d.]*\S*", found[name])
    assert found["load"] >= 0
