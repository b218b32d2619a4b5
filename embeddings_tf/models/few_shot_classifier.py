"""Few-shot classification with a trained model."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.models.embed_batch import at_least_single
from embeddings_tf.models.embed_batch import embed_batch
from embeddings_tf.models.embed_batch import embedded_rows
from embeddings_tf.models.embed_batch import num_inputs
from embeddings_tf.models.embed_batch import require_squares
from embeddings_tf.models.method import Method
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.class_names import class_names
from embeddings_tf.ops.require_fitted import require_fitted

# Numbers of queries times numbers that represent the classes, at once.
_BLOCK = 2**22


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FewShotClassifier(keras.layers.Layer):
    """Classifies queries from a few labelled examples per class.

    Use it with any trained model of embeddings, to recognise new classes
    without training. `fit` stores the supports or their prototypes, and
    `predict` classifies queries. The model's objective decides what is
    compared:

    | objective | stored | log-probability of a class |
    |---|---|---|
    | `StochasticPrototypes` | Gaussian prototypes | Eqs. 5 and 7 |
    | `FullCovariancePrototypes` | Gaussian prototypes | the same |
    | `HedgedInstances` | all supports | match with its best support |
    | `SoftContrastive` | all supports | match with its nearest support |
    | `LearnedDistance` | all supports | mean log-likelihood ratio of pairs |
    | without `represent`, plain losses | class means | - squared distance |

    Embeddings of losses that compare by cosine (`distance = "cosine"`) are
    scaled to length 1 before they are compared.

    The log-probabilities are normalised over the classes. Methods have the
    names of scikit-learn. Your own objective can implement `represent`,
    `log_prob` and `log_evidence`; docs/own_objective.md has an example.

    Keras saves and loads a fitted classifier together with its model:
    `classifier.save("animals.keras")` and `keras.saving.load_model`, once
    `embeddings_tf` is imported.

    Args:
        model: The trained model.
        num_samples: Samples per query, for objectives that sample. None: 200
            with Gaussian prototypes, the number in training with
            `HedgedInstances`, where each support has as many.
        seed: Seed of the samples, 0 to 2**31 - 1. All queries share the
            samples, so a result depends neither on `batch_size` nor on other
            queries.
        batch_size: Number of inputs embedded and classified at once; with many
            classes, fewer are classified at once.
        embedded: Whether supports and queries are embeddings of the model
            already, for example from `scoring.embed`.

    Attributes:
        classes_: The labels seen by `fit`, sorted, `(classes,)`.
        prototypes_: `(classes, width)` packed Gaussians, or `(classes,
            dim)` means in float64; with `HedgedInstances`, `SoftContrastive`
            and `LearnedDistance` a tuple: the supports, their classes as
            indices in `classes_`, and the number of classes.

    Raises:
        ValueError: If supports and labels differ in length or are empty, or
            labels are complex, not finite or not valid. If inputs do not have
            the model's shape, or an input or embedding is not finite, or a
            Gaussian embedding has a negative variance. If `fit` was not called.
            On saving, if labels are neither numbers nor strings.

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
        embedded: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.model = keras_layer("model", model)
        self.num_samples = num_samples
        if num_samples is not None:
            self.num_samples = positive_integer("num_samples", num_samples)
        self.seed = random_seed("seed", seed, 31)
        self.batch_size = positive_integer("batch_size", batch_size)
        self.embedded = truth("embedded", embedded)
        self.built = True  # it has only the model's weights

    def fit(self, support, labels) -> "FewShotClassifier":
        """Stores the classes of labelled supports, as the objective needs them.

        Args:
            support: Inputs of the model `(n, ...)`; with `embedded`, its
                embeddings `(n, width)`.
            labels: Names of classes `(n,)`, numbers or strings.

        Returns:
            This classifier, fitted.

        Raises:
            ValueError: As for the class.
        """
        labels = class_names(labels)
        num_supports = num_inputs("support", support)
        if labels.shape != (num_supports,) or not num_supports:
            raise ValueError(
                "Give one label per support and at least one support; "
                f"received {num_supports} supports and labels of shape "
                f"{labels.shape}."
            )
        classes, class_ids = np.unique(labels, return_inverse=True)
        prototypes = tf.nest.map_structure(
            np.asarray,
            Method(self.model).represent(
                self._embed("support", support), class_ids, len(classes)
            ),
        )
        # A failure above leaves the classifier as it was.
        self.classes_, self.prototypes_ = classes, prototypes
        return self

    def predict_log_proba(self, query) -> np.ndarray:
        """Log-probabilities `(queries, classes)`, columns as `classes_`."""
        self._require_prototypes()
        return self._of_queries(
            Method(self.model).log_prob, query, (0, len(self.classes_))
        )

    def predict_log_evidence(self, query) -> np.ndarray:
        """Evidence `(queries,)` that a query is in any class; higher is better.

        Use it to answer "unknown": probabilities sum to 1 over the classes even
        for a query that is far from all of them. Choose the threshold on
        examples of classes that were not enrolled. The evidence is a
        log-likelihood ratio with objectives of pairs (`LearnedDistance`,
        `HedgedInstances`, `SoftContrastive`), a log-density with
        `StochasticPrototypes`, and the log of the mean of exp(-distance) with
        plain losses.
        """
        self._require_prototypes()
        return self._of_queries(Method(self.model).log_evidence, query, (0,))

    def _require_prototypes(self) -> None:
        prototypes = getattr(self, "prototypes_", None)
        require_fitted(prototypes, "The classifier", "fit(support, labels)")

    def _of_queries(self, answer, query, shape_of_none) -> np.ndarray:
        """Calls `answer` for all queries, batch by batch."""
        parts = [np.zeros(shape_of_none, "float32")]
        numbers = sum(np.size(p) for p in tf.nest.flatten(self.prototypes_))
        size = max(1, _BLOCK // numbers)
        for first in range(0, num_inputs("query", query), self.batch_size):
            embeddings = self._embed_batch("query", query, first)
            for start in range(0, len(embeddings), size):
                found = answer(
                    embeddings[start : start + size],
                    self.prototypes_,
                    self.num_samples,
                    tf.constant([self.seed, 0]),
                )
                parts.append(np.asarray(found))
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
            "embedded": self.embedded,
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

    def _embed(self, name: str, x) -> np.ndarray:
        return np.concatenate(
            [
                self._embed_batch(name, x, first)
                for first in range(0, len(x), self.batch_size)
            ]
        )

    def _embed_batch(self, name: str, x, first: int) -> np.ndarray:
        rows = slice(first, first + self.batch_size)
        if self.embedded:
            found = at_least_single(embedded_rows(name, self.model, x, rows))
            return require_squares(name, found)
        return embed_batch(name, self.model, x, rows)
