"""Numbers that can choose the best epoch, and their directions."""

# Every name that can occur in the logs of an epoch.
_DIRECTIONS = {
    "loss": "min",
    "reconstruction": "max",
    "kl": "min",
    "val_accuracy_at_equal_error": "max",
    "val_corrected_modularity_plus_explicitness": "max",
    "val_explicitness": "max",
    "val_few_shot_accuracy": "max",
    "val_log_likelihood": "max",
    "val_mean_recall": "max",
    "val_modularity": "max",
    "val_recall_at_1": "max",
    "val_recall_auroc_head": "max",
    "val_recall_auroc_variance": "max",
    "val_single_dimension_auc": "max",
}


def direction(name: str, field: str = "monitor") -> str:
    """Returns `"min"` if smaller values of a number are better, else `"max"`.

    Losses and errors are minimised; accuracies, recalls and likelihoods are
    maximised.

    Raises:
        ValueError: If no training logs a number of this name; `field` is the
            origin of the name, for the message.
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
    """The value of `name` that is worse than every other value."""
    return float("inf") if direction(name) == "min" else -float("inf")


def require_logged(field: str, name: str, model, held_out) -> None:
    """Checks that a training logs `name`, so that `field` can use it.

    Args:
        field: Origin of the name, for the message.
        name: The name.
        model: The compiled model.
        held_out: The callback that evaluates held-out data.

    Raises:
        ValueError: If `name` is not logged; lists the logged names.
    """
    logged = [metric.name for metric in model.metrics]
    logged += [f"val_{measure}" for measure in held_out.metrics]
    known = [other for other in _DIRECTIONS if other in logged]
    if name not in known:
        raise ValueError(
            f"{field}={name!r} is not in the logs; they have {', '.join(known)}"
        )
