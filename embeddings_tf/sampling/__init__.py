"""Batches as index vectors: labels in, a `tf.data.Dataset` of indices out.

A batch is a pure function of `(seed, step)`: random numbers are stateless. So
the iterator can be saved with `tf.train.Checkpoint`, and `start=` continues at
any step without replaying earlier steps. The datasets are infinite: pass
`steps_per_epoch` to `model.fit`.
"""

from embeddings_tf.sampling.class_balanced_batches import class_balanced_batches
from embeddings_tf.sampling.episodes import episodes
from embeddings_tf.sampling.factor_batches import factor_batches

__all__ = ["class_balanced_batches", "episodes", "factor_batches"]
