"""`check_objective`: checks for your own objective."""

import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import keras

from embeddings_tf.layers.gaussian_embedding import GaussianEmbedding
from embeddings_tf.testing import made_up_batches
from embeddings_tf.testing.constructible import constructible
from embeddings_tf.testing.objective import Objective
from embeddings_tf.testing.run_checks import SOURCE_RULES
from embeddings_tf.testing.run_checks import as_dict
from embeddings_tf.testing.run_checks import run_checks
from embeddings_tf.testing.run_checks import without_meaning


def check_objective(
    make: Callable,
    *,
    arguments: Mapping[str, Any] | None = None,
    not_applicable: Mapping[str, str] | None = None,
    gaussian: bool = False,
    draws_samples: bool = False,
    batch: Callable | None = None,
    only: Iterable[str] | None = None,
) -> list[str]:
    """Checks that your own objective has the properties of the library's.

    An objective is a Keras layer that owns weights and returns one value per
    example; `EmbeddingModel` joins it to an encoder. All checks of `check_loss`
    are made, and:

    - `weights`: each trainable weight is float32 and changes the value;
    - `few_shot`: if the objective has `represent` and `log_prob`, they give
      class probabilities that do not depend on the other queries;
    - `kind_of_embedding`: an objective for Gaussians refuses points, and an
      objective for points refuses Gaussians;
    - `samples`: each call draws new samples.

    The checks take about 20 seconds. They set the global random seed.

    Args:
        make: The class of the objective, or `functools.partial` of the class
            and arguments.
        arguments: Values other than the defaults for the arguments that `make`
            leaves out. The check `config` needs one for each. Values for
            arguments without a default are used in every check.
        not_applicable: Names of properties that do not apply, with the reason
            as value. The checks of these properties must fail.
        gaussian: Whether the objective reads packed Gaussians
            `(batch, 2 * dim)` rather than points `(batch, dim)`.
        draws_samples: Whether its value depends on random samples. Values are
            then compared on Gaussians without variance.
        batch: Function that returns labels `(rows,)` and embeddings `(rows,
            width)` of 2 to 6 classes; by default three classes in a plane.
        only: Names of the properties to check; by default all.

    Returns:
        The names of the properties that were checked.

    Raises:
        AssertionError: If a property fails; the message lists all failures.
        ValueError: If `only` or `not_applicable` names no property, if `make`
            does not take one of `arguments`, or if an argument without a
            default has no value.

    Example:

    >>> checked = embeddings_tf.testing.check_objective(
    ...     embeddings_tf.objectives.HedgedInstances,
    ...     gaussian=True,
    ...     draws_samples=True,
    ...     only=["weights", "samples", "one_class"],
    ... )
    >>> checked
    ['one_class', 'samples', 'weights']
    """
    arguments = as_dict("arguments", arguments)
    entry = Objective(
        constructible(make, arguments),
        arguments=arguments,
        not_applicable=as_dict("not_applicable", not_applicable),
        documented=None,
        set_wise=False,
        **((_OF_GAUSSIANS if gaussian else {}) | _of_batch(batch, gaussian)),
    )
    left_out = SOURCE_RULES | without_meaning(entry)
    if not draws_samples:
        left_out |= {"samples"}
    properties = [n for n in entry.properties() if n not in left_out]
    return run_checks(entry, properties, only)


def _of_batch(batch: Callable | None, gaussian: bool) -> dict[str, Any]:
    """The batch, and the last layer of encoders of its width."""
    if batch is None:
        return {}
    batch, width = made_up_batches.with_numbered_classes(batch)
    head = functools.partial(keras.layers.Dense, width, dtype="float32")
    if gaussian:
        head = functools.partial(
            GaussianEmbedding, width // 2, initial_variance=0.05
        )
    return {"batch": batch, "head": head}


_OF_GAUSSIANS: dict[str, Any] = {
    "batch": made_up_batches.gaussians,
    "quiet": made_up_batches.without_variance,
    "narrow": made_up_batches.points_as_gaussians,
    "scale": made_up_batches.scaled_gaussians,
    "head": functools.partial(GaussianEmbedding, 2, initial_variance=0.05),
}
