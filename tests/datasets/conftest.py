"""Fixtures of tests of datasets."""

import pytest


@pytest.fixture
def manual(tmp_path, monkeypatch):
    """The folder of original files, named by the environment; not made yet."""
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMBEDDINGS_TF_MANUAL", str(tmp_path / "manual"))
    return tmp_path / "manual"
