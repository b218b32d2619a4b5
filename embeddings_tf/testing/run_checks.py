"""Runs all checks of one entry."""

import tempfile
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from embeddings_tf.testing.entry import Entry
from embeddings_tf.testing.native_log import without_expected_errors
from embeddings_tf.testing.saved_and_loaded import saved_and_loaded
from embeddings_tf.testing.trainable import Trainable
from embeddings_tf.testing.two_replicas import two_replicas

# These concern the source code of this library, not computed values.
SOURCE_RULES = frozenset({"docstring", "reference", "function"})


def as_dict(name: str, mapping: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns an optional mapping with string keys as a dictionary."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise ValueError(
            f"{name} must be a dictionary with names as keys, or None; "
            f"received {mapping!r}"
        )
    return dict(mapping)


def without_meaning(entry: Trainable) -> set[str]:
    """Properties that concern only other kinds of losses and objectives."""
    try:
        made = entry.new()
    except Exception as error:
        raise ValueError(
            f"{entry} cannot be made as the checks do: "
            f"{type(error).__name__}: {error}. A loss takes `reduction`, "
            "`name` and `dtype`, an objective `name` and `dtype`"
        ) from error
    left_out = set()
    if not hasattr(made, "batch_needs"):
        left_out |= {"teachable_rows", "teachable_rows_warning"}
    if not hasattr(made, "represent"):
        left_out.add("few_shot")
    # The first rows of each class are supports.
    has_supports = hasattr(made, "num_support")
    left_out.add("order_within_class" if has_supports else "no_queries")
    return left_out


def run_checks(
    entry: Entry, properties: Iterable[str], only: Iterable[str] | None
) -> list[str]:
    """Checks properties and reports all that fail.

    Args:
        entry: The object to check.
        properties: The properties that apply to the object.
        only: The properties to check now; None: all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If checks fail; the message lists the failures.
        ValueError: If `only` contains the name of another property.
    """
    names = list(properties)
    if only is not None:
        if isinstance(only, str) or not isinstance(only, Iterable):
            raise ValueError(
                "only must be a list of names of properties, or None for all; "
                f"received {only!r}"
            )
        only = list(only)
        unknown = [name for name in only if name not in names]
        if unknown:
            raise ValueError(
                f"only={unknown} are not properties of {entry}; its properties "
                f"are {', '.join(names)}"
            )
        names = [name for name in names if name in only]
    failures, cause = [], None
    for name in names:
        keras.utils.set_random_seed(0)
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                without_expected_errors(),
            ):
                try:
                    needs = _needs(entry, name, Path(folder))
                except RuntimeError:  # no two replicas here
                    if name in entry.not_applicable:
                        continue
                    raise
                entry.verify(name, *needs)
        except AssertionError as error:
            failures.append(f"- {name}: {_summary(str(error))}")
        except Exception as error:
            cause = cause or error
            failures.append(f"- {name}: {type(error).__name__}: {error}")
    if failures:
        listed = "\n".join(failures)
        raise AssertionError(
            f"{entry}: {len(failures)} of {len(names)} checks failed\n{listed}"
        ) from cause
    return names


def _needs(entry: Entry, name: str, folder: Path) -> list:
    """Arguments of a check: two replicas, a way to save, an empty folder."""
    found = []
    for fixture in entry.fixtures(name):
        if fixture == "strategy":
            found.append(two_replicas())
        elif fixture == "saved_and_loaded":
            found.append(saved_and_loaded)
        else:
            found.append(folder)
    return found


def _summary(text: str) -> str:
    """Shortens the message of an assertion to its first two lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Not equal to tol")]
    return "; ".join(lines[:2]) or "does not hold"
