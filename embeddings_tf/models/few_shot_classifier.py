"""Few-shot classification with a trained model."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.ops import gaussian
from embeddings_tf.ops import prototypes
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.prototypes import require_support


def class_prototypes(model, embeddings, class_ids, num_classes):
    """What stands for the classes of labelled embeddings.

    `represent` of the model's objective where it has one: a tensor, or a
    tuple of tensors. Else class means `(num_classes, dim)`. `class_ids` are
    `(n,)` in `[0, num_classes)`, each at least once.
    """
    represent = getattr(_objective(model), "represent", None)
    if represent is not None:
        return represent(embeddings, class_ids, num_classes)
    class_ids = require_support(class_ids, num_classes)
    points = _points(model, embeddings)
    # In float64 no sum or square of finite embeddings overflows.
    means = prototypes.class_means(
        tf.cast(points, tf.float64), class_ids, num_classes
    )
    return tf.cast(means, points.dtype)


def class_log_prob(
    model, embeddings, prototypes_, num_samples=None, seed=None
) -> tf.Tensor:
    """Log-probabilities `(queries, classes)` of embeddings given prototypes.

    `log_prob` of the model's objective where it has `represent`, else softmax
    of minus the squared distance. `num_samples` None is the objective's
    default.
    """
    objective = _objective(model)
    if not hasattr(objective, "represent"):
        points = _points(model, embeddings)
        log_prob = prototypes.nearest_mean_log_prob(
            tf.cast(points, tf.float64), tf.cast(prototypes_, tf.float64)
        )
        return tf.cast(tf.maximum(log_prob, points.dtype.min), points.dtype)
    if not isinstance(prototypes_, (tuple, list)):
        prototypes_ = (prototypes_,)
    arguments = {} if num_samples is None else {"num_samples": num_samples}
    return objective.log_prob(embeddings, *prototypes_, seed=seed, **arguments)


def _objective(model):
    return getattr(model, "objective", None)


def _points(model, embeddings) -> tf.Tensor:
    """Embeddings as points: the means, if they are Gaussians."""
    embeddings = tf.convert_to_tensor(embeddings)
    if has_gaussian_output(model):
        embeddings, _ = gaussian.unpack(embeddings)
    return embeddings


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FewShotClassifier(keras.layers.Layer):
    """Learns new classes from a few labelled examples, without training.

    Use it with any trained model of embeddings: supports in, prototypes kept,
    queries answered. What it compares is what the model's objective trained:

    | objective | kept | log-probability of a class |
    |---|---|---|
    | `StochasticPrototypes` | Gaussian prototypes | Eqs. 5 and 7 |
    | `HedgedInstances` | all supports | match with its best support |
    | `LearnedDistance` | all supports | mean log-likelihood ratio of pairs |
    | any other, and plain losses | class means | minus squared distance |

    The log-probabilities are normalised over the classes. The method names
    are those of scikit-learn. An objective of your own takes part with two
    methods: `represent(embeddings, class_ids, num_classes)`, which returns a
    tensor or a tuple of tensors, and `log_prob(embeddings, *represented,
    num_samples, seed)`; `num_samples` is left out if it is None here.

    A fitted classifier is saved and loaded by Keras, together with its model:
    `classifier.save("animals.keras")` and `keras.saving.load_model`, once
    `embeddings_tf` is imported.

    Args:
        model: The trained model.
        num_samples: Samples per query, for objectives that sample. None: 200
            with `StochasticPrototypes`; with `HedgedInstances`, where each
            support has as many, the number of training.
        seed: Seed of the samples. They are the same for every query: an
            answer depends neither on `batch_size` nor on other queries.
        batch_size: Inputs embedded and answered at once.

    Attributes:
        classes_: The labels seen by `fit`, sorted, `(classes,)`.
        prototypes_: `(classes, 2 * dim)` packed Gaussians, or `(classes,
            dim)` means; with `HedgedInstances` and `LearnedDistance` a tuple:
            the supports, their classes as positions in `classes_`, and the
            number of classes.

    Raises:
        ValueError: If supports and labels differ in length or are empty, if
            an input or an embedding is not finite, if `fit` was not called,
            or, on saving, if labels are neither numbers nor strings.

    Reference:
        - [Snell, Swersky & Zemel, 2017](https://arxiv.org/abs/1703.05175)
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319)
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469)

    Example:

    >>> encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    >>> classifier = embeddings_tf.models.FewShotClassifier(encoder)
    >>> support = np.array([[0, 0], [9, 9]], "float32")
    >>> classifier.fit(support, ["low", "high"]).predict(support + 1).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        model,
        *,
        num_samples: int | None = None,
        seed: int = 0,
        batch_size: int = 256,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.model = model
        self.num_samples = num_samples
        self.seed = seed
        self.batch_size = positive_integer("batch_size", batch_size)
        self.built = True  # it has no weights but the model's

    def fit(self, support, labels) -> "FewShotClassifier":
        """Keeps one prototype per distinct label of `(n,)` labels."""
        labels = np.asarray(labels)
        if labels.ndim != 1 or len(support) != len(labels) or not len(labels):
            raise ValueError(
                "Give one label per support and at least one support; "
                f"received {len(support)} supports and labels of shape "
                f"{labels.shape}."
            )
        self.classes_, class_ids = np.unique(labels, return_inverse=True)
        self.prototypes_ = tf.nest.map_structure(
            np.asarray,
            class_prototypes(
                self.model, self._embed(support), class_ids, len(self.classes_)
            ),
        )
        return self

    def predict_log_proba(self, query) -> np.ndarray:
        """Log-probabilities `(queries, classes)`, columns as `classes_`."""
        if not hasattr(self, "prototypes_"):
            raise ValueError(
                "The classifier has no prototypes yet: call "
                "fit(support, labels) first."
            )
        parts = [np.zeros((0, len(self.classes_)), "float32")]
        for first in range(0, len(query), self.batch_size):
            log_prob = class_log_prob(
                self.model,
                self._embed_batch(query, first),
                self.prototypes_,
                self.num_samples,
                tf.constant([self.seed, 0]),
            )
            parts.append(np.asarray(log_prob))
        return np.concatenate(parts)

    def predict_proba(self, query) -> np.ndarray:
        """Probabilities `(queries, classes)`; rows sum to 1."""
        return np.exp(self.predict_log_proba(query))

    def predict(self, query) -> np.ndarray:
        """The most probable label of each query, `(queries,)`."""
        log_prob = self.predict_log_proba(query)
        return self.classes_[log_prob.argmax(-1)]

    def save(self, path) -> None:
        """Writes the classifier and its model to a `.keras` file."""
        keras.saving.save_model(self, path)

    def get_config(self):
        return {
            **super().get_config(),
            "model": keras.saving.serialize_keras_object(self.model),
            "num_samples": self.num_samples,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "classes": self._classes_for_json(),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        classes = config.pop("classes")
        model = keras.saving.deserialize_keras_object(config.pop("model"))
        classifier = cls(model, **config)
        if classes is not None:
            classifier.classes_ = np.array(classes["values"], classes["dtype"])
        return classifier

    def _classes_for_json(self) -> dict | None:
        if not hasattr(self, "classes_"):
            return None
        values = self.classes_.tolist()
        if not all(isinstance(v, (bool, int, float, str)) for v in values):
            raise ValueError(
                "Only labels that are numbers or strings can be saved; "
                f"received labels of dtype {self.classes_.dtype}. Fit the "
                "classifier with such labels."
            )
        return {"values": values, "dtype": self.classes_.dtype.str}

    def save_own_variables(self, store):
        if hasattr(self, "prototypes_"):
            for number, part in enumerate(tf.nest.flatten(self.prototypes_)):
                store[str(number)] = part

    def load_own_variables(self, store):
        parts = [np.asarray(store[str(n)]) for n in range(len(store.keys()))]
        if parts:
            self.prototypes_ = tuple(parts) if len(parts) > 1 else parts[0]

    def _embed(self, x) -> np.ndarray:
        return np.concatenate(
            [
                self._embed_batch(x, first)
                for first in range(0, len(x), self.batch_size)
            ]
        )

    def _embed_batch(self, x, first: int) -> np.ndarray:
        batch = np.asarray(x[first : first + self.batch_size])
        # Inputs too: max-pooling and ReLU can swallow a NaN.
        _require_finite("Input", batch, first)
        embeddings = self.model.predict_on_batch(batch)
        _require_finite("The embedding of input", embeddings, first)
        return embeddings


def _require_finite(what: str, rows: np.ndarray, first: int) -> None:
    """ValueError naming the first row that holds NaN or infinity."""
    if not np.issubdtype(rows.dtype, np.floating):
        return
    finite = np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))
    if not finite.all():
        raise ValueError(
            f"{what} {first + int(finite.argmin())} is not finite: it holds "
            "NaN or infinite values. Remove them first."
        )
