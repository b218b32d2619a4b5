"""The oracle's state after kills, and the next worker of a trial."""

import json
import os
import threading
import types

import keras_tuner
import pytest
import tensorflow as tf
from tensorboard.plugins.hparams import plugin_data_pb2

from tests.trainers.training.checkpoint_test import files_of_at_most
from trainers.config import load_recipe
from trainers.config import own_code_hashes
from trainers.data.classes import require_same_classes
from trainers.data.classes import require_same_features
from trainers.training import checkpoint
from trainers.workdirs import workdir
from trainers.workdirs.json_files import write_json
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.other_data_error import OtherDataError
from tuning import search_files
from tuning import search_report
from tuning import tuner
from tuning.local_workers import MAX_KILLS
from tuning.local_workers import LocalWorkers
from tuning.trial_files import write_hparams

FAILED, RUNNING = "FAILED", "RUNNING"


def make_oracle(folder, num_trials=3, values=(1, 2, 3, 4, 5, 6)):
    oracle = tuner.Oracle(
        objective=keras_tuner.Objective("score", "max"),
        max_trials=num_trials,
        seed=1,
    )
    oracle.hyperparameters.Choice("x", list(values))
    oracle._set_project_dir(str(folder), "trials")
    oracle.reload()
    return oracle


def end(oracle, trial, status=FAILED):
    trial.status = status
    oracle.end_trial(trial)


def ended_trial(oracle):
    trial = oracle.create_trial("a")
    oracle.update_trial(trial.trial_id, {"score": 1.0})
    end(oracle, trial, "COMPLETED")


def drawn(oracle):
    return {
        name: trial.hyperparameters.values
        for name, trial in oracle.trials.items()
    }


def test_a_worker_that_comes_back_gets_its_trial_again(tmp_path):
    oracle = make_oracle(tmp_path)
    first, other = oracle.create_trial("a"), oracle.create_trial("b")
    oracle = make_oracle(tmp_path)
    assert oracle.create_trial("b").trial_id == other.trial_id
    assert oracle.create_trial("a").trial_id == first.trial_id
    assert list(oracle.ongoing_trials) == ["a", "b"]


@pytest.mark.parametrize("name", ["d[m]", "d*", "d?"])
def test_a_search_in_a_folder_that_looks_like_a_pattern_goes_on(name, tmp_path):
    """The folder `dm`, which each pattern matches, has another search."""
    for values, folder in (((7,), "dm"), ((1, 2, 3), name)):
        oracle = make_oracle(tmp_path / folder, values=values)
        end(oracle, oracle.create_trial("a"))
    again = make_oracle(tmp_path / name, values=(1, 2, 3))
    assert drawn(again) == drawn(oracle)
    assert drawn(again)["0"]["x"] != 7


def test_a_trial_without_a_worker_is_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr(tuner, "ORPHANED_SECONDS", 0)
    oracle = make_oracle(tmp_path, num_trials=2)
    lost = oracle.create_trial("dead")
    end(oracle, oracle.create_trial("alive"))
    with open_workdir(str(oracle.folder(lost.trial_id))):
        assert oracle.create_trial("alive").status == "IDLE", "it is at work"
    assert not oracle.finished
    taken = oracle.create_trial("alive")
    assert (taken.trial_id, taken.status) == (lost.trial_id, RUNNING)
    end(oracle, taken)
    assert oracle.create_trial("alive").status == "STOPPED"
    assert oracle.finished and not oracle.ongoing_trials


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_kill_between_any_two_files_loses_nothing(
    tmp_path, monkeypatch, steps
):
    """The state after each write is the state of a kill right after it."""

    def run(folder, limit):
        oracle, written = make_oracle(folder), []
        write = oracle._write

        def counted(path, state):
            if len(written) == limit:
                raise KeyboardInterrupt
            written.append(path)
            write(path, state)

        oracle._write = counted
        try:
            while True:
                trial = oracle.create_trial("a")
                if trial.status == "STOPPED":
                    return oracle
                oracle.update_trial(trial.trial_id, {"score": 1.0})
                end(oracle, trial, "COMPLETED")
        except KeyboardInterrupt:
            return None

    unbroken = run(tmp_path / "unbroken", None)
    assert run(tmp_path / "broken", steps) is None
    broken = run(tmp_path / "broken", None)
    assert drawn(broken) == drawn(unbroken)
    assert sorted(broken.end_order) == sorted(unbroken.end_order)


def test_trials_may_be_added_but_the_space_may_not_change(tmp_path):
    oracle = make_oracle(tmp_path, num_trials=1)
    end(oracle, oracle.create_trial("a"))
    assert oracle.create_trial("a").status == "STOPPED"
    longer = make_oracle(tmp_path, num_trials=2)
    assert longer.create_trial("a").status == RUNNING
    with pytest.raises(ValueError, match="another space"):
        make_oracle(tmp_path, values=(1, 2))


@pytest.mark.slow
def test_a_value_that_was_not_drawn_ends_the_search(tmp_path):
    """keras-tuner would give it its default, and change the space."""

    def make_run(hyperparameters):
        if hyperparameters.Choice("x", [1, 2, 3, 4, 5, 6]) > 1:
            hyperparameters.Float("margin", 0.1, 1.0)
        # No run: the trial fails.

    objective = keras_tuner.Objective("score", "max")
    searching = tuner.Tuner(make_run, "own", objective, 6, 0, tmp_path)
    with pytest.raises(ValueError, match="draws 'margin' only for some"):
        searching.search()


def test_a_space_that_sets_something_else_is_refused(tmp_path):
    """It draws the same values, and an interrupted trial has other fields."""

    def searching(steps):
        def make_run(hyperparameters):
            margin = hyperparameters.Choice("margin", [0.1, 0.2])
            return load_recipe(
                "omniglot_retrieval_triplet",
                [f"loss.margin={margin}", f"piece_size={steps}"],
            )

        objective = keras_tuner.Objective("score", "max")
        return tuner.Tuner(make_run, "own", objective, 2, 0, tmp_path)

    first = searching(0)
    trial = first.oracle.create_trial("a")
    folder = first.oracle.folder(trial.trial_id)
    run = first.make_run(trial.hyperparameters)
    workdir.claim(folder, "own", run)
    searching(0)
    with pytest.raises(ValueError, match="space has changed.*piece_size=0"):
        searching(4)


@pytest.mark.slow
def test_trials_of_other_own_code_are_refused(tmp_path):
    """An interrupted trial would otherwise be recorded as failed."""
    code = tmp_path / "mine.py"
    code.write_text("def loss(margin: float = 0.1): ...\n")

    def make_run(hyperparameters):
        margin = hyperparameters.Choice("margin", [0.1, 0.2])
        own = [f"loss.name={code}:loss", f"loss.margin={margin}"]
        return load_recipe("omniglot_retrieval_triplet", own)

    objective = keras_tuner.Objective("score", "max")
    words = make_run, "own", objective, 2, 0, tmp_path / "search"
    first = tuner.Tuner(*words)
    trial = first.oracle.create_trial("a")
    run = first.make_run(trial.hyperparameters)
    workdir.claim(first.oracle.folder(trial.trial_id), "own", run)
    tuner.Tuner(*words)
    code.write_text("def loss(margin: float = 0.1): pass\n")
    own_code_hashes._hash.cache_clear()  # as in a new process
    with pytest.raises(ValueError, match="mine.py has changed since the run"):
        tuner.Tuner(*words)
    # A worker of a chief sees it later.
    with pytest.raises(OtherDataError, match="mine.py has changed"):
        first.run_trial(trial)


def test_a_space_with_fewer_values_than_trials_ends(tmp_path):
    oracle = make_oracle(tmp_path, num_trials=10, values=(1, 2))
    while (trial := oracle.create_trial("a")).status == RUNNING:
        end(oracle, trial)
    assert len(oracle.trials) == 2
    assert oracle.finished


def test_an_answer_that_is_lost_can_be_asked_for_again(tmp_path):
    oracle = make_oracle(tmp_path)
    trial = oracle.create_trial("a")
    end(oracle, trial)
    end(oracle, trial)
    assert oracle.end_order == [trial.trial_id]


def test_a_worker_waits_for_the_last_worker_of_its_trial(tmp_path, monkeypatch):
    monkeypatch.setattr(tuner, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(tuner, "PATIENCE_SECONDS", 60)
    with open_workdir(str(tmp_path / "trial")) as path:
        (path / "a.json").write_text("")
        entered = threading.Event()
        other = threading.Thread(target=_enter, args=(path, entered))
        other.start()
        assert not entered.wait(0.1)
    assert entered.wait(60)
    other.join()
    monkeypatch.setattr(tuner, "PATIENCE_SECONDS", 0.05)
    with open_workdir(str(path)), pytest.raises(BlockingIOError):
        _enter(path, entered)


def _enter(path, entered):
    with tuner._open_when_free(path):
        entered.set()


def test_a_trial_that_kills_its_process_ends_as_failed(tmp_path):
    oracle = make_oracle(tmp_path)
    workers = LocalWorkers(1, [], tmp_path, oracle)
    trial = oracle.create_trial("worker_1")
    folder = oracle.folder(trial.trial_id) / "checkpoints"
    for _ in range(MAX_KILLS - 1):
        assert workers._goes_on("worker_1")
    folder.mkdir()
    (folder / "latest.keras").write_text("an epoch")
    for _ in range(MAX_KILLS - 1):
        assert workers._goes_on("worker_1")
    assert oracle.trials[trial.trial_id].status == RUNNING, "it came on"
    assert workers._goes_on("worker_1")
    assert oracle.trials[trial.trial_id].status == FAILED
    results = json.loads((folder.parent / "results.json").read_text())
    assert f"killed {MAX_KILLS} times" in results["failure"]["message"]


def test_a_worker_killed_before_any_trial_is_retired(tmp_path):
    workers = LocalWorkers(1, [], tmp_path, make_oracle(tmp_path))
    for _ in range(MAX_KILLS - 1):
        assert workers._goes_on("worker_1")
    assert not workers._goes_on("worker_1")


def test_workers_that_cannot_work_end_the_search(tmp_path, monkeypatch):
    monkeypatch.chdir(os.path.dirname(tuner.__file__) + "/..")
    words = ["--config", "nothing", "--space", "an4", "--trials", "1"]
    oracle = make_oracle(tmp_path)
    with LocalWorkers(
        1, [*words, "--workdir", str(tmp_path)], tmp_path, oracle
    ) as workers:
        workers.processes["worker_1"].wait(timeout=120)
        with pytest.raises(ValueError, match="unknown recipe 'nothing'"):
            workers.check()


def fake_tuner(folder, monkeypatch, run_trial, num_trials=1):
    """A tuner whose trials call `run_trial` with their folder."""
    monkeypatch.setattr(
        tuner.Tuner,
        "run_trial",
        lambda self, trial: run_trial(trial, self._folder(trial)),
    )
    objective = keras_tuner.Objective("score", "max")

    def make_run(hyperparameters):
        hyperparameters.Choice("x", [1, 2, 3, 4, 5, 6, 7, 8])

    return tuner.Tuner(make_run, "own", objective, num_trials, 0, folder)


def test_rows_of_two_searches_have_different_names(tmp_path):
    """TensorBoard shows the mean of rows with one name."""
    values = types.SimpleNamespace(values={"x": 1})
    trial = types.SimpleNamespace(hyperparameters=values, trial_id="0")
    names = set()
    for search in ("a", "b"):
        folder = tmp_path / search / "trials" / "trial_0" / "tensorboard"
        write_hparams(folder, trial)
        (file,) = folder.glob("*tfevents*")
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                content = value.metadata.plugin_data.content
                data = plugin_data_pb2.HParamsPluginData.FromString(content)
                names.add(data.session_start_info.group_name)
    names.discard("")
    assert names == {
        f"trial_0 ({tmp_path}/{search}/trials/trial_0)" for search in "ab"
    }


def full_disk(trial, folder):
    """TensorFlow's error is not an OSError."""
    with files_of_at_most(100):
        write_hparams(folder / "tensorboard", trial)


def damaged_checkpoints(trial, folder):
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "latest.keras").write_bytes(b"damaged")
    checkpoint.restore(folder / "checkpoints")


def damaged_file(trial, folder):
    (folder / "classes.json").write_text("{")
    require_same_classes(folder, {"dataset": "csv:t.csv", "splits": {}})


def other_columns(trial, folder):
    (folder / "classes.json").write_text('{"features": ["a", "b"]}')
    require_same_features(folder, ["b", "a"])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (full_disk, "File too large"),
        (damaged_checkpoints, "no checkpoint in .* can be read"),
        (damaged_file, "classes.json is damaged"),
        (other_columns, "feature 0 of the table is 'b'"),
    ],
)
def test_faults_of_machine_and_data_are_no_failed_trial(
    fault, message, tmp_path, monkeypatch
):
    searching = fake_tuner(tmp_path, monkeypatch, fault)
    with pytest.raises(Exception, match=message):
        searching.search()
    (trial,) = searching.oracle.trials.values()
    assert trial.status == RUNNING
    assert not searching.oracle.end_order
    assert not (searching._folder(trial) / "results.json").exists()
    again = fake_tuner(tmp_path, monkeypatch, lambda *_: 1.0)
    again.search()
    assert again.oracle.end_order == [trial.trial_id]


def test_another_error_is_a_failed_trial(tmp_path, monkeypatch):
    def fail(trial, folder):
        raise ValueError("margin must be positive")

    searching = fake_tuner(tmp_path, monkeypatch, fail)
    searching.search()
    (row,) = search_files.rows(searching.oracle)
    assert (row["status"], row["message"]) == (
        "failed",
        "margin must be positive",
    )


def test_the_functions_of_many_trials_are_no_retracing(
    tmp_path, monkeypatch, caplog
):
    """TensorFlow warns from the fifth tracing of one line of code on."""

    def trace(trial, folder):
        tf.function(lambda x: x + 3, autograph=False)(tf.constant(1.0))
        return 1.0

    fake_tuner(tmp_path, monkeypatch, trace, num_trials=8).search()
    assert "retracing" not in caplog.text


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"trial_id": "0"}', "3"])
@pytest.mark.parametrize("name", ["oracle.json", "trial_0/trial.json"])
def test_damaged_files_are_named(name, content, tmp_path):
    oracle = make_oracle(tmp_path)
    ended_trial(oracle)
    file = tmp_path / "trials" / name
    file.write_text(content)
    with pytest.raises(ValueError, match="is damaged .*another --workdir"):
        make_oracle(tmp_path)
    file.unlink()
    if "trial_0" in name:
        with pytest.raises(ValueError, match="trial.json is missing"):
            make_oracle(tmp_path)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("oracle.json", "ongoing_trials", None),
        ("oracle.json", "start_order", 3),
        ("oracle.json", "start_order", [0]),
        ("oracle.json", "end_order", 3),
        ("oracle.json", "run_times", "x"),
        ("oracle.json", "hyperparameters", None),
        ("oracle.json", "display", None),
        ("trial_0/trial.json", "hyperparameters", None),
        ("trial_0/trial.json", "hyperparameters", {"space": 3}),
        ("trial_0/trial.json", "metrics", "x"),
    ],
)
def test_files_with_values_of_another_type_are_named(
    name, field, value, tmp_path
):
    oracle = make_oracle(tmp_path)
    ended_trial(oracle)
    file = tmp_path / "trials" / name
    state = json.loads(file.read_text())
    file.write_text(json.dumps({**state, field: value}))
    message = f"{name} is damaged .*another --workdir"
    with pytest.raises(ValueError, match=message):
        make_oracle(tmp_path)


TRAINING = {
    "best_epoch": 1,
    "epochs": 1,
    "steps": 3,
    "seconds": 1.5,
    "commit": "abc",
    "processor": "p",
    "cores": 1,
    "history": [{"epoch": 1, "score": 0.5}],
}
DATA = {"data_fingerprint": "01", "validation_fingerprint": "23"}


def test_the_row_of_a_trial(tmp_path):
    oracle = make_oracle(tmp_path)
    ended_trial(oracle)
    folder = oracle.folder(oracle.end_order[0])
    write_json(folder / "results.json", {"training": TRAINING, **DATA})
    (row,) = search_files.rows(oracle)
    assert (row["status"], row["objective"]) == ("completed", 0.5)
    assert row["seconds"] == 1.5
    assert row.items() >= DATA.items()
    write_json(folder / "results.json", {"training": TRAINING})
    with pytest.raises(ValueError, match="damaged .*'data_fingerprint'"):
        search_files.rows(oracle)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("history", None),
        ("history", []),
        ("history", [{"epoch": 1}]),
        ("history", [{"epoch": 1, "score": "x"}]),
        ("best_epoch", None),
        ("best_epoch", "x"),
        ("seconds", "x"),
        ("cores", None),
    ],
)
def test_results_with_values_of_another_type_are_named(field, value, tmp_path):
    oracle = make_oracle(tmp_path)
    ended_trial(oracle)
    folder = oracle.folder(oracle.end_order[0])
    damaged = {**TRAINING, field: value}
    if value is None:
        del damaged[field]
    write_json(folder / "results.json", {"training": damaged, **DATA})
    with pytest.raises(ValueError, match="results.json is .*another --workdir"):
        search_files.rows(oracle)


@pytest.mark.parametrize("failure", [{}, {"status": "failed"}, {"status": 3}])
def test_a_failure_without_its_reason_is_named(failure, tmp_path):
    oracle = make_oracle(tmp_path)
    end(oracle, oracle.create_trial("a"))
    folder = oracle.folder(oracle.end_order[0])
    write_json(folder / "results.json", {"failure": failure})
    with pytest.raises(ValueError, match="results.json is .*another --workdir"):
        search_files.rows(oracle)


def test_the_time_of_a_search_is_a_number(tmp_path):
    oracle = make_oracle(tmp_path)
    write_json(tmp_path / "results.json", {"seconds": "x"})
    searching = types.SimpleNamespace(oracle=oracle)
    with pytest.raises(ValueError, match="results.json is damaged .*'x'"):
        search_report.SearchReport(tmp_path, {}, searching)


@pytest.mark.parametrize("content", [None, "{}", '{"training": 3}', "{"])
def test_results_that_are_damaged_are_named(content, tmp_path):
    oracle = make_oracle(tmp_path)
    ended_trial(oracle)
    if content is not None:
        file = oracle.folder(oracle.end_order[0]) / "results.json"
        file.write_text(content)
    with pytest.raises(ValueError, match="results.json is .*damaged"):
        search_files.rows(oracle)
