"""The checks of a layer of one's own."""

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
    """Checks that a layer of your own keeps what the layers here promise.

    The checks, each named by a property: `config`, `saving`, `export` (a
    SavedModel answers the same), `output_shape`, `functional`, `sequential`,
    `rows` (a row depends on no other row), `mixed_precision` (float32 output
    and weights), `gradients` (every weight and input is used), `huge_inputs`
    (finite output and gradients) and `complex` (refused with a ValueError
    about real numbers).

    Takes some seconds, and sets the global random seed.

    Args:
        make: The class of the layer, or `functools.partial` of the class and
            arguments.
        arguments: Values other than the defaults for the arguments that `make`
            leaves out; `config` needs one for each. Those without a default
            are used in every check.
        not_applicable: From the names of properties that do not apply to the
            reason. They must indeed fail.
        inputs: Function that returns the list of the layer's inputs, arrays
            with one row per example, `(batch, ...)`. A layer with several
            inputs receives them as one tuple.
        only: Names of the properties to check; None: all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If a property does not hold; lists all that do not.
        ValueError: If `only` or `not_applicable` names no property, or
            `arguments` something that `make` does not take, or an argument
            without a default has no value.

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
