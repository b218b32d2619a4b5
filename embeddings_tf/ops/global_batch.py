"""Gathers the global batch, so that a loss sees all replicas' rows."""

import tensorflow as tf

from embeddings_tf import compat


def gather_global_batch(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Concatenates each tensor over the replicas of `tf.distribute`.

    Outside a strategy, and on one replica, returns the tensors unchanged.
    The result is in the order of the replicas, which have contiguous slices of
    the global batch. Gradients flow back to every replica.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensors

    def gather(tensor):
        # identity: a tensor straight from the iterator has no device, and
        # all_gather then fails with "destinations can not be empty".
        gathered = context.all_gather(tf.identity(tensor), axis=0)
        # all_gather forgets the whole shape where the batch size is unknown.
        return tf.ensure_shape(gathered, [None, *tensor.shape[1:]])

    return tuple(gather(tensor) for tensor in tensors)


def own_rows(num_rows) -> tuple | None:
    """Divides the rows of the global batch among replicas.

    Use it where every replica has the whole batch, and computes its share of a
    sum over rows. The rows need not be those that the replica contributed.

    Args:
        num_rows: Rows of all replicas, an integer or a scalar tensor.

    Returns:
        First row of this replica, and first row of the next one; None outside a
        strategy, on one replica, and where XLA needs sizes in advance.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    if compat.is_traced_for_xla():
        return None
    number = tf.cast(context.replica_id_in_sync_group, tf.int64)
    num_rows = tf.cast(num_rows, tf.int64)
    ends = num_rows * tf.stack([number, number + 1])
    first, after = tf.unstack(ends // context.num_replicas_in_sync)
    return tf.cast(first, tf.int32), tf.cast(after, tf.int32)


def sum_over_replicas(x: tf.Tensor) -> tf.Tensor:
    """Sums a tensor over the replicas, with its gradient."""
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, x)


def global_num_rows(x: tf.Tensor) -> tf.Tensor:
    """Returns the number of rows of `x` on all replicas, an integer scalar."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tf.shape(x)[0]
    return sum_over_replicas(tf.shape(x)[0])


def balance_replicas(values: tf.Tensor) -> tf.Tensor:
    """Scales gradients so that every row of the global batch counts equally.

    Keras takes the mean over the rows of each replica, then the mean over
    replicas. If batches split unevenly, a row on a replica with fewer rows
    counts more. The values stay unchanged, since Keras weights them by rows in
    its logs. Their gradient is multiplied by

    ```
    rows of this replica * number of replicas / rows of all replicas
    ```

    Args:
        values: One value per row of this replica, `(rows,)`.

    Returns:
        `(rows,)`; outside a strategy, and on one replica, `values`.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return values
    rows = tf.cast(tf.shape(values)[0], values.dtype)
    every = context.all_reduce(tf.distribute.ReduceOp.SUM, rows)
    share = tf.math.divide_no_nan(rows * context.num_replicas_in_sync, every)

    @tf.custom_gradient
    def balanced(values):
        return tf.identity(values), lambda upstream: share * upstream

    return balanced(values)
