"""The fields that a recipe must have: a missing one is named at once."""

_NUMBER = int | float
# Each recipe has these fields; a dictionary is a section.
_RECIPE = {
    "seed": int,
    "deterministic": bool,
    "data_dir": str,
    "manual_dir": str,
    "dataset": str,
    "split": str,
    "steps_per_epoch": int,
    "num_epochs": int,
    "monitor": str,
    "patience": int,
    "batches": {"name": str},
    "encoder": {"name": str},
    "optimizer": {"name": str, "learning_rate": object},
    "validation": {"split": str},
    "evaluation": {"name": str, "splits": tuple | list},
}
# Each recipe has one of these sections.
_METHODS = ("objective", "loss", "autoencoder")
# A recipe that has one of these sections fills in these fields.
_SECTIONS = {
    "objective": {"name": str},
    "loss": {"name": str},
    "autoencoder": {"name": str},
    "decoder": {"name": str},
    "preprocess": {"name": str},
    "folds": {
        "split": str,
        "num_folds": int,
        "fold": int,
        "num_per_class": int,
    },
    "plateau": {
        "factor": _NUMBER,
        "patience": int,
        "min_learning_rate": _NUMBER,
    },
    "images": {"size": int},
    "utterances": {"num_frames": int, "min_num_frames": int},
    "label": {"feature": str, "pattern": str},
    "front_end": {"name": str, "sample_rate": int},
}
_EPISODES = {"num_support": int, "num_query": int, "num_samples": int}
# Fields of `evaluation` and `validation`, by `evaluation.name`.
_EVALUATIONS = {
    "few_shot": {
        "evaluation": {
            **_EPISODES,
            "num_classes": tuple | list,
            "num_episodes": int,
            "num_draws": int,
        },
        "validation": {**_EPISODES, "num_classes": int, "num_episodes": int},
    },
    "disentanglement": {"evaluation": {"factor_names": tuple | list}},
    "retrieval": {"evaluation": {"distance": str, "k": tuple | list}},
    "verification": {"evaluation": {"plda": {}, "num_resamples": int}},
}
_EVALUATIONS["n_digit_few_shot"] = _EVALUATIONS["few_shot"]
_AT_LEAST_1 = ("steps_per_epoch", "num_epochs", "patience")


def require_fields(config) -> None:
    """Checks that a recipe has all fields that a run reads.

    Raises:
        ValueError: If one is missing, or has the wrong type or a value that no
            run can have, with what is expected.
    """
    _require(config, _RECIPE, "config")
    methods = [name for name in _METHODS if name in config]
    if len(methods) != 1:
        raise ValueError(
            f"a recipe has one of the sections {', '.join(_METHODS)}; this one "
            f"has {' and '.join(methods) or 'none'}"
        )
    if "autoencoder" in config:
        _require(config, {"decoder": {}}, "config")
    present = {
        name: fields for name, fields in _SECTIONS.items() if name in config
    }
    _require(config, present, "config")
    require_evaluation(config)
    for name in _AT_LEAST_1:
        if config[name] < 1:
            raise ValueError(
                f"config.{name} must be at least 1; received {config[name]}"
            )
    if "folds" in config and (
        config.folds.num_folds < 0 or config.folds.num_folds == 1
    ):
        raise ValueError(
            "config.folds.num_folds must be at least 2, or 0 for the splits of "
            f"the data set; received {config.folds.num_folds}"
        )
    if config.seed < 0:
        raise ValueError(
            f"config.seed must be at least 0; received {config.seed}"
        )


def require_evaluation(config) -> None:
    """Checks that the sections of an evaluation have the fields it reads.

    Raises:
        ValueError: If one is missing, or has the wrong type, or there is no
            split to evaluate.
    """
    name = config.evaluation.name
    if name not in _EVALUATIONS:
        raise ValueError(
            f"config.evaluation.name={name!r} is unknown; there are "
            f"{', '.join(_EVALUATIONS)}"
        )
    _require(
        config,
        _EVALUATIONS[name],
        "config",
        f"; config.evaluation.name={name!r} needs it",
    )
    if not (config.evaluation.splits or config.evaluation.get("trials")):
        raise ValueError(
            "config.evaluation.splits is empty; name the splits to evaluate, "
            'for example ("test",)'
        )


def _require(section, fields: dict, prefix: str, why: str = "") -> None:
    for name, kind in fields.items():
        field = f"{prefix}.{name}"
        if name not in section:
            raise ValueError(
                f"the recipe has no field {field}{why}; the fields there are "
                f"{', '.join(sorted(section.keys()))}"
            )
        value = section[name]
        if isinstance(kind, dict):
            if not hasattr(value, "keys"):
                raise ValueError(
                    f"{field} must be a section; received {value!r}"
                )
            _require(value, kind, field, why)
        elif not isinstance(value, kind) or (
            isinstance(value, bool) and kind not in (bool, object)
        ):
            expected = getattr(kind, "__name__", str(kind))
            raise ValueError(
                f"{field} must be of type {expected}; received {value!r}"
            )
