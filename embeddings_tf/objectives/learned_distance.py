"""The learned pseudo-distance: the objective."""

from typing import Any

import keras
import tensorflow as tf

from embeddings_tf.objectives.alternating_updates import UPDATES
from embeddings_tf.objectives.alternating_updates import AlternatingUpdates
from embeddings_tf.objectives.alternating_updates import all_pairs
from embeddings_tf.objectives.alternating_updates import with_gradient_if
from embeddings_tf.objectives.auxiliary_classifier import auxiliary_classifier
from embeddings_tf.objectives.auxiliary_classifier import cross_entropy
from embeddings_tf.objectives.auxiliary_classifier import require_classifier
from embeddings_tf.objectives.auxiliary_classifier import require_distance
from embeddings_tf.objectives.auxiliary_classifier import (
    require_encoder_trained,
)
from embeddings_tf.objectives.pair_objective import PairObjective
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.numerics import log_mean_exp
from embeddings_tf.ops.pair_divergence import flipped_targets
from embeddings_tf.ops.pair_divergence import pair_divergence
from embeddings_tf.ops.pair_divergence import require_classes
from embeddings_tf.ops.prototypes import all_supports
from embeddings_tf.ops.prototypes import mean_of_class
from embeddings_tf.ops.tensors import real_matrix


@keras.saving.register_keras_serializable(package="embeddings_tf")
class LearnedDistance(PairObjective):
    """Trains an encoder and a network that scores pairs, for verification.

    Use it to accept or reject pairs whose classes were not in training. It
    trains on all pairs of a batch, without mining. Join it to an encoder by
    `embeddings_tf.models.EmbeddingModel`; feed it class-balanced batches.

    Formula, with D = sigmoid(x) of the logit x of `distance`, ordered pairs
    (a, b) of two rows, and z' the projected embedding, normalised to length 1:

    ```
    v   = 1/2 mean over positive pairs of -ln D
        + 1/2 mean over negative pairs of -ln(1 - D)                (Eq. 3)
    v_i = v + cross-entropy of the auxiliary classifier on z'_i and its class
            + value i of `encoder_loss`
    ```

    v is half of the paper's Eq. 3, as in the authors' code. v is ln 2 for an
    untrained D, and ln 2 - JS(positive || negative), Jensen-Shannon in nats,
    for the best D of an encoder (Eq. 7). If the batch has no pairs of one
    kind, that half is 0.

    For each divergence the best logit is the log-likelihood ratio, ln p(pair |
    same class) - ln p(pair | different classes). The decision is "same" above
    a threshold: 0 for equal costs and priors (Eq. 6). Under `tf.distribute`
    the pairs are all pairs of the global batch.

    Args:
        distance: `embeddings_tf.layers.PairDistance`, or a layer with its
            `all_pairs(a, b, *, training)` and its `build`.
        num_classes: Number of classes of the auxiliary classifier, at least
            2; ignored without a classifier.
        auxiliary: Classifier in addition to the distance: None, `"softmax"` (a
            dense layer) or `"additive_margin"` (`layers.AdditiveMargin`).
            The paper has one, to stabilise the first steps. It may raise the
            error (docs/learned_distance.md); compare both.
        projection: None, or a Keras layer before the auxiliary classifier only.
        label_smoothing: s in [0, 1), in training only. The classifier's
            targets are 1 - s for the true class, and s / (num_classes - 1) for
            other classes. The targets of pairs are drawn anew each step:
            uniform in [1 - s/2, 1] for positive and [0, s/2] for negative
            pairs.
        pair_weighting: `"balanced"`, as above, or `"authors"`: a pair counts
            once per triplet (anchor, later row of its class, negative) that
            contains it.
        divergence: `"jensen_shannon"`, as above, or `"kullback_leibler"`:
            -(1 + x) and exp(x) replace the two logarithms. It still grows
            after Jensen-Shannon has reached its limit of ln 2, but is noisier.
        encoder_loss: Another loss of the embeddings, such as
            `losses.LiftedStructureLoss()`, or None. Not in the paper.
        train_encoder: Whether v trains the encoder. False: only the classifier
            and `encoder_loss` do, at least one of them.
        updates: `"simultaneous"`, or `"alternating"`: no gradient reaches the
            encoder in training steps 0, 2, ..., and the distance in steps 1,
            3, ... In those steps, momentum of the optimizer still moves them.
        seed: Seed of the random targets and of the classifier's initial
            weights; None: from Keras's global seed.

    Call arguments:
        y_true: Class ids `(batch,)`; with a classifier in `[0, num_classes)`.
        y_pred: Embeddings `(batch, dim)`.
        training: Whether to smooth labels and drop units, as in Keras.

    Returns:
        `(batch,)`, float32: v_i of every entry, with all terms in use.

    Raises:
        ValueError: If an argument is not as described, a label is outside
            `[0, num_classes)`, or a class has no support.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469)
        - [Nowozin et al., 2016](https://arxiv.org/abs/1606.00709)

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
        encoder_loss: keras.losses.Loss | None = None,
        train_encoder: bool = True,
        updates: str = "simultaneous",
        seed: int | None = None,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        require_distance(distance)
        self.auxiliary = one_of(
            "auxiliary", auxiliary, (None, "softmax", "additive_margin")
        )
        if num_classes is not None:
            num_classes = positive_integer("num_classes", num_classes)
        require_classifier(auxiliary, num_classes, projection)
        self.distance = distance
        self.num_classes: Any = num_classes  # a number for a classifier
        self.projection = projection
        self.label_smoothing = share("label_smoothing", label_smoothing)
        self.pair_weighting = one_of(
            "pair_weighting", pair_weighting, ("balanced", "authors")
        )
        self.divergence = one_of(
            "divergence", divergence, ("jensen_shannon", "kullback_leibler")
        )
        self.train_encoder = truth("train_encoder", train_encoder)
        self.encoder_loss = encoder_loss
        require_encoder_trained(train_encoder, auxiliary, encoder_loss)
        self.updates = one_of("updates", updates, UPDATES)
        in_turns = updates == "alternating"
        self.turns: Any = AlternatingUpdates(name="turns") if in_turns else None
        self.seed = seed = optional_seed("seed", seed)
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.classifier: Any = auxiliary_classifier(
            auxiliary, num_classes, seed, self.compute_dtype
        )

    @property
    def layers_of_own_rows(self) -> list[keras.layers.Layer]:
        return [] if self.projection is None else [self.projection]

    def build(self, y_true_shape, y_pred_shape):
        if not self.distance.built:
            self.distance.build((tuple(y_pred_shape), tuple(y_pred_shape)))
        if self.classifier is not None:
            embeddings = keras.KerasTensor(y_pred_shape, self.compute_dtype)
            if self.projection is not None:
                embeddings = self.projection(embeddings)
            self.classifier.build(embeddings.shape)
        if self.turns is not None:
            self.turns.build()

    def call(self, y_true, y_pred, training=None):
        local_labels, local = labelled_batch(y_true, y_pred)
        is_of_distance, flipped = None, None
        if training and self.turns is not None:
            is_of_encoder, is_of_distance = self.turns.next_turn()
            local = with_gradient_if(is_of_encoder, local)
        labels, embeddings = gather_global_batch(local_labels, local)
        if not self.train_encoder:
            embeddings = tf.stop_gradient(embeddings)
        logits = tf.cast(
            all_pairs(self.distance, embeddings, training, is_of_distance),
            local.dtype,
        )
        if training and self.label_smoothing:
            seed = self.seed_generator.next()
            flipped = flipped_targets(logits, self.label_smoothing, seed)
        value = pair_divergence(
            labels, logits, self.divergence, self.pair_weighting, flipped
        )
        values = tf.fill(tf.shape(local)[:1], value)
        if self.classifier is not None:
            values += tf.cast(
                cross_entropy(
                    self.classifier,
                    self.projection,
                    require_classes(local_labels, self.num_classes),
                    local,
                    self.label_smoothing if training else 0.0,
                ),
                values.dtype,
            )
        if self.encoder_loss is not None:
            values += tf.cast(
                self.encoder_loss.call(local_labels, local), values.dtype
            )
        return values

    def score_pairs(self, first, second) -> tf.Tensor:
        """Log-likelihood ratios `(n,)` of the rows of two sets `(n, dim)`."""
        pair = real_matrix("first", first), real_matrix("second", second)
        return self.distance(pair, training=False)

    def score_all_pairs(self, first, second) -> tf.Tensor:
        """`score_pairs` of each row of one set with each row of another.

        Sets `(n, dim)` and `(m, dim)` give `(n, m)`.
        """
        return self.distance.all_pairs(first, second)

    def represent(self, embeddings, class_ids, num_classes) -> tuple:
        """All supports represent a class: arguments 2 to 4 of `log_prob`."""
        return all_supports(embeddings, class_ids, num_classes)

    def log_prob(self, queries, supports, class_ids, num_classes) -> tf.Tensor:
        """Log-probability of every class for every query.

        The log softmax, over classes, of the mean logit of a query with the
        supports of the class.

        Args:
            queries: `(queries, dim)`.
            supports: `(supports, dim)`.
            class_ids: `(supports,)` in `[0, num_classes)`, each class at
                least once.
            num_classes: Number of classes.

        Returns:
            `(queries, classes)`.
        """
        return tf.nn.log_softmax(
            self._class_scores(queries, supports, class_ids, num_classes)
        )

    def log_evidence(
        self, queries, supports, class_ids, num_classes
    ) -> tf.Tensor:
        """Log-likelihood ratio: the query is in any class, versus in none.

        The classes are equally likely, with the scores of `log_prob`. The
        arguments are as in `log_prob`; returns `(queries,)`.
        """
        return log_mean_exp(
            self._class_scores(queries, supports, class_ids, num_classes)
        )

    def _class_scores(self, queries, supports, class_ids, num_classes):
        class_ids, supports = labelled_batch(class_ids, supports)
        logits = self.score_all_pairs(queries, supports)
        return mean_of_class(logits, class_ids, num_classes)

    def reusable_layers(self) -> dict:
        """The distance; an auxiliary classifier is not reusable."""
        return {"learned distance": self.distance}

    @property
    def metrics(self):
        # A part that was compiled has a metric `loss`, which Keras would log.
        return []

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
            "encoder_loss": self.encoder_loss and serialize(self.encoder_loss),
            "train_encoder": self.train_encoder,
            "updates": self.updates,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for part in ("distance", "projection", "encoder_loss"):
            if part in config:
                config[part] = keras.saving.deserialize_keras_object(
                    config[part]
                )
        return cls(**config)
