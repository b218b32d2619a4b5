"""Fields of the evaluations, a dataclass each.

`validation` describes the measures after each epoch; `splits` names the data of
the final evaluation.
"""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from trainers.field import field


@dataclasses.dataclass(frozen=True)
class Validation:
    """What is measured after each epoch of training."""

    split: str = field("validation", "Split that is measured every epoch.")


@dataclasses.dataclass(frozen=True)
class FewShotValidation(Validation):
    """Episodes that are classified after each epoch."""

    num_classes: int = field(5, "Classes of an episode.")
    num_support: int = field(5, "Supports of each class.")
    num_query: int = field(5, "Queries of each class.")
    num_episodes: int = field(10, "Episodes.")
    num_samples: int = field(50, "Samples of each Gaussian embedding.")


@dataclasses.dataclass(frozen=True)
class RetrievalValidation(Validation):
    """Recall after each epoch."""

    max_k: int = field(
        0, "Largest k of mean_recall, the mean of recall@k; 0 leaves it out."
    )


@dataclasses.dataclass(frozen=True)
class VerificationValidation(Validation):
    """Pairs that are scored after each epoch."""

    trials: str = field(
        "", "List of trials below manual_dir; empty scores all pairs."
    )
    num_trials: int = field(
        0, "Trials of the list, drawn at random; 0 takes all."
    )


@dataclasses.dataclass(frozen=True)
class Plda:
    """Arguments of `embeddings_tf.models.PLDA`."""

    num_dims: int | None = field(None, "Dimensions that are kept; None: all.")
    center: bool = field(True, "Whether embeddings are centred.")
    length_normalize: bool = field(
        True, "Whether embeddings are scaled to unit length."
    )
    max_iterations: int = field(100, "Iterations of the fit, at most.")
    tolerance: float = field(1e-6, "Change at which the fit has converged.")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The fields of every evaluation."""

    name: str = ""
    splits: tuple[str, ...] = field(("test",), "Splits to evaluate.")
    validation: Validation = field(Validation(), "Measured after each epoch.")

    monitor: ClassVar[str] = ""


@dataclasses.dataclass(frozen=True)
class FewShot(Evaluation):
    """Few-shot classification, with uncertainty."""

    name: str = field("few_shot", "The evaluation.")
    num_classes: tuple[int, ...] = field(
        (5,), "Classes of an episode, an entry for each of `splits`."
    )
    num_support: int = field(5, "Supports of each class.")
    more_tasks: tuple[tuple[int, int], ...] = field(
        (), "More pairs of num_classes and num_support, for every split."
    )
    num_query: int = field(15, "Queries of each class.")
    num_episodes: int = field(100, "Episodes under each condition.")
    num_draws: int = field(5, "Draws of occluded images.")
    num_samples: int = field(200, "Samples of each Gaussian embedding.")
    leave_one_out: bool = field(
        False, "Whether to measure the nearest other example of a split, too."
    )
    validation: FewShotValidation = field(
        FewShotValidation(), "Measured after each epoch."
    )

    monitor: ClassVar[str] = "val_few_shot_accuracy"


@dataclasses.dataclass(frozen=True)
class NDigitFewShot(FewShot):
    """Few-shot classification of n-digit numbers, and what digits tell."""

    name: str = field("n_digit_few_shot", "The evaluation.")


@dataclasses.dataclass(frozen=True)
class ColourOrientation(Evaluation):
    """Classification of coloured shapes, and what each axis tells."""

    name: str = field("colour_orientation", "The evaluation.")
    num_support: int = field(
        100, "Supports of each class, of the training split."
    )
    num_samples: int = field(200, "Samples of each Gaussian embedding.")
    num_distorted: int = field(
        2000, "Images of a split that are drawn with each noise and length."
    )
    validation: FewShotValidation = field(
        FewShotValidation(), "Measured after each epoch."
    )

    monitor: ClassVar[str] = "val_few_shot_accuracy"


@dataclasses.dataclass(frozen=True)
class Disentanglement(Evaluation):
    """What each dimension of the embedding tells about each factor."""

    name: str = field("disentanglement", "The evaluation.")
    factor_names: tuple[str, ...] = field(
        (), "Names of the factors, one for each column of the labels."
    )

    monitor: ClassVar[str] = "val_explicitness"


@dataclasses.dataclass(frozen=True)
class Retrieval(Evaluation):
    """Recall@k, and clustering."""

    name: str = field("retrieval", "The evaluation.")
    distance: str = field("l2", "Distance that ranks: l2 or cosine.")
    k: tuple[int, ...] = field((1, 2, 5, 10, 20), "Each k of recall@k.")
    cluster: bool = field(False, "Whether to measure clusters, too.")
    validation: RetrievalValidation = field(
        RetrievalValidation(), "Measured after each epoch."
    )

    monitor: ClassVar[str] = "val_recall_at_1"


@dataclasses.dataclass(frozen=True)
class Verification(Evaluation):
    """Errors of the scores of pairs: are two examples of one class?"""

    name: str = field("verification", "The evaluation.")
    plda: Plda = field(Plda(), "Arguments of PLDA, fitted to training data.")
    num_resamples: int = field(
        0, "Resamples for the confidence intervals; 0 for none."
    )
    num_enrolled: int = field(
        0, "Examples that enrol each class in claims of classes; 0: no claims."
    )
    trials_split: str = field("", "Split that the lists of trials are about.")
    trials: Mapping[str, str] = field(
        {}, "Lists of trials below manual_dir, by name."
    )
    validation: VerificationValidation = field(
        VerificationValidation(), "Measured after each epoch."
    )

    monitor: ClassVar[str] = "val_accuracy_at_equal_error"


EVALUATIONS = {
    "few_shot": FewShot,
    "disentanglement": Disentanglement,
    "retrieval": Retrieval,
    "verification": Verification,
    "n_digit_few_shot": NDigitFewShot,
    "colour_orientation": ColourOrientation,
}
