"""`--config RECIPE --help`: every field with type, value and help."""

import importlib
import json
import re
import shlex

import pytest

from embeddings_tf.datasets.degrade_randomly import TRAINED_KINDS
from trainers import evaluate
from trainers import train
from trainers.config import load_recipe
from trainers.config.load import recipe_names
from trainers.config.run_config import apply_override
from trainers.config.run_help import help_of_run
from trainers.recipes import every_recipe
from trainers.workdirs.workdir import as_json


def printed(capsys, module, *words):
    with pytest.raises(SystemExit) as end:
        module.main([*words])
    found = capsys.readouterr()
    return end.value.code, found.out, found.err


def test_every_field_of_the_demo(capsys):
    code, out, _ = printed(capsys, train, "--config", "demo", "--help")
    assert code == 0
    for line, help in (
        ("--config.dataset=n_digit/digits_2_number  (str)", "Name that"),
        ("--config.folds.num_folds=0  (int)", "Number of folds; 0 uses"),
        ("--config.folds.group.feature=  (str)", "Feature of the data"),
        ("--config.preprocess.name=corrupt  (str)", "Function of datasets"),
        ("--config.preprocess.probability=0.2  (float)", "Probability"),
        ("--config.front_end.name=  (str)", "Function of datasets.speech"),
        ("--config.batches.num_query=5  (int)", "Queries per class"),
        ("--config.encoder.image_shape='(8, 16, 1)'  (tuple)", "`(height"),
        ("--config.encoder.initial_variance=None  (float | None)", ""),
        ("--config.objective.num_samples=1  (int)", ""),
        ("--config.optimizer.learning_rate.name=CosineDecay  (str)", ""),
        ("--config.optimizer.learning_rate.alpha=0.0  (float)", ""),
        ("--config.optimizer.beta_1=0.9  (float)", ""),
        ("--config.seed=0  (int)", "Random seed of weights"),
        ("--config.plateau.factor=1.0  (float)", "Factor of the learning"),
        (
            "--config.evaluation.num_draws=5  (int)",
            "Number of random occlusions",
        ),
        ("--config.validation.num_episodes=10  (int)", "Episodes."),
    ):
        assert f"  {line}\n" in out, line
        after = out.partition(f"  {line}\n")[2]
        assert after.lstrip().startswith(help), line
    assert max(map(len, out.splitlines())) < 100


@pytest.mark.parametrize("name", ["demo", "omniglot_5_shot_dim_2_prototypical"])
def test_the_help_starts_with_what_the_recipe_is_about(name):
    recipe = every_recipe()[name]
    start = help_of_run(name, load_recipe(name)).partition("The fields")[0]
    assert " ".join(start.split()).startswith(f"{recipe.about}. This prints")
    command = start.strip().splitlines()[-1]
    assert command.endswith(f"-m pydoc {recipe.make.__module__}")


@pytest.mark.parametrize("name", recipe_names())
def test_the_docstring_of_the_table_is_the_one_that_the_help_names(name):
    recipe = every_recipe()[name]
    module = importlib.import_module(recipe.make.__module__)
    assert module.RECIPES[name] is recipe and module.__doc__


def test_a_workdir_s_config_has_the_help_of_its_recipe(tmp_path):
    run = load_recipe("demo")
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"recipe": "demo", "config": {}}))
    about = every_recipe()["demo"].about
    assert help_of_run(str(file), run).startswith(about)
    file.write_text(json.dumps({"recipe": "mine.py", "config": {}}))
    for name in (str(file), "mine.py"):
        assert help_of_run(name, run).startswith("The fields of")


def test_tuples_are_quoted_for_a_shell():
    run = load_recipe("demo", ['evaluation.splits=("test",)'])
    run = apply_override(run, "evaluation.num_classes=(3,)")
    text = help_of_run("demo", run)
    assert """  --config.evaluation.splits='("test",)'  (tuple""" in text
    assert """  --config.evaluation.num_classes='(3,)'  (tuple""" in text
    (word,) = re.findall(r"--config\.(evaluation.splits=\S+)", text)
    (word,) = shlex.split(word)
    assert apply_override(run, word) == run


def test_every_field_that_may_be_set_is_listed():
    text = help_of_run("demo", load_recipe("demo"))
    assert "global_clipnorm=10.0  (float)" in text
    assert "initial_learning_rate=0.003  (float)" in text
    # Keras's own, which it does not explain.
    for name in ("clipvalue", "loss_scale_factor"):
        assert f"--config.optimizer.{name}=None  (any)" in text
        load_recipe("demo", [f"optimizer.{name}=2.0"])
    for name in ("objective.trainable", "objective.autocast", "batches.start"):
        assert name not in text
        with pytest.raises(ValueError, match=f"unknown field config.{name}"):
            load_recipe("demo", [f"{name}=1"])


def test_a_value_after_a_space_is_refused(capsys):
    words = ("--config=demo", "--workdir=x", "--config.num_epochs", "2")
    code, _, err = printed(capsys, train, *words)
    assert code == 2
    assert "--config.num_epochs needs a value after `=`" in err


def test_values_are_those_of_the_command(capsys):
    words = ("--config=demo", "--config.seed=7", "-h")
    assert "  --config.seed=7  (int)" in printed(capsys, train, *words)[1]


@pytest.mark.parametrize("name", recipe_names())
def test_a_printed_field_can_be_set(name):
    run = load_recipe(name)
    text = help_of_run(name, run)
    names = re.findall(r"^  --config\.(\S+?)=", text, re.MULTILINE)
    assert len(names) == len(set(names)) > 50
    for field in names:
        if field.endswith(".NAME") or field == "evaluation.name":
            continue
        with pytest.raises(ValueError) as caught:
            apply_override(run, f"{field}.inner=1")
        assert "unknown field" in str(caught.value) or "name" in str(
            caught.value
        )


def printed_words(text):
    """The overrides that a help prints, as a shell reads them."""
    lines = re.findall(r"^  --config\.(\S+?=.*)  \(.*\)$", text, re.MULTILINE)
    words = [word for line in lines for word in shlex.split(line)]
    return [word for word in words if ".NAME=" not in word]


@pytest.mark.parametrize("name", recipe_names())
def test_the_printed_fields_make_the_same_run(name):
    run = load_recipe(name)
    words = printed_words(help_of_run(name, run))
    assert len(words) > 50
    assert as_json(load_recipe(name, words)) == as_json(run)


def test_the_kinds_of_damage_can_be_set():
    run = load_recipe("demo", ["preprocess.name=degrade_randomly"])
    (word,) = (
        word
        for word in printed_words(help_of_run("demo", run))
        if word.startswith("preprocess.kinds=")
    )
    assert word == f"preprocess.kinds={json.dumps(TRAINED_KINDS)}".translate(
        str.maketrans("[]", "()")
    )
    assert as_json(run)["preprocess"]["kinds"] == [*TRAINED_KINDS]


def test_a_default_that_is_an_expression_is_no_value(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import keras\n\nPOWER = 2.0\n\n"
        "class Mine(keras.losses.Loss):\n"
        "    def __init__(self, power: float = POWER, **kwargs): ...\n"
    )
    recipe = "sprites_triplet"
    run = load_recipe(recipe, [f"method.name={file}:Mine"])
    text = help_of_run(recipe, run)
    assert "  --config.loss.power=  (float, default POWER)\n" in text


def test_the_short_help_says_how_to_get_the_long_one(capsys):
    code, out, _ = printed(capsys, train, "--help")
    assert code == 0
    assert "--config RECIPE --help" in " ".join(out.split())
    assert "--config.plateau" not in out
    code, out, _ = printed(capsys, evaluate, "--help")
    assert code == 0 and "--workdir" in out


def test_help_of_an_unknown_recipe(capsys):
    code, _, err = printed(capsys, train, "--config", "dmeo", "--help")
    assert code == 2
    assert "unknown recipe 'dmeo'" in err
