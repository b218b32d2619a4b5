"""Tests that share what is expensive to make run in one process."""

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_the_groups_of_the_tests_are_kept(request):
    """pytest-xdist leaves them alone, silently, with a pytest it is not for."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("without --dist loadgroup there are none")
    assert request.node.nodeid.endswith("@groups")
