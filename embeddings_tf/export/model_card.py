"""The model card of an exported version, as JSON and as Markdown."""

import dataclasses
import datetime
import json
import pathlib
from collections.abc import Mapping

import tensorflow as tf

from embeddings_tf.ops.dotted_names import dotted_names
from embeddings_tf.version import __version__

JSON_FILE, MARKDOWN_FILE = "model_card.json", "model_card.md"
# Facts about the run, which the caller of the export states.
_MAPPINGS = ("data", "recipe", "metrics")
SECTIONS = (*_MAPPINGS, "licence")
_NOT_STATED = "not stated"
_DEFAULT = "serving_default"


def check_facts(facts) -> dict:
    """Returns the facts of a card as plain JSON values.

    Raises:
        ValueError: If they are not a mapping of `SECTIONS` to JSON values, or
            a section is of another type.
    """
    facts = {} if facts is None else facts
    if not isinstance(facts, Mapping) or not set(facts) <= {*SECTIONS}:
        raise ValueError(
            f"card must be a mapping with the keys {', '.join(SECTIONS)}; "
            f"received {facts!r}."
        )
    for name in _MAPPINGS:
        if not isinstance(facts.get(name, {}), Mapping | None):
            raise ValueError(
                f"card must have a mapping as {name!r}; received "
                f"{facts[name]!r}."
            )
    if not isinstance(facts.get("licence"), str | None):
        raise ValueError(
            f"card must have a text as 'licence'; received "
            f"{facts['licence']!r}."
        )
    try:
        return json.loads(json.dumps(dict(facts), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"card must contain only values of JSON ({error}); received "
            f"{facts!r}."
        ) from error


def write_model_card(folder: pathlib.Path, card: Mapping) -> None:
    """Writes both forms of a card into the folder of a version."""
    text = json.dumps(card, indent=2, allow_nan=False) + "\n"
    (folder / JSON_FILE).write_text(text, encoding="utf-8")
    (folder / MARKDOWN_FILE).write_text(card_markdown(card), encoding="utf-8")


def model_card(name, version, described, table, warm, facts) -> dict:
    """Returns the card of a version.

    Args:
        name: Name of the served model.
        version: Number of the version.
        described: Facts about the model itself, by name.
        table: The signatures, `SignatureRow`; the first is the default.
        warm: Errors of warm-up requests by signature; None: it has requests.
        facts: Result of `check_facts`.
    """
    signatures = {}
    for row in table:
        found = dataclasses.asdict(row)
        error = warm[found.pop("name")]
        found["warm_up"] = error is None
        if error is not None:
            found["warm_up_error"] = error
        signatures[row.name] = found
    return {
        "model": name,
        "version": version,
        "exported": datetime.datetime.now(datetime.UTC).isoformat(
            timespec="seconds"
        ),
        "embeddings_tf": __version__,
        "tensorflow": tf.__version__,
        **described,
        "signatures": signatures,
        **{section: facts.get(section) for section in SECTIONS},
    }


def card_markdown(card: Mapping) -> str:
    """Returns a card as Markdown: tables of facts, signatures and metrics."""
    rows = [
        ("version", card["version"]),
        ("exported", card["exported"]),
        ("embeddings_tf", card["embeddings_tf"]),
        ("tensorflow", card["tensorflow"]),
        ("method", card["method"]),
        ("embedding", _embedding(card)),
        ("parameters", f"{card['parameters']:,}"),
        ("fingerprint of the weights", f"`{card['fingerprint']}`"),
        ("licence", card["licence"] or _NOT_STATED),
    ]
    data, recipe = card["data"], card["recipe"]
    parts = [
        f"# Model card: {_cell(card['model'])}, version {card['version']}",
        _table(("", ""), rows),
        "## Input",
        _table(
            ("input", "type", "shape", "range"),
            [
                (
                    f"`{tensor['name']}`",
                    tensor["dtype"],
                    _shape(tensor["shape"]),
                    tensor["range"],
                )
                for tensor in card["signatures"][_DEFAULT]["inputs"]
            ],
        ),
        "## Signatures",
        _table(
            ("signature", "about", "inputs", "outputs", "rows", "warm-up"),
            [
                (
                    f"`{name}`",
                    found["about"],
                    _tensors(found["inputs"]),
                    _tensors(found["outputs"]),
                    f"at most {found['max_rows']}"
                    if found["max_rows"]
                    else "any number",
                    "yes"
                    if found["warm_up"]
                    else f"no: {found['warm_up_error']}",
                )
                for name, found in card["signatures"].items()
            ],
        ),
        "## Data",
        _table(("", ""), dotted_names(data)) if data else _NOT_STATED,
        "## Recipe",
        _table(("field", "value"), dotted_names(recipe))
        if recipe
        else _NOT_STATED,
        "## Metrics",
        _metrics(card["metrics"]),
    ]
    return "\n\n".join(parts) + "\n"


def _embedding(card) -> str:
    kind = "Gaussian: mean and variance" if card["gaussian"] else "a point"
    return f"{card['dim']} dimensions, {kind}"


def _metrics(metrics) -> str:
    """Table of the numbers, each with its 95 % interval if there is one.

    In results, `interval` belongs to the first measure of its group, and
    `NAME_interval` to `NAME`. Curves are only in the JSON form.
    """
    if not metrics:
        return _NOT_STATED
    rows: dict[str, tuple] = {}
    first: dict[str, str] = {}
    for name, value in dotted_names(metrics):
        group, _, last = name.rpartition(".")
        owner = first.get(group) if last == "interval" else None
        if last != "interval" and name.endswith("_interval"):
            owner = name.removesuffix("_interval")
        if owner in rows:
            if _is_interval(value):  # None without errors
                rows[owner] = (*rows[owner][:2], _interval(value))
        elif _is_number(value):
            first.setdefault(group, name)
            rows[name] = (name, value, "")
    return _table(("measure", "value", "95 % interval"), rows.values())


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_interval(value) -> bool:
    ends = value if isinstance(value, list) else [value]
    return bool(ends) and all(map(_is_number, ends))


def _interval(value) -> str:
    """A half width, or both ends."""
    if isinstance(value, list):
        return " to ".join(f"{end:.4g}" for end in value)
    return f"±{value:.4g}"


def _tensors(tensors) -> str:
    return ", ".join(
        f"`{tensor['name']}` {tensor['dtype']} {_shape(tensor['shape'])}"
        for tensor in tensors
    )


def _shape(shape) -> str:
    return f"({', '.join('any' if n is None else str(n) for n in shape)})"


def _table(header, rows) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value) -> str:
    """Text that cannot end a cell or a line of a table."""
    if isinstance(value, float):
        value = f"{value:.4g}"
    return " ".join(str(value).replace("|", "\\|").split())
