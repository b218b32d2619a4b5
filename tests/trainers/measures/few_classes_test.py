"""Intervals over episodes of few test classes say what they leave out."""

from trainers.measures.few_classes import FEW_TEST_CLASSES
from trainers.measures.few_classes import few_classes_lines


def test_few_classes_are_named_with_a_remedy():
    enough = FEW_TEST_CLASSES
    assert few_classes_lines([enough, enough + 1]) == []
    text = "\n".join(few_classes_lines([enough, enough - 1, 2, 2]))
    assert f"the same 2, {enough - 1} test classes" in text
    assert "nothing about" in text and "another training" in text
    for remedy in ("--config.seed", "--config.division.seed", "compare"):
        assert remedy in text
