"""The typed run, and the names of its fields in files and commands."""

import dataclasses
import json
import pathlib

import ml_collections
import pytest

from trainers.config import load_recipe
from trainers.config.evaluation_fields import EVALUATIONS
from trainers.config.evaluation_fields import FewShot
from trainers.config.evaluation_fields import Plda
from trainers.config.evaluation_fields import Retrieval
from trainers.config.load import recipe_name
from trainers.config.load import recipe_names
from trainers.config.run import DataFields
from trainers.config.run import Folds
from trainers.config.run import Images
from trainers.config.run import Part
from trainers.config.run import Plateau
from trainers.config.run import Run
from trainers.config.run import TrainingFields
from trainers.config.run import Utterances
from trainers.config.run_config import apply_override
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.config.run_fields import field_types
from trainers.workdirs.workdir import as_json

ROOT = pathlib.Path(__file__).parents[3]
SMALL = {
    "dataset": "mnist",
    "encoder": {"name": "mnist_encoder"},
    "loss": {"name": "TripletLoss", "margin": 1},
    "batches": {
        "name": "class_balanced_batches",
        "num_classes": 10,
        "num_per_class": 2,
    },
}


def test_a_small_config_has_a_value_for_every_field():
    run = run_from_config(ml_collections.ConfigDict(SMALL))
    assert run.data == DataFields(dataset="mnist")
    assert run.data.folds == Folds(num_folds=0)
    assert run.data.images == Images(size=0, cache_gib=1.0, crop=True)
    assert run.data.utterances == Utterances(num_frames=0)
    assert run.data.front_end == run.data.preprocess == Part("")
    assert run.data.augmentation == {}
    assert run.training.plateau == Plateau(factor=1.0)
    assert run.optimizer == Part("Adam")
    assert run.method.kind == "loss"
    assert run.method.arguments == {"margin": 1.0}
    assert isinstance(run.evaluation, Retrieval)
    assert run.training.monitor == "val_recall_at_1"


def fields(kind):
    """Every field of a dataclass and of the dataclasses in it."""
    for field in dataclasses.fields(kind):
        yield kind, field
        inner = field_types(kind)[field.name]
        if dataclasses.is_dataclass(inner) and not issubclass(inner, Part):
            yield from fields(inner)


def test_every_field_has_a_default_and_help():
    found = list(fields(Run))
    for kind in EVALUATIONS.values():
        found += fields(kind)
    assert len(found) > 90
    for kind, field in found:
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        assert has_default, (kind, field.name)
        if kind.__name__ != "Evaluation":
            assert field.metadata["help"].endswith("."), (kind, field.name)


@pytest.mark.parametrize("name", recipe_names())
def test_a_config_and_its_json_give_the_same_run(name):
    run = load_recipe(name)
    config = config_of(run)
    assert run_from_config(config) == run
    assert run_from_config(json.loads(json.dumps(config))) == run


def test_the_fields_of_a_recipe():
    run = load_recipe("spoken_digit_learned_distance_babble")
    assert run.data.label.feature == "audio/filename"
    assert run.data.folds.group.pattern == r"^\d_(.+)_"
    assert run.data.front_end.name == "front_end"
    assert run.data.front_end.arguments["sample_rate"] == 8000
    assert run.data.augmentation["babble"].snr == (10.0, 20.0)
    assert run.method.kind == "objective"
    distance = run.method.arguments["distance"]
    assert distance == Part(
        "PairDistance", {"hidden_units": (128,) * 3, "dropout": 0.1}
    )
    assert run.optimizer.arguments["learning_rate"].name == "CosineDecay"
    assert run.evaluation.plda == Plda(num_dims=9)
    assert run.evaluation.validation.split == "validation"
    assert load_recipe("sprites_beta_vae_4").method.arguments[
        "decoder"
    ] == Part("sprites_decoder", {"dim": 22, "width": 1024})


def test_both_names_of_a_field():
    for name in ("demo", "sprites_beta_vae_1"):
        run = load_recipe(name)
        for short, long in (
            ("seed=3", "training.seed=3"),
            ("dataset=mnist", "data.dataset=mnist"),
            ("folds.num_folds=4", "data.folds.num_folds=4"),
            ("plateau.factor=0.5", "training.plateau.factor=0.5"),
            ("validation.split=test", "evaluation.validation.split=test"),
            ("images.size=8", "data.images.size=8"),
        ):
            changed = apply_override(run, short)
            assert changed == apply_override(run, long) != run
    demo = load_recipe("demo")
    assert apply_override(demo, "objective.num_samples=3") == apply_override(
        demo, "method.num_samples=3"
    )
    vae = load_recipe("sprites_beta_vae_1")
    assert apply_override(vae, "decoder.width=8") == apply_override(
        vae, "method.decoder.width=8"
    )


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("data.seed=1", "training.seed"),
        ("data.plateau.factor=0.5", "training.plateau.factor"),
        ("training.dataset=demo", "data.dataset"),
        ("training.folds.fold=1", "data.folds.fold"),
        ("data.datasett=demo", "data.dataset"),
        ("training.sede=1", "training.seed"),
    ],
)
def test_the_other_section_is_named(override, meant):
    """Fields of a section are listed, and no field is named by itself."""
    name = override.partition("=")[0]
    section, field = name.split(".")[:2]
    kind = DataFields if section == "data" else TrainingFields
    fields = ", ".join(sorted(field.name for field in dataclasses.fields(kind)))
    with pytest.raises(ValueError) as raised:
        load_recipe("demo", [override])
    assert str(raised.value) == (
        f"unknown field config.{section}.{field}; the fields there are "
        f"{fields}. Did you mean config.{meant}?"
    )


def test_sections_that_a_recipe_does_not_use_can_be_set():
    run = load_recipe("mnist_learned_distance", ["folds.num_folds=3"])
    assert run.data.folds == Folds(split="train", num_folds=3)
    plateau = ["plateau.factor=0.5", "plateau.patience=2"]
    run = load_recipe("demo", ["optimizer.learning_rate=0.1", *plateau])
    assert run.training.plateau == Plateau(0.5, 2, 0.0)
    assert load_recipe("demo").training.plateau.factor == 1.0
    run = load_recipe(
        "spoken_digit_triplet",
        ["augmentation.loud.noise=babble", "augmentation.loud.snr=(0, 5)"],
    )
    assert run.data.augmentation["loud"].snr == (0.0, 5.0)


def test_another_object_keeps_the_arguments_that_it_takes():
    run = load_recipe("sprites_f_statistic", ["loss.name=HistogramLoss"])
    assert run.method.name == "HistogramLoss" and run.method.arguments == {}
    run = load_recipe("an4_triplet", ["loss.name=ContrastiveLoss"])
    assert run.method.arguments == {"margin": 0.3}
    run = load_recipe("sprites_f_statistic", ["method.name=HedgedInstances"])
    assert run.method.kind == "objective"
    assert "objective" in config_of(run)


def test_a_rate_may_become_a_schedule_and_a_number_again():
    run = load_recipe(
        "small_norb_triplet",
        [
            "optimizer.learning_rate.name=CosineDecay",
            "optimizer.learning_rate.initial_learning_rate=1",
            "optimizer.learning_rate.decay_steps=200_000",
        ],
    )
    assert run.optimizer.arguments["learning_rate"] == Part(
        "CosineDecay", {"initial_learning_rate": 1, "decay_steps": 200_000}
    )
    run = load_recipe("demo", ["optimizer.learning_rate=0.1"])
    assert run.optimizer.arguments["learning_rate"] == 0.1


def test_another_evaluation_has_its_own_fields():
    run = apply_override(load_recipe("demo"), "evaluation.name=retrieval")
    assert run.evaluation == Retrieval(
        splits=("test_seen", "test_unseen"),
        validation=type(Retrieval().validation)(split="validation"),
    )
    run = apply_override(
        load_recipe("mnist_learned_distance"), "evaluation.name=few_shot"
    )
    assert isinstance(run.evaluation, FewShot)
    assert run.evaluation.splits == ("test[:2000]",)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**SMALL, "sede": 1}, r"config\.sede; .*Did you mean config\.seed\?"),
        ({**SMALL, "folds": {"fold_": 1}}, r"mean config\.folds\.fold\?"),
        ({**SMALL, "folds": 3}, "config.folds must be a section"),
        ({**SMALL, "loss": {"name": 3}}, "config.loss.name must be text"),
        ({**SMALL, "seed": "0"}, "config.seed must be an integer"),
        (
            {**SMALL, "encoder": {"name": "mnist_encoder", "dims": 2}},
            r"mean config\.encoder\.dim\?",
        ),
        ({**SMALL, "objective": {}}, "received objective and loss"),
        ({"dataset": "mnist"}, "received none"),
        (
            {**SMALL, "evaluation": {"name": "retrival"}},
            "expected one of few_shot, disentanglement, retrieval, ",
        ),
    ],
)
def test_wrong_names_and_types(config, message):
    with pytest.raises(ValueError, match=message):
        run_from_config(config)


def test_method_is_a_name_for_every_kind():
    config = {**SMALL, "method": SMALL["loss"]}
    del config["loss"]
    assert run_from_config(config) == run_from_config(SMALL)
    config["method"] = {"name": "Nothing"}
    with pytest.raises(
        ValueError, match="not a loss, objective or autoencoder"
    ):
        run_from_config(config)


def test_configs_of_committed_results_are_read():
    """Some lack fields, which have their default.

    Some have another name for the evaluation of n-digit images.
    """
    found = 0
    for file in (ROOT / "benchmarks" / "results").rglob("*.json"):
        results = json.loads(file.read_text())
        runs = [results, *results.get("runs", {}).values()]
        for run in runs:
            if isinstance(run, dict) and "config" in run:
                config = run["config"]
                read = json.loads(
                    json.dumps(config_of(run_from_config(config)))
                )
                digits = config["dataset"].startswith("n_digit/")
                for name, value in _leaves(config):
                    if digits and name == ("evaluation", "name"):
                        value = "n_digit_few_shot"
                    assert _leaf(read, name) == value, (file, name)
                found += 1
    assert found > 50


def _leaves(config, path=()):
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _leaf(config, path):
    for name in path:
        config = config[name]
    return config


def test_every_recipe_is_made_again_with_its_defaults_written_out():
    for name in recipe_names():
        written = as_json(load_recipe(name))
        assert as_json(run_from_config(written)) == written, name
    assert as_json(load_recipe("demo"))["optimizer"]["beta_1"] == 0.9


def test_a_run_is_made_again_from_its_config_json(tmp_path):
    run = load_recipe("omniglot_retrieval_triplet", ["seed=3", "folds.fold=2"])
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"recipe": "x", "config": config_of(run)}))
    assert load_recipe(str(file)) == run
    assert recipe_name(str(file)) == "x" and recipe_name("demo") == "demo"
    assert load_recipe(str(file), ["seed=4"]).training.seed == 4
    file.write_text("{}")
    with pytest.raises(ValueError, match="contains no config"):
        load_recipe(str(file))
    file.write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        load_recipe(str(file))
    with pytest.raises(ValueError, match="there is no file"):
        load_recipe(str(tmp_path / "none.json"))


def test_the_same_kind_of_evaluation_keeps_its_fields():
    before = load_recipe("omniglot_retrieval_histogram")
    assert before.evaluation.distance == "cosine"
    after = apply_override(before, "evaluation.name=retrieval")
    assert after == before
