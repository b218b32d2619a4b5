"""The schedule of a learning rate, for a training of another length."""

import pytest

from trainers.config.run_config import run_from_config
from trainers.config.stretched import stretched

RATE = "optimizer.learning_rate"


def run(steps, **schedule):
    """A run of so many steps, with a schedule."""
    return run_from_config(
        {
            "loss": {"name": "TripletLoss"},
            "num_epochs": 1,
            "steps_per_epoch": steps,
            "optimizer": {"name": "Adam", "learning_rate": schedule},
        }
    )


def cosine(steps, decay_steps, warmup_steps):
    return run(
        steps,
        name="CosineDecay",
        initial_learning_rate=0.0,
        warmup_target=0.01,
        warmup_steps=warmup_steps,
        decay_steps=decay_steps,
    )


@pytest.mark.parametrize(
    ("steps", "warmup", "expected"),
    [
        (1_000, 100, 1_000 - 100),
        (4_000, 100, 4_000 - 100),
        (500, 100, 500 - 100),
        (4_000, 0, 4_000),
        (4_000, 300, 4_000 - 300),
    ],
)
def test_a_decay_ends_with_the_training(steps, warmup, expected):
    other = cosine(steps, 7, warmup)
    found = stretched(cosine(1_000, 900, 100), other)
    assert found == {f"{RATE}.decay_steps": expected}


def test_a_warm_up_as_long_as_the_training_is_refused():
    other = cosine(100, 1, 100)
    message = (
        f"config.{RATE}.warmup_steps must be below 100, .* of 100 steps; "
        "received 100; train longer, or shorten the warm-up"
    )
    with pytest.raises(ValueError, match=message):
        stretched(cosine(1_000, 900, 100), other)


def test_boundaries_and_restarts_are_stretched():
    def in_pieces(steps, boundaries):
        values = [0.1] * len(boundaries) + [0.01]
        name = "PiecewiseConstantDecay"
        return run(steps, name=name, boundaries=boundaries, values=values)

    def restarted(steps, first):
        name = "CosineDecayRestarts"
        rate = {"initial_learning_rate": 0.1, "first_decay_steps": first}
        return run(steps, name=name, **rate)

    found = stretched(in_pieces(60, [20, 41]), in_pieces(6, [1]))
    assert found == {f"{RATE}.boundaries": [2, 4]}
    # No boundary and no decay is shorter than one step.
    found = stretched(in_pieces(60, [1, 41]), in_pieces(6, [1]))
    assert found == {f"{RATE}.boundaries": [1, 4]}
    found = stretched(restarted(60, 20), restarted(90, 20))
    assert found == {f"{RATE}.first_decay_steps": 30}


def test_fields_that_the_other_run_lacks_are_left_out():
    halved = {"initial_learning_rate": 0.1, "decay_rate": 0.5}
    halving = run(60, name="ExponentialDecay", decay_steps=20, **halved)
    warmed = run(60, name="InverseSquareRootDecay", scale=1.0, warmup_steps=5)
    assert stretched(halving, warmed) == stretched(warmed, halving) == {}
