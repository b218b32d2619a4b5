"""Decides whether two inputs are of the same class."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf import metrics
from embeddings_tf.metrics import arrays
from embeddings_tf.models.method import Method
from embeddings_tf.ops import arguments
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring import calibration_file
from embeddings_tf.scoring.checked_numbers import checked
from embeddings_tf.scoring.fingerprint import fingerprint
from embeddings_tf.scoring.isotonic_calibration import IsotonicCalibration
from embeddings_tf.scoring.labelled_embeddings import embed_inputs
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from embeddings_tf.scoring.logistic_calibration import LogisticCalibration
from embeddings_tf.scoring.pair_scores import draw_pairs
from embeddings_tf.scoring.pair_scores import score_pairs
from embeddings_tf.scoring.separated import are_separated

CALIBRATIONS: dict[str, Any] = {
    "logistic": LogisticCalibration,
    "isotonic": IsotonicCalibration,
}
KIND = "a verifier of embeddings_tf"
_VALUES = (
    "fingerprint",
    "source",
    "calibration",
    "calibrated",
    "target_prior",
    "seed",
    "threshold",
    "report",
)
# Pairs of a kind to which the calibration is fitted.
MOST_PAIRS = 50_000
NUM_RESAMPLES = 200
# Resamples of fewer classes are nearly the same few pairs of classes, so that
# the interval of a rate would claim too much.
LEAST_CLASSES = 5


class Verifier:
    """Decides whether two inputs are of the same class, with calibrated odds.

    Use it with any trained model of embeddings, for classes that were not in
    training. `fit` needs examples of held-out classes. It calibrates the score
    of the model's method into log-likelihood ratios, and sets the threshold at
    a stated false-accept rate. Methods have the names of scikit-learn.

    Formula, with the score s of a pair, the calibration f, and the prior
    probability p of a pair of the same class:

    ```
    log-likelihood ratio = f(s)
    probability          = sigmoid(f(s) + ln(p / (1 - p)))
    same                 = s >= threshold
    ```

    Args:
        model: The trained model.
        calibration: `"logistic"` (two numbers, for a few dozen classes) or
            `"isotonic"` (any increasing function, for many). If a threshold
            separates all pairs of the held-out classes, the best line is
            infinitely steep; `fit` then takes `"isotonic"`, whose ratios are
            finite.
        target_prior: Probability, before the inputs are seen, that a pair is of
            the same class.
        seed: Seed of the drawn pairs, and of the bootstrap.
        batch_size: Number of inputs embedded at once.
        embedded: Whether inputs are embeddings already, from `scoring.embed`.
        source: Where the held-out examples are from, for readers of the file.

    Attributes:
        threshold_: The smallest score that is accepted as the same class.
        report_: The stated false-accept rate, and on the pairs of the held-out
            classes: `reached_false_accept_rate`, its 95 % bootstrap `interval`
            over classes (None with fewer than five classes), `miss_rate`,
            `cllr`, and numbers of classes and pairs; also `calibration`, the
            kind that was fitted. Threshold and calibration are fitted to the
            same pairs, so rates and `cllr` are too good for new classes.
        source: As the argument; may be set later.

    Raises:
        ValueError: If `fit` gets fewer than two classes, no class with two
            examples, or too few pairs for the rate; if inputs do not fit the
            model, or scores do not fit their dtype. If `predict` is called
            before `fit`. If a file is damaged, or of another model.

    Reference:
        - [Brümmer & du Preez, 2006](https://doi.org/10.1016/j.csl.2005.08.001)

    Example:

    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(np.arange(30), 4)
    >>> centres = 2 * rng.normal(size=(30, 3))
    >>> x = (centres[labels] + rng.normal(size=(120, 3))).astype("float32")
    >>> encoder = keras.Sequential([keras.Input((3,)), keras.layers.Identity()])
    >>> verifier = embeddings_tf.scoring.Verifier(encoder)
    >>> verifier = verifier.fit(x, labels, false_accept_rate=0.05)
    >>> verifier.predict(x[:1], x[:1] + 0.1).tolist()
    [True]
    >>> (verifier.log_likelihood_ratio(x[:1], x[:1] + 9.0) < 0).tolist()
    [True]
    """

    def __init__(
        self,
        model,
        *,
        calibration: str = "logistic",
        target_prior: float = 0.5,
        seed: int = 0,
        batch_size: int = 256,
        embedded: bool = False,
        source: str = "",
    ):
        self.model = arguments.keras_layer("model", model)
        self._method = Method(model)
        self.calibration = arguments.one_of(
            "calibration", calibration, tuple(CALIBRATIONS)
        )
        self.target_prior = arguments.number_between(
            "target_prior", target_prior, 0, 1
        )
        self.seed = arguments.random_seed("seed", seed, 31)
        self.batch_size = arguments.positive_integer("batch_size", batch_size)
        self.embedded = arguments.truth("embedded", embedded)
        self.source = arguments.text("source", source)
        self.threshold_: float | None = None
        self.report_: dict | None = None
        self._calibrated: Any = None
        self._scores: tuple | None = None

    def fit(
        self,
        x,
        labels,
        false_accept_rate: float = 0.01,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> "Verifier":
        """Calibrates the score, and sets the threshold.

        Args:
            x: Inputs of held-out classes, on which the model was not trained.
            labels: Their classes, strings or integers `(n,)`.
            false_accept_rate: Share of pairs of two classes that are accepted,
                between 0 and 1; at least 1 / the number of these pairs, of
                which at most 50,000 are drawn.
            progress: Function called with 1 after each of the `NUM_RESAMPLES`
                resamples of the interval, which take most of the time; not
                called without an interval.
        """
        if progress is not None:
            progress = arguments.function("progress", progress, "a number")
        rate = arguments.number_between(
            "false_accept_rate", false_accept_rate, 0, 1
        )
        found = labelled_embeddings(self._embed(x), labels)
        ids = np.unique(found.labels, return_inverse=True)[1]
        first, second = draw_pairs(ids, MOST_PAIRS, self.seed)
        is_same = ids[first] == ids[second]
        _require_pairs(is_same, rate)
        scores = score_pairs(
            self._method, found.embeddings[first], found.embeddings[second]
        )
        if np.abs(scores).max() == np.finfo(scores.dtype).max:
            largest = np.abs(found.embeddings).max()
            raise ValueError(
                f"Scores of pairs must be below the largest {scores.dtype}; "
                f"received embeddings of up to {largest:g} in size, whose "
                "scores are cut off there. Scale them down."
            )
        kind = self.calibration
        if are_separated(scores, is_same):  # no line is the best
            kind = "isotonic"
        calibrated = CALIBRATIONS[kind]().fit(scores, is_same)
        threshold = metrics.threshold_at_false_accept_rate(
            scores, is_same, rate
        )
        reached, miss = metrics.error_rates(scores, is_same, threshold)
        num_classes = int(ids.max()) + 1
        interval = None
        if num_classes >= LEAST_CLASSES:
            ends = metrics.bootstrap_interval(
                _counted(threshold, progress),
                scores,
                is_same,
                np.stack([ids[first], ids[second]], axis=1),
                num_resamples=NUM_RESAMPLES,
                seed=self.seed,
            )
            interval = list(ends)
        self._calibrated, self.threshold_ = calibrated, threshold
        self._scores = scores, is_same
        self.report_ = {
            "false_accept_rate": rate,
            "reached_false_accept_rate": reached,
            "interval": interval,
            "miss_rate": miss,
            "cllr": metrics.cllr(calibrated.transform(scores), is_same),
            "calibration": kind,
            "num_classes": num_classes,
            "num_same": int(is_same.sum()),
            "num_different": int((~is_same).sum()),
        }
        return self

    @property
    def scores_(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the held-out pairs, and whether each is of one class.

        Not part of the file of `save`.
        """
        if self._scores is None:
            raise ValueError("There are no held-out pairs: call fit first.")
        return self._scores

    def score_samples(self, first, second) -> np.ndarray:
        """The score of the method, `(n,)`, of inputs row by row."""
        sides = self._embed(first), self._embed(second)
        if len(sides[0]) != len(sides[1]):
            raise ValueError(
                "`first` and `second` must have the same length; received "
                f"{len(sides[0])} and {len(sides[1])}."
            )
        return score_pairs(self._method, *sides)

    def log_likelihood_ratio(self, first, second) -> np.ndarray:
        """Calibrated ln P(pair | same) / P(pair | different), `(n,)`.

        Before `fit`, the uncalibrated ratio of a method whose score is one.
        """
        if self._calibrated is None and self._method.has_likelihood_ratio:
            scores = self.score_samples(first, second)
            return scores.astype(np.float64)
        self._require_fitted()
        return self._calibrated.transform(self.score_samples(first, second))

    def predict_proba(self, first, second) -> np.ndarray:
        """Probability of the same class at `target_prior`, `(n,)`."""
        from scipy.special import expit
        from scipy.special import logit

        ratio = self.log_likelihood_ratio(first, second)
        return expit(ratio + logit(self.target_prior))

    def decision_function(self, first, second) -> np.ndarray:
        """The score minus the threshold, `(n,)`; at least 0 means the same."""
        self._require_fitted()
        return self.score_samples(first, second) - self.threshold_

    def predict(self, first, second) -> np.ndarray:
        """Whether both inputs are of the same class, booleans `(n,)`."""
        return self.decision_function(first, second) >= 0

    def save(self, path) -> None:
        """Writes a JSON file, atomically, without the model."""
        self._require_fitted()
        values = {
            "kind": KIND,
            "fingerprint": fingerprint(self.model),
            "source": str(self.source),
            "calibration": self.calibration,
            "calibrated": self._calibrated.to_dict(),
            "target_prior": self.target_prior,
            "seed": self.seed,
            "threshold": self.threshold_,
            "report": self.report_,
        }
        calibration_file.write(path, values)

    @classmethod
    def load(cls, path, model, *, embedded: bool = False) -> "Verifier":
        """Reads a file of `save`, for the same model."""
        found = checked(
            calibration_file.read(path),
            KIND,
            _VALUES,
        )
        if found["fingerprint"] != fingerprint(
            arguments.keras_layer("model", model)
        ):
            raise ValueError(
                f"{path} was fitted to another model. Fit it to this one."
            )
        verifier = cls(
            model,
            calibration=found["calibration"],
            target_prior=found["target_prior"],
            seed=found["seed"],
            embedded=embedded,
            source=str(found["source"]),
        )
        report = dict(arguments.mapping("report", found["report"]))
        kind = report.get("calibration")
        if kind not in tuple(CALIBRATIONS):
            raise ValueError(
                f"{path}: the report must name its calibration, one of "
                f"{', '.join(CALIBRATIONS)}; received {kind!r}. Fit the "
                "verifier again."
            )
        verifier._calibrated = CALIBRATIONS[kind].from_dict(found["calibrated"])
        verifier.threshold_ = arguments.finite_number(
            "threshold", found["threshold"]
        )
        verifier.report_ = report
        return verifier

    def _require_fitted(self) -> None:
        call = "fit(x, labels, false_accept_rate)"
        require_fitted(self.threshold_, "The verifier", call)

    def _embed(self, x) -> np.ndarray:
        return embed_inputs(self.model, x, self.batch_size, self.embedded)


def _counted(threshold: float, progress) -> Callable:
    """Error rates at a threshold; each call reports to `progress`."""

    def measure(scores, is_same):
        if progress is not None:
            progress(1)
        return metrics.error_rates(scores, is_same, threshold)

    return measure


def _require_pairs(is_same: np.ndarray, rate: float) -> None:
    """Raises ValueError unless there are pairs enough for the rate."""
    num_different = int((~is_same).sum())
    if not is_same.any() or not num_different:
        raise ValueError(
            "The held-out examples must have pairs of one class and of two; "
            f"received {int(is_same.sum())} and {num_different}. Use at least "
            "two classes, with two examples in a class."
        )
    if rate * num_different < 1 - 1e-9:
        mend = "Use more examples or a larger rate."
        if num_different == MOST_PAIRS:
            mend = f"At most {MOST_PAIRS} pairs are drawn: use a larger rate."
        raise ValueError(
            f"{counted(num_different, 'pair')} of different classes cannot "
            f"measure a false-accept rate of {rate}; the smallest is "
            f"{arrays.rounded_up(1 / num_different)}. {mend}"
        )
