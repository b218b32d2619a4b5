"""Recipes for goals: what is chosen for data of one's own."""

import ast
import contextlib
import json
import pathlib
import re

import numpy as np
import pytest

from embeddings_tf.models import has_gaussian_output
from tests.trainers import goal_recipes
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.commands import tiny
from tests.trainers.goal_recipes import FACTORS
from tests.trainers.goal_recipes import LABELS
from tests.trainers.goal_recipes import RNG
from tests.trainers.goal_recipes import arrays
from tests.trainers.goal_recipes import photos
from tests.trainers.goal_recipes import rows
from tests.trainers.goal_recipes import write
from trainers import compare
from trainers import train
from trainers.config import load_recipe
from trainers.goals import goal_recipe
from trainers.goals.goals import GOALS
from trainers.goals.goals import TRAINED_BY
from trainers.training.model import build_model
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.workdir import as_json
from tuning import search

# How Python names the folder whose name is the bytes `caf\xe9`.
LATIN = b"caf\xe9".decode("utf-8", "surrogateescape")


@pytest.fixture
def features(tmp_path):
    return goal_recipes.rows(tmp_path)


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    """10 speakers with 2 recordings of a second."""
    import tensorflow as tf

    folder = tmp_path_factory.mktemp("voices")
    for number in range(20):
        samples = RNG.normal(size=(8000, 1)).astype("float32") / 9
        wave = tf.audio.encode_wav(samples, 8000)
        tf.io.write_file(f"{folder}/{number // 2}/{number}.wav", wave)
    return f"audio_folder:{folder}"


# Shapes of arrays, and the encoder for each kind of data.
SHAPES = {"features": (6,), "images": (8, 8, 1)}
ENCODERS = {
    "features": "features_encoder",
    "images": "image_encoder",
    "recordings": "x_vector_encoder",
}


@pytest.mark.every_nth(7)
@pytest.mark.parametrize(
    ("goal", "method", "kind"),
    [
        (goal, method, kind)
        for goal, wanted in GOALS.items()
        for method in TRAINED_BY
        for kind in ENCODERS
        if method not in wanted.refused
        # A folder of recordings has one label.
        and (goal, kind) != ("disentangle", "recordings")
    ],
)
def test_every_method_has_a_recipe_that_can_start(
    goal, method, kind, voices, tmp_path
):
    labels = FACTORS if goal == "disentangle" else LABELS
    split = "examples" if goal == "disentangle" else "classes"
    dataset = voices
    if kind in SHAPES:
        x = np.zeros((len(LABELS), *SHAPES[kind]), "float32")
        dataset = arrays(tmp_path, x, labels)
    run = write(dataset, goal, tmp_path, method, split)
    assert run.method.name == method
    assert run.encoder.name == ENCODERS[kind]
    is_gaussian = method in ("StochasticPrototypes", "HedgedInstances")
    assert run.encoder.arguments.get("gaussian", False) == is_gaussian
    # The encoder has what the recipe says, and the method takes its output.
    model = build_model(run, num_classes=6)
    assert has_gaussian_output(model) == is_gaussian
    assert run.data.division.by == split
    batches = run.batches.arguments
    if goal == "disentangle":
        assert run.batches.name == "factor_batches"
        assert run.encoder.arguments["dim"] == 3 * 2 + 1
        assert len(run.evaluation.factor_names) == 2
    elif method in ("StochasticPrototypes", "PrototypicalLoss"):
        supports = run.method.arguments["num_support"]
        assert batches["num_support"] == supports
        assert batches["num_classes"] == 6  # 60 % of 10
    else:
        assert batches["num_classes"] == 6


def test_each_default_fits_its_goal():
    for goal in GOALS.values():
        assert goal.method in goal.compare
        assert set(goal.compare).isdisjoint(goal.refused)
        assert {*goal.compare, *goal.refused} <= set(TRAINED_BY)


def test_counts_follow_the_smallest_class(tmp_path, capsys):
    """Classes of 4 examples: 2 supports, 2 queries, batches of 4 each."""
    labels = np.repeat(np.arange(8), 4)
    dataset = arrays(tmp_path, np.zeros((32, 3), "float32"), labels)
    run = write(dataset, "few_shot", tmp_path / "a")
    assert run.batches.arguments["num_support"] == 2
    assert run.batches.arguments["num_query"] == 2
    assert run.evaluation.num_support == run.evaluation.num_query == 2
    assert run.evaluation.num_classes == (2,)
    run = write(dataset, "retrieve", tmp_path / "b")
    assert run.batches.arguments["num_per_class"] == 4
    assert "rows of 3 features" in capsys.readouterr().out


def test_the_evaluation_of_digits_has_its_name(tmp_path, capsys):
    run = write("n_digit/digits_2_number", "few_shot", tmp_path)
    assert run.evaluation.name == "n_digit_few_shot"
    assert "  evaluation n_digit_few_shot\n" in capsys.readouterr().out
    assert "'n_digit_few_shot'" in (tmp_path / "recipe.py").read_text()


def test_a_learned_distance_is_trained_together_with_a_loss(features, tmp_path):
    """Unless a field of the command says otherwise."""

    def planned(*overrides):
        return goal_recipe.plan_recipe(
            features,
            "verify",
            None,
            "classes",
            str(tmp_path / "run"),
            overrides=list(overrides),
        )

    default = planned()
    built = build_model(default.run, num_classes=6).objective.encoder_loss
    assert type(built).__name__ == "LiftedStructureLoss"
    line = "  method     LearnedDistance, together with LiftedStructureLoss\n"
    assert line in default.about
    alone = planned("objective.encoder_loss=None")
    assert "  method     LearnedDistance\n" in alone.about
    assert build_model(alone.run, num_classes=6).objective.encoder_loss is None
    with pytest.raises(ValueError, match="objective.distance is a section"):
        planned("objective.distance=None")  # a learned distance needs it
    other = planned("objective.encoder_loss.name=HistogramLoss")
    assert "together with HistogramLoss\n" in other.about
    beside = planned("objective.train_encoder=False")
    assert "LearnedDistance, beside LiftedStructureLoss\n" in beside.about
    frozen = ["freeze_encoder=True", "initial_weights=runs/a"]
    for more in ([], ["objective.label_smoothing=0.03"]):
        assert "  method     LearnedDistance\n" in planned(*frozen, *more).about
    # A head learns the value of the objective, which the loss is part of.
    head = ["uncertainty.name=UncertaintyHead", "monitor=loss"]
    assert "together with LiftedStr" in planned(*frozen, *head).about
    with pytest.raises(ValueError, match="or set config.objective.encoder_l"):
        planned(*frozen, "objective.encoder_loss.name=HistogramLoss")


@pytest.mark.parametrize(
    "name", [r"back\users", 'three"""quotes', "new\nline", "return\rhere"]
)
def test_any_name_of_a_folder_is_in_the_recipe(name, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    dataset = rows(folder)
    for _ in range(2):  # the second time, the file is equal
        run = write(dataset, "retrieve", tmp_path / "run")
    assert run.data.dataset == dataset
    tree = ast.parse((tmp_path / "run" / "recipe.py").read_bytes())
    assert repr(dataset)[1:-1] in repr(ast.get_docstring(tree))


def test_names_that_are_not_utf8_are_named(tmp_path, capsys):
    folder = tmp_path / LATIN
    folder.mkdir()
    words = [rows(folder), "--goal", "retrieve", "--workdir", tmp_path / "run"]
    error = refused(capsys, train, *words)
    assert "config.dataset must be UTF-8; received 'arrays:" in error
    assert r"caf\udce9/data.npz'. Rename the folder" in error
    words = [rows(tmp_path), "--goal", "retrieve", "--workdir", folder / "run"]
    error = refused(capsys, train, *words)
    assert "--workdir must be a folder whose name is UTF-8" in error
    assert r"caf\udce9/run'. Rename it" in error
    error = refused(capsys, train, *tiny(train, folder / "run"))
    assert "--workdir must be a folder whose name is UTF-8" in error
    assert not (folder / "run").exists() and not (tmp_path / "run").exists()


def test_a_class_of_one_example_is_refused(tmp_path):
    labels = np.repeat(np.arange(10), 2)[1:]
    dataset = arrays(tmp_path, np.zeros((19, 3), "float32"), labels)
    with pytest.raises(ValueError, match="classes with one example: 0; a goal"):
        write(dataset, "retrieve", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_images(tmp_path):
    x = np.zeros((len(LABELS), 20, 24, 1), "uint8")
    run = write(arrays(tmp_path, x), "retrieve", tmp_path)
    assert run.encoder.name == "image_encoder"
    assert tuple(run.encoder.arguments["image_shape"]) == (20, 24, 1)
    assert run.data.images.size == 0


@pytest.mark.parametrize(
    ("sides", "size"), [((30, 30), 0), ((30, 40), 64), ((200, 200), 64)]
)
def test_images_of_a_folder(sides, size, tmp_path):
    run = write(photos(tmp_path, sides), "retrieve", tmp_path)
    side = size or sides[0]
    assert run.data.images.size == size
    assert tuple(run.encoder.arguments["image_shape"]) == (side, side, 3)


def test_the_same_command_continues_and_an_edited_recipe_stays(
    features, tmp_path
):
    planned = [
        goal_recipe.plan_recipe(
            features, "verify", None, "classes", str(tmp_path / "run")
        )
        for _ in range(2)
    ]
    path, again = map(goal_recipe.write_recipe, planned)
    assert again == path
    edited = pathlib.Path(path).read_text().replace("128", "64")
    pathlib.Path(path).write_text(edited)
    with pytest.raises(ValueError, match=r"was edited.* another --workdir"):
        write(features, "verify", str(tmp_path / "run"))
    assert pathlib.Path(path).read_text() == edited
    latin = edited.encode() + "# é\n".encode("latin-1")
    pathlib.Path(path).write_bytes(latin)
    with pytest.raises(ValueError, match=r"was edited.* another --workdir"):
        write(features, "verify", str(tmp_path / "run"))
    assert pathlib.Path(path).read_bytes() == latin


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--goal", "classify"), "unknown goal 'classify'"),
        (("--goal", "verify", "--method", "Triplet"), "one of Stochastic"),
        (("--goal", "verify", "--method", "FStatisticLoss"), "does not fit"),
        (
            ("--goal", "disentangle", "--method", "PrototypicalLoss"),
            "episodes of one labelling",
        ),
        (("--goal", "disentangle"), "one label an example"),
    ],
)
def test_what_does_not_fit_is_refused(
    words, message, features, tmp_path, capsys
):
    workdir = tmp_path / "run"
    error = refused(capsys, train, features, "--workdir", workdir, *words)
    assert message in error
    assert not workdir.exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("arrays:x.npz",),
        ("--config", "demo", "--goal", "verify"),
        ("--config", "demo", "--split", "examples"),
        ("arrays:x.npz", "--config", "demo", "--goal", "verify"),
    ],
)
def test_other_words_are_refused(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        call(train, *words, "--workdir", tmp_path / "run")
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_recordings(voices, tmp_path):
    run = write(voices, "verify", tmp_path)
    assert run.data.front_end.arguments["sample_rate"] == 8000
    assert run.data.front_end.arguments["high_frequency"] == 3700
    # 70 % of a second, every 10 ms.
    assert run.data.utterances.num_frames == 70


@pytest.mark.parametrize("module", [train, compare])
def test_several_machines_are_refused_at_the_start(module, tmp_path, capsys):
    """TensorFlow must start them before the data is read."""
    words = ["image_folder:nowhere", "--goal", "retrieve", "--workdir"]
    words += [tmp_path / "run", "--config.strategy=multi_worker"]
    error = refused(capsys, module, *words)
    assert "works on one machine" in error and "recipe.py" in error
    assert not (tmp_path / "run").exists()


def test_a_refused_training_leaves_no_recipe_in_another_run(tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    config = {"recipe": "demo", "config": as_json(load_recipe("demo"))}
    (run / "config.json").write_text(json.dumps(config))
    words = [rows(tmp_path), "--goal", "retrieve", "--workdir", run]
    error = refused(capsys, train, *words)
    assert "contains a run of 'demo'" in error
    assert not (run / "recipe.py").exists()


@pytest.mark.parametrize("module", [train, compare, search])
def test_a_link_without_target_stays(module, tmp_path, capsys):
    link, target = tmp_path / "runs", tmp_path / "unmounted"
    link.symlink_to(target)
    words = [rows(tmp_path), "--goal", "retrieve", "--workdir", link / "a"]
    if module is search:
        words = tiny(search, link / "a")
    error = refused(capsys, module, *words)
    assert f"{link} is a symbolic link to {target}" in error
    assert link.readlink() == target


def test_a_link_without_target_is_no_recipe_of_ours(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "unmounted")
    planned = goal_recipe.Planned(tmp_path / "run" / "recipe.py", "", "", None)
    with pytest.raises(KeyError), goal_recipe.written_recipe(planned):
        raise KeyError
    found = [path.name for path in (tmp_path / "run").iterdir()]
    assert found == [".lock"]


@pytest.mark.parametrize(
    ("num_classes", "each", "words", "advice"),
    [
        (8, 8, (), "add classes. If your classes never change, use --split"),
        (8, 5, (), "add classes."),  # 5 examples of a class cannot be divided
        (8, 8, ("--split", "examples"), ""),
        (20, 8, (), ""),
    ],
)
def test_few_training_classes_are_said_to_be_few(
    num_classes, each, words, advice, tmp_path, capsys
):
    """Of 8 classes, 4 are left for training; of 20, 12."""
    labels = np.repeat(np.arange(num_classes), each)
    x = RNG.normal(size=(len(labels), 3)).astype("float32")
    np.savez(tmp_path / "few.npz", x=x, labels=labels)
    dataset = f"arrays:{tmp_path / 'few.npz'}"
    command = [dataset, "--goal", "retrieve", "--check", *words]
    assert call(train, *command) == 0
    out = " ".join(capsys.readouterr().out.split())
    few = "4 training classes are few for learning to tell new classes apart; "
    assert (few in out) == bool(advice)
    assert advice in out
    assert ("--split" in out) == ("--split" in advice)


def test_a_running_training_keeps_its_folder(features, tmp_path, capsys):
    """Its recipe may be written after the refused command looked for one."""
    run = tmp_path / "new" / "run"
    words = [features, "--goal", "verify", "--workdir", run]
    plan, running = goal_recipe.plan_recipe, contextlib.ExitStack()

    def plan_beside_another(*arguments, **options):
        planned = plan(*arguments, **options)
        running.enter_context(open_workdir(str(run)))
        return planned

    with pytest.MonkeyPatch.context() as patch, running:
        patch.setattr(goal_recipe, "plan_recipe", plan_beside_another)
        patch.setattr(goal_recipe, "write_atomically", None)
        assert "another process works in" in refused(capsys, train, *words)
        assert [path.name for path in run.iterdir()] == [".lock"]
    assert not run.parent.exists()


def test_a_recipe_written_since_the_plan_stays(features, tmp_path):
    run = tmp_path / "run"
    planned = goal_recipe.plan_recipe(
        features, "verify", None, "classes", str(run)
    )
    run.mkdir()
    (run / "recipe.py").write_text("other")
    same_run = re.escape(f"--config {run / 'recipe.py'} --workdir {run};")
    with pytest.raises(ValueError, match=f"is another recipe than.*{same_run}"):
        with goal_recipe.written_recipe(planned):
            pass
    assert (run / "recipe.py").read_text() == "other"
