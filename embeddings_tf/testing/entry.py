"""An object to check, and the properties that it must have.

An entry is a `Loss`, `Objective`, `Layer` or `Metric`. Its properties are its
methods `check_<property>`. The check of a property that is declared not
applicable must fail, so outdated exemptions are found.
"""

import dataclasses
import functools
import inspect
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf


def empty() -> Mapping:
    """Default of entry fields that are mappings."""
    return dataclasses.field(default_factory=dict)


def assert_close(actual, expected, message, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=message)


def assert_finite(tensors, message):
    for tensor in tensors:
        assert np.isfinite(tf.convert_to_tensor(tensor)).all(), message


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """One public object and the properties that it must have.

    Args:
        make: `functools.partial` of the constructor, or of the function of a
            metric.
        label: Distinguishes two entries of the same class.
        not_applicable: Names of properties that do not apply, with the reason
            as value.
    """

    make: functools.partial
    _: dataclasses.KW_ONLY
    label: str = ""
    not_applicable: Mapping[str, str] = empty()

    def __post_init__(self):
        for name, reason in self.not_applicable.items():
            if name not in self.properties():
                raise ValueError(
                    f"{name!r} is not a property; the properties of a "
                    f"{type(self).__name__} are {self.properties()}."
                )
            if not isinstance(reason, str) or not reason.strip():
                raise ValueError(
                    f"Give the reason why {name!r} does not apply to {self}."
                )

    def __str__(self):
        return "-".join(filter(None, [self.make.func.__name__, self.label]))

    @classmethod
    def properties(cls) -> list[str]:
        return [n[6:] for n in dir(cls) if n.startswith("check_")]

    @classmethod
    def fixtures(cls, name: str) -> list[str]:
        """Names of the arguments that the check of a property needs."""
        check = getattr(cls, f"check_{name}")
        return list(inspect.signature(check).parameters)[1:]

    def verify(self, name: str, *fixtures) -> None:
        """Raises AssertionError if the object lacks a property."""
        if not __debug__:
            raise RuntimeError(
                "the checks are assert statements, which python -O leaves out; "
                "run them without -O"
            )
        check = getattr(self, f"check_{name}")
        if name not in self.not_applicable:
            return check(*fixtures)
        try:
            check(*fixtures)
        except Exception:  # Keras and TensorFlow raise errors of many types
            return None
        raise AssertionError(f"{name} passes: remove the exemption")

    def check_docstring(self):
        check_docstring(self.make.func)

    def check_reference(self):
        text = full_docstring(self.make.func)
        assert "Reference:" in text, "the docstring has no Reference:"
        assert "](https://" in text, "the reference has no link"


def full_docstring(documented) -> str:
    """Joins a docstring and the docstrings to which it refers."""
    text = inspect.getdoc(documented) or ""
    module = sys.modules[documented.__module__]
    for sibling in re.findall(
        r"(?:behind|those of|errors are as in)\s+`(\w+)`", text
    ):
        text += inspect.getdoc(getattr(module, sibling)) or ""
    return text


def check_docstring(documented) -> None:
    text = full_docstring(documented)
    for section in ("Args:", "Raises:", "Example:"):
        assert section in text, f"the docstring has no {section}"
    assert re.search(r"`\([\w ,.*+]+\)`", text), "no shape like `(batch, dim)`"


@dataclasses.dataclass(frozen=True, eq=False)
class Configurable(Entry):
    """A Keras object that its configuration restores.

    Args:
        arguments: Values other than the defaults for the constructor
            arguments that `make` leaves out.
    """

    arguments: Mapping[str, Any] = empty()

    def check_config(self):
        # The signature of __init__: for a subclass without its own __init__,
        # Python 3.11.2 shows Keras' __new__(*args, **kwargs).
        constructor = functools.partial(self.make.func.__init__, None)
        signature = inspect.signature(constructor)
        given = signature.bind(*self.make.args, **self.make.keywords).arguments
        given.pop("kwargs", None)
        own = {"name": "renamed", "dtype": "float64"}
        given |= {**self.arguments, **own}
        names = {*own}
        for name, parameter in signature.parameters.items():
            if parameter.kind == parameter.VAR_KEYWORD:
                continue
            names.add(name)
            if name != "reduction":
                assert name in given, (
                    f"no value to test {name} with; give one in `arguments`"
                )
                assert given[name] != parameter.default, (
                    f"{name} is tested only with its default"
                )
        thing = self.make(**{**self.arguments, **own})
        config = thing.get_config()
        assert names <= set(config), f"get_config lacks {names - set(config)}"
        for name, value in given.items():
            if type(config[name]) is type(value) and name != "dtype":
                assert config[name] == value, f"get_config changes {name}"
        copy = type(thing).from_config(json.loads(json.dumps(config)))
        assert copy.get_config() == config, "from_config changes the config"
        assert copy.dtype == thing.dtype == "float64", "dtype is lost"
        assert dir(copy) == dir(thing), "from_config loses an attribute"
