"""Tests of the folder of a run."""

import json
import os

import pytest

from trainers.config.run_config import run_from_config
from trainers.workdirs import workdir


def config(**fields):
    return run_from_config({"loss": {"name": "TripletLoss"}, **fields})


def test_other_kinds_of_damage_are_another_run(tmp_path):
    run = config(preprocess={"name": "degrade_randomly"})
    workdir.claim(tmp_path, "first", run)
    assert workdir.contains_run(tmp_path, run)
    other = {"name": "degrade_randomly", "kinds": ("blur",)}
    with pytest.raises(ValueError, match=r"kinds=\['occlusion'.*=\['blur'\]"):
        workdir.contains_run(tmp_path, config(preprocess=other))


def test_another_recipe_is_refused_by_name_of_the_field(tmp_path):
    workdir.claim(tmp_path, "first", config(encoder={"dim": 2}))
    workdir.claim(tmp_path, "first", config(encoder={"dim": 2}))
    with pytest.raises(ValueError, match=r"config.encoder.dim=2.*dim=3"):
        workdir.claim(tmp_path, "first", config(encoder={"dim": 3}))


def test_the_place_of_the_data_may_change(tmp_path):
    workdir.claim(tmp_path, "first", config())
    workdir.claim(tmp_path, "first", config(data_dir="elsewhere"))


def test_an_omitted_field_has_its_default(tmp_path):
    workdir.claim(tmp_path, "first", config())
    file = tmp_path / "config.json"
    found = json.loads(file.read_text())
    for name in ("precision", "piece_size", "images"):
        del found["config"][name]
    file.write_text(json.dumps(found))
    assert workdir.run_of_workdir(tmp_path)[1].training.precision == "float32"
    workdir.claim(tmp_path, "first", config(precision="float32", piece_size=0))
    with pytest.raises(
        ValueError, match=r"precision='float32'.*precision='mixed_float16'"
    ):
        workdir.claim(tmp_path, "first", config(precision="mixed_float16"))


def test_results_of_another_program_are_kept(tmp_path):
    file = tmp_path / "results.json"
    file.write_text('{"my_experiment": 1}')
    message = "but has no config.json .* move results.json away"
    with pytest.raises(ValueError, match=message):
        workdir.contains_run(tmp_path, config())
    with pytest.raises(ValueError, match=message):
        workdir.claim(tmp_path, "first", config())
    assert os.listdir(tmp_path) == ["results.json"]
    assert json.loads(file.read_text()) == {"my_experiment": 1}
    file.write_text("{}")
    workdir.claim(tmp_path, "first", config())
    file.write_text('{"training": 1}')
    assert workdir.contains_run(tmp_path, config())
