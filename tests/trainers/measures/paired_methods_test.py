import numpy as np
import pytest
from scipy import stats

from trainers.measures.paired_methods import methods_table
from trainers.measures.paired_methods import paired_methods

BETTER = [0.80, 0.82, 0.90, 0.85]
WORSE = [0.70, 0.75, 0.80, 0.85]


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_differences_are_paired(higher_is_better):
    found = paired_methods({"b": WORSE, "a": BETTER}, higher_is_better)
    best, other = ("a", "b") if higher_is_better else ("b", "a")
    assert list(found) == [best, other]
    assert found[best]["interval"] is None
    test = stats.ttest_rel(
        *({"a": BETTER, "b": WORSE}[m] for m in (other, best))
    )
    np.testing.assert_allclose(
        found[other]["interval"], test.confidence_interval(0.95)
    )
    np.testing.assert_allclose(
        found[other]["difference"], np.mean(found[other]["interval"])
    )


def test_intervals_of_repeats_that_divide_the_data_anew():
    """Nadeau & Bengio 2003: 1 / n becomes 1 / n + test / train."""
    plain, wider = (
        paired_methods({"a": BETTER, "b": WORSE}, True, ratio)["b"]
        for ratio in (0.0, 0.25)
    )
    ratio = np.ptp(wider["interval"]) / np.ptp(plain["interval"])
    np.testing.assert_allclose(ratio, np.sqrt(2))  # 1 / 4 twice
    assert wider["difference"] == plain["difference"]


def test_table_says_what_is_not_decided():
    methods = paired_methods(
        {"a": BETTER, "b": WORSE, "c": [v - 0.3 for v in BETTER]}, True
    )
    text = methods_table(
        {
            "methods": methods,
            "number": "recall@1",
            "higher_is_better": True,
            "seconds": {"a": 1, "b": 2, "c": 3},
            "budgets": {
                name: {"examples_per_batch": 96, "examples": 96_000}
                for name in methods
            },
        }
    )
    assert text.count("       96     96,000") == 3
    assert "recall@1 (higher is better), 4 repeats" in text
    assert "Not decided by 4 repeats: b." in text
