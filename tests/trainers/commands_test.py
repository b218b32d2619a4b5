"""Commands that are refused: one line, and nothing written before it."""

import json
import os
import pathlib
import re
import shutil
import zipfile

import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from embeddings_tf.export.version_folder import version_folder
from tests.trainers.commands import QUICK
from tests.trainers.commands import ROOT
from tests.trainers.commands import SPACE
from tests.trainers.commands import TINY
from tests.trainers.commands import refused
from tests.trainers.commands import tiny
from tests.trainers.images import images
from tests.trainers.read_only import MESSAGE
from tests.trainers.read_only import make_read_only
from trainers import command_line
from trainers import cross_validate
from trainers import demo
from trainers import evaluate
from trainers import export
from trainers import fit
from trainers import train
from trainers.config import load_recipe
from trainers.data import classes
from trainers.data import data
from trainers.data.examples import examples_of_folds
from trainers.evaluators import n_digit_few_shot
from trainers.evaluators import retrieval
from trainers.training import checkpoint
from trainers.training.training_state import MEMBER
from trainers.workdirs import workdir as workdirs
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.model_folder import writable_model_folder
from trainers.workdirs.results import drop_results
from trainers.workdirs.results import update_results
from tuning import search

pytestmark = pytest.mark.usefixtures("in_checkout")

# A field of the demo recipe that no run can have, and what is said of it.
TYPOS = [
    ("sede=1", "unknown field config.sede"),
    ("split=trian", "trian"),
    ("dataset=n_digit/4_number", "4_number"),
    ("monitor=val_eer", "'val_eer' is not in the logs"),
    ("monitor=val_recall_at_1", "'val_recall_at_1' is not in the logs"),
    ("batches.num_classes=71", "71"),
    ("batches.name=np", "has no 'np'; it has class_balanced_batches"),
    ("batches.name=tf", "has no 'tf'"),
    ("preprocess.name=tf", "has no"),
    ("encoder.name=n_digit", "has no 'n_digit'"),
    ("encoder.image_shape=(8,15,1)", "8, 15, 1"),
    ("objective.name=Prototypes", "has no 'Prototypes'"),
    ("objective.sampler=best", "sampler"),
    ("optimizer.name=Adem", "has no 'Adem'"),
    ("validation.split=nothing", "nothing"),
    ("validation.num_support=9", "must have at least 14 instances"),
    ("validation.num_samples=0", "num_samples"),
    (
        "preprocess.probability=2",
        "error: config.preprocess, of the training examples: `probability` "
        "must be between 0 and 1; received 2.0.\n",
    ),
    ("evaluation.name=nothing", "few_shot, disentanglement"),
    ("evaluation.name=retrieval", "'val_few_shot_accuracy' is not in the"),
    ("evaluation.name=disentanglement", "val_few_shot_accuracy"),
    ("batches.num_support=many", "config.batches.num_support must be an int"),
    ("method.kernel=3", "unknown field config.method.kernel"),
    ("evaluation.splits=()", "config.evaluation.splits is empty"),
    ("evaluation.splits=('test_seen',)", "an entry for each"),
    ("evaluation.splits=('test_seen','x')", "'x'"),
    ("evaluation.num_classes=(70,31)", "does not fit the split 'test_unseen'"),
    ("evaluation.num_support=400", "does not fit the split 'test_seen'"),
    ("evaluation.num_episodes=1", "num_episodes must be at least 2"),
    ("steps_per_epoch=0", "config.steps_per_epoch must be at least 1"),
    ("num_epochs=-1", "config.num_epochs must be at least 1"),
    ("patience=0", "config.patience must be at least 1"),
    ("seed=-1", "config.seed must be at least 0"),
    ("images.size=-1", "config.images.size must be at least 1, or 0 to keep"),
    ("folds.fold=2", "config.folds.fold=2 needs config.folds.num_folds"),
    ("plateau.patience=3", "config.plateau.factor is 1"),
    ("plateau.factor=2", "config.plateau.factor must be between 0 and 1"),
    ("plateau.factor=0.5", "config.optimizer.learning_rate is CosineDecay"),
    ("optimizer.use_ema=True", "config.optimizer.ema_overwrite_frequency"),
    ("strategy=two", "config.strategy='two' is unknown"),
    ("initial_weights=nowhere", "neither a workdir nor"),
]


@pytest.mark.every_nth(3)
@pytest.mark.parametrize(("field", "message"), TYPOS)
def test_a_typo_does_not_claim_the_workdir(field, message, tmp_path, capsys):
    workdir = tmp_path / "runs" / "run"
    words = tiny(train, workdir, f"--config.{field}")
    assert message in refused(capsys, train, *words)
    assert os.listdir(tmp_path) == [], "not even the folder above"


def test_missing_data(tmp_path, capsys, monkeypatch):
    # No network in the test, whatever the machine has.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    words = ["--config", "n_digit_2_dim_2_prototypical", *QUICK]
    words += ["--workdir", tmp_path / "run"]
    words += [f"--config.manual_dir={tmp_path}"]
    words += [f"--config.data_dir={tmp_path / 'tfds'}"]
    assert train.main([*map(str, words)]) == 1
    # Above it stands the progress bar of the download that was tried.
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("error: ") and "mnist" in message


def test_a_workdir_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    words = tiny(train, tmp_path / "file" / "run")
    message = refused(capsys, train, *words)
    assert "cannot write to the workdir" in message


@pytest.mark.slow
def test_a_diverging_run(tmp_path, capsys):
    rate = "--config.optimizer.learning_rate.initial_learning_rate=1e38"
    message = refused(capsys, train, *tiny(train, tmp_path / "run", rate))
    assert "the loss became" in message or "set became NaN" in message


@pytest.mark.slow
def test_a_second_process_on_a_workdir(run, capsys):
    with open_workdir(str(run)):
        message = refused(capsys, train, *tiny(train, run))
    assert "another process works in" in message


@pytest.mark.slow
def test_a_workdir_of_another_recipe(run, capsys):
    words = tiny(train, run, "--config.seed=1")
    message = refused(capsys, train, *words)
    assert "config.seed=0; this one has config.seed=1" in message


def test_a_finished_run_is_left_alone(run, capsys):
    latest = run / "checkpoints" / "latest.keras"
    before = latest.stat().st_mtime_ns
    assert train.main([*map(str, tiny(train, run))]) == 0
    assert "trained already" in capsys.readouterr().out
    assert latest.stat().st_mtime_ns == before


def test_killed_before_it_wrote_its_results(run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "results.json").unlink()
    assert train.main([*map(str, tiny(train, copy))]) == 0
    expected, found = (
        json.loads((folder / "results.json").read_text())
        for folder in (run, copy)
    )
    for name in ("config", "data_fingerprint", "recipe", "seed"):
        assert found[name] == expected[name], name
    for name in ("history", "best_epoch", "epochs"):
        assert found["training"][name] == expected["training"][name], name


def test_checkpoints_of_an_unknown_run(run, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "config.json").unlink()
    message = refused(capsys, train, *tiny(train, copy))
    assert "has no config.json that says of which run" in message


@pytest.mark.slow
def test_a_longer_training_has_no_earlier_evaluation(run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert evaluate.main(["--workdir", str(copy)]) == 0
    before = json.loads((copy / "results.json").read_text())
    assert "evaluation" in before
    # A killed run, continued after it was evaluated.
    drop_results(copy, keep_training=True)
    after = json.loads((copy / "results.json").read_text())
    assert after == {k: v for k, v in before.items() if k != "evaluation"}
    whole = load_recipe(TINY, [w.partition("config.")[2] for w in QUICK])
    assert workdirs.is_evaluated(before, whole)
    assert not workdirs.is_evaluated(after, whole)
    other = load_recipe(TINY, ["evaluation.num_samples=4"])
    assert not workdirs.is_evaluated(before, other)


def test_a_finished_run_keeps_its_commit(run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    update_results(
        copy,
        training={
            **json.loads((copy / "results.json").read_text())["training"],
            "commit": "of its training",
        },
    )
    assert train.main([*map(str, tiny(train, copy))]) == 0
    results = json.loads((copy / "results.json").read_text())
    assert results["training"]["commit"] == "of its training"


@pytest.mark.slow
def test_an_unfinished_training_is_said_to_be_one(run, tmp_path, capsys):
    """`evaluate` and `export` take the best of the epochs that there are."""
    path = run / "checkpoints" / "latest.keras"
    changed = tmp_path / "latest.keras"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == MEMBER:
                state = json.loads(content)
                assert state["epoch"] == 2 and state["finished"]
                content = json.dumps(state | {"finished": "", "epoch": 1})
            new.writestr(name, content)
    shutil.copy(changed, path)
    capsys.readouterr()
    assert evaluate.main(["--workdir", str(run)]) == 0
    assert "has not ended: epoch 1 of 2." in capsys.readouterr().out
    words = ["--workdir", str(run), "--directory", str(tmp_path / "m")]
    assert export.main(words) == 0
    assert "has not ended: epoch 1 of 2." in capsys.readouterr().out
    card = (tmp_path / "m" / "1" / "model_card.md").read_text()
    assert "| training_has_not_ended | epoch 1 of 2 |" in card


def test_evaluate_and_export(run, tmp_path, capsys):
    capsys.readouterr()
    assert evaluate.main(["--workdir", str(run)]) == 0
    said = capsys.readouterr()
    assert said.err == "" and "has not ended" not in said.out
    results = json.loads((run / "results.json").read_text())
    evaluation = results["evaluation"]
    assert results["training"]["epochs"] == 2, "training results are kept"
    for split in ("test_seen", "test_unseen"):
        for condition in ("clean", "corrupt_support", "corrupt_query"):
            cell = evaluation[split][condition]
            assert 0 <= cell["accuracy"] <= 1
            assert 0 <= cell["expected_calibration_error"] <= 1
    assert len(evaluation["axes"]["mutual_information"]) == 2
    assert (
        -1 <= evaluation["uncertainty"]["rank_correlation_with_occlusion"] <= 1
    )
    for name in ("embedding.png", "evaluation.png"):
        assert (run / name).read_bytes().startswith(b"\x89PNG")
    assert (run / "tensorboard" / "evaluation").is_dir()
    words = ["--workdir", str(run), "--directory", str(tmp_path / "model")]
    (run / ".lock").unlink()
    before = sorted(run.rglob("*"))
    for version in ("1", "2"):
        assert export.main([*words, "--licence", "Apache-2.0"]) == 0
        assert sorted(run.rglob("*")) == before, "it may be read-only"
        assert (tmp_path / "model" / version / "saved_model.pb").exists()
    assert "canary 2, stable 1" in capsys.readouterr().out
    folder = tmp_path / "model" / "2"
    card = json.loads((folder / "model_card.json").read_text())
    for split in ("test_seen", "test_unseen"):
        assert card["metrics"][split] == evaluation[split]
    assert card["recipe"]["evaluation"]["cores"] == evaluation["cores"]
    assert card["data"]["fingerprint"] == results["data_fingerprint"]
    assert card["recipe"]["commit"] == results["training"]["commit"]
    assert "data_dir" not in card["recipe"]["config"]
    assert card["licence"] == "Apache-2.0"
    text = (folder / "model_card.md").read_text()
    measures = text.partition("## Metrics")[2]
    assert "test_seen.clean.accuracy" in measures and "±" in measures
    for name in ("settings", "seconds", "cores", "load", "angle"):
        assert name not in measures


@pytest.mark.slow
def test_an_evaluation_of_another_kind_replaces_nothing(
    run, capsys, monkeypatch
):
    calls = []

    def measured(name, numbers):
        def evaluate(*_):
            calls.append(name)
            figure = Figure()
            figure.subplots().plot([len(calls)])
            return {"test_seen": numbers | {"number": len(calls)}}, {
                name: figure
            }

        return evaluate

    clean = {
        "clean": {
            "accuracy": 0.5,
            "interval": 0.1,
            "expected_calibration_error": 0.1,
            "area_under_risk_coverage": 0.2,
            "classes": 5,
            "supports": 3,
            "test_classes": 30,
        }
    }
    monkeypatch.setattr(
        n_digit_few_shot, "evaluate", measured("evaluation", clean)
    )
    monkeypatch.setattr(
        retrieval, "evaluate", measured("evaluation", {"recall_at_1": 0.5})
    )

    def evaluated(*overrides):
        words = [f"--config.evaluation.{override}" for override in overrides]
        assert evaluate.main(["--workdir", str(run), *words]) == 0
        pictures = {p.name: p.read_bytes() for p in run.glob("*.png")}
        results = json.loads((run / "results.json").read_text())
        return results, pictures, capsys.readouterr().out

    before, pictures, out = evaluated()
    assert "--gallery FILE.npz\n" in out
    assert set(pictures) == {"evaluation.png", "learning_curves.png"}
    assert "Replaces" not in out and "own evaluation" not in out
    assert "trainers.enroll DATA --workdir" in out
    results, more, out = evaluated("name=retrieval", "k=(1,)")
    other = results.pop("evaluation_retrieval")
    assert results == before
    assert before["evaluation"]["test_seen"]["number"] == 1
    assert other["test_seen"] == {"recall_at_1": 0.5, "number": 2}
    assert other["settings"]["name"] == "retrieval"
    assert pictures.items() < more.items()
    assert set(more) - set(pictures) == {"evaluation_retrieval_evaluation.png"}
    assert "in the section 'evaluation_retrieval'" in out
    # One of the same kind replaces it, and says so.
    results, _, out = evaluated("num_episodes=3")
    assert results["evaluation"]["test_seen"]["number"] == 3
    assert results["evaluation_retrieval"] == other
    was = "earlier evaluation, which had config.evaluation.num_episodes=2\n"
    assert was in out
    # Classes of the training cannot set a threshold.
    monkeypatch.setattr(classes, "validates_on_trained", lambda *_: True)
    assert "--gallery FILE.npz --no-threshold\n" in evaluated()[-1]


def test_evaluation_cannot_change_the_training(run, capsys):
    words = ["--workdir", run, "--config.seed=3"]
    message = refused(capsys, evaluate, *words)
    assert "belongs to the training" in message
    assert "config.manual_dir and config.cache_dir" in message


def test_neighbours_need_a_gallery(run, tmp_path, capsys):
    words = ["--workdir", run, "--directory", tmp_path / "model"]
    message = refused(capsys, export, *words, "--num-neighbors", 3)
    assert "needs --gallery" in message
    assert not (tmp_path / "model").exists()


def test_a_damaged_best_checkpoint(run, capsys):
    best = run / "checkpoints" / "best.keras"
    best.write_bytes(best.read_bytes()[:1000])
    message = refused(capsys, evaluate, "--workdir", run)
    assert "best.keras is damaged" in message


def test_cross_validation_is_for_one_machine(tmp_path, capsys):
    words = ["--config", "sprites_triplet", "--workdir", tmp_path / "run"]
    words += ["--config.strategy=multi_worker"]
    assert "runs on one machine" in refused(capsys, cross_validate, *words)


@pytest.mark.parametrize("field", ["strategy", "training.strategy"])
def test_the_demo_is_for_one_machine(field, tmp_path, capsys):
    words = ["--workdir", tmp_path / "run"]
    words += [f"--config.{field}=multi_worker"]
    assert "the demo runs on one machine" in refused(capsys, demo, *words)


def test_the_demo_refuses_a_folder_of_no_model_before_it_trains(
    tmp_path, capsys
):
    message = refused(capsys, demo, "--workdir", tmp_path / "d[m]")
    assert f"--workdir {tmp_path}/d[m]: TensorFlow reads [ ]" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("module", [demo, search])
@pytest.mark.parametrize(
    "field", ["split=trian", "evaluation.splits=()", "batches.name=np"]
)
def test_a_typo_in_other_commands_does_not_claim_the_workdir(
    module, field, tmp_path, capsys
):
    workdir = tmp_path / "runs" / "run"
    refused(capsys, module, *tiny(module, workdir, f"--config.{field}"))
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_the_corrected_command_goes_through(tmp_path, capsys):
    workdir = tmp_path / "run"
    refused(capsys, train, *tiny(train, workdir, "--config.split=trian"))
    assert train.main([*map(str, tiny(train, workdir))]) == 0


def test_a_folder_that_was_there_stays(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for workdir in (tmp_path / "mine", tmp_path / "empty"):
        workdir.mkdir(exist_ok=True)
        before = os.listdir(workdir)
        refused(capsys, train, *tiny(train, workdir, "--config.split=trian"))
        assert [n for n in os.listdir(workdir) if n != ".lock"] == before


def retrieval_words(workdir, *words):
    start = ("--config", "omniglot_retrieval_triplet", "--workdir", workdir)
    fields = ("deterministic=False", "steps_per_epoch=2", "num_epochs=1")
    fields += ("evaluation.k=(1,)", "folds.num_per_class=0")
    return [*start, *(f"--config.{field}" for field in fields), *words]


@pytest.fixture
def characters(monkeypatch):
    """30 made-up characters of 10 images each, instead of Omniglot."""
    found = images(30, 10, (105, 105, 3))
    monkeypatch.setattr(data.datasets, "load", lambda *_, **__: found)
    examples_of_folds.cache_clear()
    yield
    examples_of_folds.cache_clear()


@pytest.mark.every_nth(5)
@pytest.mark.usefixtures("characters")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--config.folds.num_folds=0",), "has no folds"),
        (("--config.folds.num_folds=1",), "num_folds must be at least 2"),
        (("--config.folds.num_folds=-3",), "num_folds must be at least 2"),
        (("--config.patience=0",), "config.num_epochs or more never stops"),
        (("--config.folds.num_folds=29",), "cannot make 29 folds"),
        (("--config.batches.num_classes=500",), "needs 500"),
        (("--config.evaluation.splits=('tset',)",), "tset"),
        (("--config.evaluation.distance=far",), "far"),
        (("--config.evaluation.k=(0,)",), "k"),
        (("--config.loss.margin=-1",), "margin"),
        (("--folds", "-1"), "there is no fold -1"),
    ],
)
def test_cross_validation_claims_nothing(words, message, tmp_path, capsys):
    workdir = tmp_path / "runs" / "cv"
    words = retrieval_words(workdir, *words)
    assert message in refused(capsys, cross_validate, *words)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (train, ["--config", TINY]),
        (cross_validate, ["--config", "omniglot_retrieval_triplet"]),
        (evaluate, []),
        (export, ["--directory", "somewhere"]),
        (demo, []),
        (
            search,
            ["--config", TINY, "--space", SPACE, "--trials", "1"],
        ),
    ],
)
def test_an_empty_workdir_is_refused(
    module, words, tmp_path, capsys, monkeypatch
):
    words = [str(ROOT / w) if w.endswith(".py") else w for w in words]
    monkeypatch.chdir(tmp_path)
    message = refused(capsys, module, *words, "--workdir", "")
    assert "--workdir is empty" in message
    message = refused(capsys, module, *words, "--workdir", "a\0b")
    assert "must be the name of a folder" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (train, ["--config", TINY]),
        (cross_validate, ["--config", "omniglot_retrieval_triplet"]),
        (evaluate, []),
    ],
)
def test_a_workdir_that_is_not_utf_8(module, words, tmp_path, capsys):
    """TensorFlow cannot write its logs there."""
    workdir = tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")
    message = refused(capsys, module, *words, "--workdir", workdir)
    assert "--workdir must be a folder whose name is UTF-8" in message
    assert r"caf\udce9'. Rename it or name another folder" in message
    assert os.listdir(tmp_path) == []


class TestExport:
    def test_directory(self, run, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        before = sorted(os.listdir(tmp_path))
        words = ["--workdir", run, "--directory"]
        assert "--directory is empty" in refused(capsys, export, *words, "")
        other = b"caf\xe9".decode("utf-8", "surrogateescape")
        message = refused(capsys, export, *words, other)
        assert "--directory must be a folder whose name is UTF-8" in message
        (tmp_path / "file").write_text("")
        before = sorted(os.listdir(tmp_path))
        for place in ("file", "file/below/it"):
            assert "is a file" in refused(capsys, export, *words, place)
        for place in ("d[m]", "d[m]/model", r"d\m"):
            message = refused(capsys, export, *words, place)
            assert "as a pattern, and could not load the model" in message
        (tmp_path / "c[d]").mkdir()
        with monkeypatch.context() as inside:
            inside.chdir(tmp_path / "c[d]")
            with pytest.raises(ValueError, match="as a pattern"):
                writable_model_folder("--directory", "model")
        (tmp_path / "c[d]").rmdir()
        assert sorted(os.listdir(tmp_path)) == before

    @pytest.mark.parametrize("read_only", ["model", "models"])
    def test_a_folder_that_cannot_be_written(
        self, read_only, run, tmp_path, capsys, monkeypatch
    ):
        """The folder of the model, or the one of `models.config`."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "models" / "model").mkdir(parents=True)
        words = ["--workdir", run, "--directory", "models/model"]
        folder = tmp_path / "models"
        expected = f"--directory models/model {MESSAGE}; name another folder"
        if read_only == "models":
            file = folder / "models.config"
            expected = f"--directory models/model: {file} {MESSAGE}; make"
            make_read_only(folder, monkeypatch)
        else:
            make_read_only(folder / "model", monkeypatch)
        # The work comes after it.
        monkeypatch.setattr(checkpoint, "load_best", None)
        assert expected in refused(capsys, export, *words)
        assert [*folder.rglob("*")] == [folder / "model"]

    @pytest.mark.parametrize(
        ("name", "is_pattern"),
        [
            ("d[m]", True),
            ("d[m]/model", True),
            (r"d\m", True),
            ("d[m", False),
            ("d]", False),
            ("d*", False),
            ("d?", False),
        ],
    )
    def test_folders_that_tensorflow_cannot_load(
        self, name, is_pattern, tmp_path
    ):
        place = str(tmp_path / name)
        module = tf.Module()
        module.x = tf.Variable(3.0)
        tf.saved_model.save(module, place + "/1")
        if is_pattern:
            with pytest.raises(FileNotFoundError, match="any matching"):
                tf.saved_model.load(place + "/1")
            with pytest.raises(ValueError, match="as a pattern"):
                writable_model_folder("--directory", place)
            with pytest.raises(ValueError, match="as a pattern"):
                version_folder(tmp_path / name, None)
        else:
            assert tf.saved_model.load(place + "/1").x == 3.0
            folder = writable_model_folder("--directory", place)
            assert version_folder(folder, None) == tmp_path / name / "2"

    @pytest.mark.parametrize(
        ("place", "is_in"),
        [
            ("models/photos/1", "is a"),
            ("models/photos/1/assets/new", "is in a"),
            ("latest", "is a"),
        ],
    )
    def test_a_version_is_never_changed(
        self, place, is_in, run, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        version = tmp_path / "models" / "photos" / "1"
        (version / "assets").mkdir(parents=True)
        (version / "saved_model.pb").write_bytes(b"")
        (tmp_path / "latest").symlink_to(version)
        before = sorted(tmp_path.rglob("*"))
        for given, model in (
            (place, "models/photos"),
            (tmp_path / place, version.parent),
        ):
            error = refused(
                capsys, export, "--workdir", run, "--directory", given
            )
            assert f"--directory {given} {is_in} version of a model" in error
            assert error.endswith(f"name its folder, {model}\n")
        with pytest.raises(
            ValueError, match=re.escape(repr(str(version)[:-2]))
        ):
            version_folder(pathlib.Path(place), None)
        assert sorted(tmp_path.rglob("*")) == before
        assert version_folder(version.parent, None) == version.with_name("2")

    def test_a_workdir_is_no_model(self, run, capsys):
        before = sorted(run.parent.rglob("*"))
        error = refused(capsys, export, "--workdir", run, "--directory", run)
        assert f"--directory {run} is the workdir of a run" in error
        assert sorted(run.parent.rglob("*")) == before

    @pytest.mark.parametrize("version", [0, -1, 2**63, 10**30])
    def test_version(self, run, version, tmp_path, capsys):
        words = ["--workdir", run, "--directory", tmp_path / "model"]
        message = refused(capsys, export, *words, f"--version={version}")
        assert "from 1 to 2^63 - 1" in message
        assert not (tmp_path / "model").exists()

    @pytest.mark.slow
    def test_folders_that_are_no_versions(self, run, tmp_path):
        model = tmp_path / "model"
        for name in ("²", "٣", "7", "latest", str(10**30)):
            (model / name).mkdir(parents=True)
        words = ["--workdir", run, "--directory", model]
        assert export.main([*map(str, words)]) == 0
        assert (model / "8" / "saved_model.pb").exists()


DAMAGE = {
    "empty": b"",
    "half": b'{"recipe": "demo", "con',
    "no object": b"[1, 2]",
    "no text": b"\xff\xfe\x00\x80",
    "number": b"3",
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", ["config.json", "results.json"])
def test_a_damaged_file_is_named_before_any_work(
    name, content, run, capsys, monkeypatch
):
    for module in (fit, evaluate):
        monkeypatch.setattr(module, "evaluator", None, raising=False)
    (run / name).write_bytes(content)
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*.keras")}
    commands = [(train, tiny(train, run)), (evaluate, ["--workdir", run])]
    if name == "config.json":
        commands += [(export, ["--workdir", run, "--directory", run / "m"])]
    for module, words in commands:
        message = refused(capsys, module, *words)
        assert f"{run / name} is damaged" in message
        assert "; " in message, "with what to do"
    assert (run / name).read_bytes() == content
    assert before == {p: p.stat().st_mtime_ns for p in run.rglob("*.keras")}
    assert not (run / "m").exists()


def test_a_config_without_a_recipe(run, capsys):
    (run / "config.json").write_text("{}")
    for module, words in (
        (train, tiny(train, run)),
        (evaluate, ["--workdir", run]),
    ):
        assert "it lacks a recipe" in refused(capsys, module, *words)


def test_results_that_were_moved_away_are_written_again(run):
    results = run / "results.json"
    before = json.loads(results.read_text())["training"]
    results.unlink()
    assert train.main([*map(str, tiny(train, run))]) == 0
    after = json.loads(results.read_text())["training"]
    assert after["history"] == before["history"]
    assert after["best_value"] == before["best_value"]


def with_state(path, content):
    """Writes another state into a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[checkpoint.STATE] = content
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)


def state_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(checkpoint.STATE))


BAD_STATES = [
    lambda state: {},
    lambda state: [],
    lambda state: None,
    lambda state: {**state, "epoch": "two"},
    lambda state: {**state, "history": state["history"][:1]},
    lambda state: {**state, "history": [1, 2]},
    lambda state: {**state, "seeds": []},
    *(
        lambda state, name=name: {n: v for n, v in state.items() if n != name}
        for name in ("best_value", "data_fingerprint", "input_wait")
    ),
]


@pytest.mark.parametrize("damage", BAD_STATES)
def test_the_checkpoint_before_stands_in_for_a_bad_state(damage, run, capsys):
    latest = run / "checkpoints" / "latest.keras"
    # It could be a copy of the newest.
    latest.with_name("best.keras").unlink()
    with_state(latest, json.dumps(damage(state_of(latest))))
    _, state = checkpoint.restore(latest.parent)
    assert state["epoch"] == 1
    assert f"{latest} cannot be read" in capsys.readouterr().err
    assert latest.with_name("damaged.keras").exists()


@pytest.mark.slow
def test_a_run_goes_on_from_the_checkpoint_before(run, capsys):
    before = json.loads((run / "results.json").read_text())["training"]
    (run / "checkpoints" / "best.keras").unlink()
    with_state(run / "checkpoints" / "latest.keras", "{}")
    assert train.main([*map(str, tiny(train, run))]) == 0
    assert "Resuming after epoch 1" in capsys.readouterr().out
    after = json.loads((run / "results.json").read_text())["training"]
    assert [row["epoch"] for row in after["history"]] == [1, 2]
    assert after["history"][0] == before["history"][0]


def test_two_bad_states_are_named_at_the_start(run, capsys):
    for name in ("latest", "previous", "best"):
        with_state(run / "checkpoints" / f"{name}.keras", "{}")
    capsys.readouterr()
    assert train.main([*map(str, tiny(train, run))]) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[-1].startswith("error: no checkpoint in")
    assert "/checkpoints to train from the start" in err[-1]
    assert all(line.startswith("warning: ") for line in err[:-1])


@pytest.mark.parametrize("member", ["config.json", "model.weights.h5"])
def test_a_best_checkpoint_that_lacks_a_part(member, run, capsys):
    best = run / "checkpoints" / "best.keras"
    with zipfile.ZipFile(best) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(best, "w") as archive:
        for name, content in members.items():
            if name != member:
                archive.writestr(name, content)
    message = refused(capsys, evaluate, "--workdir", run)
    assert f"{best} " in message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("evaluation.name=disentanglement", "config.evaluation.factor_names"),
        ("evaluation.name=nothing", "few_shot, disentanglement"),
        ("evaluation.splits=()", "config.evaluation.splits is empty"),
        ("evaluation.splits=('a','b')", "'a'"),
        ("evaluation.num_classes=(3,)", "an entry for each"),
        ("evaluation.num_support=0", "num_support"),
        ("evaluation.num_episodes=1", "at least 2"),
        ("evaluation.num_draws=0", "num_draws must be at least 1"),
        ("evaluation.nothing=1", "unknown field config.evaluation.nothing"),
        ("evaluation.num_support=many", "must be an integer"),
    ],
)
def test_an_evaluation_that_does_not_fit(override, message, run, capsys):
    before = (run / "results.json").read_bytes()
    words = ["--workdir", run, f"--config.{override}"]
    assert message in refused(capsys, evaluate, *words)
    assert (run / "results.json").read_bytes() == before
    assert [p.name for p in run.glob("*.png")] == ["learning_curves.png"]


@pytest.mark.parametrize(
    "field",
    ["dataset", "encoder.name", "encoder.dim", "evaluation.name"]
    + ["batches.num_query", "objective", "objective.name"],
)
def test_a_recipe_without_a_field(field, tmp_path, capsys):
    *sections, name = field.split(".")
    recipe = tmp_path / "mine.py"
    recipe.write_text(
        "from tests.trainers import tiny\n\n\n"
        "def get_config():\n"
        "    config = tiny.get_config()\n"
        f"    del config{''.join(f'.{s}' for s in sections)}.{name}\n"
        "    return config\n"
    )
    words = ["--config", recipe, "--workdir", tmp_path / "run"]
    assert name in refused(capsys, train, *words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def get_config(: pass", "SyntaxError"),
        ("def get_config(): return undefined", "NameError"),
        ("def get_config(): return None", "returned a NoneType"),
        ("def get_config(one): return one", "TypeError"),
    ],
)
def test_a_recipe_that_does_not_run(source, message, tmp_path, capsys):
    recipe = tmp_path / "mine.py"
    recipe.write_text(source)
    words = ["--config", recipe, "--workdir", tmp_path / "run"]
    assert message in refused(capsys, train, *words)


USERS_RECIPE = """
import keras

from embeddings_tf.export.version_folder import version_folder
from embeddings_tf import models
from tests.trainers import tiny


@keras.saving.register_keras_serializable("commands_test")
class Doubled(keras.layers.Layer):
    def call(self, x):
        return 2 * x


def doubled_encoder(**arguments):
    encoder = models.n_digit_encoder(**arguments)
    outputs = Doubled()(encoder.output) / 2
    return keras.Model(encoder.input, outputs)


models.doubled_encoder = doubled_encoder
models.__all__ = [*models.__all__, "doubled_encoder"]


def get_config():
    config = tiny.get_config()
    config.encoder.name = "doubled_encoder"
    del config.objective
    config.encoder.gaussian = False
    config.loss = {"name": "PrototypicalLoss", "num_support": 2}
    config.num_epochs = 1
    return config
"""


@pytest.mark.slow
def test_evaluate_and_export_load_a_recipe_of_the_users(
    tmp_path, capsys, monkeypatch
):
    import keras

    from embeddings_tf import models

    monkeypatch.setattr(models, "__all__", models.__all__)
    monkeypatch.setattr(models, "doubled_encoder", None, raising=False)
    recipe, run = tmp_path / "mine.py", tmp_path / "run"
    recipe.write_text(USERS_RECIPE)
    words = ["--config", recipe, "--workdir", run, *QUICK[:1]]
    assert train.main([*map(str, words)]) == 0
    name = "commands_test>Doubled"

    def forget():
        """As in a new process."""
        keras.saving.get_custom_objects().pop(name, None)

    forget()
    assert evaluate.main(["--workdir", str(run)]) == 0
    forget()
    model = str(tmp_path / "model")
    assert export.main(["--workdir", str(run), "--directory", model]) == 0
    forget()
    recipe.unlink()
    message = refused(capsys, evaluate, "--workdir", run)
    assert "Doubled" in message and "mine.py" in message


def test_damaged_folds_and_searches_are_named(tmp_path, capsys):
    for module, name in ((cross_validate, "fold_1"), (search, None)):
        workdir = tmp_path / (name or "search")
        folder = workdir / name if name else workdir
        folder.mkdir(parents=True)
        (folder / "results.json").write_text("{")
        words = tiny(module, workdir)
        if module is cross_validate:
            words = retrieval_words(workdir)
        message = refused(capsys, module, *words)
        assert f"{folder / 'results.json'} is damaged" in message
        assert not (workdir / "config.json").exists()


def test_a_claim_says_what_differs(tmp_path, capsys):
    run = load_recipe(TINY)
    assert workdirs.contains_run(tmp_path, run) is False
    workdirs.claim(tmp_path, TINY, run)
    assert workdirs.contains_run(tmp_path, run) is True
    other = load_recipe(TINY, ["seed=1"])
    with pytest.raises(ValueError, match="config.seed=0; this one has"):
        workdirs.contains_run(tmp_path, other)


@pytest.mark.slow
def test_few_shot_of_any_classes(tmp_path, capsys, monkeypatch):
    """Images of 12 x 10 pixels, class numbers that are not digits."""
    x, labels = images(12, 40, (12, 10, 3))
    labels = 1000 * labels - 7

    def load(name, split, *_, **__):
        rows = labels < 7000 if split != "test_unseen" else labels >= 7000
        if split == "missing":
            raise ValueError("Unknown split 'missing'")
        return x[rows], labels[rows]

    monkeypatch.setattr(data.datasets, "load", load)
    fields = ("dataset=made_up", "evaluation.name=few_shot")
    fields += ("batches.num_classes=5",)
    fields += ("encoder.image_shape=(12,10,3)", "validation.num_classes=5")
    fields += ("evaluation.num_classes=(8,4)", "evaluation.num_support=5")
    run = tmp_path / "run"
    words = tiny(train, run, *(f"--config.{field}" for field in fields))
    assert train.main([*map(str, words)]) == 0
    assert evaluate.main(["--workdir", str(run)]) == 0
    found = json.loads((run / "results.json").read_text())["evaluation"]
    for split in ("test_seen", "test_unseen"):
        for condition in ("clean", "corrupt_support", "corrupt_query"):
            assert 0 <= found[split][condition]["accuracy"] <= 1
    assert "axes" not in found, "class numbers have no digits"
    uncertainty = found["uncertainty"]
    assert "rank_correlation_dimension_digit" not in uncertainty
    assert -1 <= uncertainty["rank_correlation_with_occlusion"] <= 1
    assert (run / "embedding.png").stat().st_size > 1000


def test_an_error_in_a_graph_is_told_without_the_graph():
    """TensorFlow puts the code that it traced before what was raised."""

    @tf.function
    def traced(x):
        raise ValueError(f"x must be even; received {3}\n(of 4)")

    with pytest.raises(ValueError, match="in user code") as raised:
        traced(1)
    said = command_line._one_line(raised.value)
    assert said == "x must be even; received 3 (of 4)"
