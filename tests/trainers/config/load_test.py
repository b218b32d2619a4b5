"""Recipes and overrides."""

import json
import pathlib

import keras
import pytest

from embeddings_tf.datasets import small_norb
from embeddings_tf.datasets import sprites
from embeddings_tf.models import EmbeddingModel
from trainers.config import load_recipe
from trainers.config.build import build
from trainers.config.load import recipe_names
from trainers.config.run import Images
from trainers.config.run import Part
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.config.run_help import help_of_run
from trainers.training.model import build_model

HEAD = "uncertainty_omniglot_dim_16_prototypical"
TINY = pathlib.Path(__file__).parents[1] / "tiny.py"


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_loads_and_is_data(name):
    run = load_recipe(name)
    assert run.training.steps_per_epoch > 0
    json.dumps(config_of(run), allow_nan=False)


@pytest.mark.parametrize(
    ("recipe", "dataset"),
    [("sprites_f_statistic", sprites), ("small_norb_f_statistic", small_norb)],
)
def test_factor_names_are_those_of_the_data_set(recipe, dataset):
    names = load_recipe(recipe).evaluation.factor_names
    assert tuple(names) == dataset.FACTORS


def test_overrides_of_every_type():
    run = load_recipe(
        str(TINY),
        [
            "seed=7",
            "optimizer.global_clipnorm=3",
            "dataset=n_digit/2_number",
            "deterministic=False",
            "encoder.image_shape=(28, 56, 1)",
        ],
    )
    assert run.training.seed == 7
    assert run.optimizer.arguments["global_clipnorm"] == 3.0
    assert isinstance(run.optimizer.arguments["global_clipnorm"], float)
    assert run.data.dataset == "n_digit/2_number"
    assert run.training.deterministic is False
    assert run.encoder.arguments["image_shape"] == (28, 56, 1)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sede=3", "unknown field config.sede; the fields there are"),
        ("sede=3", r"Did you mean config\.seed\?"),
        ("optimiser.name=SGD", r"Did you mean config\.optimizer\?"),
        ("optimizer.learing_rate=1", r"mean config\.optimizer\.learning_rate"),
        ("objective.num_smples=1", r"mean config\.objective\.num_samples"),
        ("validation.num_query.x=1", "config.validation.num_query is not a"),
        ("loss.margin=1", "unknown field config.loss"),
        ("seed=4294967296", r"seed must .* 2\*\*32 - 1; received 4294967296"),
        (
            "augmentation=babble",
            "config.augmentation is a section with the fields NAME.noise, ",
        ),
        ("seed=many", "must be an integer; received 'many'"),
        ("seed=True", "must be an integer"),
        ("seed=1.5", "must be an integer"),
        ("deterministic=1", "must be True or False"),
        ("evaluation.splits=test", r"a tuple \(each text\)"),
        ("encoder.image_shape=(8, 8)", "3 items, each an integer"),
        ("validation=3", "is a section with the fields num_classes"),
        ("front_end.sample_rate=8000", "set config.front_end.name first"),
        ("optimizer=3", "is a section with the fields"),
        ("seed", "an override is --config.field=value"),
    ],
)
def test_bad_overrides_say_what_exists(override, message):
    with pytest.raises(ValueError, match=message):
        load_recipe("demo", [override])


JOINT = "omniglot_verification_lifted_structure_joint"


def test_an_optional_part_takes_none():
    """In all its ways: it is left out, and may come back."""

    def encoder_loss(*overrides):
        run = load_recipe(JOINT, [f"objective.{o}" for o in overrides])
        # As in `config.json`.
        assert run_from_config(config_of(run)) == run
        return run.method.arguments["encoder_loss"]

    assert encoder_loss().name == "LiftedStructureLoss"
    for none in ("None", " None "):
        assert encoder_loss(f"encoder_loss={none}") is None
    again = encoder_loss(
        "encoder_loss=None",
        "encoder_loss.name=TripletLoss",
        "encoder_loss.margin=0.5",
    )
    assert (again.name, again.arguments["margin"]) == ("TripletLoss", 0.5)
    alone = "omniglot_verification_without_classifier"
    run = load_recipe(alone, ["objective.encoder_loss=None"])
    assert run.method.arguments["encoder_loss"] is None


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["encoder_loss=LiftedStructureLoss"],
            "name; set one of them, or .*ne",
        ),
        (["encoder_loss=None", "encoder_loss=TripletLoss"], "=None$"),
        (["encoder_loss=None", "encoder_loss.margin=1"], "name first"),
        (["distance=None"], "name; set one of them$"),
    ],
)
def test_only_an_optional_part_takes_none(overrides, message):
    with pytest.raises(ValueError, match=message):
        load_recipe(JOINT, [f"objective.{o}" for o in overrides])


def test_an_optional_part_of_the_users_own_objective_takes_none(tmp_path):
    code = tmp_path / "own.py"
    code.write_text(
        "class Mine:\n"
        "    def __init__(self, encoder_loss=None, projection=None):\n"
        "        pass\n"
    )
    own = [
        f"objective.name={code}:Mine",
        "objective.encoder_loss.name=TripletLoss",
    ]
    run = load_recipe(JOINT, own)
    assert run.method.arguments["encoder_loss"].name == "TripletLoss"
    run = load_recipe(JOINT, [*own, "objective.encoder_loss=None"])
    assert run.method.arguments["encoder_loss"] is None
    # Without a type, it may be anything.
    run = load_recipe(JOINT, [*own, "objective.projection=wide"])
    assert run.method.arguments["projection"] == "wide"


def test_help_says_that_a_part_may_be_left_out():
    text = help_of_run(JOINT, load_recipe(JOINT))
    assert "--config.objective.encoder_loss=None: without it." in " ".join(
        text.split()
    )
    assert "--config.objective.distance=None" not in text


def test_none_removes_a_section_that_a_run_may_lack():
    recipe = "n_digit_2_dim_2_prototypical"
    run = load_recipe(recipe)
    assert run.data.preprocess.name == "corrupt"
    text = " ".join(help_of_run(recipe, run).split())
    assert "--config.preprocess=None: without it." in text
    for absent in ("uncertainty", "front_end", "encoder", "optimizer"):
        assert f"--config.{absent}=None" not in text
    for none in ("None", " None "):
        run = load_recipe(recipe, [f"preprocess={none}"])
        assert run.data.preprocess == Part()
        assert run_from_config(config_of(run)) == run
    run = load_recipe("spoken_digit_triplet", ["front_end=None"])
    assert run.data.front_end == Part()
    run = load_recipe(HEAD, ["uncertainty=None"])
    assert run.uncertainty == Part()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("preprocess=corrupt", "preprocess=None$"),
        ("uncertainty=Head", "uncertainty=None$"),
        ("encoder=None", "set one of them$"),
        ("optimizer=Adam", "set one of them$"),
    ],
)
def test_a_section_is_not_a_text(override, message):
    with pytest.raises(ValueError, match=message):
        load_recipe("n_digit_2_dim_2_prototypical", [override])


@pytest.mark.parametrize("field", ["seed", "start", "labels"])
def test_what_the_training_sets_is_no_field(field):
    message = f"unknown field config.batches.{field}; the fields there are"
    with pytest.raises(ValueError, match=message):
        load_recipe("demo", [f"batches.{field}=3"])
    config = {**config_of(load_recipe("demo"))}
    config["batches"] = {**config["batches"], field: 3}
    with pytest.raises(ValueError, match=message):
        run_from_config(config)


def test_unknown_recipe_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown recipe 'dmeo'.*demo"):
        load_recipe("dmeo")


def test_the_beginning_of_several_names_says_how_to_list_them():
    begun = [n for n in recipe_names() if n.startswith("n_digit")]
    assert len(begun) > 5
    with pytest.raises(ValueError, match="unknown recipe 'n_digit'") as caught:
        load_recipe("n_digit")
    message = str(caught.value)
    assert begun[0] in message and "trainers.train --list" in message
    assert f"{len(begun)} begin with 'n_digit'" in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("recipe", "override", "message"),
    [
        (str(TINY), "optimizer.epsilon=-1.0", "epsilon must be positive"),
        (str(TINY), "optimizer.epsilon=0.0", "epsilon must be positive"),
        ("sprites_triplet", "folds.num_per_class=-1", "0 for all examples"),
    ],
    ids=["epsilon below 0", "epsilon 0", "num_per_class"],
)
def test_impossible_values(recipe, override, message):
    with pytest.raises(ValueError, match=message):
        load_recipe(recipe, [override])


def test_strings_stay_strings_and_broken_recipes_are_named(tmp_path):
    assert load_recipe("demo", ["data_dir=2024"]).data.data_dir == "2024"
    file = tmp_path / "broken.py"
    file.write_text("import no_such_module")
    with pytest.raises(ValueError, match="broken.py cannot be read"):
        load_recipe(str(file))
    file.write_text("def get_config(): return {}")
    with pytest.raises(ValueError, match="it returned a dict"):
        load_recipe(str(file))


def test_a_file_without_get_config_is_no_recipe(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("")
    with pytest.raises(ValueError, match="no function get_config"):
        load_recipe(str(file))


@pytest.mark.parametrize(
    ("recipe", "override", "words"),
    [
        ("demo", "precision=float16", "mixed_float16"),
        ("demo", "piece_size=-1", "number of rows"),
        ("sprites_beta_vae_1", "piece_size=8", "autoencoder"),
        (
            "demo",
            "batches.num_support=4",
            r"batches\.num_support .*received 4 and 5. Set both",
        ),
        (
            "n_digit_2_dim_2_prototypical",
            "loss.num_support=3",
            r"loss\.num_support .*and 3\. Set both",
        ),
        (
            "sprites_f_statistic_dimension_dropout",
            "piece_size=8",
            "set one of the two to 0",
        ),
    ],
)
def test_bad_common_fields(recipe, override, words):
    with pytest.raises(ValueError, match=words):
        load_recipe(recipe, [override])


def test_common_fields_reach_the_model():
    run = load_recipe("demo")
    assert run.training.precision == "float32"
    assert run.training.piece_size == 0
    assert build_model(run).piece_size is None
    for recipe in ("demo", "small_norb_triplet"):
        run = load_recipe(recipe, ["precision=mixed_float16", "piece_size=7"])
        model = build_model(run)
        assert isinstance(model, EmbeddingModel) and model.piece_size == 7
        assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
        layers = model.encoder.layers
        assert layers[-1].compute_dtype == "float32"
        assert layers[-2].compute_dtype == "float16"
        assert keras.config.dtype_policy().name == "float32", "put back"


def test_an_argument_that_the_recipe_leaves_to_the_encoder():
    recipe = "omniglot_retrieval_triplet"
    assert "image_shape" not in load_recipe(recipe).encoder.arguments
    run = load_recipe(
        recipe, ["encoder.image_shape=(8, 9, 1)", "encoder.dark_ink=False"]
    )
    assert build_model(run).input_shape == (None, 8, 9, 1)
    assert run.encoder.arguments["dark_ink"] is False
    for override, message in (
        ("encoder.image_shape=8", r"must be a tuple \(3 items, each an int"),
        (
            "encoder.shape=8",
            "are dark_ink, dim, fused, gaussian, image_shape, name, num_fil",
        ),
        (
            "batches.allow_few=True",
            r"Did you mean config\.batches\.allow_fewer",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            load_recipe(recipe, [override])


def test_every_recipe_says_whether_images_are_resized():
    assert load_recipe("demo").data.images == Images(0, 1.0, True)
    run = load_recipe("mini_imagenet_triplet", ["images.size=84"])
    assert run.data.images.size == 84
    run = load_recipe("cars196_learned_distance")
    assert run.data.images == Images(224, 2.0, True)


def test_build_names_what_is_wrong():
    with pytest.raises(ValueError, match="has no 'Adem'"):
        build(Part("Adem"), "optimizer")
    with pytest.raises(ValueError, match="PairDistance.*wide"):
        build(Part("PairDistance", {"wide": 2}), "distance")
