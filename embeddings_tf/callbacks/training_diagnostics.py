"""Writes diagnostics of a training batch for TensorBoard."""

import os

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.callbacks.batch_gradients import BatchGradients
from embeddings_tf.callbacks.embedding_measures import distances
from embeddings_tf.callbacks.embedding_measures import embedding_measures
from embeddings_tf.callbacks.embedding_measures import variances
from embeddings_tf.callbacks.held_out import require_labels
from embeddings_tf.metrics import arrays
from embeddings_tf.models.has_uncertainty import has_uncertainty
from embeddings_tf.models.method import Method
from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import num_sliced_rows
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.arguments import positive_integer

# Time and memory grow with the square of the rows that are compared.
MOST_ROWS = 1024


class TrainingDiagnostics(keras.callbacks.Callback):
    """Writes curves to TensorBoard that tell a collapse from progress.

    Use it in any `model.fit` whose model returns embeddings. It computes the
    loss of one fixed batch, with its gradient, as a training step does, but
    updates nothing: the training stays the same bit for bit. (State outside
    `keras.Variable` is not protected, such as a `tf.Variable` in your own
    layer.) docs/watching.md shows how to read the curves.

    | scalar `diagnostics/...` | meaning |
    |---|---|
    | `loss` | loss of the batch |
    | `gradient_norm` | L2 norm of the gradient in all weights, unclipped |
    | `learning_rate` | of the step |
    | `distance_within` | mean distance of two embeddings of one class |
    | `distance_between` | mean distance of embeddings of two classes |
    | `norm` | mean length of an embedding |
    | `effective_rank` | number of directions that the embeddings use |
    | `active_rows` | share of rows whose embedding has a gradient |
    | `active_triplets` | `TripletLoss`: share of mined triplets with gradient |
    | `active_negatives` | `ContrastiveLoss`: negative pairs inside the margin |
    | `active_positives` | `LiftedStructureLoss`: positive pairs with gradient |
    | `active_pairs` | `HistogramLoss`: pairs with gradient |
    | `active_pairs` | other pair losses: pairs that are not learned |
    | `active_class_pairs` | `FStatisticLoss`: undecided tests of two classes |
    | `active_queries` | prototypes: queries that are not learned |
    | `variance` | mean predicted variance, if there is one |
    | `variance_share` | its share in the total variance |
    | `variance_variation` | its relative spread over inputs |
    | `uncertainty` | mean prediction of an `UncertaintyHead` |
    | `uncertainty_variation` | its relative spread over inputs |
    | `noise_variance` | learned by prototypes with uncertainty |
    | `scale`, `offset` | learned by `HedgedInstances`, `SoftContrastive` |

    Not learned: the right answer has a probability below 0.99, so its
    derivative is at least a hundredth of the largest. The loss sees the same
    embeddings, in training mode; for Gaussians, points are means. At most the
    first 1,024 rows are compared. The other definitions are in
    `EmbeddingDiagnostics`, which measures held-out inputs.

    A mean or a share over nothing is 0: a batch of one class, single rows, or
    equal rows have finite values. Values of embeddings that are not finite are
    NaN.

    Histograms, in `distributions/...`: `distance_within`, `distance_between`,
    `norm`, and `variance` if there is one.

    The step is `optimizer.iterations`, which continues when a training is
    resumed. Under `tf.distribute`, replicas divide the batch as in a step.

    Args:
        x: Inputs of one batch like the batches of the training, for example
            from `next(iter(batches))`.
        labels: Class ids `(batch,)`.
        log_dir: Folder for TensorBoard; files go to `log_dir/train`, beside
            the files of `keras.callbacks.TensorBoard(log_dir)`.
        every_steps: Writes after so many steps. None: after every epoch.
        histograms_every: Histograms are written at the first of so many
            writings.

    Attributes:
        values: The last values, by name.

    Raises:
        ValueError: If `x` and `labels` differ in length or are empty, labels
            are not integers, or another argument is invalid. In `fit`, if the
            model has its own `train_step`, but no loss from `compile` or
            `add_loss`, and no `compute_loss` of its own.
        OSError: If the folder cannot be written to.

    Reference:
        - [Roy & Vetterli, 2007](https://ieeexplore.ieee.org/document/7098875),
          the effective rank.

    Example:

    >>> x, labels = np.random.rand(20, 8), np.arange(20) % 4
    >>> log_dir = tempfile.mkdtemp()
    >>> watch = embeddings_tf.callbacks.TrainingDiagnostics(x, labels, log_dir)
    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    >>> encoder.compile(loss=embeddings_tf.losses.TripletLoss())
    >>> _ = encoder.fit(x, labels, verbose=0, callbacks=[watch])
    >>> sorted(watch.values)[:3]
    ['active_rows', 'active_triplets', 'distance_between']
    """

    def __init__(
        self,
        x,
        labels,
        log_dir: str | os.PathLike,
        *,
        every_steps: int | None = None,
        histograms_every: int = 10,
    ):
        super().__init__()
        self.x = x
        self.labels = arrays.integers(
            "labels", array("labels", labels), 1, "(batch,)"
        )
        count = num_sliced_rows("x", keras.tree.flatten(x)[0])
        require_labels(count, len(self.labels))
        self.log_dir = path("log_dir", log_dir)
        self.every_steps = every_steps
        if every_steps is not None:
            self.every_steps = positive_integer("every_steps", every_steps)
        self.histograms_every = positive_integer(
            "histograms_every", histograms_every
        )
        self.values: dict[str, float] = {}

    def on_train_begin(self, logs=None):
        # Fails now, not after the first epoch.
        require_embeddings(getattr(self.model, "output", None))
        _require_loss(self.model, self.x)
        (self.log_dir / "train").mkdir(parents=True, exist_ok=True)
        self._gradients = BatchGradients(self.model, self.x, self.labels)
        self._writer = None
        self._num_written = 0
        self._last_step = self._step()

    def on_train_batch_end(self, batch, logs=None):
        if self.every_steps is None:
            return
        step = self._step()
        if step // self.every_steps > self._last_step // self.every_steps:
            self._write(step)
        self._last_step = step

    def on_epoch_end(self, epoch, logs=None):
        if self.every_steps is None:
            # A callback may have set the rate of the next epoch already.
            self._write(self._step(), (logs or {}).get("learning_rate"))

    def on_train_end(self, logs=None):
        if self._writer is not None:
            self._writer.close()
        self._writer = self._gradients = None

    def _step(self) -> int:
        return int(self.model.optimizer.iterations.numpy())

    def _write(self, step: int, rate: float | None = None) -> None:
        embeddings, self.values = self._gradients.measure()
        method, labels = Method(self.model), self.labels[:MOST_ROWS]
        embeddings = embeddings[:MOST_ROWS]
        self.values |= embedding_measures(method, labels, embeddings)
        self.values |= self._uncertainty()
        if rate is None:
            rate = self.model.optimizer.learning_rate  # maybe a plain number
        rate = float(keras.ops.convert_to_numpy(rate))
        self.values |= {"learning_rate": rate, **method.diagnostics()}
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(
                str(self.log_dir / "train")
            )
        with self._writer.as_default(step):
            for name, value in self.values.items():
                tf.summary.scalar(f"diagnostics/{name}", value)
            if self._num_written % self.histograms_every == 0:
                for name, values in _samples(method, labels, embeddings):
                    tf.summary.histogram(f"distributions/{name}", values)
        self._writer.flush()
        self._num_written += 1

    def _uncertainty(self) -> dict[str, float]:
        """Mean and relative spread of the predictions of the head, if any."""
        if not has_uncertainty(self.model):
            return {}
        x = keras.tree.map_structure(
            lambda values: tf.convert_to_tensor(values[:MOST_ROWS]), self.x
        )
        found = self.model.embed_with_uncertainty(x)[1].numpy()
        found = found.astype(np.float64)
        mean = found.mean()
        return {
            "uncertainty": float(mean),
            "uncertainty_variation": float(found.std() / mean if mean else 0),
        }


def _require_loss(model, x) -> None:
    """Raises ValueError if only the model's own `train_step` knows the loss."""
    own = {
        name
        for name in ("train_step", "compute_loss")
        if getattr(type(model), name) is not getattr(keras.Model, name)
    }
    if own != {"train_step"} or model.loss is not None:
        return
    model(keras.tree.map_structure(lambda rows: rows[:2], x), training=False)
    penalties = [v for v in model.trainable_variables if v.regularizer]
    if len(model.losses) == len(penalties):  # nothing from `add_loss`
        raise ValueError(
            "TrainingDiagnostics asks the model for its loss; "
            f"{type(model).__name__} computes the loss in its own "
            "`train_step`, and was compiled without a loss. Override "
            "`compute_loss(x, y, y_pred, sample_weight, training)` and call it "
            "in `train_step`, or compile the model with a loss."
        )


def _samples(method: Method, labels, embeddings):
    """Yields the names and values of histograms of finite embeddings."""
    if not np.isfinite(embeddings).all():
        return
    points = method.points(embeddings).numpy().astype(np.float64)
    within, between = distances(labels, points)
    yield "distance_within", within
    yield "distance_between", between
    yield "norm", np.linalg.norm(points, axis=1)
    own = variances(method, embeddings)
    if own is not None:
        yield "variance", own
