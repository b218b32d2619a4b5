"""The run that the tests of the trainers share."""

import pytest

from tests.trainers.train_test import train


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory):
    """The workdir of a tiny training that nothing disturbed."""
    workdir = tmp_path_factory.mktemp("unbroken") / "run"
    code, out, err = train(workdir)
    assert code == 0, err
    assert err == "", "start-up is quiet"
    assert f"trainers.evaluate --workdir {workdir}" in out
    return workdir
