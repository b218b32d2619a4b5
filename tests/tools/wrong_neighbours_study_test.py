"""The study of wrong neighbours among few and many classes."""

import numpy as np
import pytest

from tests.read_between import read_between
from tools import wrong_neighbours_study as study


def test_the_page_has_the_table_of_the_result_files():
    found = study.kept_results(study.RESULTS)
    page = read_between(study.PAGE, study.BEGIN, study.END)
    assert page == study.table(found)


@pytest.mark.slow
def test_among_two_of_three_classes():
    # Classes at 0, 1 and 10, two images each. The second image of class 1 lies
    # between the images of class 0, so with both classes the neighbours of
    # three images are wrong: of 0, of 0.2 and of 0.1. The neighbour of 1 is
    # 0.2, so it is wrong, too.
    points = np.array([[0.0], [0.2], [1.0], [0.1], [10.0], [10.1]])
    labels = np.array([0, 0, 1, 1, 2, 2])
    values = np.array([3.0, 3, 3, 3, 1, 2])
    found = study.among_classes(points, labels, {"head": values}, "l2", (2,))
    assert [row["classes"] for row in found] == [2, 3]
    # All classes: 4 of 6 are wrong, and all have the larger values.
    assert found[1]["wrong"] == pytest.approx(4 / 6)
    assert found[1]["head"] == 1.0
    # Two classes: 0 and 1 have four wrong images. With class 2, none of both.
    rng, classes = np.random.default_rng(0), np.unique(labels)
    draws = [
        set(rng.choice(classes, 2, replace=False))
        for _ in range(study.DRAWN // 2)
    ]
    share = np.mean([draw == {0, 1} for draw in draws])
    assert found[0]["wrong"] == pytest.approx(share)
