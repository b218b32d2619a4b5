"""`check_metric`: checks for your own metric."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping

from embeddings_tf.testing.constructible import as_partial
from embeddings_tf.testing.constructible import check_rows
from embeddings_tf.testing.metric import Metric
from embeddings_tf.testing.run_checks import SOURCE_RULES
from embeddings_tf.testing.run_checks import as_dict
from embeddings_tf.testing.run_checks import run_checks


def check_metric(
    make: Callable,
    *,
    perfect: Callable,
    chance: Callable,
    read: Callable = float,
    not_applicable: Mapping[str, str] | None = None,
    only: Iterable[str] | None = None,
) -> list[str]:
    """Checks that your own metric has the properties of this library's metrics.

    Call it in a test of your metric. The checks, each named by a property:
    `perfect` and `chance` (the values that you give), `row_order`, `tensors`
    (equal results for tensors and arrays), `plain_result` (Python numbers and
    arrays), and three kinds of input that must raise a ValueError with the
    name of the argument: `not_finite`, `unequal_lengths`, `empty`.

    Args:
        make: The function, or `functools.partial` of the function and options.
        perfect: Function that returns the arguments of the best case (arrays
            with one row per example, by name), the expected value, and a
            tolerance.
        chance: Function that returns the same for arguments without
            information.
        read: Function from the result to the number that is compared.
        not_applicable: Names of properties that do not apply, with the reason
            as value. The checks of these properties must fail.
        only: Names of the properties to check; by default all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If a property fails; the message lists all failures.
        ValueError: If `only` or `not_applicable` names no property, or `make`
            does not take the arguments of `perfect` or `chance`.

    Example:

    >>> def separated():
    ...     is_target = np.arange(100) % 2 == 0  # shape `(trials,)`
    ...     return {"scores": 1.0 * is_target, "is_target": is_target}, 1.0, 0.0
    >>> def not_separated():
    ...     rows, _, _ = separated()
    ...     return {**rows, "scores": np.ones(100)}, 0.5, 0.0
    >>> checked = embeddings_tf.testing.check_metric(
    ...     embeddings_tf.metrics.roc_auc,
    ...     perfect=separated,
    ...     chance=not_separated,
    ...     not_applicable={"not_finite": "infinite scores are scores"},
    ... )
    >>> len(checked)
    8
    """
    make = as_partial(make)
    check_rows(make, "perfect", perfect)
    check_rows(make, "chance", chance)
    entry = Metric(
        make,
        perfect=perfect,
        chance=chance,
        read=read,
        not_applicable=as_dict("not_applicable", not_applicable),
    )
    properties = [n for n in entry.properties() if n not in SOURCE_RULES]
    return run_checks(entry, properties, only)
