"""Every space fits a recipe, and its values give models that can be built."""

import keras_tuner
import ml_collections
import numpy as np
import pytest

from embeddings_tf import sampling
from embeddings_tf.datasets.sprites.characters import NUM_VALUES
from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.run_config import config_of
from trainers.training import model
from tuning import methods
from tuning.fields import choose
from tuning.fields import set_field
from tuning.fields import set_learning_rate
from tuning.search import SPACES
from tuning.search import run_maker
from tuning.search import space_names

RECIPES = {
    "an4": "an4_learned_distance",
    "cifar_mini_imagenet": "mini_imagenet_learned_distance",
    "dimension_dropout": "sprites_f_statistic_dimension_dropout",
    "disentangling": "sprites_f_statistic",
    "f_statistic": "sprites_f_statistic",
    "learning_rate": "omniglot_1_shot_dim_2_prototypical",
    "n_digit": "n_digit_2_dim_2_hedged_instances",
    "omniglot_encoder": "omniglot_1_shot_dim_2_stochastic_prototypes",
    "omniglot_episodes": "omniglot_5_shot_dim_2_stochastic_prototypes",
    "retrieval": "omniglot_retrieval_lifted_structure",
    "stochastic_prototypes": "n_digit_2_dim_2_stochastic_prototypes",
    "supports": "n_digit_2_dim_2_stochastic_prototypes",
    "verification": "spoken_digit_learned_distance",
    "voxceleb": "voxceleb_learned_distance",
}


def draw(name, num_draws, recipe=None):
    """`(values, config)` of random trials, as in a search."""
    space = load_function(name, SPACES, "space", "space", space_names())
    make_run = run_maker(load_recipe(recipe or RECIPES[name]), space)
    oracle = keras_tuner.oracles.RandomSearchOracle(
        objective=keras_tuner.Objective("score", "max"), seed=1
    )
    make_run(oracle.hyperparameters)
    found = []
    for number in range(num_draws):
        drawn = oracle.get_space()
        drawn.values = oracle.populate_space(str(number))["values"]
        found.append((drawn.values, make_run(drawn)))
    return found


def test_every_space_is_tested():
    assert sorted(RECIPES) == space_names()


@pytest.mark.parametrize("name", RECIPES)
def test_what_a_space_draws_can_be_built(name):
    for _, run in draw(name, 1):
        built = model.build_model(run, num_classes=50)
        assert float(built.optimizer.learning_rate.numpy()) >= 0


def test_values_reach_the_fields_that_depend_on_them():
    for values, run in draw("stochastic_prototypes", 40):
        num_support = values["num_support"]
        objective = run.method.arguments
        assert run.batches.arguments["num_support"] == num_support
        assert objective["num_support"] == num_support
        # num_support * c^(2 / dim), and dim is 2
        assert objective["initial_noise_variance"] == pytest.approx(
            num_support * values["noise_constant"]
        )
        sampler = values["objective.sampler"]
        assert objective["num_samples"] == values[f"{sampler}.num_samples"]
        assert ("num_halvings" in values) == (values["decay"] == "halving")
        rate = run.optimizer.arguments["learning_rate"].arguments
        assert (
            rate["initial_learning_rate"] == values["optimizer.learning_rate"]
        )
        assert ("decay_rate" in rate) == (values["decay"] == "halving")
    for values, run in draw("omniglot_episodes", 40):
        assert run.batches.arguments["num_support"] == 5
        for name in ("num_classes", "num_query"):
            assert run.batches.arguments[name] == values[f"batches.{name}"]
        noise = run.method.arguments["initial_noise_variance"]
        assert noise == pytest.approx(5 * values["noise_constant"])
    for values, run in draw("omniglot_encoder", 20):
        for name in ("num_filters", "uniform_biases"):
            assert run.encoder.arguments[name] == values[f"encoder.{name}"]
    for recipe in ("stochastic_prototypes", "prototypical"):
        for values, run in draw("supports", 10, f"n_digit_2_dim_2_{recipe}"):
            assert {
                run.batches.arguments["num_support"],
                run.method.arguments["num_support"],
            } == {values["num_support"]}
    drawn = draw("dimension_dropout", 20)
    assert {0.08, 0.15, 0.3} == {
        values["encoder.dimension_dropout"] for values, _ in drawn
    }
    for values, run in drawn:
        (rate,) = values.values()
        assert run.encoder.arguments["dimension_dropout"] == rate
    for values, run in draw("an4", 40):
        objective = run.method.arguments
        auxiliary = values["objective.auxiliary"]
        assert objective.get("auxiliary", "none") == auxiliary
        assert ("projection" in objective) == values.get(
            "objective.projection", False
        )
        assert objective["distance"].arguments["hidden_units"] == (
            (values["distance.num_units"],) * values["distance.num_layers"]
        )
    for _, run in draw("f_statistic", 40):
        num_dims = run.method.arguments["num_dims"]
        assert 1 <= num_dims <= run.encoder.arguments["dim"] == 22


@pytest.mark.parametrize(
    ("method", "constant", "low", "high"),
    [
        ("stochastic_prototypes", None, 0, 0),
        ("prototypical", None, 0, 0),
        ("hedged_instances", "beta", 1e-6, 1e-2),
        ("soft_contrastive", None, 0, 0),
        ("contrastive", "margin", 0.3, 10),
    ],
)
def test_every_method_of_the_n_digit_grid_has_its_constants_drawn(
    method, constant, low, high
):
    rates = []
    for values, run in draw("n_digit", 60, f"n_digit_2_dim_2_{method}"):
        rates.append(values["optimizer.learning_rate"])
        rate = run.optimizer.arguments["learning_rate"].arguments
        assert rate["initial_learning_rate"] == rates[-1]
        drawn = {name.rpartition(".")[2]: v for name, v in values.items()}
        assert set(drawn) == {"learning_rate", *filter(None, [constant])}
        if constant:
            assert run.method.arguments[constant] == drawn[constant]
            assert low <= drawn[constant] <= high
    # Beyond 1e-2, the best rate of prototypical networks so far.
    assert 1e-3 <= min(rates) < 2e-3 and 5e-2 < max(rates) <= 1e-1


def test_the_learning_rate_is_all_that_is_drawn():
    rates = []
    for values, run in draw("learning_rate", 60):
        (rate,) = values.values()
        schedule = run.optimizer.arguments["learning_rate"].arguments
        assert schedule["initial_learning_rate"] == rate
        rates.append(rate)
    assert 3e-4 <= min(rates) < 6e-4 and 1.5e-2 < max(rates) <= 3e-2


@pytest.mark.parametrize(
    ("name", "num_values"),
    # Counted in the paper's table; the warm-ups come from the authors' code.
    [
        ("cifar_mini_imagenet", [4, 4, 3, 3, 4, 3, 2, 4, 4]),
        ("voxceleb", [5, 3, 3, 3, 3, 3, 3, 3, 3, 2, 4, 4]),
    ],
)
def test_the_winners_of_the_paper_are_in_its_grid(name, num_values):
    """The recipes contain them; other values could not be drawn."""
    space = load_function(name, SPACES, "space", "space", space_names())
    recipe = load_recipe(RECIPES[name])
    hyperparameters = keras_tuner.HyperParameters()
    run_maker(recipe, space)(hyperparameters)
    grid = {choice.name: choice.values for choice in hyperparameters.space}
    assert [len(values) for values in grid.values()] == num_values
    recipe = config_of(recipe)
    hidden_units = recipe["objective"]["distance"]["hidden_units"]
    assert len(hidden_units) in grid.pop("distance.num_layers")
    assert hidden_units[0] in grid.pop("distance.num_units")
    for field, values in grid.items():
        value = recipe
        for part in field.split("."):
            value = value[part]
        assert value in values, field


@pytest.mark.parametrize(
    ("name", "recipe", "drawn"),
    [
        ("disentangling", "sprites_triplet", {"loss.margin", "loss.mining"}),
        ("disentangling", "sprites_histogram", {"loss.num_nodes"}),
        ("disentangling", "sprites_f_statistic", {"share_of_dims"}),
        ("disentangling", "sprites_beta_vae_2", {"autoencoder.beta"}),
        ("retrieval", "omniglot_retrieval_triplet", {"loss.margin"}),
        ("retrieval", "omniglot_retrieval_f_statistic", {"share_of_dims"}),
        (
            "retrieval",
            "omniglot_retrieval_binomial_deviance",
            {"loss.scale", "loss.threshold", "loss.negative_cost"},
        ),
        ("retrieval", "omniglot_retrieval_prototypical", set()),
        ("retrieval", "sprites_retrieval_prototypical", set()),
        (
            "verification",
            "an4_triplet_classifier",
            {"objective.encoder_loss.margin"},
        ),
        (
            "verification",
            "spoken_digit_learned_distance",
            {"objective.label_smoothing", "distance.num_layers"},
        ),
        ("verification", "spoken_digit_triplet", {"loss.margin"}),
        ("verification", "omniglot_verification_triplet", {"loss.margin"}),
    ],
)
def test_every_method_has_its_constants_and_the_same_rates(name, recipe, drawn):
    rates, sizes = [], set()
    for values, run in draw(name, 40, recipe):
        assert drawn <= set(values)
        rates.append(values["optimizer.learning_rate"])
        rate = run.optimizer.arguments["learning_rate"].arguments
        assert rate["initial_learning_rate"] == rates[-1]
        for field in drawn:
            section, _, argument = field.rpartition(".")
            if section in ("loss", "objective", "autoencoder"):
                assert run.method.arguments[argument] == values[field]
        if "share_of_dims" in values:
            dim = run.encoder.arguments["dim"]
            shares = methods.SHARES_OF_DIMS
            share = values["share_of_dims"]
            expected = max(1 + shares.index(share), round(share * dim))
            assert run.method.arguments["num_dims"] == expected <= dim
        if name == "verification":
            # PLDA of the evaluation keeps no more than there are.
            dim = run.encoder.arguments["dim"]
            assert run.evaluation.plda.num_dims <= dim
        batches = run.batches.arguments
        if "num_support" in run.method.arguments:
            half = batches["num_per_class"] // 2
            assert run.method.arguments["num_support"] == half
        if name == "retrieval":
            sizes.add(batches["num_classes"] * batches["num_per_class"])
    assert min(rates) < 2e-4 and max(rates) > 5e-3
    assert len(sizes) <= 1, "every batch has the same number of examples"


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("cifar_mini_imagenet", "cifar10_triplet"),
        ("cifar_mini_imagenet", "cifar10_triplet_classifier"),
        ("voxceleb", "voxceleb_triplet"),
    ],
)
def test_the_baseline_of_the_paper_is_tuned_too(name, recipe):
    learned = {n for values, _ in draw(name, 1) for n in values}
    margin, left_out = "loss.margin", ("objective.", "distance.")
    if recipe.endswith("classifier"):  # which is searched, too
        margin = "objective.encoder_loss.margin"
        left_out = ("objective.distance.", "distance.")
    for values, run in draw(name, 5, recipe):
        found = run.method.arguments
        if recipe.endswith("classifier"):
            assert (
                found["label_smoothing"] == values["objective.label_smoothing"]
            )
            found = found["encoder_loss"].arguments
        assert found["margin"] == values[margin]
        assert set(values) == {margin} | {
            n for n in learned if not n.startswith(left_out)
        }


DISTANCE = {
    "objective.distance.dropout",
    "distance.num_layers",
    "distance.num_units",
}
TRIPLET = {"objective.encoder_loss.margin", "objective.encoder_loss.mining"}


@pytest.mark.parametrize(
    ("method", "drawn", "absent"),
    [
        # The cosine of an encoder that the distance does not train.
        (
            "triplet_classifier",
            TRIPLET | {"objective.label_smoothing"},
            DISTANCE,
        ),
        (
            "triplet_beside",
            TRIPLET | DISTANCE | {"objective.label_smoothing"},
            set(),
        ),
        ("triplet_joint", TRIPLET | DISTANCE, set()),
        (
            "lifted_structure_beside",
            DISTANCE | {"objective.encoder_loss.margin"},
            set(),
        ),
        (
            "binomial_deviance_joint",
            DISTANCE
            | {
                "objective.encoder_loss.scale",
                "objective.encoder_loss.negative_cost",
                "objective.encoder_loss.threshold",
            },
            set(),
        ),
        (
            "histogram_beside",
            DISTANCE | {"objective.encoder_loss.num_nodes"},
            set(),
        ),
        ("triplet_frozen", DISTANCE, {"encoder.dim", *TRIPLET}),
        ("learned_distance", DISTANCE, TRIPLET),
    ],
)
def test_a_distance_beside_another_loss_has_the_constants_of_both(
    method, drawn, absent
):
    recipe = f"omniglot_verification_{method}"
    seen = {field: set() for field in drawn}
    for values, run in draw("verification", 12, recipe):
        assert drawn <= set(values) and not absent & set(values)
        objective = config_of(run)["objective"]
        for field in drawn:
            seen[field].add(values[field])
            _, *path = field.split(".")
            if field.startswith("objective."):
                found = objective
                for part in path:
                    found = found[part]
                assert found == values[field]
    assert all(len(found) > 1 for found in seen.values())


def test_an_idle_distance_without_a_classifier_has_only_the_loss_drawn():
    run = load_recipe(
        "omniglot_verification_triplet_beside", ["validation.score=cosine"]
    )
    space = load_function(
        "verification", SPACES, "space", "space", space_names()
    )
    hyperparameters = keras_tuner.HyperParameters()
    run_maker(run, space)(hyperparameters)
    assert {hp.name for hp in hyperparameters.space} == TRIPLET | {
        "optimizer.learning_rate",
        "encoder.dim",
    }


@pytest.mark.parametrize(
    "recipe",
    [
        "sprites_f_statistic",
        "sprites_triplet",
        "sprites_f_statistic_class_oracle",
        "sprites_beta_vae_2",
    ],
)
def test_disentangling_sees_the_same_number_of_images(recipe):
    """30 a batch; of batches about one factor, 30 on average over factors."""
    batches = {
        tuple(run.batches.arguments.items())
        for _, run in draw("disentangling", 8, recipe)
    }
    for found in map(dict, batches):
        if "num_values" not in found:
            assert found["num_classes"] * found["num_per_class"] == 30
            continue
        assert len(batches) == 1
        factors = [range(420) % np.array([[n]]) for n in NUM_VALUES]
        drawn = sampling.factor_batches(
            np.concatenate(factors).T, **found, seed=0
        )
        sizes = [len(x) for x, _ in drawn.take(len(NUM_VALUES))]
        assert np.mean(sizes) == 30


def test_a_field_of_a_missing_section_is_refused():
    config = ml_collections.ConfigDict(config_of(load_recipe("demo")))
    set_field(config, "objective.noise_transform", "exp")
    assert config.objective.noise_transform == "exp"
    with pytest.raises(ValueError, match="no section objective.distance"):
        set_field(config, "objective.distance.dropout", 0.1)
    with pytest.raises(ValueError, match="no section seed"):
        choose(keras_tuner.HyperParameters(), config, {"seed.x": (1, 2)})


@pytest.mark.parametrize("values", [(True, False), (False, True), (True,)])
def test_truth_values_stay_truth_values(values):
    config = ml_collections.ConfigDict({"encoder": {"gaussian": False}})
    hyperparameters = keras_tuner.HyperParameters()
    choose(hyperparameters, config, {"encoder.gaussian": values})
    assert config.encoder.gaussian is values[0]
    assert hyperparameters.get("encoder.gaussian") is values[0]
    (declared,) = hyperparameters.space
    drawn = {declared.random_sample(seed) for seed in range(20)}
    assert drawn == set(values)
    assert all(type(value) is bool for value in drawn)


def test_a_grid_without_values_names_the_field():
    config = ml_collections.ConfigDict({"encoder": {"dim": 2}})
    with pytest.raises(ValueError, match="no value of encoder.dim"):
        choose(keras_tuner.HyperParameters(), config, {"encoder.dim": []})


def test_shares_of_few_dimensions_do_not_coincide():
    expected = {
        16: [1, 2, 3, 4, 8, 16],
        22: [1, 2, 3, 4, 11, 22],
        500: [5, 15, 50, 100, 250, 500],
        4: [1, 2, 3, 4, 4, 4],
    }
    for dim, numbers in expected.items():
        found = [methods.num_dims(s, dim) for s in methods.SHARES_OF_DIMS]
        assert found == numbers


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (0.1, 0.25),
        (
            {"name": "CosineDecay", "initial_learning_rate": 0.1},
            {"name": "CosineDecay", "initial_learning_rate": 0.25},
        ),
        (
            {"name": "CosineDecay", "warmup_target": 0.1},
            {"name": "CosineDecay", "warmup_target": 0.25},
        ),
        (
            {"boundaries": [3, 5], "values": [0.0, 0.1, 0.01]},
            {"boundaries": [3, 5], "values": [0.0, 0.25, 0.025]},
        ),
        (
            # The largest rate, at the end of the warm-up, is scale / sqrt(16).
            {"name": "InverseSquareRootDecay", "scale": 3, "warmup_steps": 16},
            {"name": "InverseSquareRootDecay", "scale": 1, "warmup_steps": 16},
        ),
    ],
)
def test_a_learning_rate_is_set_in_every_schedule(schedule, expected):
    config = ml_collections.ConfigDict(
        {"optimizer": {"learning_rate": schedule}},
        type_safe=False,
    )
    set_learning_rate(config, 0.25)
    found = config.to_dict()["optimizer"]["learning_rate"]
    assert found == expected
