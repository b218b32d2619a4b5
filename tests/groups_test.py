"""Tests that share an expensive fixture run in one process."""

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_the_groups_of_the_tests_are_kept(request):
    """pytest-xdist silently ignores the groups with an unsupported pytest."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("without --dist loadgroup there are none")
    assert request.node.nodeid.endswith("@groups")
