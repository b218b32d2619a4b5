"""Keras objects, functions and data of the user's own: `FILE.py:NAME`.

A relative path starts in the folder in which the command is started.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
import sys
from collections.abc import Mapping

# Data sets `KIND:PATH` whose reading runs no code of the user's own.
DATA_KINDS = ("image_folder", "audio_folder", "csv", "arrays")
# As `embeddings_tf.ops.own_code`, which imports TensorFlow.
_CODE = re.compile(r"(.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*", re.DOTALL)


def file_and_name(name: str) -> tuple[str, str] | None:
    """Divides `FILE.py:NAME`; None for other names, also `MODULE:NAME`."""
    found = re.fullmatch(r"(.+\.py):(\w+)", name)
    return found and found.groups()


def run_file(path: pathlib.Path, module: str):
    """The module that a recipe's Python file makes, without TensorFlow.

    Raises:
        ValueError: If the file is not there or cannot be run.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(module, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[module] = found  # dataclasses look it up while it runs
    try:
        # Not from a compiled file: Python takes an old one if the file changed
        # within a second and kept its size.
        code = compile(path.read_bytes(), path, "exec")
        exec(code, found.__dict__)
    except Exception as error:
        del sys.modules[module]
        raise ValueError(
            f"{path} cannot be read: {type(error).__name__}: {error}"
        ) from error
    return found


def own_object(name: str):
    """As `own_object` of `embeddings_tf.ops.own_code`, imported when called."""
    from embeddings_tf.ops.own_code import own_object  # imports TensorFlow

    return own_object(name)


def own_code_names(value) -> list[str]:
    """Returns every `FILE.py:NAME` and `MODULE:NAME` in a JSON value.

    Folders and tables such as `image_folder:PATH` are data, not code.
    """
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list):
        return [name for part in value for name in own_code_names(part)]
    if not isinstance(value, str) or _CODE.fullmatch(value) is None:
        return []
    return [] if value.partition(":")[0] in DATA_KINDS else [value]


def import_own_code(config: Mapping) -> dict[str, tuple[str, str]]:
    """Runs every file that a config names, so that Keras knows its classes.

    Returns:
        Two files with a class or function of one name for Keras, by the name:
        a model that contains it would load with the wrong one.
    """
    files: dict[str, str] = {}
    shared = {}
    for code in _code_of_parts(config):
        # Imported here because it imports TensorFlow.
        from embeddings_tf.ops.own_code import registered_names

        for name, file in registered_names(code).items():
            other = files.setdefault(name, file)
            if os.path.realpath(other) != os.path.realpath(file):
                shared[name] = (other, file)
    return shared


def require_one_meaning(
    shared: Mapping[str, tuple[str, str]], saved: Mapping
) -> None:
    """Checks that a saved model loads with the code that it was made with.

    Args:
        shared: As `import_own_code` returns.
        saved: The configuration of the model. The loss of its `compile` does
            not count, because it is not loaded.

    Raises:
        ValueError: If it contains one of the names.
    """
    saved = {k: v for k, v in saved.items() if k != "compile_config"}
    text = json.dumps(saved, default=str)
    for name, files in shared.items():
        if json.dumps(name) in text:
            first, second = files
            remedy = "rename it in one of them"
            if pathlib.Path(first).stem == pathlib.Path(second).stem:
                remedy += ", or rename one file"
            raise ValueError(
                f"{first} and {second} both define {name.rpartition('>')[2]}, "
                f"which Keras knows as {name!r}, so that a saved model would "
                f"load with the wrong one; {remedy}"
            )


def _code_of_parts(config: Mapping) -> list[str]:
    """Returns the code of which a model may consist."""
    found = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            found += _code_of_parts(value)
        elif key in ("name", "backbone"):
            found += own_code_names(value)
    return found


def require_loadable(model, config: Mapping) -> None:
    """Checks that a model with code of the user's own loads from its file.

    Raises:
        ValueError: If it does not, such as a model with a `Lambda` layer, or
            as `require_one_meaning`.
    """
    if not own_code_names(config):
        return
    shared = import_own_code(config)  # initial weights may have run other code
    import keras

    with _refusal_of_checkpoints():
        saved = keras.saving.serialize_keras_object(model)
    require_one_meaning(shared, saved)
    with _refusal_of_checkpoints():
        keras.saving.deserialize_keras_object(saved)


@contextlib.contextmanager
def _refusal_of_checkpoints():
    try:
        yield
    except Exception as error:  # such as NotImplementedError of Keras
        raise ValueError(
            "a checkpoint of this model could not be loaded: "
            f"{reason_of(error)} Give every layer get_config(), write a layer "
            "instead of a Lambda layer, and register classes of other modules "
            "by keras.saving.register_keras_serializable"
        ) from error


def reason_of(error: Exception) -> str:
    """Returns the line of an error of Keras that says what is wrong."""
    lines = str(error).rpartition("Exception encountered: ")[2].splitlines()
    return next(filter(None, map(str.strip, lines)), type(error).__name__)


def require_saved_arguments(made, name: str, arguments) -> None:
    """Raises unless a reloaded object has the arguments of the run.

    The result of a function saves the arguments of its own class.

    Raises:
        ValueError: If `get_config()` leaves an argument out.
    """
    if not (file_and_name(name) and hasattr(made, "get_config")):
        return
    if not isinstance(own_object(name), type):
        return
    missing = sorted(set(arguments) - set(made.get_config()))
    if missing and type(made).__module__.startswith("own_code_"):
        raise ValueError(
            f"{type(made).__name__}.get_config() leaves out "
            f"{', '.join(missing)}, which a resumed run would forget; return "
            "{**super().get_config(), ...} with every argument"
        )
