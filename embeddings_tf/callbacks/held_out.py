"""The frame of callbacks that embed a held-out set."""

import keras
import numpy as np

from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.ops.arguments import num_sliced_rows
from embeddings_tf.ops.arguments import positive_integer


class HeldOut(keras.callbacks.Callback):
    """Embeds held-out inputs with the model that trains.

    Args:
        x: Held-out inputs that `model.predict` accepts in slices.
        batch_size: Number of inputs embedded at once.
    """

    def __init__(self, x, batch_size: int):
        super().__init__()
        self.x = x
        self.num_inputs = num_sliced_rows("x", x)
        self.batch_size = positive_integer("batch_size", batch_size)

    def on_train_begin(self, logs=None):
        require_embeddings(getattr(self.model, "output", None))

    def embed(self) -> np.ndarray:
        """Returns the model's output for every held-out input."""
        parts = []
        for first in range(0, len(self.x), self.batch_size):
            last = min(first + self.batch_size, len(self.x))
            output = self.model.predict_on_batch(self.x[first:last])
            require_embeddings(output)
            # Under a strategy, every replica embeds the whole batch.
            parts.append(output[: last - first])
        return np.concatenate(parts)


class HeldOutWriter(HeldOut):
    """Writes held-out embeddings every few epochs and after the training.

    Subclasses implement `write_embeddings(embeddings)`.
    """

    def __init__(self, x, batch_size: int, every: int):
        super().__init__(x, batch_size)
        self.every = positive_integer("every", every)
        self._written: np.ndarray | None = None

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every == 0:
            self.write()

    def on_train_end(self, logs=None):
        # After the last writing, Keras may have restored the weights of another
        # epoch, or averaged them.
        embeddings = self.embed()
        if not np.array_equal(embeddings, self._written):
            self._write(embeddings)

    def write(self) -> None:
        """Writes the embeddings of the model in its current state."""
        self._write(self.embed())

    def _write(self, embeddings) -> None:
        self.write_embeddings(embeddings)
        self._written = embeddings


def require_labels(num_inputs: int, num_labels: int, least: int = 1) -> None:
    """ValueError unless there are as many labels as inputs, and enough."""
    if num_inputs != num_labels or num_inputs < least:
        raise ValueError(
            f"`x` and `labels` must have the same length of at least {least}; "
            f"received {num_inputs} inputs and {num_labels} labels."
        )
