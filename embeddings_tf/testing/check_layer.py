"""`check_layer`: checks for your own layer."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from embeddings_tf.testing.constructible import constructible
from embeddings_tf.testing.layer import Layer
from embeddings_tf.testing.made_up_batches import features
from embeddings_tf.testing.run_checks import SOURCE_RULES
from embeddings_tf.testing.run_checks import as_dict
from embeddings_tf.testing.run_checks import run_checks


def check_layer(
    make: Callable,
    *,
    arguments: Mapping[str, Any] | None = None,
    not_applicable: Mapping[str, str] | None = None,
    inputs: Callable = features,
    only: Iterable[str] | None = None,
) -> list[str]:
    """Checks that your own layer has the properties of this library's layers.

    Call it in a test of your layer. The checks, each named by a property:
    `config`, `saving`, `export` (a SavedModel gives the same output),
    `output_shape`, `functional`, `sequential`, `rows` (an output row depends
    only on the same input row), `mixed_precision` (float32 output and
    weights), `gradients` (every weight and input is used), `huge_inputs`
    (finite output and gradients) and `complex` (complex inputs are refused
    with a ValueError about real numbers).

    The checks take a few seconds. They set the global random seed.

    Args:
        make: The class of the layer, or `functools.partial` of the class and
            arguments.
        arguments: Values other than the defaults for the arguments that `make`
            leaves out. The check `config` needs one for each. Values for
            arguments without a default are used in every check.
        not_applicable: Names of properties that do not apply, with the reason
            as value. The checks of these properties must fail.
        inputs: Function that returns the list of the layer's inputs, arrays
            with one row per example, `(batch, ...)`. A layer with several
            inputs receives them as one tuple.
        only: Names of the properties to check; by default all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If a property fails; the message lists all failures.
        ValueError: If `only` or `not_applicable` names no property, if `make`
            does not take one of `arguments`, or if an argument without a
            default has no value.

    Example:

    >>> from functools import partial
    >>> make = partial(embeddings_tf.layers.AdditiveMargin, 3)
    >>> embeddings_tf.testing.check_layer(make, only=["rows", "gradients"])
    ['gradients', 'rows']
    """
    arguments = as_dict("arguments", arguments)
    entry = Layer(
        constructible(make, arguments),
        arguments=arguments,
        not_applicable=as_dict("not_applicable", not_applicable),
        inputs=inputs,
    )
    properties = [n for n in entry.properties() if n not in SOURCE_RULES]
    return run_checks(entry, properties, only)
