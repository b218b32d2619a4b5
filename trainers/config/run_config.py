"""Converts between a run and the field names of files and commands.

A recipe, a user's `get_config()`, `config.json`, result files and search
spaces contain a config: nested dictionaries. Its names differ from the typed
run only in these points:

- The fields of `run.data` and `run.training` are at the top level: `dataset`,
  `folds.fold`, `seed`, `plateau.factor`.
- `run.method` is called `loss`, `objective` or `autoencoder`, and the decoder
  of an autoencoder is at the top level, as `decoder`.
- `run.evaluation.validation` is at the top level, as `validation`.
- Unused sections are left out.

Commands accept both names.
"""

import dataclasses
from collections.abc import Mapping

from trainers.config.places import METHODS
from trainers.config.places import method_kind
from trainers.config.run import DataFields
from trainers.config.run import Division
from trainers.config.run import Method
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.config.run import TrainingFields
from trainers.config.run_fields import Text
from trainers.config.run_fields import field_types
from trainers.config.run_fields import read_part
from trainers.config.run_fields import read_section
from trainers.config.run_fields import unknown_field
from trainers.config.run_fields import with_defaults

_DATA, _TRAINING = field_types(DataFields), field_types(TrainingFields)
_PARTS = ("batches", "encoder", "uncertainty", "optimizer")
_TOP = {
    *_DATA,
    *_TRAINING,
    *_PARTS,
    *METHODS,
    "decoder",
    "evaluation",
    "method",
    "validation",
}


def run_from_config(config: Mapping) -> Run:
    """Returns the run of a config.

    Args:
        config: An `ml_collections.ConfigDict`, or nested dictionaries.

    Raises:
        ValueError: If a field does not exist or has another type, or if there
            is not exactly one method of training.
    """
    values = config.to_dict() if hasattr(config, "to_dict") else dict(config)
    for name in values:
        if name not in _TOP:
            raise unknown_field(name, _TOP)
    run = _read({"evaluation": {"name": "retrieval"}, **values})
    return with_evaluation_of_data(run)


def with_evaluation_of_data(run: Run) -> Run:
    """Returns the run with the few-shot evaluation that fits its data.

    Images of n-digit numbers have one of their own, which knows the digits.
    """
    kinds = {False: "few_shot", True: "n_digit_few_shot"}
    name = kinds[run.data.has_digits]
    if run.evaluation.name in kinds.values() and run.evaluation.name != name:
        return apply_override(run, f"evaluation.name={name}")
    return run


def _read(values: Mapping, old: Run | None = None) -> Run:
    """Makes a run; fields that `values` omits are as in `old`, or defaults."""
    evaluation = values.get("evaluation", {})
    if "validation" in values and isinstance(evaluation, Mapping):
        evaluation = {**evaluation, "validation": values["validation"]}
    sections = {
        "data": _only(values, _DATA),
        "training": _only(values, _TRAINING),
        "evaluation": evaluation,
        **_only(values, _PARTS),
    }
    run = read_section(Run, sections, "", old)
    method = _method(values, old.method if old else None)
    training = run.training
    if not training.monitor:
        monitor = run.evaluation.monitor
        training = dataclasses.replace(training, monitor=monitor)
    return dataclasses.replace(run, method=method, training=training)


def _only(values: Mapping, names) -> dict:
    return {name: value for name, value in values.items() if name in names}


def _method(values: Mapping, old: Method | None) -> Method:
    given = [name for name in ("method", *METHODS) if name in values]
    found = old or Method(kind=_kind_of_method(values, given))
    for name in given:
        found = read_part(values[name], "method", name, found)
    if "decoder" in values:
        decoder = {"decoder": values["decoder"]}
        found = read_part(decoder, "method", "method", found)
    return found


def _kind_of_method(values: Mapping, given: list[str]) -> str:
    if len(given) != 1:
        raise ValueError(
            f"a recipe must have one of the sections {', '.join(METHODS)}; "
            f"received {' and '.join(given) or 'none'}"
        )
    (kind,) = given
    if kind != "method":
        return kind
    name = dict(values["method"]).get("name", "")
    kind = method_kind(name)
    if kind is None:
        raise ValueError(
            f"config.method.name={name!r} is not a loss, objective or "
            "autoencoder of embeddings_tf, and not a class derived from "
            "keras.losses.Loss, Layer or Model; name one of them, or say "
            "what it makes: --config.loss.name"
        )
    return kind


def config_of(run: Run) -> dict:
    """Returns the config of a run with every field: nested dictionaries."""
    found = {
        **_as_dict(run.data),
        **_as_dict(run.training),
        **{name: _as_dict(getattr(run, name)) for name in _PARTS},
        run.method.kind: _as_dict(run.method),
        "evaluation": _as_dict(run.evaluation),
    }
    found["validation"] = found["evaluation"].pop("validation")
    decoder = found[run.method.kind].pop("decoder", None)
    if decoder is not None:
        found["decoder"] = decoder
    for name in _unused(run):
        del found[name]
    if "folds" in found and not run.data.folds.group.feature:
        del found["folds"]["group"]
    return found


def complete(run: Run) -> Run:
    """The run with the defaults of the arguments that it leaves out."""
    data = dataclasses.replace(
        run.data,
        front_end=with_defaults(run.data.front_end, "front_end"),
        preprocess=with_defaults(run.data.preprocess, "preprocess"),
    )
    parts = {name: with_defaults(getattr(run, name), name) for name in _PARTS}
    method = with_defaults(run.method, "method")
    return dataclasses.replace(run, data=data, method=method, **parts)


def _unused(run: Run) -> list[str]:
    """Returns the sections that the run does not use."""
    data = run.data
    is_used = {
        "label": data.label.feature,
        "folds": data.folds.num_folds,
        "backbone": data.backbone.network,
        "cache_dir": data.cache_dir,
        "division": data.division != Division(),
        "front_end": data.front_end.name,
        "utterances": data.utterances.num_frames,
        "augmentation": data.augmentation,
        "preprocess": data.preprocess.name,
        "uncertainty": run.uncertainty.name,
        "plateau": run.training.plateau.factor != 1.0,
    }
    return [name for name, value in is_used.items() if not value]


def _as_dict(value):
    if isinstance(value, Part):
        arguments = {k: _as_dict(v) for k, v in value.arguments.items()}
        return {"name": value.name, **arguments}
    if dataclasses.is_dataclass(value):
        return {
            name: _as_dict(getattr(value, name))
            for name in field_types(type(value))
        }
    if isinstance(value, Mapping):
        return {name: _as_dict(item) for name, item in value.items()}
    return value


def apply_override(run: Run, override: str) -> Run:
    """Returns the run with one `field.inner=value` set.

    Raises:
        ValueError: If the field does not exist or has another type; names
            the nearest field or the expected type.
    """
    name, equals, text = override.partition("=")
    if not equals or not name:
        raise ValueError(
            f"an override is --config.field=value; received {override!r}"
        )
    first, *path = name.split(".")
    if first in ("data", "training") and path:
        section, (first, *path) = first, path
        _require_field(section, first, path)
    is_other_method = first in METHODS and first != run.method.kind
    is_other_method |= first == "decoder" and run.method.kind != "autoencoder"
    if first not in _TOP or is_other_method:
        known = _TOP - {*METHODS, "decoder"} | {run.method.kind}
        raise unknown_field(name if not path else first, known)
    values = Text(text)
    for field in reversed([first, *path]):
        values = {field: values}
    return _read(values, run)


def _require_field(section: str, first: str, path: list[str]) -> None:
    """Checks a field of `data` or `training`."""
    sections = {"data": _DATA, "training": _TRAINING}
    known = sections.pop(section)
    if first in known:
        return
    ((other, fields),) = sections.items()
    meant = ".".join([other, first, *path]) if first in fields else ""
    raise unknown_field(f"{section}.{first}", known, meant)
