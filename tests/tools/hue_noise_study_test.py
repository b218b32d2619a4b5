"""The study of the range of the hue noise in training."""

import pathlib

import numpy as np

from benchmarks import _hue_noise_90
from embeddings_tf.datasets import load
from tests.read_between import read_between
from tools import hue_noise_study as study
from tools.generated_text import NOT_RUN
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

RECIPE = "colour_orientation_stochastic_prototypes"


def test_the_page_has_the_table_of_the_result_files():
    found = study.kept_results(study.RESULTS)
    page = read_between(study.PAGE, study.BEGIN, study.END)
    assert page == study.table(found)


def test_images_with_half_of_the_noise():
    x, labels = load("colour_orientation", "validation")
    half, same = _hue_noise_90.images("validation")
    np.testing.assert_array_equal(labels, same)
    np.testing.assert_allclose(half.hue_noise, x.hue_noise / 2)
    assert 85 < half.hue_noise.max() <= 90
    assert study.LARGEST["colour_orientation"] / 2 == _hue_noise_90.LARGEST


def test_a_row_for_each_axis():
    assert study.table({}) == NOT_RUN
    machine = {"commit": "abcdefabcdef", "processor": "one", "cores": 1}

    def run(*overrides):
        curves = {"colour": [2.0, 1.0, 5.0], "orientation": [4.0, 1.0, 2.0]}
        noise = {"levels": [0.0, 30.0, 60.0], **curves}
        return {
            "recipe": RECIPE,
            "config": recipe_fields(load_recipe(RECIPE, [*overrides])),
            "training": {"steps": 1000, "commit": "1234567890"},
            "study": {"hue_noise": noise, **machine},
        }

    data = "dataset=benchmarks/_hue_noise_90.py:images"
    narrow = run(data, "evaluation.name=few_shot")
    found = {pathlib.Path("a"): run(), pathlib.Path("b"): narrow}
    lines = study.table(found).splitlines()
    assert lines[0].endswith("| variance of | 0 | 30 | 60 |")
    assert lines[2:6] == [
        "| up to 90 | colour | 1.00 | 0.50 | 2.50 |",
        "| up to 90 | orientation | 1.00 | 0.25 | 0.50 |",
        "| up to 180 | colour | 1.00 | 0.50 | 2.50 |",
        "| up to 180 | orientation | 1.00 | 0.25 | 0.50 |",
    ]
    command = next(line for line in lines if "_hue_noise_90" in line)
    assert "hue_noise_study runs/hue_noise_90" in command
    assert "trainers.evaluate" not in command
