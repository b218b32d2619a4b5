"""Numbers with which an optimiser cannot train are refused."""

import pytest

from trainers.config import load_recipe
from trainers.config.load import recipe_names

RATE = "optimizer.learning_rate"
INFINITE = "1e999"
PIECES = (f"{RATE}.name=PiecewiseConstantDecay", f"{RATE}.boundaries=(1,)")
EXPONENTIAL = (
    f"{RATE}.name=ExponentialDecay",
    f"{RATE}.initial_learning_rate=0.1",
    f"{RATE}.decay_rate=0.5",
    f"{RATE}.decay_steps=10",
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", "-1.0"),
        ("learning_rate", "0.0"),
        ("clipnorm", "0.0"),
        ("clipvalue", "-1.0"),
        ("global_clipnorm", "0.0"),
        ("global_clipnorm", "-1.0"),
        ("epsilon", "0.0"),
        ("loss_scale_factor", "0.0"),
        ("loss_scale_factor", "-2.0"),
    ],
)
def test_positive_numbers(name, value):
    message = f"config.optimizer.{name} must be positive; received "
    with pytest.raises(ValueError, match=message + str(float(value))):
        load_recipe("demo", [f"optimizer.{name}={value}"])


@pytest.mark.parametrize("name", ["beta_1", "beta_2", "ema_momentum"])
@pytest.mark.parametrize("value", ["-0.1", "1.0", "2.0"])
def test_shares(name, value):
    message = f"config.optimizer.{name} must be at least 0 and below 1; receiv"
    with pytest.raises(ValueError, match=message):
        load_recipe("demo", [f"optimizer.{name}={value}"])


@pytest.mark.parametrize("value", ["-1.0", "-0.1"])
def test_weight_decay(value):
    message = "config.optimizer.weight_decay must be at least 0"
    with pytest.raises(ValueError, match=message):
        load_recipe("demo", [f"optimizer.weight_decay={value}"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            [f"{RATE}.initial_learning_rate=-1.0"],
            "initial_learning_rate must be at least 0; received -1",
        ),
        (
            [f"{RATE}.initial_learning_rate=0.0"],
            "initial_learning_rate must not be 0, since no weight",
        ),
        (
            [f"{RATE}.alpha=-0.1"],
            "alpha must be at least 0; received -0.1",
        ),
        (
            [*EXPONENTIAL, f"{RATE}.decay_rate=-0.5"],
            "decay_rate must be at least 0; received -0.5",
        ),
        (
            [*EXPONENTIAL, f"{RATE}.decay_steps=0"],
            "decay_steps must be positive; received 0",
        ),
        (
            [*PIECES, f"{RATE}.values=(0.1,-0.1)"],
            "values must be at least 0; received -0.1",
        ),
        (
            [*PIECES, f"{RATE}.values=(0.0,0.0)"],
            "values must not be 0, since no weight",
        ),
    ],
)
def test_schedules(overrides, message):
    with pytest.raises(ValueError, match=f"config.{RATE}.{message}"):
        load_recipe("demo", overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["optimizer.beta_1=0.0", "optimizer.weight_decay=0.0"],
        [
            f"{RATE}.initial_learning_rate=0.0",
            f"{RATE}.warmup_target=0.001",
            f"{RATE}.warmup_steps=1000",
        ],
        [*PIECES, f"{RATE}.values=(0.1,0.0)"],
        EXPONENTIAL,
    ],
)
def test_possible_values(overrides):
    load_recipe("demo", list(overrides))


def test_no_recipe_is_refused():
    for name in recipe_names():
        load_recipe(name, [])


def test_the_lowest_rate_of_a_plateau():
    overrides = [f"{RATE}=0.1", "plateau.factor=0.5"]
    overrides.append("plateau.min_learning_rate=-0.1")
    with pytest.raises(ValueError, match="least 0; received 10 and -0.1"):
        load_recipe("demo", overrides)


@pytest.mark.parametrize(
    "field",
    [
        f"{RATE}.alpha",
        f"{RATE}.initial_learning_rate",
        "optimizer.clipvalue",
        "optimizer.epsilon",
        "optimizer.global_clipnorm",
        "optimizer.weight_decay",
        "plateau.min_learning_rate",
        "images.cache_gib",
    ],
)
def test_infinite_numbers(field):
    message = f"config.{field} must be finite; received inf"
    with pytest.raises(ValueError, match=message):
        load_recipe("demo", [f"{field}={INFINITE}"])
