"""Logs metrics of held-out embeddings after every epoch."""

from collections.abc import Callable
from collections.abc import Mapping

import numpy as np

from embeddings_tf import metrics as embedding_metrics
from embeddings_tf.callbacks.embedding_measures import variances
from embeddings_tf.callbacks.held_out import HeldOut
from embeddings_tf.callbacks.held_out import require_labels
from embeddings_tf.callbacks.variance_shares import variance_shares
from embeddings_tf.callbacks.variance_warnings import LEAST_STEPS
from embeddings_tf.callbacks.variance_warnings import recall_auroc_of_variance
from embeddings_tf.callbacks.variance_warnings import warn_of_useless_variance
from embeddings_tf.metrics import arrays
from embeddings_tf.models.embed_batch import NotFiniteError
from embeddings_tf.models.embed_batch import require_finite
from embeddings_tf.models.embed_batch import require_finite_output
from embeddings_tf.models.method import Method
from embeddings_tf.ops import arguments
from embeddings_tf.ops.counted import counted


def _classes(labels: np.ndarray) -> np.ndarray:
    """Returns labels `(n,)` or `(n, 1)` as classes of the recall.

    Raises:
        ValueError: If they are not integers, or no class has two inputs.
    """
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    labels = arrays.integers("labels", labels, 1, "(n,)")
    if np.unique(labels, return_counts=True)[1].max() < 2:
        raise ValueError(
            "no class has two inputs, so no input has a neighbour of its "
            f"class; received {counted(len(labels), 'label')}, all different."
        )
    return labels


def _number(name: str, value) -> float:
    """Returns the result of a metric as a float, possibly NaN."""
    found = arguments.array(f"metrics[{name!r}]", value)
    if found.ndim or found.dtype.kind not in "biuf":
        raise ValueError(
            f"`metrics[{name!r}]` must return one number; received {value!r}. "
            "Pass one metric for each of several numbers."
        )
    return float(found)


class EmbeddingEvaluation(HeldOut):
    """Evaluates embeddings of a held-out set after each epoch.

    Use it in any `model.fit` whose model returns embeddings. It adds the
    metrics to the epoch's logs as `val_<name>`, for `EarlyStopping`,
    `ModelCheckpoint`, TensorBoard and keras-tuner. List this callback before
    the callbacks that read its metrics.

    For embeddings with a predicted variance, it also logs two numbers.
    `val_variance_share` is the share of the predicted variance in the total
    variance of the held-out embeddings. `val_variance_variation` is the
    standard deviation of the predicted variance over inputs, divided by its
    mean. At the end of a training of at least 500 steps, the callback warns if
    the variation is below 0.35: such a variance has collapsed. It also warns if
    the R-AUROC of the variance (`metrics.recall_auroc`) is below 0.5: then less
    certain inputs do not have wrong neighbours more often. Neither variance
    measures uncertainty (docs/uncertainty.md).

    Args:
        x: Held-out inputs that `model.predict` accepts in slices.
        labels: `(n,)` integers.
        metrics: Mapping from names to functions `(embeddings, labels) ->
            float`. The functions receive the output of the model. If the
            output is packed Gaussians, use
            `metrics.few_shot_accuracy(..., gaussian=True)`, or unpack it with
            `layers.as_distribution`. None: `recall_at_1` by the
            distance of the loss, Euclidean or cosine, between means for
            Gaussians.
        batch_size: Number of inputs embedded at once.

    Attributes:
        embeddings: The output of the model for `x` after the last epoch; None
            before.

    Raises:
        FloatingPointError: If an embedding is not finite after an epoch: the
            training has diverged.
        ValueError: If `x` has no slices, `x` and `labels` differ in length or
            are empty, without `metrics` if labels are not integers or no class
            has two inputs, if an input is not finite, if a metric is not
            one finite number, or if the model has several or named outputs.

    Reference:
        - [Musgrave, Belongie & Lim, 2020](https://arxiv.org/abs/2003.08505)
          on why embeddings are chosen by held-out retrieval, not by loss.

    Example:

    >>> held_out = embeddings_tf.callbacks.EmbeddingEvaluation(
    ...     np.random.rand(20, 8), np.arange(20) % 4
    ... )
    >>> stop = keras.callbacks.EarlyStopping("val_recall_at_1", mode="max")
    >>> callbacks = [held_out, stop]
    """

    def __init__(
        self,
        x,
        labels,
        metrics: Mapping[str, Callable] | None = None,
        *,
        batch_size: int = 256,
    ):
        super().__init__(x, batch_size)
        self.labels = arguments.array("labels", labels)
        metrics = {} if metrics is None else metrics
        if not isinstance(metrics, Mapping):
            raise ValueError(
                "`metrics` must be a dictionary from names to functions; "
                f"received {metrics!r}."
            )
        self.metrics = {
            name: arguments.function(
                f"metrics[{name!r}]", metric, "embeddings, labels"
            )
            for name, metric in metrics.items()
        }
        self._shares: dict[str, float] = {}
        self.embeddings: np.ndarray | None = None
        num_labels = arguments.num_rows("labels", self.labels)
        require_labels(self.num_inputs, num_labels)
        if not self.metrics:
            self.labels = _classes(self.labels)

    def measure(self, embeddings) -> dict[str, float]:
        """Returns the values of an epoch, by name."""
        if self.metrics:
            return {
                name: _number(name, metric(embeddings, self.labels))
                for name, metric in self.metrics.items()
            }
        method = Method(self.model)
        recall = embedding_metrics.recall_at_k(
            method.points(embeddings).numpy(),
            self.labels,
            distance=method.distance,
        )
        return {"recall_at_1": recall[1]}

    def on_train_begin(self, logs=None):
        super().on_train_begin(logs)
        self._shares = {}

    def _finite_embeddings(self, epoch: int) -> np.ndarray:
        """Returns the embeddings after an epoch.

        Raises:
            FloatingPointError: If the training has diverged.
            ValueError: If a held-out input is not finite.
        """
        try:
            embeddings = self.embed()
            is_bad = ~np.isfinite(embeddings).all(axis=1)
            for row in np.flatnonzero(is_bad)[:1]:
                require_finite("Input", np.asarray(self.x[row : row + 1]), row)
            require_finite_output("The embedding of input", embeddings, 0)
        except NotFiniteError as error:
            raise FloatingPointError(
                "the embeddings of the held-out set became NaN or infinite in "
                f"epoch {epoch + 1}; lower the learning rate of the optimizer, "
                "or clip the gradient (`global_clipnorm` of the optimizer)"
            ) from error
        return embeddings

    def on_epoch_end(self, epoch, logs=None):
        self.embeddings = embeddings = self._finite_embeddings(epoch)
        for name, value in self.measure(embeddings).items():
            if not np.isfinite(value):
                raise ValueError(
                    f"{name} of the held-out set is {value} after epoch "
                    f"{epoch + 1}, although the embeddings are finite. Correct "
                    "this metric, or lower the learning rate of the optimizer."
                )
            if logs is not None:
                logs[f"val_{name}"] = value
        method = Method(self.model)
        own = variances(method, embeddings)
        self._shares = {}
        if own is not None:
            self._shares = variance_shares(method.points(embeddings), own)
        if logs is not None:
            logs |= {f"val_{n}": v for n, v in self._shares.items()}

    def on_train_end(self, logs=None):
        if not self._shares or self.model.optimizer.iterations < LEAST_STEPS:
            return
        method = Method(self.model)
        auroc = recall_auroc_of_variance(
            method.points(self.embeddings).numpy(),
            variances(method, self.embeddings),
            self.labels,
            method.distance,
        )
        warn_of_useless_variance(self._shares, auroc, method.has_divergence)
