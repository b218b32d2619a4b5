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

from trainers.evaluation_fields import Evaluation
from trainers.places import METHODS
from trainers.places import method_kind
from trainers.run import DataFields
from trainers.run import Division
from trainers.run import Method
from trainers.run import Part
from trainers.run import Run
from trainers.run import TrainingFields
from trainers.run_fields import field_types
from trainers.run_fields import part
from trainers.run_fields import replaced
from trainers.run_fields import section
from trainers.run_fields import unknown_field
from trainers.run_fields import with_defaults

_DATA, _TRAINING = field_types(DataFields), field_types(TrainingFields)
_PARTS = ("batches", "encoder", "optimizer")
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
    evaluation = values.get("evaluation", {"name": "retrieval"})
    if "validation" in values and isinstance(evaluation, Mapping):
        evaluation = {**evaluation, "validation": values["validation"]}
    parts = {
        name: part(values[name], name, name)
        for name in _PARTS
        if name in values
    }
    run = Run(
        data=section(DataFields, _only(values, _DATA), ""),
        method=_method(values),
        training=section(TrainingFields, _only(values, _TRAINING), ""),
        evaluation=section(Evaluation, evaluation, "evaluation"),
        **parts,
    )
    return _with_monitor(run)


def _only(values: Mapping, names) -> dict:
    return {name: value for name, value in values.items() if name in names}


def _method(values: Mapping) -> Method:
    given = [name for name in ("method", *METHODS) if name in values]
    if len(given) != 1:
        raise ValueError(
            f"a recipe must have one of the sections {', '.join(METHODS)}; "
            f"received {' and '.join(given) or 'none'}"
        )
    (kind,) = given
    if kind == "method":
        name = dict(values[kind]).get("name", "")
        kind = method_kind(name)
        if kind is None:
            raise ValueError(
                f"config.method.name={name!r} is not a loss, objective or "
                "autoencoder of embeddings_tf, and not a class derived from "
                "keras.losses.Loss, Layer or Model; name one of them, or say "
                "what it makes: --config.loss.name"
            )
    found = part(values[given[0]], kind, kind)
    arguments = dict(found.arguments)
    if "decoder" in values:
        arguments["decoder"] = part(values["decoder"], "decoder", "decoder")
    return Method(found.name, arguments, kind)


def _with_monitor(run: Run) -> Run:
    """Sets the evaluation's own monitor unless the run has one."""
    if run.training.monitor:
        return run
    training = dataclasses.replace(run.training, monitor=run.evaluation.monitor)
    return dataclasses.replace(run, training=training)


def config_of(run: Run) -> dict:
    """Returns the config of a run with every field: nested dictionaries."""
    found = {
        **_plain(run.data),
        **_plain(run.training),
        **{name: _plain(getattr(run, name)) for name in _PARTS},
        run.method.kind: _plain(run.method),
        "evaluation": _plain(run.evaluation),
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
        "division": data.division != Division(),
        "front_end": data.front_end.name,
        "utterances": data.utterances.num_frames,
        "augmentation": data.augmentation,
        "preprocess": data.preprocess.name,
        "plateau": run.training.plateau.factor != 1.0,
    }
    return [name for name, value in is_used.items() if not value]


def _plain(value):
    if isinstance(value, Part):
        arguments = {k: _plain(v) for k, v in value.arguments.items()}
        return {"name": value.name, **arguments}
    if dataclasses.is_dataclass(value):
        return {
            name: _plain(getattr(value, name))
            for name in field_types(type(value))
        }
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
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
        first, *path = path
        if first not in (_DATA if name.startswith("data.") else _TRAINING):
            raise unknown_field(name, _DATA | _TRAINING)
    if first in _DATA or first in _TRAINING:
        place = "data" if first in _DATA else "training"
        new = replaced(getattr(run, place), [first, *path], text, "", "")
        return dataclasses.replace(run, **{place: new})
    place = _PLACE.get(first, first)
    is_other_method = first in METHODS and first != run.method.kind
    is_other_method |= first == "decoder" and run.method.kind != "autoencoder"
    if first not in _TOP or is_other_method:
        known = _TOP - {*METHODS, "decoder"} | {run.method.kind}
        raise unknown_field(name if not path else first, known)
    leading = [first] if first in ("decoder", "validation") else []
    shown = "" if leading else first
    new = replaced(getattr(run, place), [*leading, *path], text, place, shown)
    run = dataclasses.replace(run, **{place: new})
    return _with_monitor(run)


_PLACE = {
    "autoencoder": "method",
    "decoder": "method",
    "loss": "method",
    "objective": "method",
    "validation": "evaluation",
}
