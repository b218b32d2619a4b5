"""Cross-validation through its entry point, on small generated factors."""

import json
import math
import pathlib
import shutil

import numpy as np
import pytest

from tests.trainers.commands import refused
from trainers import cross_validate
from trainers import evaluate
from trainers import train
from trainers.config import load_recipe
from trainers.config import own_code_hashes
from trainers.data import data
from trainers.data import data_fingerprint
from trainers.data.examples import examples_of_folds
from trainers.training.best_file import best_file
from trainers.workdirs import workdir
from trainers.workdirs.results import update_results

NUM_PER_CLASS = 8


def squares():
    """60x60 images of a square; factors: row, column, brightness."""
    factors = np.stack(np.unravel_index(range(20), (2, 2, 5)), axis=1)
    factors = np.repeat(factors, NUM_PER_CLASS, axis=0).astype("int32")
    x = np.random.default_rng(0).integers(
        0, 40, (len(factors), 60, 60, 3), dtype="uint8"
    )
    for image, (row, column, brightness) in zip(x, factors, strict=True):
        image[30 * row : 30 * row + 20, 30 * column : 30 * column + 20] += (
            np.uint8(20 + 40 * brightness)
        )
    return x, factors


@pytest.fixture(autouse=True)
def generated_data(monkeypatch):
    monkeypatch.setattr(data.datasets, "load", lambda *_, **__: squares())
    examples_of_folds.cache_clear()
    yield
    examples_of_folds.cache_clear()


def overrides(*more):
    return [
        f"--config.{field}"
        for field in (
            "deterministic=False",
            "steps_per_epoch=3",
            "num_epochs=2",
            "folds.num_per_class=6",
            "folds.num_folds=4",
            "encoder.width=8",
            *more,
        )
    ]


FACTORS = "evaluation.factor_names=('row', 'column', 'brightness')"


def command(module, *words):
    return module.main([*map(str, words)])


def results(workdir):
    return json.loads((workdir / "results.json").read_text())


@pytest.mark.slow
def test_folds_are_run_once_and_summarised(tmp_path, capsys):
    words = ("--config", "sprites_f_statistic", "--workdir", tmp_path / "cv")
    words += (*overrides(FACTORS), "--folds")
    assert command(cross_validate, *words, 1) == 0
    first = results(tmp_path / "cv")
    assert first["standard_error"]["test.modularity"] is None
    assert command(cross_validate, *words, 1, 3) == 0
    out = capsys.readouterr().out
    assert "Fold 3, 2 of 2" in out and "trainers.export" in out
    assert out.count("Fold 1") == 1, "fold 1 was not run again"
    both = results(tmp_path / "cv")
    assert both["folds"]["1"] == first["folds"]["1"]
    for name in ("modularity", "explicitness", "single_dimension_auc"):
        a, b = (
            both["folds"][fold]["evaluation"]["test"][name] for fold in "13"
        )
        assert 0 <= a <= 1
        assert both["mean"][f"test.{name}"] == pytest.approx((a + b) / 2)
        # The standard error of two numbers is half their difference.
        assert both["standard_error"][f"test.{name}"] == pytest.approx(
            abs(a - b) / 2
        )
    # Folds have different held-out classes: 5 of 20, with 6 images each.
    assert both["mean"]["test.examples"] == 30
    assert 0 < both["mean"]["test.modularity_of_ideal"] <= 1
    for run in both["folds"].values():
        for found in (run["evaluation"][s] for s in ("test", "test_untrained")):
            assert 0 <= found["modularity_corrected"] <= 1
            corrected = np.array(found["mutual_information_corrected"])
            assert np.all(corrected >= 0)
            assert np.all(corrected <= found["mutual_information"])
    for fold in (1, 3):
        folder = tmp_path / "cv" / f"fold_{fold}"
        for picture in ("mutual_information", "traversal", "auc_distribution"):
            assert (folder / f"{picture}.png").stat().st_size > 1000
    assert (tmp_path / "cv" / "learning_curves.png").exists()
    # Earlier folds stay in the summary; fold 0 is not run again.
    assert command(cross_validate, *words, 0) == 0
    assert list(results(tmp_path / "cv")["folds"]) == ["1", "3"]
    assert (tmp_path / "cv" / "fold_0" / "results.json").exists()
    # Another recipe cannot use the same folder.
    assert command(cross_validate, *words[:-1], "--config.seed=1") == 1


def test_folds_of_other_data_are_refused(tmp_path, capsys, monkeypatch):
    def killed(*_):
        raise ValueError("killed in the first fold")

    monkeypatch.setattr(train, "train", killed)
    words = ("--config", "sprites_retrieval_triplet", *overrides())
    words += ("--config.batches.num_classes=4", "--workdir", tmp_path / "cv")
    words += ("--config.batches.num_per_class=3", "--folds", 1)
    assert command(cross_validate, *words) == 1
    assert "killed in" in capsys.readouterr().err
    # Four of twenty classes fewer: the folds divide the others anew.
    x, factors = squares()
    rows = factors[:, 2] > 0
    monkeypatch.setattr(
        data.datasets, "load", lambda *_, **__: (x[rows], factors[rows])
    )
    examples_of_folds.cache_clear()
    assert command(cross_validate, *words, 2) == 1
    error = capsys.readouterr().err
    assert "has other examples than when the folds in" in error
    # A fold was trained on data that nothing records.
    (tmp_path / "cv" / "folds.json").unlink()
    (tmp_path / "cv" / "fold_1" / "checkpoints").mkdir(parents=True)
    (tmp_path / "cv" / "fold_1" / "checkpoints" / "best.keras").touch()
    assert command(cross_validate, *words, 2) == 1
    assert "has trained folds, and no folds.json" in capsys.readouterr().err


@pytest.mark.slow
def test_copied_folds_of_other_data_have_no_mean(tmp_path, capsys, monkeypatch):
    """Two machines train two folds each, and the second has other data."""
    machine, collected = {"digits": "a"}, []

    def train_fold(recipe, run, fields):
        pathlib.Path(run).mkdir()
        workdir.claim(pathlib.Path(run), recipe, load_recipe(recipe, fields))
        update_results(pathlib.Path(run), training={"history": []})

    monkeypatch.setattr(train, "train", train_fold)
    monkeypatch.setattr(evaluate, "evaluate", lambda *_: None)
    monkeypatch.setattr(workdir, "is_evaluated", lambda found, _: bool(found))
    monkeypatch.setattr(
        data_fingerprint, "fingerprint", lambda *_: machine["digits"] * 16
    )
    monkeypatch.setattr(
        cross_validate, "_collect", lambda *words: collected.append(words[2])
    )
    words = ("--config", "sprites_f_statistic", *overrides(FACTORS))
    first = (*words, "--workdir", tmp_path / "first", "--folds")
    second = (*words, "--workdir", tmp_path / "second", "--folds")
    command(cross_validate, *first, 1, 2)
    machine["digits"] = "b"
    command(cross_validate, *second, 3)
    shutil.copytree(
        tmp_path / "second" / "fold_3", tmp_path / "first" / "fold_3"
    )
    collected.clear()
    assert command(cross_validate, *first, 1, 2, 3) == 1
    error = capsys.readouterr().err
    assert f"{'a' * 16}: 1, 2; {'b' * 16}: 3)" in error
    assert "so they have no common mean" in error and not collected
    # Another fold is not trained on the first data beside a copied one.
    for fold in (1, 2):
        shutil.rmtree(tmp_path / "first" / f"fold_{fold}")
    machine["digits"] = "a"
    assert command(cross_validate, *first, 1) == 1
    error = capsys.readouterr().err
    assert "fold_3 was trained on other examples of" in error
    # A fold of an earlier version recorded nothing.
    (tmp_path / "first" / "fold_3" / "results.json").write_text(
        '{"training": {"history": []}}'
    )
    command(cross_validate, *first, 1, 2)
    assert collected == [[1, 2, 3]]


RECIPE_FILE = """
from trainers.recipes import every_recipe


def get_config():
    config = every_recipe()["sprites_retrieval_triplet"].config()
    config.loss.margin = {margin}
    return config
"""


def test_folds_of_a_changed_recipe_are_refused(tmp_path, monkeypatch, capsys):
    """In the file of the recipe, while a fold is trained or afterwards."""
    recipe, cv = tmp_path / "mine.py", tmp_path / "cv"
    recipe.write_text(RECIPE_FILE.format(margin=0.1))
    trained = []

    def train_fold(name, run, fields):
        trained.append(run)
        pathlib.Path(run).mkdir()
        workdir.claim(pathlib.Path(run), name, load_recipe(name, fields))
        recipe.write_text(RECIPE_FILE.format(margin=0.2))

    monkeypatch.setattr(train, "train", train_fold)
    monkeypatch.setattr(evaluate, "evaluate", lambda *_: None)
    words = ("--config", recipe, "--workdir", cv, *overrides())
    words += ("--config.batches.num_classes=4", "--folds", 1, 2)
    words += ("--config.batches.num_per_class=3",)
    assert command(cross_validate, *words) == 1
    error = capsys.readouterr().err
    assert "fold_2 has config.loss.margin=0.2" in error
    assert "restore the recipe" in error and len(trained) == 1
    # As if fold 1 came from another folder.
    recipe.write_text(RECIPE_FILE.format(margin=0.1))
    file = cv / "fold_1" / "config.json"
    stored = json.loads(file.read_text())
    stored["config"]["loss"]["margin"] = 0.3
    file.write_text(json.dumps(stored))
    assert command(cross_validate, *words) == 1
    assert "fold_1 has config.loss.margin=0.3" in capsys.readouterr().err
    assert len(trained) == 1


def test_folds_of_other_own_code_are_refused(tmp_path, monkeypatch, capsys):
    code, cv = tmp_path / "mine.py", tmp_path / "cv"
    before = "from embeddings_tf.losses import TripletLoss as loss\n"
    code.write_text(before)

    def train_fold(name, run, fields):
        pathlib.Path(run).mkdir()
        workdir.claim(pathlib.Path(run), name, load_recipe(name, fields))
        (pathlib.Path(run) / "checkpoints").mkdir()
        (pathlib.Path(run) / "checkpoints" / "latest.keras").touch()
        raise ValueError("killed")

    monkeypatch.setattr(train, "train", train_fold)
    words = ("--config", "sprites_retrieval_triplet", *overrides())
    words += ("--config.batches.num_classes=4", "--workdir", cv)
    words += ("--config.batches.num_per_class=3", "--folds", 1)
    words += (f"--config.loss.name={code}:loss",)
    assert command(cross_validate, *words) == 1
    assert "killed" in capsys.readouterr().err
    code.write_text(before + "# edited\n")
    own_code_hashes._hash.cache_clear()  # as in a new process
    assert command(cross_validate, *words) == 1
    error = capsys.readouterr().err
    assert f"mine.py has changed since the run in {cv} started" in error
    # As if fold 1 came from another folder.
    code.write_text(before)
    own_code_hashes._hash.cache_clear()
    file = cv / "fold_1" / "config.json"
    stored = json.loads(file.read_text())
    stored["own_code"] = {str(code): "0" * 64}
    file.write_text(json.dumps(stored))
    assert command(cross_validate, *words) == 1
    error = capsys.readouterr().err
    assert f"changed since the run in {cv / 'fold_1'} started" in error


def test_another_tuning_fold(tmp_path, monkeypatch):
    """The folds of a fold-by-fold training, without its work."""
    trained, collected = [], []
    fields = [word.removeprefix("--config.") for word in overrides(FACTORS)]

    def is_trained(results, _):
        return bool(results)

    def train_fold(recipe, run, _):
        trained.append(int(run[-1]))
        pathlib.Path(run).mkdir()
        update_results(pathlib.Path(run), training={"history": []})

    monkeypatch.setattr(train, "train", train_fold)
    monkeypatch.setattr(evaluate, "evaluate", lambda *_: None)
    monkeypatch.setattr(workdir, "is_evaluated", is_trained)
    monkeypatch.setattr(
        cross_validate, "_collect", lambda *words: collected.append(words[2])
    )
    for folds in ([2], None):
        cross_validate.cross_validate(
            "sprites_f_statistic", str(tmp_path), folds, fields, tuning_fold=2
        )
    assert trained == [2, 0, 1, 3]
    assert collected == [[2], [0, 1, 3]]


@pytest.mark.slow
def test_a_beta_vae_is_chosen_by_likelihood(tmp_path):
    words = ("--config", "sprites_beta_vae_4", "--workdir", tmp_path / "run")
    words += (*overrides(FACTORS, "decoder.width=8", "folds.fold=1"),)
    assert command(train, *words) == 0
    training = results(tmp_path / "run")["training"]
    assert training["monitor"] == "val_log_likelihood"
    assert -60 * 60 * 3 * 10 < training["best_value"] < 0
    assert command(evaluate, "--workdir", tmp_path / "run") == 0
    found = results(tmp_path / "run")["evaluation"]["test"]
    assert np.shape(found["mutual_information"]) == (22, 3)

    # A factor of two values counts once: 2 + 2 + 5 values, of which
    # 1 + 1 + 5 count; held-out classes may lack some brightnesses.
    num_values = len(found["values"]["explicitness"])
    assert 6 <= num_values <= 9
    assert len(found["nonredundant_values"]["auc"]) == num_values - 2


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["f_statistic", "binomial_deviance"])
def test_retrieval(loss, tmp_path, capsys):
    words = ("--config", f"sprites_retrieval_{loss}")
    words += ("--workdir", tmp_path / "run", *overrides("folds.fold=1"))
    words += (
        "--config.batches.num_classes=4",
        "--config.batches.num_per_class=3",
        "--config.evaluation.k=(1, 2)",
    )
    assert command(train, *words) == 0
    assert command(evaluate, "--workdir", tmp_path / "run") == 0
    found = results(tmp_path / "run")["evaluation"]
    assert found["test"]["ceiling"] == 1  # noise makes images distinct
    for split in ("test", "test_untrained"):
        assert 0 <= found[split]["recall_at_1"] <= found[split]["recall_at_2"]
    assert "recall@1" in capsys.readouterr().out
    assert (tmp_path / "run" / "recall.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("demo",), "demo has no folds"),
        (("sprites_triplet", "--folds", "5"), "there is no fold 5"),
        (
            ("sprites_triplet", "--config.folds.fold=2"),
            "choose folds with --folds",
        ),
    ],
)
def test_unsuitable_recipes_are_refused(words, message, tmp_path, capsys):
    words = ("--config", *words, "--workdir", tmp_path / "cv")
    assert command(cross_validate, *words) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "cv").exists()


def test_a_repeated_flag_adds_folds():
    words = ["--config", "a", "--workdir", "b", "--folds", "1", "--folds=3"]
    assert cross_validate.parser().parse_args(words).folds == [1, 3]


def test_standard_error():
    values = [0.90, 0.92, 0.97]
    expected = np.std(values, ddof=1) / math.sqrt(3)
    assert cross_validate.standard_error(values) == pytest.approx(expected)
    assert cross_validate.standard_error([0.9]) is None


def test_a_training_and_folds_do_not_share_a_workdir(tmp_path, capsys):
    folds, run = tmp_path / "folds", tmp_path / "run"
    (folds / "fold_1").mkdir(parents=True)
    (folds / "fold_1" / "config.json").write_text("{}")
    (folds / "results.json").write_text('{"folds": {}}')
    words = "--config", "omniglot_retrieval_triplet", "--workdir"
    again = "--config.deterministic=False"
    error = refused(capsys, train, *words, folds, again)
    assert f"contains several runs, such as {folds / 'fold_1'}" in error
    assert (folds / "results.json").read_text() == '{"folds": {}}'
    with pytest.raises(ValueError, match="such as .*fold_1; name one of them"):
        best_file(folds)
    (run / "checkpoints").mkdir(parents=True)
    error = refused(capsys, cross_validate, *words, run)
    assert "contains a training without folds" in error
