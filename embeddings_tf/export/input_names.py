"""Names of the inputs of an exported model."""

import keyword
import re

import tensorflow as tf

# TensorFlow names operations and arguments of functions after the inputs.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.>/-]*")


def check_input_names(specs: list[tf.TensorSpec]) -> None:
    """Raises ValueError for a name that no input of a signature can have."""
    for spec in specs:
        name = spec.name
        is_reserved = keyword.iskeyword(name) or name == "self"
        if is_reserved or not _NAME.fullmatch(name):
            raise ValueError(
                "The name of an input of the export must start with a letter "
                "or a digit, followed by letters, digits and _ only (a to z, "
                "without accents), and must not be self or a word reserved by "
                f"Python; received {name!r}. Give the input another name, for "
                'instance keras.Input(shape, name="image") or '
                'tf.TensorSpec(shape, dtype, "image").'
            )
    require_distinct(specs)


def require_distinct(specs: list[tf.TensorSpec]) -> None:
    """Raises ValueError if TensorFlow would rename inputs of a signature."""
    found: dict[str, str] = {}
    for spec in specs:
        # TensorFlow does not distinguish these in names of arguments.
        key = re.sub("[^a-z0-9]", "_", spec.name.lower())
        if key in found:
            raise ValueError(
                "The inputs of a signature must have different names, also "
                "without regard to case and punctuation; received "
                f"{found[key]!r} and {spec.name!r} in "
                f"{[s.name for s in specs]}. Rename an input in the "
                "`input_signature` of `preprocessing`."
            )
        found[key] = spec.name
