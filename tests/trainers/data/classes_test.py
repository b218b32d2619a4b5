"""A run, and a trial of a search, end on other classes."""

import json

import pytest

from trainers.data import classes
from trainers.workdirs.same_data import OtherDataError


@pytest.mark.parametrize(
    "change",
    [
        {"splits": {"train": {"ant": 2, "cow": 2}}},
        {"divided": {"train": ["b"]}},
        {"rows": {"train": "2"}},
    ],
)
def test_other_data_is_told_from_other_errors(change, tmp_path):
    """A search goes on after other errors of a trial."""
    before = {
        "dataset": "image_folder:photos",
        "splits": {"train": {"ant": 2, "bee": 2}},
        "divided": {"train": ["a"]},
        "rows": {"train": "1"},
    }
    (tmp_path / classes.FILE).write_text(json.dumps(before))
    classes.require_same_classes(tmp_path, before)
    with pytest.raises(OtherDataError):
        classes.require_same_classes(tmp_path, {**before, **change})
