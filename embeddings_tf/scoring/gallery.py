"""A gallery of enrolled classes that answers "unknown" for others."""

import dataclasses
import numbers
from typing import Any

import numpy as np

from embeddings_tf.models.embed_batch import require_squares
from embeddings_tf.models.few_shot_classifier import FewShotClassifier
from embeddings_tf.ops import arguments
from embeddings_tf.ops.listed import listed
from embeddings_tf.ops.require_fitted import require_fitted
from embeddings_tf.scoring import gallery_file
from embeddings_tf.scoring.gallery_state import GalleryState
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.labelled_embeddings import embed_inputs
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from embeddings_tf.scoring.open_set import LEAST
from embeddings_tf.scoring.open_set import SCORES
from embeddings_tf.scoring.open_set import answers
from embeddings_tf.scoring.open_set import calibrated
from embeddings_tf.scoring.open_set import checked_typicality
from embeddings_tf.scoring.open_set import checked_unknown
from embeddings_tf.scoring.open_set import not_enrolled
from embeddings_tf.scoring.open_set import open_set_scores
from embeddings_tf.scoring.open_set import require_free_answer
from embeddings_tf.scoring.open_set import typical_rows
from embeddings_tf.scoring.typicality import Typicality


class Gallery:
    """Recognises enrolled classes, and answers "unknown" for others.

    Use it with any trained model of embeddings, for classes that were not in
    training. `enroll` needs no training. `calibrate` sets the threshold below
    which the answer is "unknown". Methods have the names of scikit-learn. A
    `FewShotClassifier` chooses the class, by the model's own method.

    An input is accepted if its score reaches the threshold. Both scores work
    for every method:

    - `"log_evidence"`: evidence that the input is in any enrolled class,
      `FewShotClassifier.predict_log_evidence`;
    - `"nearest_distance"`: minus the distance to the nearest enrolled example,
      by the method's own distance.

    The threshold promises the false-accept rate of classes that are not
    enrolled, on average over exchangeable classes, by split conformal
    prediction over the calibration classes: with N of them, of which class c
    has the share `r_c(t)` of scores of at least t,

    ```
    threshold = smallest t with (1 + sum over c of r_c(t)) / (N + 1) <= rate
    ```

    So a rate below `1 / (N + 1)` is refused. The threshold is computed again
    after each change of the enrolled classes. Calibration classes that become
    enrolled no longer count.

    The threshold is about new classes, not about noise: set `typicality` to
    also answer "unknown" for inputs that look like no example.

    Args:
        model: The trained model.
        score: `"log_evidence"` or `"nearest_distance"`.
        unknown: The answer for other classes. None: "unknown" if the labels are
            strings, -1 if they are integers.
        num_samples, seed, batch_size: As in `FewShotClassifier`.
        embedded: Whether inputs are embeddings already, from `scoring.embed`.
        typicality: A fitted `Typicality`, or None: the check of inputs.
        source: Where the model is, for readers of the file.

    Attributes:
        classes_: The enrolled labels, sorted, `(classes,)`.
        examples_: `embeddings`, `labels` and `names` of the enrolled examples.
        held_out_examples_: The same of the last `calibrate`, without `names`.
        false_accept_rate_: The rate given to the last `calibrate`, or None.
        calibration_examples_: Those whose class is not enrolled since.
        threshold_: The smallest accepted score; None before `calibrate`.
        calibration_: Promised rate, method, numbers of calibration classes and
            examples, and their accepted share. None before `calibrate`.
        typicality, source: As the arguments; may be set later. The next use
            refuses a `typicality` of another kind.

    Raises:
        ValueError: If labels are neither strings nor integers, or change their
            kind; if a label is not enrolled, or equals `unknown`; if an example
            of one name has two labels. If too few calibration classes are left
            for the promised rate. If the file of a gallery is damaged, or its
            embeddings are of another model.

    Reference:
        - [Vovk, Gammerman & Shafer, 2005](https://doi.org/10.1007/b106715)
        - [Angelopoulos et al., 2022](https://arxiv.org/abs/2208.02814)

    Example:

    >>> encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    >>> gallery = embeddings_tf.scoring.Gallery(encoder)
    >>> support = np.array([[0, 0], [9, 9]], "float32")
    >>> gallery = gallery.enroll(support, ["low", "high"])
    >>> others = np.array([[0, 9], [9, 0], [5, 4]], "float32")
    >>> gallery = gallery.calibrate(others, ["a", "b", "c"], 0.25)
    >>> gallery.predict([[1.0, 0.0], [0.0, 8.0]]).tolist()
    ['low', 'unknown']
    """

    def __init__(
        self,
        model,
        *,
        score: str = "log_evidence",
        unknown: str | int | None = None,
        num_samples: int | None = None,
        seed: int = 0,
        batch_size: int = 256,
        embedded: bool = False,
        typicality: Typicality | None = None,
        source: str = "",
    ):
        self.score = arguments.one_of("score", score, SCORES)
        self.unknown = checked_unknown(unknown)
        self.embedded = arguments.truth("embedded", embedded)
        self.typicality = checked_typicality(typicality)
        self.source = arguments.text("source", source)
        # It compares embeddings, and is fitted to all enrolled examples.
        empty = FewShotClassifier(
            model,
            embedded=True,
            num_samples=num_samples,
            seed=seed,
            batch_size=batch_size,
        )
        self.sampling: dict[str, Any] = {
            name: getattr(empty, name) for name in gallery_file.SAMPLING
        }
        self._classifier, self._state = empty, GalleryState()

    @property
    def state(self) -> GalleryState:
        """Enrolled examples and calibration; set it to restore both."""
        return self._state

    @state.setter
    def state(self, state: GalleryState) -> None:
        if not isinstance(state, GalleryState):
            raise ValueError(
                "`state` must be a GalleryState, the `state` of a gallery; "
                f"received {state!r}. A new gallery has an empty one."
            )
        self._classifier = self._classifier_of(state.examples)
        self._state = state

    @property
    def model(self):
        return self._classifier.model

    @property
    def classifier(self) -> FewShotClassifier:
        """The classifier of embeddings, fitted to the enrolled examples."""
        self.examples_  # noqa: B018  refuses an empty gallery
        return self._classifier

    @property
    def classes_(self) -> np.ndarray:
        return np.unique(self.examples_.labels)

    @property
    def examples_(self) -> LabelledEmbeddings:
        call = "enroll(x, labels)"
        return require_fitted(self._state.examples, "The gallery", call)

    @property
    def calibration_examples_(self) -> LabelledEmbeddings | None:
        """The held-out examples that set the threshold; None without one.

        Examples of classes that became enrolled are left out.
        """
        held_out = self._state.held_out
        if held_out is None:
            return None
        return not_enrolled(held_out, self.examples_)

    @property
    def held_out_examples_(self) -> LabelledEmbeddings | None:
        """All examples of the last `calibrate`; None without a threshold."""
        return self._state.held_out

    @property
    def false_accept_rate_(self) -> float | None:
        """The rate given to `calibrate`; None if it follows the classes."""
        return self._state.false_accept_rate

    @property
    def threshold_(self) -> float | None:
        return self._state.threshold

    @property
    def calibration_(self) -> dict | None:
        return self._state.calibration

    def fit(self, x, labels, names=None) -> "Gallery":
        """Enrolls classes, and forgets the classes enrolled before."""
        added = labelled_embeddings(self._embed(x), labels, names)
        return self._change(added.last_of_each_name())

    def enroll(self, x, labels, names=None) -> "Gallery":
        """Adds examples of new or enrolled classes; needs no training.

        Args:
            x: Inputs of the model, or embeddings with `embedded=True`.
            labels: Strings or integers, `(n,)`.
            names: Strings `(n,)` to find the examples again, such as paths. An
                example replaces the earlier example of its name, unless the
                name is "". Both must have the same label.
        """
        added = labelled_embeddings(self._embed(x), labels, names)
        if self._state.examples is not None:
            added = self._state.examples.plus(added)
        return self._change(added.last_of_each_name())

    def remove(self, label) -> "Gallery":
        """Removes a class, by its label, and its examples."""
        if getattr(label, "shape", None) == ():
            label = np.asarray(label).item()  # a scalar of an array or tensor
        if isinstance(label, bytes):
            label = label.decode()
        is_label = isinstance(label, (str, numbers.Integral))
        if not is_label or isinstance(label, bool):
            raise ValueError(
                "`label` must be one label, a string or an integer; received "
                f"{label!r}. Remove several classes one by one."
            )
        known = self.classes_.tolist()
        if label not in known:
            names = listed([*map(repr, known)], 8)
            raise ValueError(
                f"{label!r} is not enrolled; the gallery has {names}."
            )
        if len(known) == 1:
            raise ValueError(
                f"{label!r} is the only class, and a gallery needs at least "
                "one. Enroll another class first, or start a new gallery."
            )
        kept = np.flatnonzero(self.examples_.labels != label)
        return self._change(self.examples_.take(kept))

    def calibrate(
        self, x, labels, false_accept_rate: float | None = 0.05
    ) -> "Gallery":
        """Sets the threshold, from examples of classes that are not enrolled.

        Args:
            x: Inputs of held-out classes, on which the model was not trained.
            labels: Their classes, strings or integers `(n,)`.
            false_accept_rate: Promised share of accepted inputs among inputs
                of classes that are not enrolled, between 0 and 1. None: 0.05,
                or what the calibration classes can promise, if it is higher;
                computed again when classes are enrolled or removed.
        """
        rate = false_accept_rate
        if rate is not None:
            rate = arguments.number_between("false_accept_rate", rate, 0, 1)
        held_out = labelled_embeddings(self._embed(x), labels)
        return self._change(
            self.examples_, held_out=held_out, false_accept_rate=rate
        )

    def remove_threshold(self) -> "Gallery":
        """Removes threshold and check of inputs: no input is unknown."""
        self.typicality = None
        self._state = GalleryState(self._state.examples)
        return self

    def score_samples(self, x) -> np.ndarray:
        """The scores `(n,)`, higher for inputs of enrolled classes."""
        return self._scores(self._embed(x))

    def decision_function(self, x, inputs=None) -> np.ndarray:
        """The scores minus the threshold; not typical: the least number."""
        if self.threshold_ is None:
            raise ValueError(
                "The gallery has no threshold yet: call calibrate(x, labels, "
                "false_accept_rate) with classes that are not enrolled."
            )
        above = self.score_samples(x) - self.threshold_
        typical = typical_rows(self.typicality, self.embedded, x, inputs)
        return above if typical is None else np.where(typical, above, LEAST)

    def predict_proba(self, x) -> np.ndarray:
        """Probabilities `(n, classes)`, given that the class is enrolled."""
        return self.classifier.predict_proba(self._embed(x))

    def predict(self, x, inputs=None) -> np.ndarray:
        """The label of each input or `unknown`, `(n,)`, as `identify`."""
        return self.identify(x, inputs)["answer"]

    def identify(self, x, inputs=None) -> dict[str, np.ndarray]:
        """Answers, with the numbers behind each answer, as columns `(n,)`.

        Args:
            x: Inputs of the model, or embeddings with `embedded=True`.
            inputs: With `embedded=True` and a `typicality`, the inputs of the
                embeddings; not needed otherwise.

        Returns:
            `answer`: the label or `unknown`; `class`: the most probable
            enrolled label; `probability`: of this class, given that the class
            is enrolled; `score`; `accepted`: whether the score reaches the
            threshold and the input is typical; `typical`, with a `typicality`.
        """
        embeddings = self._embed(x)
        return answers(
            self._scores(embeddings),
            self._classifier.predict_log_proba(embeddings),
            self.classes_,
            self.threshold_,
            self.unknown,
            typical_rows(self.typicality, self.embedded, x, inputs),
        )

    def save(self, path, *, include_model: bool = False) -> None:
        """Writes the gallery to one file, atomically.

        Args:
            path: The file, usually `NAME.npz`; an existing file is replaced.
            include_model: Whether the file contains the model. Otherwise it
                contains the model's fingerprint, and `load` needs the model.
        """
        gallery_file.save(self, path, include_model)

    @classmethod
    def load(cls, path, model=None, *, embedded: bool = False) -> "Gallery":
        """Reads a file of `save`. Nothing in the file is executed.

        Args:
            path: The file.
            model: The model whose embeddings are in the file; not needed if
                the file contains the model.
            embedded: As in the constructor.
        """
        return gallery_file.load(cls, path, model, embedded)

    def _embed(self, x) -> np.ndarray:
        batch_size = self._classifier.batch_size
        found = embed_inputs(self.model, x, batch_size, self.embedded)
        return require_squares("x", found)

    def _scores(self, embeddings) -> np.ndarray:
        examples = self.examples_
        return open_set_scores(
            self.score, self._classifier, examples, embeddings
        )

    def _change(self, examples, **calibration) -> "Gallery":
        """Sets the enrolled examples and the calibration; all or nothing."""
        require_free_answer(self.unknown, examples.labels)
        classifier = self._classifier_of(examples)
        state = dataclasses.replace(
            self._state, examples=examples, **calibration
        )
        if state.held_out is not None:
            threshold, how = calibrated(
                self.score,
                classifier,
                examples,
                state.held_out,
                state.false_accept_rate,
            )
            state = dataclasses.replace(
                state, threshold=threshold, calibration=how
            )
        self._classifier, self._state = classifier, state
        return self

    def _classifier_of(self, examples) -> FewShotClassifier:
        """A classifier of examples, without a fit if they are None."""
        classifier = FewShotClassifier(
            self.model, embedded=True, **self.sampling
        )
        if examples is not None:
            classifier.fit(examples.embeddings, examples.labels)
        return classifier
