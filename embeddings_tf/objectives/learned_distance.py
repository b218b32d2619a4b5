"""The learned pseudo-distance: the objective."""

from typing import Any

import keras
import tensorflow as tf

from embeddings_tf.layers.additive_margin import AdditiveMargin
from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.distances import unit_rows
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.pairs import mean_over
from embeddings_tf.ops.pairs import positive_and_negative
from embeddings_tf.ops.prototypes import all_supports
from embeddings_tf.ops.prototypes import log_mean_exp
from embeddings_tf.ops.prototypes import require_support

# From here on exp goes on as its tangent: no logit leaves float32.
LARGEST_EXPONENT = 20.0


@keras.saving.register_keras_serializable(package="embeddings_tf")
class LearnedDistance(EmbeddingObjective):
    """Trains an encoder and a network that scores pairs, for verification.

    Use it to accept or reject pairs whose classes were not in training, when
    you do not know which distance suits the embeddings. It trains encoder and
    distance together, on all positive and negative pairs of a batch, without
    mining. Join it to an encoder with `embeddings_tf.models.EmbeddingModel`,
    and feed batches of several classes with several rows each
    (`embeddings_tf.sampling.class_balanced_batches`).

    Formula, with D = sigmoid(x) of the logit x of `distance`, ordered pairs
    (a, b) of two rows, and y' the projected embedding at length 1:

    ```
    v   = 1/2 mean over positive pairs of -ln D
        + 1/2 mean over negative pairs of -ln(1 - D)                (Eq. 3)
    v_i = v + cross-entropy of the auxiliary classifier on y'_i and its class
    ```

    v is half of the paper's Eq. 3, as in the authors' code, which sets the
    balance of both parts. v is ln 2 for an untrained D, and ln 2 - JS(positive
    || negative), Jensen-Shannon in nats, for the best D of an encoder (Eq. 7).
    A half without pairs (one class; no two rows of one class) is 0, with
    gradients of 0.

    For each divergence the best logit is the log-likelihood ratio, ln p(pair |
    same class) - ln p(pair | different classes). The decision is "same" above
    a threshold: 0 for equal costs and priors (Eq. 6). `"kullback_leibler"`
    replaces the two logarithms by

    ```
    positive: -(1 + x)        negative: exp(x)
    ```

    which is the bound of f-GAN with T = 1 + x and ratio exp(T - 1). For the
    best D, v = -KL(positive || negative) / 2. It still grows with the
    separation of positives and negatives where Jensen-Shannon has reached its
    limit of ln 2. It is noisier, because a few negative pairs with large
    logits dominate its gradient. Past x = 20 the exponential continues as its
    tangent.

    Training smooths the labels of both parts, with s the `label_smoothing`.
    The classifier's targets are 1 - s for the true class and s / (num_classes
    - 1) for all other classes. The targets of pairs are random numbers, drawn
    anew each step: uniform in [1 - s/2, 1] for positives and [0, s/2] for
    negatives. `evaluate` does not smooth labels.

    Under `tf.distribute` the pairs are all pairs of the global batch, and all
    replicas use the same targets and dropout.

    Args:
        distance: `embeddings_tf.layers.PairDistance`, or a layer with its
            `all_pairs(first, second, training)` and its `build`.
        num_classes: Number of classes of the auxiliary classifier, at least
            2; ignored without a classifier.
        auxiliary: None; `"softmax"`, a dense layer; `"additive_margin"`,
            `embeddings_tf.layers.AdditiveMargin`. The paper trains with one,
            which steadies the encoder's first steps.
        projection: None, or a Keras layer from embeddings to the input of
            the auxiliary classifier; the distance reads the embeddings.
        label_smoothing: In [0, 1).
        pair_weighting: `"balanced"`, as above, or `"authors"`: pairs are
            counted by triplets (anchor, later positive of its class,
            negative). A positive pair counts once per negative of its anchor,
            a negative pair once per later positive of its anchor. The last
            row of a class is never an anchor.
        divergence: `"jensen_shannon"` or `"kullback_leibler"`.
        seed: Seed of the random targets and of the classifier's initial
            weights; None: from Keras's global seed.

    Call arguments:
        y_true: Class ids `(batch,)`; in `[0, num_classes)` with an auxiliary
            classifier.
        y_pred: Embeddings `(batch, dim)`.
        training: Whether to smooth labels and drop units, as in Keras.

    Returns:
        `(batch,)`, float32: v, the same in every entry, plus the example's
        own auxiliary cross-entropy.

    Raises:
        ValueError: If an argument is not of the kind above, an auxiliary
            classifier comes without `num_classes` or a projection without
            `auxiliary`; for a label outside `[0, num_classes)` (in a graph:
            `tf.errors.InvalidArgumentError`).

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Eqs. 3-7
          and Algorithm 1.
        - [Nowozin et al., 2016](https://arxiv.org/abs/1606.00709), for
          `divergence`.

    Example:

    >>> objective = embeddings_tf.objectives.LearnedDistance(
    ...     embeddings_tf.layers.PairDistance(hidden_units=(32, 32))
    ... )
    >>> embeddings = np.eye(4, dtype="float32")
    >>> objective(np.array([0, 0, 1, 1]), embeddings).shape
    TensorShape([4])
    >>> objective.distance.all_pairs(embeddings, embeddings[:3]).shape
    TensorShape([4, 3])
    """

    signatures = ("score_pairs",)

    def __init__(
        self,
        distance: keras.layers.Layer,
        num_classes: int | None = None,
        auxiliary: str | None = None,
        projection: keras.layers.Layer | None = None,
        label_smoothing: float = 0.1,
        *,
        pair_weighting: str = "balanced",
        divergence: str = "jensen_shannon",
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        if not isinstance(distance, keras.layers.Layer) or not hasattr(
            distance, "all_pairs"
        ):
            raise ValueError(
                "`distance` must be a layer that scores pairs, such as "
                f"PairDistance(); received {distance!r}."
            )
        self.auxiliary = one_of(
            "auxiliary", auxiliary, (None, "softmax", "additive_margin")
        )
        if num_classes is not None:
            num_classes = positive_integer("num_classes", num_classes)
        if auxiliary is not None and (num_classes is None or num_classes < 2):
            raise ValueError(
                f"auxiliary={auxiliary!r} tells the training classes apart: "
                "give their number, at least 2, as `num_classes`; received "
                f"{num_classes!r}."
            )
        if projection is not None and (
            auxiliary is None or not isinstance(projection, keras.layers.Layer)
        ):
            raise ValueError(
                "`projection` must be a Keras layer in front of an auxiliary "
                f"classifier; received {projection!r} with "
                f"auxiliary={auxiliary!r}."
            )
        self.distance = distance
        # A number wherever there is an auxiliary classifier.
        self.num_classes: Any = num_classes
        self.projection = projection
        self.label_smoothing = share("label_smoothing", label_smoothing)
        self.pair_weighting = one_of(
            "pair_weighting", pair_weighting, ("balanced", "authors")
        )
        self.divergence = one_of(
            "divergence", divergence, ("jensen_shannon", "kullback_leibler")
        )
        self.seed = seed = None if seed is None else random_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.classifier: Any = None
        if auxiliary == "softmax":
            self.classifier = keras.layers.Dense(
                num_classes,
                kernel_initializer=keras.initializers.VarianceScaling(
                    2.0, "fan_in", "untruncated_normal", seed=seed
                ),
                dtype=self.dtype_policy,
                name="classifier",
            )
        elif auxiliary == "additive_margin":
            self.classifier = AdditiveMargin(
                num_classes,  # type: ignore[arg-type]  # checked above
                kernel_initializer=keras.initializers.RandomNormal(seed=seed),
                dtype=self.dtype_policy,
                name="classifier",
            )

    def build(self, y_true_shape, y_pred_shape):
        if not self.distance.built:
            self.distance.build((tuple(y_pred_shape), tuple(y_pred_shape)))
        if self.classifier is None:
            return
        embeddings = keras.KerasTensor(y_pred_shape, self.compute_dtype)
        if self.projection is not None:
            embeddings = self.projection(embeddings)
        self.classifier.build(embeddings.shape)

    def call(self, y_true, y_pred, training=None):
        local_labels, local = labelled_batch(y_true, y_pred)
        labels, embeddings = gather_global_batch(local_labels, local)
        logits = self.distance.all_pairs(
            embeddings, embeddings, training=bool(training)
        )
        value = self._pair_value(labels, logits, training)
        values = tf.fill(tf.shape(local)[:1], value)
        if self.classifier is not None:
            values += self._cross_entropy(local_labels, local, training)
        return values

    def _pair_value(self, labels, logits, training) -> tf.Tensor:
        """v of the global batch, from logits `(rows, rows)`."""
        if self.divergence == "jensen_shannon":
            if_same, if_different = (
                tf.nn.softplus(-logits),
                tf.nn.softplus(logits),
            )
        else:
            small = tf.minimum(logits, LARGEST_EXPONENT)
            if_same = -1 - logits
            if_different = tf.exp(small) * (1 + logits - small)
        same, different = positive_and_negative(labels)
        if training and self.label_smoothing:
            seed = tf.cast(self.seed_generator.next(), tf.int32)
            flipped = tf.random.stateless_uniform(
                tf.shape(logits),
                seed,
                maxval=self.label_smoothing / 2,
                dtype=logits.dtype,
                alg="philox",
            )
            difference = flipped * (if_different - if_same)
            if_same, if_different = (
                if_same + difference,
                if_different - difference,
            )
        if self.pair_weighting == "authors":
            same, different = _counts_in_triplets(same, different)
        return (
            mean_over(same, if_same) + mean_over(different, if_different)
        ) / 2

    def _cross_entropy(self, labels, embeddings, training) -> tf.Tensor:
        """Cross-entropy of each example, by the auxiliary classifier."""
        labels = _require_classes(labels, self.num_classes)
        if self.projection is not None:
            embeddings = self.projection(embeddings)
        if self.auxiliary == "additive_margin":
            logits = self.classifier(embeddings, labels)
        else:
            logits = self.classifier(unit_rows(embeddings))
        log_prob = tf.nn.log_softmax(logits)
        smoothing = self.label_smoothing if training else 0.0
        elsewhere = smoothing / (self.num_classes - 1)
        of_label = tf.gather(log_prob, labels, batch_dims=1)
        return -(1 - smoothing - elsewhere) * of_label - elsewhere * (
            tf.reduce_sum(log_prob, -1)
        )

    def score_pairs(self, first, second) -> tf.Tensor:
        """Log-likelihood ratio that two rows are of one class, row by row.

        Args:
            first: `(n, dim)`.
            second: `(n, dim)`.

        Returns:
            The logit of `distance`, `(n,)`.
        """
        return self.distance((first, second), training=False)

    def score_all_pairs(self, first, second) -> tf.Tensor:
        """`score_pairs` of each row of one set with each of another.

        Args:
            first: `(n, dim)`.
            second: `(m, dim)`.

        Returns:
            The logits of `distance`, `(n, m)`.
        """
        return self.distance.all_pairs(first, second)

    def represent(self, embeddings, class_ids, num_classes) -> tuple:
        """Represents classes in few-shot use by all of their supports.

        Args:
            embeddings: Supports `(n, dim)`.
            class_ids: `(n,)` in `[0, num_classes)`, each class at least once.
            num_classes: Number of classes.

        Returns:
            The arguments of `log_prob` after the queries.

        Raises:
            ValueError: If a class has no support (in a graph:
                `tf.errors.InvalidArgumentError`).
        """
        return all_supports(embeddings, class_ids, num_classes)

    def log_prob(
        self,
        queries,
        supports,
        class_ids,
        num_classes,
        num_samples=None,
        seed=None,
    ) -> tf.Tensor:
        """Log-probability of every class for every query.

        The score of a class is the mean, over its supports, of the logit that
        query and support are of one class, the log-likelihood ratio of the
        pair; log-probabilities are its log softmax over the classes.

        Args:
            queries: `(queries, dim)`.
            supports: `(supports, dim)`.
            class_ids: `(supports,)` in `[0, num_classes)`, each class at
                least once.
            num_classes: Number of classes.
            num_samples: Ignored: the distance draws no samples.
            seed: Ignored.

        Returns:
            `(queries, classes)`.

        Raises:
            ValueError: As `represent`.
        """
        return tf.nn.log_softmax(
            self._class_scores(queries, supports, class_ids, num_classes)
        )

    def log_evidence(
        self, queries, supports, class_ids, num_classes
    ) -> tf.Tensor:
        """Log-likelihood ratio that a query is of any class, against none.

        The classes are equally likely, with the scores of `log_prob`.

        Args:
            queries: `(queries, dim)`.
            supports: As in `log_prob`.
            class_ids: As in `log_prob`.
            num_classes: Number of classes.

        Returns:
            `(queries,)`.

        Raises:
            ValueError: As `represent`.
        """
        return log_mean_exp(
            self._class_scores(queries, supports, class_ids, num_classes)
        )

    def _class_scores(self, queries, supports, class_ids, num_classes):
        """Mean logit over the supports of each class, `(queries, classes)`."""
        class_ids, supports = labelled_batch(class_ids, supports)
        class_ids = require_support(class_ids, num_classes)
        logits = self.score_all_pairs(queries, supports)
        score = tf.math.unsorted_segment_mean(
            tf.transpose(logits), class_ids, num_classes
        )
        return tf.transpose(score)

    def reusable_layers(self) -> dict:
        """The distance; an auxiliary classifier knows its classes alone."""
        return {"learned distance": self.distance}

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "distance": serialize(self.distance),
            "num_classes": self.num_classes,
            "auxiliary": self.auxiliary,
            "projection": self.projection and serialize(self.projection),
            "label_smoothing": self.label_smoothing,
            "pair_weighting": self.pair_weighting,
            "divergence": self.divergence,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for part in ("distance", "projection"):
            config[part] = keras.saving.deserialize_keras_object(config[part])
        return cls(**config)


def _counts_in_triplets(same, different) -> tuple[tf.Tensor, tf.Tensor]:
    """Numbers of triplets with each (anchor, positive), (anchor, negative).

    A triplet is an anchor, a later row of its class, and a row of another
    class.
    """
    later = tf.cast(tf.linalg.band_part(same, 0, -1), tf.float32)
    negative = tf.cast(different, tf.float32)
    num_later = tf.reduce_sum(later, axis=1, keepdims=True)
    num_negative = tf.reduce_sum(negative, axis=1, keepdims=True)
    return later * num_negative, negative * num_later


def _require_classes(labels: tf.Tensor, num_classes: int) -> tf.Tensor:
    """`labels`, all in `[0, num_classes)`; raises as the class says."""
    message = (
        f"With an auxiliary classifier, labels must be in [0, {num_classes}). "
        "Number the training classes from 0; score classes that the "
        "classifier does not know with objective.distance."
    )
    known = (labels >= 0) & (labels < num_classes)
    if tf.executing_eagerly():
        if not tf.reduce_all(known):
            raise ValueError(f"{message} Received {labels[~known][0].numpy()}.")
        return labels
    with tf.control_dependencies(
        [tf.debugging.Assert(tf.reduce_all(known), [message, labels])]
    ):
        return tf.identity(labels)
