"""Tests of the folder of a run."""

import builtins
import contextlib
import errno
import json
import multiprocessing
import os
import pathlib
import re
import shutil

import pytest

from embeddings_tf.ops.atomic_file import atomic_file
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


def test_older_runs_were_trained_with_the_default_kinds_of_damage(tmp_path):
    run = config(preprocess={"name": "degrade_randomly"})
    workdir.claim(tmp_path, "first", run)
    file = tmp_path / "config.json"
    found = json.loads(file.read_text())
    assert "blur" not in found["config"]["preprocess"].pop("kinds")
    file.write_text(json.dumps(found))
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


def test_heads_of_older_runs_have_no_penalty(tmp_path):
    head = {"name": "UncertaintyHead", "dropout": 0.1}
    found = workdir.resolved(workdir.as_json(config(uncertainty=head)))
    assert found["uncertainty"]["novelty_weight"] > 0
    del found["uncertainty"]["novelty_weight"]
    older = workdir.resolved(found)["uncertainty"]
    assert older["novelty_weight"] == 0
    assert older["dropout"] == 0.1
    assert workdir.resolved({"loss": {"name": "TripletLoss"}})
    workdir.claim(tmp_path, "first", config(uncertainty=head))
    file = tmp_path / "config.json"
    written = json.loads(file.read_text())
    del written["config"]["uncertainty"]["novelty_weight"]
    file.write_text(json.dumps(written))
    run = workdir.run_of_workdir(tmp_path)[1]
    assert run.uncertainty.arguments["novelty_weight"] == 0
    assert workdir.changed_fields(tmp_path, run) == []


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


def _hold(path, held, done, function):
    with function(path):
        held.set()
        done.wait(60)


@contextlib.contextmanager
def held_by_another(path, function):
    """Opens a workdir in another process."""
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    arguments = (str(path), held, done, function)
    holder = context.Process(target=_hold, args=arguments)
    holder.start()
    try:
        assert held.wait(60)
        yield
    finally:
        done.set()
        holder.join(60)


def test_a_second_process_is_refused(tmp_path):
    workdir.claim(tmp_path, "first", config())
    with held_by_another(tmp_path, workdir.open_workdir):
        for function in (workdir.open_workdir, workdir.read_workdir):
            with pytest.raises(BlockingIOError, match="another process works"):
                with function(str(tmp_path)):
                    pass
    with workdir.open_workdir(str(tmp_path)):
        pass


def test_a_second_process_that_reads(tmp_path):
    workdir.claim(tmp_path, "first", config())
    (tmp_path / ".lock").touch()
    with held_by_another(tmp_path, workdir.read_workdir):
        with workdir.read_workdir(str(tmp_path)) as path:
            assert path == tmp_path
        with pytest.raises(BlockingIOError, match="another process works in"):
            with workdir.open_workdir(str(tmp_path)):
                pass


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A run whose folder refuses writes; root could write otherwise."""
    workdir.claim(tmp_path, "first", config())

    def refuse(file, mode="r", *more, **options):
        if mode != "r" and tmp_path in pathlib.Path(file).parents:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return builtins.open(file, mode, *more, **options)

    monkeypatch.setattr(workdir, "open", refuse, raising=False)
    return tmp_path


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_run_in_a_read_only_folder_can_be_read(read_only, has_lock):
    if has_lock:
        (read_only / ".lock").touch()
    with workdir.read_workdir(str(read_only)) as path:
        assert workdir.run_of_workdir(path)[0] == "first"
    assert (read_only / ".lock").exists() == has_lock


def test_a_run_in_a_read_only_folder_cannot_be_opened(read_only):
    """The remedy keeps the run, which another folder does not have."""
    message = "Read-only file system; make it writable, or name a writable copy"
    with pytest.raises(OSError, match=message):
        with workdir.open_workdir(str(read_only), create=False):
            pass
    with pytest.raises(OSError, match="choose another with --workdir"):
        with workdir.open_workdir(str(read_only)):
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
    with pytest.raises(ValueError, match="contains no run"):
        with workdir.read_workdir(str(tmp_path)):
            pass


def test_a_folder_removed_at_work_does_not_hide_the_error(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with workdir.open_workdir(str(tmp_path / "run")) as path:
            shutil.rmtree(path)
            raise ZeroDivisionError


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


def test_what_a_killed_process_left_is_removed(tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints" / ".writing.keras").write_text("")
    kept = {".lock", "checkpoints", ".notes.json", ".results.old.json"}
    kept |= {"config.json", "results.json"}
    for name in kept - {"checkpoints"}:
        (run / name).write_text("")
    for name in ("config.json", "results.json", "checkpoints/best.keras"):
        with atomic_file(run / name) as temporary:
            temporary.write_text("")
        temporary.write_text("")  # as after a kill before it was renamed
    with workdir.open_workdir(str(run)):
        assert {path.name for path in run.iterdir()} == kept
        assert os.listdir(run / "checkpoints") == ["best.keras"]


def test_files_of_a_running_process_are_not_removed(tmp_path):
    with workdir.open_workdir(str(tmp_path)):
        with atomic_file(tmp_path / "results.json") as temporary:
            temporary.write_text("{}")
            with pytest.raises(BlockingIOError):
                with workdir.open_workdir(str(tmp_path)):
                    pass
    assert (tmp_path / "results.json").read_text() == "{}"
