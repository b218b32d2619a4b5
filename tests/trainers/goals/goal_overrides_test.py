"""Fields of a command in the recipe of a goal."""

import pytest

from tests.trainers import goal_recipes
from tests.trainers.commands import refused
from tests.trainers.goal_recipes import photos
from tests.trainers.goal_recipes import write
from trainers import train
from trainers.config import load_recipe
from trainers.goals import goal_recipe


@pytest.fixture
def features(tmp_path):
    return goal_recipes.rows(tmp_path)


NETWORK = ["backbone.network=MobileNetV2", "backbone.image_shape=(96, 96, 3)"]
HEAD = ["encoder.name=features_encoder", "encoder.num_features=1280"]
TUNED = ["encoder.name=backbone_encoder", "encoder.backbone=MobileNetV2"]


@pytest.mark.parametrize("sides", [(30, 40), (30, 30)])
@pytest.mark.parametrize(
    ("overrides", "size", "shape"),
    [
        ([*NETWORK, *HEAD], 0, None),
        ([*TUNED, "encoder.image_shape=(96, 96, 3)"], 96, (96, 96, 3)),
        (["encoder.image_shape=(48, 48, 3)"], 48, (48, 48, 3)),
        (["images.size=80"], 80, (80, 80, 3)),
    ],
)
def test_images_have_the_size_of_the_network(
    overrides, size, shape, sides, tmp_path
):
    run = write(
        photos(tmp_path, sides), "few_shot", tmp_path, overrides=overrides
    )
    assert run.data.images.size == size
    found = run.encoder.arguments.get("image_shape")
    assert (found and tuple(found)) == shape
    assert run.encoder.arguments["gaussian"]


@pytest.mark.parametrize(
    ("overrides", "steps"),
    [
        ([], 20 * 50),
        (["num_epochs=40"], 40 * 50),
        (["training.num_epochs=5", "steps_per_epoch=7"], 5 * 7),
        (["num_epochs=5", "optimizer.learning_rate.decay_steps=999"], 999),
    ],
)
def test_the_rate_decays_to_the_last_step(overrides, steps, features, tmp_path):
    run = write(features, "verify", tmp_path, overrides=overrides)
    rate = run.optimizer.arguments["learning_rate"]
    assert rate.arguments["decay_steps"] == steps


def test_a_warm_up_is_part_of_the_training(features, tmp_path):
    rate = "optimizer.learning_rate"
    warm = [f"{rate}.warmup_steps=100", f"{rate}.warmup_target=0.01"]
    run = write(features, "verify", tmp_path / "a", overrides=warm)
    steps = run.optimizer.arguments["learning_rate"].arguments["decay_steps"]
    assert steps == 20 * 50 - 100
    with pytest.raises(ValueError, match="no effect without.*warmup_target"):
        write(features, "verify", tmp_path / "b", overrides=warm[:1])


@pytest.mark.parametrize(
    ("overrides", "distance"),
    [
        ([], "l2"),
        (["loss.distance=cosine"], "cosine"),
        (["loss.distance=cosine", "evaluation.distance=l2"], "l2"),
    ],
)
def test_neighbours_are_by_the_distance_of_the_loss(
    overrides, distance, features, tmp_path
):
    run = write(
        features, "retrieve", tmp_path, "TripletLoss", overrides=overrides
    )
    assert run.evaluation.distance == distance


def test_a_comparison_sets_the_variance_of_gaussians_only(features, tmp_path):
    overrides = ["encoder.initial_variance=0.05"]
    found = {}
    for method in ("StochasticPrototypes", "PrototypicalLoss"):
        run = write(
            features,
            "few_shot",
            tmp_path / method,
            method,
            overrides=overrides,
            command="compare",
        )
        found[method] = run.encoder.arguments.get("initial_variance")
    assert found == {"StochasticPrototypes": 0.05, "PrototypicalLoss": None}
    with pytest.raises(ValueError, match="is the variance of a Gaussian"):
        write(
            features,
            "few_shot",
            tmp_path / "train",
            "PrototypicalLoss",
            overrides=overrides,
        )


def test_an_optimizer_of_the_users_own_has_no_rate_to_follow(
    features, tmp_path
):
    file = tmp_path / "mine.py"
    file.write_text(
        "import keras\n\ndef optimizer():\n"
        "    return keras.optimizers.Adam(1e-3)\n"
    )
    overrides = [f"optimizer.name={file}:optimizer"]
    run = write(features, "verify", tmp_path / "a", overrides=overrides)
    assert run.optimizer.name == f"{file}:optimizer"


def test_a_rate_of_zero_is_refused(features, tmp_path, capsys):
    write(features, "verify", tmp_path / "a")
    recipe, workdir = tmp_path / "a" / "recipe.py", tmp_path / "b"
    words = "--config", recipe, "--workdir", workdir, "--config.num_epochs=40"
    error = refused(capsys, train, *words)
    assert "is 0 from step 1000 of 2000 on" in error
    assert "config.optimizer.learning_rate.decay_steps=2000" in error
    assert not workdir.exists()


def test_the_file_is_what_runs(features, tmp_path):
    """Every field of the command is in it, except fields of the machine."""
    overrides = [
        "seed=7",
        "data.folds.num_folds=5",
        "folds.split=all",
        "encoder.hidden_units=(9, 9)",
        "method.num_samples=2",
        "evaluation.num_draws=3",
        "validation.num_episodes=4",
        "optimizer.name=SGD",
        "optimizer.learning_rate=0.5",
        "division.seed=3",
        "cache_dir=elsewhere",
    ]
    plan = goal_recipe.plan_recipe(
        features, "few_shot", None, "classes", tmp_path, overrides=overrides
    )
    assert plan.run.data.cache_dir == "elsewhere"
    assert "elsewhere" not in plan.text
    run = load_recipe(goal_recipe.write_recipe(plan), overrides[-1:])
    assert run == plan.run
    assert run.training.seed == 7
    assert run.data.folds.num_folds == 5
    assert run.data.folds.split == "all"
    assert run.encoder.arguments["hidden_units"] == (9, 9)
    assert run.method.arguments["num_samples"] == 2
    assert run.evaluation.num_draws == 3
    assert run.evaluation.validation.num_episodes == 4
    assert run.optimizer.name == "SGD"
    assert run.optimizer.arguments["learning_rate"] == 0.5
    assert run.data.division.seed == 3
    changed = "a --config field or this library changed"
    with pytest.raises(ValueError, match=changed):
        write(features, "few_shot", tmp_path, overrides=["seed=8"])


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["encoder.dim=3"], 3),
        (["encoder.dim=3", "evaluation.plda.num_dims=2"], 2),
        (["encoder.dim=500"], 5),  # of six training classes
    ],
)
def test_plda_keeps_no_more_dimensions_than_there_are(
    overrides, expected, features, tmp_path
):
    run = write(features, "verify", tmp_path, overrides=overrides)
    assert run.evaluation.plda.num_dims == expected
