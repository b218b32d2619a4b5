"""`check_loss`: checks for your own loss."""

import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import keras

from embeddings_tf.testing.constructible import constructible
from embeddings_tf.testing.loss import Loss
from embeddings_tf.testing.made_up_batches import points
from embeddings_tf.testing.made_up_batches import with_numbered_classes
from embeddings_tf.testing.run_checks import SOURCE_RULES
from embeddings_tf.testing.run_checks import as_dict
from embeddings_tf.testing.run_checks import run_checks
from embeddings_tf.testing.run_checks import without_meaning


def check_loss(
    make: Callable,
    *,
    arguments: Mapping[str, Any] | None = None,
    not_applicable: Mapping[str, str] | None = None,
    batch: Callable = points,
    only: Iterable[str] | None = None,
) -> list[str]:
    """Checks that your own loss has the properties of this library's losses.

    Call it in a test of your loss, like scikit-learn's `check_estimator` for
    an estimator. The checks, each named by a property:

    - values: `vector` (a finite float32 value and a gradient for each row),
      `deterministic`, `batch_order`, `order_within_class`, `class_names`,
      `class_ids` (large ids stay apart), `label_types`, `half_precision`,
      `empty_batch`, `sample_weight`, `reduction`;
    - refused with a ValueError: `bad_labels`, `bad_embeddings`;
    - finite values and gradients: `one_class`, `singletons`, `no_queries`,
      `coinciding_points`, `zeros`, `tiny_scale`, `huge_scale`;
    - equal results in eager mode, in graphs and on two replicas: `compiled`,
      `xla`, `replicas`, `replicas_fit`;
    - training: `training_lowers_it`, `mixed_precision`, `pieces`;
    - saving: `config`, `saving`;
    - the report of rows without a training signal: `teachable_rows`,
      `teachable_rows_warning`.

    The checks take about 15 seconds. They set the global random seed.

    Args:
        make: The class of the loss, or `functools.partial` of the class and
            arguments.
        arguments: Values other than the defaults for the arguments that `make`
            leaves out. The check `config` needs one for each. Values for
            arguments without a default are used in every check.
        not_applicable: Names of properties that do not apply, with the reason
            as value. The checks of these properties must fail.
        batch: Function that returns class ids `(batch,)` of 2 to 6 classes,
            with about four rows each, and embeddings `(batch, dim)`.
        only: Names of the properties to check; by default all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If a property fails; the message lists all failures.
        ValueError: If `only` or `not_applicable` names no property, if `make`
            does not take one of `arguments`, or if an argument without a
            default has no value.

    Example:

    >>> checked = embeddings_tf.testing.check_loss(
    ...     embeddings_tf.losses.ContrastiveLoss,
    ...     arguments={"margin": 2.0, "average_over": "each_kind"},
    ... )
    >>> "replicas" in checked
    True
    """
    arguments = as_dict("arguments", arguments)
    batch, width = with_numbered_classes(batch)
    entry = Loss(
        constructible(make, arguments),
        arguments=arguments,
        not_applicable=as_dict("not_applicable", not_applicable),
        batch=batch,
        head=functools.partial(keras.layers.Dense, width, dtype="float32"),
        documented=None,
        set_wise=False,
    )
    left_out = SOURCE_RULES | without_meaning(entry)
    properties = [n for n in entry.properties() if n not in left_out]
    return run_checks(entry, properties, only)
