"""Searches through the real entry point, on tiny data: killed, and parallel."""

import contextlib
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import types

import pytest

from tests.processes import Command
from tests.trainers.train_test import run_with_import
from trainers import command_line
from tuning import chief
from tuning import search

ROOT = pathlib.Path(__file__).parents[2]
# The first four trials of this seed: work with decay, diverge, work with
# decay, fail.
WORDS = ("--config", "tests/trainers/tiny.py", "--seed", "6", "--trials", "4")
WORDS += ("--space", "tests/tuning/tiny_space.py", "--config.num_epochs=2")
STATUS = ["completed", "diverged", "completed", "failed"]


def start(workdir, *words, **options):
    return start_module(
        "tuning.search", *WORDS, *words, "--workdir", workdir, **options
    )


def start_module(module, *words, stdout=None, **environment):
    # Sums depend on the number of threads in their last digit.
    environment = {"TF_NUM_INTRAOP_THREADS": "1", **environment}
    return Command(
        module, *words, env={**os.environ, **environment}, stdout=stdout
    )


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, f"{out}{err}"
    assert err == ""
    return out


def results(workdir):
    return json.loads((workdir / "results.json").read_text())


def wait_for(condition, process):
    """Waits for a condition; fails if the process ends before."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def assert_equal_searches(first, second):
    """Equal except for durations and commits."""
    left, right = (results(path)["trials"] for path in (first, second))
    for row in (*left, *right):
        for name in ("seconds", "commit"):
            row.pop(name, None)
    assert left == right
    assert (first / "best.py").read_text() == (second / "best.py").read_text()


@pytest.fixture(scope="module")
def search_run(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("search") / "unbroken"
    words = (*WORDS, "--workdir", workdir)
    code, out, err = run_with_import(
        "tuning.search", *words, TF_NUM_INTRAOP_THREADS="1"
    )
    assert code == 0, err
    assert err == "", "start-up is quiet"
    assert f"trainers.train --config {workdir / 'best.py'}" in out
    assert "--config.num_epochs=4" in out, "the recipe's own length"
    assert f"Picture: {workdir / 'search.png'}" in out
    assert (workdir / "search.png").is_file()
    return workdir


@pytest.mark.slow
def test_failed_and_diverged_trials_are_recorded(search_run):
    found = results(search_run)
    assert [row["status"] for row in found["trials"]] == STATUS
    assert "num_samples" in found["trials"][3]["message"]
    assert "loss became" in found["trials"][1]["message"]
    for name in ("recipe", "seed", "commit", "processor", "seconds"):
        assert name in found
    values = [
        row["objective"]
        for row in found["trials"]
        if row["status"] == "completed"
    ]
    assert found["best"]["objective"] == max(values)
    # Each trial is a run whose results contain its value.
    for row in found["trials"]:
        run = search_run / "trials" / f"trial_{row['trial']}"
        if row["status"] == "completed":
            training = results(run)["training"]
            assert row["objective"] == training["best_value"]


@pytest.mark.slow
def test_conditional_values_are_in_the_table_where_they_apply(search_run):
    with open(search_run / "trials.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["status"] for row in table] == STATUS
    for row in table:
        assert bool(row["decay"]) == (row["outcome"] == "work with decay")
        assert 1e-3 <= float(row["optimizer.learning_rate"]) <= 1e-2


def hparams_of(folder):
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams import plugin_data_pb2

    events = event_accumulator.EventAccumulator(str(folder)).Reload()
    content = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG)
    data = plugin_data_pb2.HParamsPluginData.FromString(
        content.plugin_data.content
    )
    return events, data.session_start_info.hparams


@pytest.mark.slow
def test_tensorboard_has_the_values_of_a_trial(search_run):
    for row in results(search_run)["trials"]:
        run = search_run / "trials" / f"trial_{row['trial']}"
        if row["status"] == "failed":  # failed before it was a run
            continue
        events, shown = hparams_of(run / "tensorboard")
        assert set(shown) == set(row["values"])
        rate = "optimizer.learning_rate"
        expected = pytest.approx(row["values"][rate])
        assert shown[rate].number_value == expected
        has_value = "val_few_shot_accuracy" in events.Tags()["tensors"]
        assert has_value == (row["status"] == "completed")


@pytest.mark.slow
def test_the_winner_is_a_recipe_that_trains_to_the_same_value(
    search_run, tmp_path
):
    workdir = tmp_path / "best"
    words = ("--config", search_run / "best.py", "--workdir", workdir)
    finish(start_module("trainers.train", *words))
    value = results(workdir)["training"]["best_value"]
    assert value == results(search_run)["best"]["objective"]


@pytest.mark.slow
def test_the_winner_of_a_recipe_without_folds_is_trained(search_run, tmp_path):
    workdir = tmp_path / "winner"
    words = ("--search", search_run, "--batches", 20, "--workdir", workdir)
    finish(start_module("tuning.winner", *words))
    found, best = results(workdir), results(search_run)["best"]
    assert found["training"]["steps"] == 20
    assert {"evaluation", "search"} <= set(found)
    assert found["search"]["values"] == best["values"]
    assert found["search"]["trial"] == best["trial"]


def workers(log):
    """Process ids of workers, from the output of their launcher."""
    found = re.findall(r"worker_(\d): process (\d+)", log.read_text())
    return {int(number): int(pid) for number, pid in found}


@pytest.mark.slow
def test_killed_a_search_goes_on_and_ends_the_same(search_run, tmp_path):
    workdir, log = tmp_path / "search", tmp_path / "out.txt"
    checkpoint = workdir / "trials" / "trial_2" / "checkpoints" / "latest.keras"
    process = start(workdir, "--workers", "1", stdout=log)
    wait_for(checkpoint.exists, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 30
    while is_running(workers(log)[1]):
        assert time.monotonic() < end, "the worker outlives its launcher"
        time.sleep(0.1)
    # One process takes over from the chief and its worker.
    assert "Resuming after 2 trials" in finish(start(workdir))
    assert_equal_searches(search_run, workdir)


@pytest.mark.slow
def test_a_killed_worker_is_replaced(search_run, tmp_path):
    workdir, log = tmp_path / "search", tmp_path / "out.txt"
    oracle = workdir / "trials" / "oracle.json"

    def at_work():
        if not oracle.exists():
            return False
        return "worker_1" in json.loads(oracle.read_text())["ongoing_trials"]

    process = start(workdir, "--workers", "2", stdout=log)
    wait_for(at_work, process)
    killed = workers(log)[1]
    os.kill(killed, signal.SIGKILL)
    finish(process)
    assert "worker_1 was killed (SIGKILL)" in log.read_text()
    assert workers(log)[1] != killed
    assert_equal_searches(search_run, workdir)


@pytest.mark.slow
def test_chief_and_worker_started_by_hand(search_run, tmp_path):
    """In either order; also if the search is already over."""
    workdir = tmp_path / "search"
    shutil.copytree(search_run, workdir)
    for sentence in ("waiting for workers", "that it is over"):
        address = {
            "KERASTUNER_ORACLE_IP": "127.0.0.1",
            "KERASTUNER_ORACLE_PORT": str(chief.free_port()),
        }
        worker, first = (
            start(
                workdir,
                *("--trials", "5"),
                KERASTUNER_TUNER_ID=name,
                **address,
            )
            for name in ("some_host", "chief")
        )
        assert sentence in finish(first)
        finish(worker)
    other = start(
        workdir,
        "--config.seed=1",
        KERASTUNER_TUNER_ID="other_host",
        **address,
    )
    out, err = other.communicate(timeout=300)
    assert other.returncode == 1, out
    assert "config.seed=0; this one has config.seed=1" in err
    rows = results(workdir)["trials"]
    assert rows[:4] == results(search_run)["trials"]
    assert [row["trial"] for row in rows[4:]] == ["4"]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_a_finished_search_says_so_and_another_seed_is_refused(
    search_run, capsys, monkeypatch
):
    monkeypatch.chdir(ROOT)
    before = results(search_run)["trials"]
    words = [*WORDS, "--workdir", str(search_run)]
    assert search.main(words) == 0
    assert "Best of 4 trials" in capsys.readouterr().out
    assert results(search_run)["trials"] == before
    assert search.main([*words, "--seed", "7"]) == 1
    assert "config.search.search_seed=6" in capsys.readouterr().err


@pytest.mark.slow
def test_a_search_in_this_process(tmp_path, capsys, monkeypatch):
    """One trial; its value is in its results."""
    monkeypatch.chdir(ROOT)
    workdir = tmp_path / "search"
    words = [*WORDS, "--trials", "1", "--config.deterministic=False"]
    assert search.main([*words, "--workdir", str(workdir)]) == 0
    found = results(workdir)
    (row,) = found["trials"]
    training = results(workdir / "trials" / f"trial_{row['trial']}")["training"]
    assert row["status"] == "completed"
    assert row["objective"] == training["best_value"]
    assert found["best"]["objective"] == training["best_value"]
    assert f"--config {workdir / 'best.py'}" in capsys.readouterr().out
    again = search.search(
        "tests/trainers/tiny.py",
        str(workdir),
        ["num_epochs=2", "deterministic=False"],
        space="tests/tuning/tiny_space.py",
        num_trials=1,
        seed=6,
    )
    assert again["trials"] == found["trials"], "the search was over"
    assert again == results(workdir)


def test_values_are_checked_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = "tests/trainers/tiny.py", str(tmp_path / "search")
    space = "tests/tuning/tiny_space.py"
    for more, message in (
        ({"num_trials": 0}, "--trials must be at least 1; received 0"),
        ({"num_trials": 1, "seed": -1}, "--seed must be at least 0"),
        ({"num_trials": 1, "num_workers": -1}, "--workers must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            search.search(*words, space=space, **more)
    assert not (tmp_path / "search").exists()


def test_a_worker_makes_the_same_search():
    """Also with a folder and values that begin with a dash or have blanks."""
    asked = {
        "recipe": "my recipe.py",
        "space": "n_digit",
        "objective": "-loss",
        "direction": "min",
        "search_seed": 3,
        "num_trials": 7,
        "overrides": ["num_epochs=2", "optimizer.name=a b"],
    }
    words = search.words_of_worker(pathlib.Path("-a b"), asked)
    found = command_line.parse(search.parser(), words)
    assert vars(found) == {
        "config": "my recipe.py",
        "space": "n_digit",
        "objective": "-loss",
        "direction": "min",
        "seed": 3,
        "trials": 7,
        "workers": 0,
        "workdir": "-a b",
        "overrides": asked["overrides"],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--space", "nothing"), "unknown space 'nothing'"),
        (("--space", "f_statistic"), "loss"),
        (("--trials", "0"), "--trials must be at least 1"),
        (("--config.strategy=multi_worker",), "a trial is one process"),
        (("--objective", ""), "--objective='' is not in"),
        (("--objective", "val_eer"), "--objective='val_eer' is not in"),
        (("--config.dataset=n_digit/4_number",), "4_number"),
    ],
)
def test_bad_input_ends_in_one_line_before_any_trial(
    words, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(ROOT)
    workdir = tmp_path / "search"
    assert search.main([*WORDS, "--workdir", str(workdir), *words]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err
    assert not list(workdir.glob("trials/trial_*"))


def test_an_error_at_the_end_does_not_hide_the_first(
    tmp_path, capsys, monkeypatch
):
    def fails(message):
        def fail(*_):
            raise OSError(message)

        return fail

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(search, "_check_recipe", lambda *_: None)
    monkeypatch.setattr("tuning.tuner.Tuner.search", fails("the first"))
    monkeypatch.setattr(search.SearchReport, "update", fails("the second"))
    assert search.main([*WORDS, "--workdir", str(tmp_path / "search")]) == 1
    assert capsys.readouterr().err == "error: the first\n"


def test_a_port_that_is_taken_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KERASTUNER_TUNER_ID", "chief")
    monkeypatch.setenv("KERASTUNER_ORACLE_IP", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("KERASTUNER_ORACLE_PORT", port)
        assert search.main([*WORDS, "--workdir", str(tmp_path / "s")]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize("error", [None, OSError("disk full")])
def test_the_next_search_of_a_process_has_a_new_role(error, monkeypatch):
    for name in chief.CHIEF:
        monkeypatch.delenv(name, raising=False)
    oracle = types.SimpleNamespace(finished=False, error=error, tuner_ids=())
    seen = {}

    @contextlib.contextmanager
    def workers(*_):
        seen.update(os.environ)
        oracle.finished = True
        yield

    monkeypatch.setattr("tuning.local_workers.LocalWorkers", workers)
    tuner = types.SimpleNamespace(oracle=oracle, serve=lambda: None)
    report = types.SimpleNamespace(
        path="", say=print, update_if_changed=lambda: None
    )
    with pytest.raises(OSError) if error else contextlib.nullcontext():
        chief.serve(tuner, report, 1, [])
    assert seen["KERASTUNER_TUNER_ID"] == "chief"
    assert not set(chief.CHIEF) & set(os.environ)
    assert chief.role_of_this_process(1) == "launcher"
    assert chief.role_of_this_process(0) == "alone"


def test_an_incomplete_environment_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("KERASTUNER_TUNER_ID", "chief")
    assert search.main([*WORDS, "--workdir", str(tmp_path / "search")]) == 1
    assert "KERASTUNER_ORACLE_IP" in capsys.readouterr().err


def test_a_worker_without_a_chief_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(search, "WAIT_SECONDS", 0)
    for name, value in zip(
        chief.CHIEF, ("worker", "127.0.0.1", "1"), strict=True
    ):
        monkeypatch.setenv(name, value)
    assert search.main([*WORDS, "--workdir", str(tmp_path / "search")]) == 1
    out, err = capsys.readouterr()
    assert f"Waiting for the chief, which writes {tmp_path}" in out
    assert "start the chief with the same --workdir" in err


def test_help_needs_no_tensorflow():
    check = (
        "import sys; sys.argv = ['search', '--help']\n"
        "from tuning import search\n"
        "try: search.main()\n"
        "except SystemExit: pass\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=True, capture_output=True
    )
