"""Checks of the numbers of an optimiser and of its learning rate."""

import numbers

from trainers.config.own_code import file_and_name
from trainers.config.run import Part

# Numbers by what they must be; every number of a config is finite.
POSITIVE = (
    "learning_rate",
    "clipnorm",
    "clipvalue",
    "epsilon",
    "global_clipnorm",
    "loss_scale_factor",
)
SHARES = (
    "adam_beta_1",
    "adam_beta_2",
    "beta_1",
    "beta_2",
    "ema_momentum",
    "momentum",
    "rho",
)
NOT_NEGATIVE = ("adam_weight_decay", "weight_decay")
# Of schedules. A warm-up may begin at a rate of 0, and a decay end there.
RATES = (
    "end_learning_rate",
    "initial_learning_rate",
    "scale",
    "values",
    "warmup_target",
)
FACTORS = ("alpha", "decay_rate", "m_mul")
LENGTHS = ("decay_steps", "first_decay_steps", "t_mul")


def check_optimizer(optimizer: Part) -> None:
    """Checks the numbers with which an optimiser cannot train.

    Keras takes most of them: with a negative rate the loss rises, and with a
    clip norm of 0 no weight changes.

    Raises:
        ValueError: If a number is not in its range; names the field.
    """
    for name, value in optimizer.arguments.items():
        field = f"config.optimizer.{name}"
        if isinstance(value, Part):
            if name == "learning_rate" and not file_and_name(value.name):
                _check_schedule(value)
        elif name in POSITIVE:
            _require(field, value, "positive", _is_positive)
        elif name in SHARES:
            _require(field, value, "at least 0 and below 1", _is_share)
        elif name in NOT_NEGATIVE:
            _require(field, value, "at least 0", _is_not_negative)


def _check_schedule(schedule: Part) -> None:
    rates = {}
    for name, value in schedule.arguments.items():
        field = f"config.optimizer.learning_rate.{name}"
        several = value if isinstance(value, list | tuple) else [value]
        for number in several:
            if name in LENGTHS:
                _require(field, number, "positive", _is_positive)
            elif name in (*RATES, *FACTORS):
                _require(field, number, "at least 0", _is_not_negative)
        if name in RATES and value is not None:
            rates[field] = any(several)
    if rates and not any(rates.values()):
        raise ValueError(
            f"{' and '.join(rates)} must not be 0, since no weight would "
            "change; set a positive rate"
        )


def _require(field: str, value, expected: str, is_valid) -> None:
    # Other types are for the optimiser itself to refuse.
    if isinstance(value, numbers.Real) and not is_valid(value):
        raise ValueError(f"{field} must be {expected}; received {value!r}")


def _is_positive(value) -> bool:
    return value > 0


def _is_share(value) -> bool:
    return 0 <= value < 1


def _is_not_negative(value) -> bool:
    return value >= 0
