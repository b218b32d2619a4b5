"""Recipes and their overrides: from `--config NAME` to a config."""

import ast
import importlib.util
import pathlib

from trainers.evaluators import evaluator
from trainers.recipes import every_recipe
from trainers.required_fields import require_evaluation
from trainers.required_fields import require_fields

RECIPES = pathlib.Path(__file__).parent / "recipes"
# Of every recipe; one that does not name them, or an older run, has these.
COMMON_FIELDS = {
    "images": {"size": 0, "cache_gib": 1.0},
    "initial_weights": "",
    "piece_size": 0,
    "precision": "float32",
    "strategy": "one",
}
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


def recipe_names() -> list[str]:
    """Names of the recipes that ship with the package."""
    return list(every_recipe())


def load_recipe(recipe: str, overrides: list[str] = ()):
    """The config of a recipe, with `field=value` overrides applied.

    Args:
        recipe: The name of a recipe in a table of `trainers/recipes`, or the
            path of a Python file that defines `get_config()`.
        overrides: Strings `field=value` or `field.inner=value`; values are
            Python literals, anything else is a string.

    Returns:
        A locked `ml_collections.ConfigDict`, which has the `COMMON_FIELDS`
        whether or not the recipe names them: `images.size`, to which images
        that are read when needed are cropped and resized, 0 to take them as
        they are, and `images.cache_gib`, how much memory keeps those read;
        `precision`, the dtype policy of the model; `piece_size`, the rows of a
        batch that are encoded at a time, 0 for all; `initial_weights`, the
        workdir or `.keras` file whose encoder and learned distance the
        training starts from; and `strategy`, the devices it runs on
        (`trainers.strategy`).

    Raises:
        ValueError: For an unknown recipe or field, or a value of the wrong
            type, or no value of a common field.
    """
    if recipe in every_recipe():
        get_config = every_recipe()[recipe].config
    else:
        get_config = load_function(
            recipe, RECIPES, "get_config", "recipe", recipe_names()
        )
    config = _call(get_config, recipe)
    if not hasattr(config, "lock"):
        raise ValueError(
            f"get_config() of {recipe} must return an ml_collections."
            f"ConfigDict; it returned a {type(config).__name__}"
        )
    for field, value in COMMON_FIELDS.items():
        if field not in config:
            config[field] = value
    config.lock()
    for override in overrides:
        apply_override(config, override)
    require_fields(config)
    _check_common_fields(config)
    return config


def _call(function, name: str, *arguments):
    """Calls a function of the user's; what it raises is a ValueError."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ValueError(
            f"{name} cannot be run: {type(error).__name__}: {error}"
        ) from error


def load_function(
    name: str, folder: pathlib.Path, function: str, kind: str, known: list[str]
):
    """A function of a Python file: one in `folder`, or one given by its path.

    Raises:
        ValueError: If there is no such file, it cannot be read, or it does
            not define the function; with the `kind` of file that was wanted.
    """
    path = pathlib.Path(name)
    if path.suffix != ".py":
        path = folder / f"{name}.py"
    if not path.is_file():
        raise ValueError(
            f"unknown {kind} {name!r}: it is neither a Python file nor one "
            f"of {', '.join(known)}"
        )
    spec = importlib.util.spec_from_file_location(f"{kind}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, function):
        raise ValueError(
            f"{name} is no {kind}: it defines no function {function}()"
        )
    return getattr(module, function)


def _check_common_fields(config) -> None:
    if config.precision not in PRECISIONS:
        raise ValueError(
            f"config.precision must be one of {', '.join(PRECISIONS)}; "
            f"received {config.precision!r}"
        )
    if config.piece_size < 0:
        raise ValueError(
            "config.piece_size is a number of rows, or 0 to encode the whole "
            f"batch at once; received {config.piece_size}"
        )
    if config.piece_size and "autoencoder" in config:
        raise ValueError(
            "config.piece_size is for losses that compare the rows of a "
            "batch, and an auto-encoder's does not; take smaller batches "
            "(config.batches)"
        )
    batches = config.get("batches", {})
    if batches.get("name") == "episodes":
        for method in ("objective", "loss"):
            wanted = config.get(method, {}).get("num_support")
            if wanted not in (None, batches.get("num_support")):
                raise ValueError(
                    "config.batches.num_support and config."
                    f"{method}.num_support are the same supports; received "
                    f"{batches.num_support} and {wanted}. Set both"
                )
    if config.piece_size and config.encoder.get("dimension_dropout"):
        raise ValueError(
            "config.piece_size encodes a batch in pieces, and "
            "config.encoder.dimension_dropout leaves the same dimensions out "
            "of all of it; set one of the two to 0"
        )


def apply_override(config, override: str) -> None:
    """Sets one `field.inner=value` in place.

    Also an argument of the encoder that the recipe leaves at its default.
    """
    name, equals, text = override.partition("=")
    if not equals or not name:
        raise ValueError(
            f"an override is --config.field=value; received {override!r}"
        )
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    *parents, field = name.split(".")
    section = config
    for parent in parents:
        section = section.get(parent) if parent in section else None
        if not hasattr(section, "keys"):
            raise ValueError(
                f"unknown field config.{name}: {parent!r} is no section; the "
                f"sections are {', '.join(_sections(config))}"
            )
    left_out = {}
    if parents == ["encoder"]:
        left_out = _defaults(section.name)
    if field not in section and field not in left_out:
        known = sorted({*section.keys(), *left_out})
        raise ValueError(
            f"unknown field config.{name}; the fields there are "
            f"{', '.join(known)}"
        )
    old = section[field] if field in section else left_out[field]
    if isinstance(old, str):
        value = text
    if isinstance(old, tuple | list) and isinstance(value, tuple | list):
        value = type(old)(value)
    if isinstance(old, float) and isinstance(value, int):
        value = float(value)
    if type(value) is not type(old) and not hasattr(old, "keys"):
        raise ValueError(
            f"config.{name} is of type {type(old).__name__} "
            f"(now {old!r}); received {text!r}"
        )
    if hasattr(old, "keys"):
        raise ValueError(
            f"config.{name} is a section with the fields "
            f"{', '.join(sorted(old.keys()))}; set one of them"
        )
    with section.unlocked():
        section[field] = value


def _defaults(encoder: str) -> dict:
    """Arguments of a published encoder that have a default.

    Read from its source, so that TensorFlow need not be imported for that.
    """
    library = importlib.util.find_spec("embeddings_tf")
    folder = pathlib.Path(library.submodule_search_locations[0]) / "models"
    path = folder / f"{encoder}.py"
    if not path.is_file():
        return {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == encoder:
            found = node.args
            break
    else:
        return {}
    with_default = found.args[len(found.args) - len(found.defaults) :]
    pairs = [
        *zip(with_default, found.defaults, strict=True),
        *zip(found.kwonlyargs, found.kw_defaults, strict=True),
    ]
    defaults = {
        argument.arg: ast.literal_eval(default)
        for argument, default in pairs
        if default is not None
    }
    # None tells no type.
    return {k: value for k, value in defaults.items() if value is not None}


def _sections(config) -> list[str]:
    return sorted(key for key in config if hasattr(config[key], "keys"))


def evaluation_module(config):
    """The module of `trainers.evaluators` that measures the runs of a recipe.

    Raises:
        ValueError: If there is no such evaluation, or it lacks a field.
    """
    require_evaluation(config)
    return evaluator(config)


def build(module, section, *leading, **extra):
    """Calls `module.<section.name>` with the section's other fields."""
    arguments = dict(section)
    name = arguments.pop("name")
    # What a module imports is not its own.
    known = getattr(module, "__all__", None) or [
        n
        for n in dir(module)
        if not n.startswith("_") and callable(getattr(module, n))
    ]
    if name not in known:
        raise ValueError(
            f"{module.__name__} has no {name!r}; it has {', '.join(known)}"
        )
    function = getattr(module, name)
    try:
        return function(*leading, **arguments, **extra)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error
