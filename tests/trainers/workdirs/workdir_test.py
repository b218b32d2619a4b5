"""Tests of the folder of a run."""

import json
import multiprocessing
import os
import re

import pytest

from trainers.config.run_config import run_from_config
from trainers.workdirs import workdir


def config(**fields):
    return run_from_config({"loss": {"name": "TripletLoss"}, **fields})


def test_atomic_write_replaces_and_leaves_nothing_beside(tmp_path):
    file = tmp_path / "a.json"
    workdir.write_json(file, {"a": 1})
    workdir.write_json(file, {"a": 2})
    assert json.loads(file.read_text()) == {"a": 2}
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_failed_write_keeps_the_old_file(tmp_path):
    file = tmp_path / "a.json"
    workdir.write_json(file, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        workdir.write_json(file, {"a": float("nan")})
    assert json.loads(file.read_text()) == {"a": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_another_recipe_is_refused_by_name_of_the_field(tmp_path):
    workdir.claim(tmp_path, "first", config(encoder={"dim": 2}))
    workdir.claim(tmp_path, "first", config(encoder={"dim": 2}))
    with pytest.raises(ValueError, match=r"config.encoder.dim=2.*dim=3"):
        workdir.claim(tmp_path, "first", config(encoder={"dim": 3}))


def test_the_place_of_the_data_may_change(tmp_path):
    workdir.claim(tmp_path, "first", config())
    workdir.claim(tmp_path, "first", config(data_dir="elsewhere"))


def test_older_runs_get_the_default_of_a_new_field(tmp_path):
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


def test_results_merge(tmp_path):
    workdir.update_results(tmp_path, training={"a": 1})
    workdir.update_results(tmp_path, evaluation={"b": 2})
    assert json.loads((tmp_path / "results.json").read_text()) == {
        "training": {"a": 1},
        "evaluation": {"b": 2},
    }


def _hold(path, held, done):
    with workdir.open_workdir(path):
        held.set()
        done.wait(60)


def test_a_second_process_is_refused(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(str(tmp_path), held, done))
    holder.start()
    try:
        assert held.wait(60)
        with pytest.raises(BlockingIOError, match="another process works in"):
            with workdir.open_workdir(str(tmp_path)):
                pass
    finally:
        done.set()
        holder.join(60)
    with workdir.open_workdir(str(tmp_path)):
        pass


def test_a_workdir_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write to the workdir"):
        with workdir.open_workdir(str(tmp_path / "file" / "run")):
            pass


@pytest.mark.parametrize("name", ["runs", "runs/a/b"])
def test_a_link_whose_target_is_not_mounted_stays(name, tmp_path):
    link, target = tmp_path / "runs", tmp_path / "unmounted"
    link.symlink_to(target)
    message = f"{link} is a symbolic link to {target}, which does not exist"
    with pytest.raises(ValueError, match=re.escape(message)):
        with workdir.open_workdir(str(tmp_path / name)):
            pass
    assert link.readlink() == target
    target.mkdir()
    with workdir.open_workdir(str(tmp_path / name)):
        pass
    assert link.readlink() == target and not [*target.iterdir()]


def test_a_link_is_not_absent(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    found = workdir.absent(tmp_path / n for n in ("link", "folder", "new"))
    assert found == [tmp_path / "new"]


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(ValueError, match="contains no run"):
        with workdir.open_workdir(str(tmp_path), create=False):
            pass
