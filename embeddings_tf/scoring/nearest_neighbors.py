"""The most similar examples of a gallery."""

from collections.abc import Callable

import numpy as np

from embeddings_tf.models.method import Method
from embeddings_tf.ops import arguments
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring.approximate_rows import ApproximateIndex
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.labelled_embeddings import embed_inputs
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from embeddings_tf.scoring.nearest_rows import distances_and_rows
from embeddings_tf.scoring.nearest_rows import scores_and_rows

SEARCHES = ("exact", "faiss")
COMPARISONS = ("distance", "score")

# Queries whose neighbours vote at once.
_VOTES_BLOCK = 256


class NearestNeighbors:
    """Finds the most similar examples of a gallery, for every method.

    Use it to search a collection, or as the plain k-nearest-neighbour
    classifier. Methods have the names of scikit-learn. Examples are compared by
    the model's own method: by the score of a pair, if that is a log-likelihood
    ratio (`LearnedDistance`, `HedgedInstances`, `SoftContrastive`), else by the
    distance of its loss, Euclidean or 1 minus the cosine, between the means of
    Gaussians.

    The exact search compares each query with every example. Its order by
    distance is exact in float64, also among close distances; scores have the
    precision of the objective. `search="faiss"` builds a graph
    (HNSW) that finds almost all neighbours in a fraction of the time, for
    galleries of more than about 100,000 examples; it needs FAISS, and
    compares by distance.

    Args:
        model: The trained model.
        num_neighbors: Number of neighbours, unless `kneighbors` names another.
        compare: `"score"` or `"distance"`; None: as above.
        search: `"exact"` or `"faiss"`.
        batch_size: Number of inputs embedded at once.
        embedded: Whether inputs are embeddings already, from `scoring.embed`.

    Attributes:
        examples_: `embeddings`, `labels` and `names` of the gallery.

    Raises:
        ValueError: If inputs do not fit the model, the gallery has fewer
            examples than `num_neighbors`, `fit` was not called, or FAISS is
            asked for and not installed. In `predict`, if `fit` got no labels.

    Reference:
        - [Malkov & Yashunin, 2016](https://arxiv.org/abs/1603.09320), the graph

    Example:

    >>> encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    >>> gallery = np.array([[0, 0], [3, 4], [9, 9]], "float32")
    >>> search = embeddings_tf.scoring.NearestNeighbors(
    ...     encoder, num_neighbors=2
    ... )
    >>> search = search.fit(gallery, ["low", "middle", "high"])
    >>> distances, rows = search.kneighbors(np.zeros((1, 2), "float32"))
    >>> distances.tolist(), rows.tolist()
    ([[0.0, 5.0]], [[0, 1]])
    >>> search.predict([[8.0, 9.0]]).tolist()
    ['high']
    """

    def __init__(
        self,
        model,
        *,
        num_neighbors: int = 5,
        compare: str | None = None,
        search: str = "exact",
        batch_size: int = 256,
        embedded: bool = False,
    ):
        self.model = arguments.keras_layer("model", model)
        self._method = Method(model)
        self.num_neighbors = arguments.positive_integer(
            "num_neighbors", num_neighbors
        )
        self.search = arguments.one_of("search", search, SEARCHES)
        if compare is None:
            by_score = self._method.has_likelihood_ratio and search == "exact"
            compare = "score" if by_score else "distance"
        self.compare = arguments.one_of("compare", compare, COMPARISONS)
        if search == "faiss" and compare == "score":
            raise ValueError(
                'FAISS compares by distance; received compare="score". Choose '
                'search="exact", or compare="distance".'
            )
        self.batch_size = arguments.positive_integer("batch_size", batch_size)
        self.embedded = arguments.truth("embedded", embedded)
        self._examples: LabelledEmbeddings | None = None
        self._has_labels = True

    @property
    def examples_(self) -> LabelledEmbeddings:
        return require_fitted(self._examples, "The gallery", "fit(x, labels)")

    def fit(
        self,
        x,
        labels=None,
        names=None,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> "NearestNeighbors":
        """Embeds the gallery, and replaces an earlier one.

        Args:
            x: Inputs of the model, or embeddings with `embedded=True`.
            labels: Strings or integers `(n,)`, for `predict`; None: unknown.
            names: Strings `(n,)` to find the examples again, such as paths.
            progress: Function called with the number of examples after each
                block that is added to the graph of `search="faiss"`; with the
                exact search called once, with all.
        """
        if progress is not None:
            progress = arguments.function(
                "progress", progress, "the number of examples"
            )
        embeddings = self._embed(x)
        has_labels = labels is not None
        if labels is None:
            labels = np.full(len(embeddings), "")
        examples = labelled_embeddings(embeddings, labels, names)
        if self.search == "faiss":
            self._index = ApproximateIndex(
                self._method, examples.embeddings, progress
            )
        elif progress is not None:
            progress(len(examples))
        self._examples, self._has_labels = examples, has_labels
        return self

    def kneighbors(
        self, x, num_neighbors: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest examples of each input, nearest first.

        Returns:
            Distances, or scores if compared by score, and the rows of the
            gallery, both `(n, num_neighbors)`.
        """
        gallery = self.examples_.embeddings
        if num_neighbors is None:
            num_neighbors = self.num_neighbors
        count = arguments.positive_integer("num_neighbors", num_neighbors)
        if count > len(gallery):
            raise ValueError(
                f"`num_neighbors` must be at most {len(gallery)}, the examples "
                f"of the gallery; received {count}."
            )
        queries = self._embed(x)
        if self.search == "faiss":
            return self._index.search(queries, count)
        if self.compare == "score":
            return scores_and_rows(self._method, queries, gallery, count)
        return distances_and_rows(self._method, queries, gallery, count)

    def predict(self, x) -> np.ndarray:
        """The most frequent label of the neighbours of each input, `(n,)`.

        Among labels that are equally frequent, the label of the nearest
        neighbour wins.
        """
        if not self._has_labels:
            raise ValueError(
                "The gallery has no labels: call fit(x, labels), or kneighbors "
                "for the rows of the neighbours."
            )
        _, rows = self.kneighbors(x)
        labels = self.examples_.labels
        parts = [labels[:0]]
        for first in range(0, len(rows), _VOTES_BLOCK):
            parts.append(_majority(labels[rows[first : first + _VOTES_BLOCK]]))
        return np.concatenate(parts)

    def decision_function(self, x) -> np.ndarray:
        """Minus the distance to the nearest example, or its score, `(n,)`.

        Higher for inputs that are like an example of the gallery.
        """
        values, _ = self.kneighbors(x, 1)
        return values[:, 0] if self.compare == "score" else -values[:, 0]

    def _embed(self, x) -> np.ndarray:
        return embed_inputs(self.model, x, self.batch_size, self.embedded)


def _majority(found: np.ndarray) -> np.ndarray:
    """The most frequent label of each row `(rows, k)`, nearest first."""
    classes, numbers = np.unique(found, return_inverse=True)
    numbers = numbers.reshape(found.shape)
    votes = np.zeros((len(found), len(classes)))
    nearest = np.zeros_like(votes)
    for rank in reversed(range(found.shape[1])):
        place = np.arange(len(found)), numbers[:, rank]
        votes[place] += 1
        nearest[place] = 1 / (rank + 2)  # below 1: decides between equals
    return classes[(votes + nearest).argmax(axis=1)]
