"""A training that waits for its input gets advice that applies to it."""

import dataclasses

import pytest

from trainers.config.run import Backbone
from trainers.config.run import DataFields
from trainers.config.run import Images
from trainers.config.run import Part
from trainers.data.wait_hint import wait_hint

SLOW = {"input_wait": 0.5, "seconds": 90.0, "steps": 500}
PREPROCESS = Part("shift_and_mirror", {})


def test_images_are_cached():
    fields = DataFields("image_folder:photos", images=Images(cache_gib=2.5))
    assert wait_hint(fields, SLOW) == (
        "50 % of the step time was spent waiting for input: keep decoded "
        "examples in memory or in a memory-mapped array (image files: "
        "config.images.cache_gib, now 2.5), or use more cores "
        "(docs/training.md)."
    )


def test_recordings_are_not_images():
    fields = DataFields("audio_folder:voices", front_end=Part("log_mel", {}))
    assert "cache_gib" not in wait_hint(fields, SLOW)
    assert "memory-mapped" in wait_hint(fields, SLOW)


def in_memory(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("x,label\n1,a\n")
    return [
        DataFields("arrays:a.npz"),
        DataFields(f"csv:{table}"),
        DataFields("omniglot", backbone=Backbone("MobileNetV2")),
    ]


def test_data_in_memory_can_only_be_preprocessed_less(tmp_path):
    for fields in in_memory(tmp_path):
        assert wait_hint(fields, SLOW) == ""
        fields = dataclasses.replace(fields, preprocess=PREPROCESS)
        assert wait_hint(fields, SLOW).endswith(
            "waiting for input: do less in config.preprocess, or use more "
            "cores (docs/training.md)."
        )


@pytest.mark.parametrize(
    "change", [{"input_wait": 0.2}, {"seconds": 59.0}, {"steps": 12}]
)
def test_little_says_nothing(change):
    fields = DataFields("image_folder:photos")
    assert wait_hint(fields, SLOW | change) == ""
