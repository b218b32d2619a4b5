"""Numbers that a training can be chosen by, and which way they improve."""

# Every name that the logs of an epoch can have.
_DIRECTIONS = {
    "loss": "min",
    "reconstruction": "min",
    "kl": "min",
    "val_accuracy_at_equal_error": "max",
    "val_explicitness": "max",
    "val_few_shot_accuracy": "max",
    "val_log_likelihood": "max",
    "val_mean_recall": "max",
    "val_modularity": "max",
    "val_recall_at_1": "max",
    "val_single_dimension_auc": "max",
}


def direction(name: str, field: str = "monitor") -> str:
    """`"min"` if a smaller value of a logged number is better, else `"max"`.

    Losses and errors are minimised; accuracies, recalls and likelihoods are
    maximised.

    Raises:
        ValueError: If no training logs a number of this name; `field` says
            where the name comes from.
    """
    if name not in _DIRECTIONS:
        raise ValueError(
            f"{field}={name!r} is not in the logs of any training; they have "
            f"{', '.join(_DIRECTIONS)}"
        )
    return _DIRECTIONS[name]


def is_better(name: str, value: float, than: float) -> bool:
    """Whether a value of `name` is strictly better than another."""
    return value < than if direction(name) == "min" else value > than


def worst(name: str) -> float:
    """The value of `name` that every other value is better than."""
    return float("inf") if direction(name) == "min" else -float("inf")


def best_epoch(name: str, history: list[dict]) -> int:
    """The first epoch, from 1, with the best value of `name`; 0 without any."""
    best, found = worst(name), 0
    for epoch, row in enumerate(history, start=1):
        if is_better(name, row[name], best):
            best, found = row[name], epoch
    return found


def require_logged(field: str, name: str, model, held_out) -> None:
    """Checks that a training logs `name`, so that `field` can be that.

    Args:
        field: Where the name comes from, for the message.
        name: What is wanted.
        model: The compiled model.
        held_out: The callback that measures its held-out data.

    Raises:
        ValueError: If it does not, with the names that it logs.
    """
    logged = [metric.name for metric in model.metrics]
    logged += [f"val_{measure}" for measure in held_out.metrics]
    known = [other for other in _DIRECTIONS if other in logged]
    if name not in known:
        raise ValueError(
            f"{field}={name!r} is not in the logs; they have {', '.join(known)}"
        )
