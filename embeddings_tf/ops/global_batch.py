"""Gathers the global batch, so that a loss sees all replicas' rows."""

import tensorflow as tf


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


def balance_replicas(values: tf.Tensor, num_rows=None) -> tf.Tensor:
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
        num_rows: Rows of all replicas. None: counted here.
        num_rows: Rows of all replicas; None: they are counted.

    Returns:
        `(rows,)`; outside a strategy, and on one replica, `values`.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return values
    rows = tf.cast(tf.shape(values)[0], values.dtype)
    if num_rows is None:
        num_rows = context.all_reduce(tf.distribute.ReduceOp.SUM, rows)
    share = tf.math.divide_no_nan(
        rows * context.num_replicas_in_sync, tf.cast(num_rows, values.dtype)
    )

    @tf.custom_gradient
    def balanced(values):
        return tf.identity(values), lambda upstream: share * upstream

    return balanced(values)
