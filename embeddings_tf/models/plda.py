"""Probabilistic linear discriminant analysis of embeddings."""

import copy
import os
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.models.plda_file import read
from embeddings_tf.models.plda_file import write
from embeddings_tf.models.plda_input import LARGEST
from embeddings_tf.models.plda_input import bounded
from embeddings_tf.models.plda_input import labelled_examples
from embeddings_tf.models.plda_input import require_dim
from embeddings_tf.ops import plda
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.require_fitted import require_fitted


class PLDA:
    """Probabilistic LDA: log-likelihood ratios of pairs of embeddings.

    Use it for verification, for instance of speakers, with embeddings that
    were not trained for a particular score. It learns from labelled embeddings
    which directions separate classes. The score is a log-likelihood ratio:
    same class versus different classes. As in scikit-learn, call `fit`, then
    `score`. The classes may differ between the two.

    Formula, for a class's `y` and an example's `e`:

    ```
    x = mean + y + e,    y ~ N(0, between),  e ~ N(0, within)
    score(a, b) = ln p(a, b | one y) - ln p(a) - ln p(b)
    ```

    EM finds the maximum-likelihood `mean`, `between` and `within`, for any
    numbers of examples per class. EM starts from the covariances of class
    means and within classes. It ends when an iteration adds at most
    `tolerance` to the log-likelihood per example. Before EM,

    1. `center`: the mean of the training embeddings is subtracted;
    2. `num_dims`: linear discriminant analysis (LDA) keeps the directions that
       discriminate best, scaled to unit variance within classes;
    3. `length_normalize`: each embedding is scaled to length `sqrt(dim)`, which
       makes heavy-tailed embeddings more Gaussian. Zero stays zero.

    Scores are finite for degenerate directions. Directions without variance of
    the training embeddings are ignored, and so are directions without variance
    between classes; `C` classes have at most `C - 1` directions with it. If
    classes have no spread in a direction, for instance with fewer examples
    than dimensions, the variance within classes is at least one millionth of
    the total. Scores are then overconfident: set `num_dims`.

    Args:
        num_dims: Dimensions that LDA keeps, at most one less than the training
            classes. None: no LDA.
        center: Whether to subtract the mean of the training embeddings.
        length_normalize: Whether to scale embeddings to one length.
        max_iterations: Largest number of iterations of EM.
        tolerance: EM ends when the log-likelihood per example rises by less.

    Attributes, once fitted: `offset`, `(dim,)`, which is subtracted;
    `projection`, `(dim, num_dims)`, or None; `mean`, `(num_dims,)`,
    `between_covariance` and `within_covariance`, `(num_dims, num_dims)`;
    `log_likelihoods`, per training example, at the start and after each
    iteration, never falling.

    Raises:
        ValueError: If an argument is out of range.

    Reference:
        - [Ioffe, 2006](https://doi.org/10.1007/11744085_41)
        - Brummer & de Villiers, The speaker partitioning problem, Odyssey 2010:
          the two-covariance model
        - [Garcia-Romero & Espy-Wilson, 2011](https://www.isca-archive.org/interspeech_2011/garciaromero11_interspeech.html),
          length normalisation

    Example:

    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(np.arange(50), 4)
    >>> speakers = rng.normal(size=(50, 3)) * [3.0, 2.0, 0.0]
    >>> embeddings = speakers[labels] + rng.normal(size=(200, 3))
    >>> plda = embeddings_tf.models.PLDA(length_normalize=False)
    >>> plda = plda.fit(embeddings, labels)
    >>> tests = [[4.0, 2.0, 3.0], [-4.0, 2.0, 0.0]]
    >>> scores = plda.score([[4.0, 2.0, 0.0]], tests)
    >>> (scores > 0).tolist()
    [[True, False]]
    """

    def __init__(
        self,
        num_dims: int | None = None,
        *,
        center: bool = True,
        length_normalize: bool = True,
        max_iterations: int = 100,
        tolerance: float = 1e-6,
    ):
        if num_dims is not None:
            num_dims = positive_integer("num_dims", num_dims)
        self.num_dims = num_dims
        self.center = truth("center", center)
        self.length_normalize = truth("length_normalize", length_normalize)
        self.max_iterations = positive_integer("max_iterations", max_iterations)
        self.tolerance = number_at_least("tolerance", tolerance, 0)
        self.projection = None

    def fit(self, embeddings: Any, labels: Any) -> "PLDA":
        """Fits the model, and replaces an earlier fit.

        Args:
            embeddings: `(n, dim)`.
            labels: Integers `(n,)`.

        Returns:
            The model itself.

        Raises:
            ValueError: If arrays are empty, not finite, above 1e100, of the
                wrong rank or of different lengths; if there is only one class
                or no class with two examples, so that one of the covariances
                is unknown; if LDA cannot keep `num_dims` dimensions; or if
                all embeddings are equal. The model is then unchanged.
        """
        embeddings, class_ids = labelled_examples(embeddings, labels)
        offset = self._offset(embeddings)
        projection = None
        if self.num_dims is not None:
            projection = plda.lda_projection(
                plda.statistics(embeddings - offset, class_ids), self.num_dims
            )
        self._learn(embeddings, class_ids, offset, projection)
        return self

    def most_dims(self, embeddings: Any, labels: Any) -> int:
        """Returns the largest `num_dims` with which `fit` accepts embeddings.

        It is at most one less than the classes and at most the number of
        directions in which the embeddings vary, 0 if all are equal.

        Args:
            embeddings: `(n, dim)`.
            labels: Integers `(n,)`.

        Raises:
            ValueError: As `fit`, except for equal embeddings.
        """
        embeddings, class_ids = labelled_examples(embeddings, labels)
        offset = self._offset(embeddings)
        return plda.most_dims(plda.statistics(embeddings - offset, class_ids))

    def adapt(
        self, embeddings: Any, labels: Any, weight: float = 0.5
    ) -> "PLDA":
        """A model for another domain, from a few labelled embeddings of it.

        Use it where the training data have another language or channel than
        the data in use. A second model is fitted to the new data after this
        model's LDA, and the parameters are averaged.

        Formula:

        ```
        covariance = (1 - weight) covariance_here + weight covariance_of_new
        ```

        between and within classes. All means, also the mean of centring, are
        from the new data; `log_likelihoods` are from the second model.

        Args:
            embeddings: `(n, dim)`.
            labels: Integers `(n,)`.
            weight: Between 0 (only the means are new) and 1 (all parameters
                except LDA are new).

        Returns:
            A new model; this model does not change.

        Raises:
            ValueError: As `fit`, if `weight` is out of range, if the model is
                not fitted, or if `dim` differs from `fit`.

        Reference:
            - Garcia-Romero & McCree, Supervised domain adaptation for i-vector
              based speaker recognition, ICASSP 2014
        """
        if number_at_least("weight", weight, 0) > 1:
            raise ValueError(
                "`weight` is the share of the new data, between 0 and 1; "
                f"received {weight!r}."
            )
        self._require_dim(embeddings=embeddings)
        embeddings, class_ids = labelled_examples(embeddings, labels)
        adapted = copy.copy(self)
        offset = self._offset(embeddings)
        adapted._learn(embeddings, class_ids, offset, self.projection)
        for name in ("between_covariance", "within_covariance"):
            old, new = getattr(self, name), getattr(adapted, name)
            setattr(adapted, name, (1 - weight) * old + weight * new)
        adapted._diagonalize()
        return adapted

    def score(
        self, enroll: Any, test: Any, enroll_labels: Any = None
    ) -> np.ndarray:
        """Log-likelihood ratios of each enrollment with each test.

        With `enroll_labels` all recordings of a label enroll it together. The
        ratio is exact for their number, unlike an average of embeddings or of
        scores.

        Args:
            enroll: Embeddings `(m, dim)`.
            test: Embeddings `(n, dim)`.
            enroll_labels: Integers `(m,)`. None: each row by itself.

        Returns:
            `(m, n)`, float64, or `(num_labels, n)` with the labels ascending.
            Above 0, the same class is more likely. Without labels
            `score(a, b)` is `score(b, a)` transposed.

        Raises:
            ValueError: If arrays are empty, not finite, above 1e100, of
                another `dim` than in `fit` or 1e100 standard deviations from
                its mean, if `enroll_labels` are not one per row, or if the
                model is not fitted.
        """
        self._require_dim(enroll=enroll, test=test)
        enroll = self._coordinates("enroll", enroll)
        test = self._coordinates("test", test)
        counts = np.ones((1, 1))
        if enroll_labels is not None:
            enroll_labels = arrays.integers(
                "enroll_labels", enroll_labels, 1, "(m,)"
            )
            arrays.same_length(enroll=enroll, enroll_labels=enroll_labels)
            enroll, counts = plda.means_of_labels(enroll, enroll_labels)
        return plda.log_likelihood_ratios(enroll, counts, test, self._ratio)

    def score_pairs(self, first: Any, second: Any) -> np.ndarray:
        """Log-likelihood ratios of row i of `first` with row i of `second`.

        Two sets `(n, dim)` give `(n,)`, float64: the diagonal of `score`.
        """
        self._require_dim(first=first, second=second)
        first = self._coordinates("first", first)
        second = self._coordinates("second", second)
        arrays.same_length(first=first, second=second)
        return plda.log_likelihood_ratio_of_rows(first, second, self._ratio)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted model as NumPy's npz, atomically, without pickle.

        An existing file is replaced.
        """
        self._require_fitted()
        write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "PLDA":
        """Reads a file of `save`; scores are equal bit for bit."""
        model = read(path, cls)
        model._diagonalize()
        return model

    def _offset(self, embeddings: np.ndarray) -> np.ndarray:
        if self.center:
            return plda.mean_of_rows(embeddings)
        return np.zeros(embeddings.shape[1])

    def _learn(self, embeddings, class_ids, offset, projection) -> None:
        x = plda.processed(
            embeddings, offset, projection, self.length_normalize
        )
        if not np.any(np.var(x - x[0], axis=0)):
            raise ValueError(
                "Embeddings must vary; received embeddings that are all the "
                "same once centred, projected and scaled. Look for a collapsed "
                "encoder."
            )
        model, self.log_likelihoods = plda.fit(
            plda.statistics(x, class_ids), self.max_iterations, self.tolerance
        )
        self.mean, self.between_covariance, self.within_covariance = model
        self.offset, self.projection = offset, projection
        self._diagonalize()

    def _coordinates(self, name: str, embeddings) -> np.ndarray:
        """Transforms embeddings so that both covariances are diagonal."""
        x = bounded(name, embeddings)
        x = plda.processed(
            x, self.offset, self.projection, self.length_normalize
        )
        found = (x - self.mean) @ self._transform
        furthest = np.max(np.abs(found))
        if furthest > LARGEST:
            raise ValueError(
                f"`{name}` must have the scale of the embeddings of the fit; "
                f"received a row {furthest:.0e} standard deviations from the "
                "mean. Use the same encoder."
            )
        return found

    def _diagonalize(self) -> None:
        self._transform, self._ratio = plda.diagonalize(
            self.between_covariance, self.within_covariance
        )

    def _require_fitted(self) -> None:
        ratio = getattr(self, "_ratio", None)
        call = "fit(embeddings, labels) or PLDA.load(path)"
        require_fitted(ratio, "The PLDA model", call)

    def _require_dim(self, **embeddings) -> None:
        self._require_fitted()
        require_dim(len(self.offset), **embeddings)
