"""The batch of all replicas, so that a loss never sees a slice of it."""

import tensorflow as tf


def gather_global_batch(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Concatenates each tensor over the replicas of `tf.distribute`.

    Outside a strategy, and on one replica, returns the tensors unchanged.
    The order is that of the replicas, which hold contiguous slices of the
    global batch. Gradients flow back to every replica.
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
