"""The real entry points on tiny data: train, resume, evaluate, export."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import embeddings_tf  # noqa: F401  registers the classes of the checkpoints
from embeddings_tf import viz
from tests.processes import Command
from tests.trainers import commands
from trainers import train as train_command

ROOT = pathlib.Path(__file__).parents[2]
TINY = "tests/trainers/tiny.py"


def start(module, *arguments, **options):
    return Command(f"trainers.{module}", *arguments, **options)


def run(module, *arguments, **options):
    process = start(module, *arguments, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def run_with_import(module, *arguments, **environment):
    """Also starts Python and imports TensorFlow, as a user's command does."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


def train(workdir, *overrides, **options):
    return run(
        "train", "--config", TINY, "--workdir", workdir, *overrides, **options
    )


def one_line_error(result):
    code, _, err = result
    assert code == 1
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert err.splitlines() == lines and len(lines) == 1, err
    return lines[0]


def state_of(workdir, name="latest"):
    """Weights, optimiser and history of a checkpoint."""
    model = keras.saving.load_model(workdir / "checkpoints" / f"{name}.keras")
    weights = [w.numpy() for w in (*model.weights, *model.optimizer.variables)]
    results = json.loads((workdir / "results.json").read_text())["training"]
    return weights, results["history"], results["best_epoch"]


def assert_equal_runs(first, second):
    """Equal up to the rounding in which any two processes may differ.

    A lost state of the optimiser or of random numbers, or another order of
    batches, makes far larger differences.
    """
    for name in ("latest", "best"):
        weights, history, best = state_of(first, name)
        other_weights, other_history, other_best = state_of(second, name)
        for one, other in zip(weights, other_weights, strict=True):
            bound = 1e-5 * np.max(np.abs(other))
            np.testing.assert_allclose(one, other, rtol=0, atol=bound)
        for row, other_row in zip(history, other_history, strict=True):
            assert row == pytest.approx(other_row, rel=1e-5)
        assert best == other_best


def test_results_name_what_made_them(trained):
    results = json.loads((trained / "results.json").read_text())
    assert results["recipe"] == TINY
    assert results["seed"] == 0
    training = results["training"]
    assert training["steps"] == 6
    assert len(training["history"]) == training["epochs"] == 2
    assert training["best_value"] == max(
        row["val_few_shot_accuracy"] for row in training["history"]
    )
    for name in ("commit", "processor", "cores", "seconds", "tensorflow"):
        assert training[name]


@pytest.mark.slow
def test_killed_twice_a_run_ends_with_the_same_result(unbroken, tmp_path):
    workdir = tmp_path / "run"
    latest = workdir / "checkpoints" / "latest.keras"
    for kill in range(2):
        before = latest.stat().st_mtime_ns if latest.exists() else 0
        process = start("train", "--config", TINY, "--workdir", workdir)
        while process.poll() is None:
            now = latest.stat().st_mtime_ns if latest.exists() else 0
            if now != before:
                break
            time.sleep(0.01)
        # At the first checkpoint, and some time after the next one.
        time.sleep(0.3 * kill)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL or kill
    code, out, err = train(workdir)
    assert code == 0, err
    assert_equal_runs(unbroken, workdir)


@pytest.mark.slow
def test_a_truncated_newest_checkpoint_falls_back_with_a_warning(
    unbroken, tmp_path
):
    workdir = tmp_path / "run"
    shutil.copytree(unbroken, workdir)
    latest = workdir / "checkpoints" / "latest.keras"
    data = latest.read_bytes()
    latest.write_bytes(data[: len(data) // 2])
    code, out, err = train(workdir)
    assert code == 0
    assert "warning:" in err and "latest.keras cannot be read" in err
    assert_equal_runs(unbroken, workdir)


SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
"""


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_leaves_no_part_of_a_checkpoint(tmp_path):
    workdir = tmp_path / "run"
    message = one_line_error(train(workdir, code_before=SMALL_FILES))
    assert "could not write the checkpoints of epoch 1" in message
    left = os.listdir(workdir / "checkpoints")
    assert left == []


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        ("train", ("--config", "nothing"), "unknown recipe 'nothing'"),
        ("evaluate", (), "contains no run"),
    ],
)
def test_a_process_that_is_refused_says_one_line(
    module, words, message, tmp_path
):
    """commands_test.py tests the other errors in its own process."""
    words = (*words, "--workdir", tmp_path / "run")
    result = run_with_import(f"trainers.{module}", *words)
    assert message in one_line_error(result)


@pytest.mark.parametrize("flag", ["--help", "--list"])
def test_help_needs_no_tensorflow(flag):
    check = (
        f"import sys; sys.argv = ['train', '{flag}']\n"
        "from trainers import train\n"
        "try: train.main()\n"
        "except SystemExit: pass\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=True, capture_output=True
    )


@pytest.mark.slow
def test_the_demo_goes_the_whole_way(tmp_path):
    overrides = [
        "num_epochs=1",
        "steps_per_epoch=3",
        "validation.num_episodes=1",
        "evaluation.validation.num_samples=2",
        "evaluation.num_episodes=2",
        "evaluation.num_draws=1",
        "evaluation.num_samples=2",
    ]
    code, out, err = run_with_import(
        "trainers.demo",
        "--workdir",
        tmp_path,
        *(f"--config.{o}" for o in overrides),
    )
    assert code == 0, err
    assert err == "", "start-up is quiet"
    assert "used without keras" in out
    assert "of 300 queries right" in out
    assert out.rstrip().endswith("(all recipes)")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["evaluation"]["settings"]["num_episodes"] == 2


@pytest.mark.slow
def test_half_precision_in_pieces_resumes_too(tmp_path, monkeypatch):
    """Loss scale and optimiser are restored; input wait is reported."""
    from trainers import evaluate
    from trainers import train as trainer
    from trainers.training import checkpoint

    words = ["--config", TINY, "--config.precision=mixed_float16"]
    words += ["--config.piece_size=7", "--config.num_epochs=2"]
    words += ["--config.deterministic=False"]
    save = checkpoint.save

    def die(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    monkeypatch.chdir(ROOT)
    whole, broken = (str(tmp_path / name) for name in ("whole", "broken"))
    assert trainer.main([*words, "--workdir", whole]) == 0
    with monkeypatch.context() as context:
        context.setattr(checkpoint, "save", die)
        assert trainer.main([*words, "--workdir", broken]) == 130
    assert trainer.main([*words, "--workdir", broken]) == 0
    runs = []
    for workdir in (whole, broken):
        path = pathlib.Path(workdir)
        model = checkpoint.restore(path / "checkpoints")[0]
        assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        assert 0 < model.optimizer.iterations <= 6
        assert model.piece_size == 7
        runs.append([*model.get_weights(), model.optimizer.dynamic_scale])
        training = json.loads((path / "results.json").read_text())["training"]
        assert 0 <= training["input_wait"] <= 1
        assert "input_wait" not in training["history"][0]
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert evaluate.main(["--workdir", broken]) == 0


def test_a_training_ends_with_the_curve_of_its_history(
    run, in_checkout, monkeypatch, capsys
):
    """Started again, a finished run only draws and prints."""
    picture = run / "learning_curves.png"
    size = picture.stat().st_size
    assert size > 1000
    picture.unlink()
    drawn, draw = [], viz.learning_curves_figure

    def recorded(curves, *arguments, **options):
        drawn.append((curves, *arguments))
        return draw(curves, *arguments, **options)

    monkeypatch.setattr(viz, "learning_curves_figure", recorded)
    assert commands.call(train_command, *commands.tiny(train_command, run)) == 0
    assert f"Picture: {picture}\n" in capsys.readouterr().out
    assert picture.stat().st_size == size
    training = json.loads((run / "results.json").read_text())["training"]
    values = [row["val_few_shot_accuracy"] for row in training["history"]]
    curve = {1: values[0], 2: values[1]}
    assert drawn == [({"tiny": [curve]}, "val_few_shot_accuracy")]
