"""Fields of the evaluations, one dataclass per kind.

`validation` describes the metrics after each epoch; `splits` are the splits of
the final evaluation.
"""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from trainers.config.field import field


@dataclasses.dataclass(frozen=True)
class Validation:
    """The evaluation after each epoch of training."""

    split: str = field("validation", "Split that is evaluated every epoch.")


@dataclasses.dataclass(frozen=True)
class FewShotValidation(Validation):
    """Few-shot episodes after each epoch."""

    num_classes: int = field(5, "Classes per episode.")
    num_support: int = field(5, "Supports per class.")
    num_query: int = field(5, "Queries per class.")
    num_episodes: int = field(10, "Episodes.")
    num_samples: int = field(50, "Samples per Gaussian embedding.")


@dataclasses.dataclass(frozen=True)
class RetrievalValidation(Validation):
    """Recall after each epoch."""

    max_k: int = field(
        0, "Largest k of mean_recall, the mean of recall@k; 0 leaves it out."
    )


@dataclasses.dataclass(frozen=True)
class VerificationValidation(Validation):
    """Verification of pairs after each epoch."""

    trials: str = field(
        "", "List of trials below manual_dir; empty scores all pairs."
    )
    num_trials: int = field(
        0, "Number of trials drawn at random from the list; 0 uses all."
    )
    num_per_class: int = field(
        0, "Examples of each class in the pairs; 0 uses all."
    )
    score: str = field(
        "",
        "Score of the pairs: cosine; own for the method's score, by which "
        "verify decides; or empty for the method's log-likelihood ratio, and "
        "the cosine if it has none.",
    )


@dataclasses.dataclass(frozen=True)
class UncertaintyValidation(Validation):
    """Recall, and what an uncertainty knows of it, after each epoch."""

    num_per_class: int = field(25, "Images of each class; 0 uses all.")


@dataclasses.dataclass(frozen=True)
class Plda:
    """Arguments of `embeddings_tf.models.PLDA`."""

    num_dims: int | None = field(
        None, "Number of dimensions to keep; None: all."
    )
    center: bool = field(True, "Whether embeddings are centred.")
    length_normalize: bool = field(
        True, "Whether embeddings are scaled to unit length."
    )
    max_iterations: int = field(100, "Maximum number of iterations of the fit.")
    tolerance: float = field(1e-6, "Change at which the fit has converged.")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The fields of every evaluation."""

    name: str = ""
    splits: tuple[str, ...] = field(("test",), "Splits to evaluate.")
    validation: Validation = field(Validation(), "Evaluated after each epoch.")

    monitor: ClassVar[str] = ""


@dataclasses.dataclass(frozen=True)
class FewShot(Evaluation):
    """Few-shot classification, with uncertainty."""

    name: str = field("few_shot", "The evaluation.")
    num_classes: tuple[int, ...] = field(
        (5,), "Classes per episode, one entry for each of `splits`."
    )
    num_support: int = field(5, "Supports per class.")
    more_tasks: tuple[tuple[int, int], ...] = field(
        (), "More pairs of num_classes and num_support, for every split."
    )
    num_query: int = field(15, "Queries per class.")
    num_episodes: int = field(100, "Number of episodes under each condition.")
    num_draws: int = field(5, "Number of random occlusions of each image.")
    num_samples: int = field(200, "Samples per Gaussian embedding.")
    leave_one_out: bool = field(
        False, "Whether to evaluate the nearest other example of a split, too."
    )
    validation: FewShotValidation = field(
        FewShotValidation(), "Evaluated after each epoch."
    )

    monitor: ClassVar[str] = "val_few_shot_accuracy"


@dataclasses.dataclass(frozen=True)
class NDigitFewShot(FewShot):
    """Few-shot classification of n-digit numbers, and information on digits."""

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
class OutOfDistribution(Evaluation):
    """How well scores tell enrolled classes from anything else."""

    name: str = field("out_of_distribution", "The evaluation.")
    num_classes: int = field(20, "Classes that are enrolled per episode.")
    num_support: int = field(5, "Supports per class.")
    num_query: int = field(5, "Known queries per class.")
    num_episodes: int = field(100, "Number of episodes.")
    num_samples: int = field(200, "Samples per Gaussian embedding.")
    group: str = field(
        "",
        "Feature of the data set; the classes of an episode have one value of "
        "it, as characters of one alphabet.",
    )
    others: tuple[tuple[str, str], ...] = field(
        (), "Pairs of a data set and a split: unknown inputs."
    )
    validation: FewShotValidation = field(
        FewShotValidation(), "Evaluated after each epoch."
    )

    monitor: ClassVar[str] = "val_few_shot_accuracy"


@dataclasses.dataclass(frozen=True)
class Disentanglement(Evaluation):
    """Information of each dimension of the embedding about each factor."""

    name: str = field("disentanglement", "The evaluation.")
    factor_names: tuple[str, ...] = field(
        (), "Names of the factors, one per column of the labels."
    )
    normalize_codes: bool = field(
        False,
        "Whether codes of a loss that compares by the cosine have length 1.",
    )

    monitor: ClassVar[str] = "val_explicitness"


@dataclasses.dataclass(frozen=True)
class Retrieval(Evaluation):
    """Recall@k, and clustering."""

    name: str = field("retrieval", "The evaluation.")
    distance: str = field("l2", "Distance for the ranking: l2 or cosine.")
    k: tuple[int, ...] = field((1, 2, 5, 10, 20), "Each k of recall@k.")
    cluster: bool = field(False, "Whether to evaluate clusters, too.")
    validation: RetrievalValidation = field(
        RetrievalValidation(), "Evaluated after each epoch."
    )

    monitor: ClassVar[str] = "val_recall_at_1"


@dataclasses.dataclass(frozen=True)
class Verification(Evaluation):
    """Errors of the scores of pairs: are two examples in one class?"""

    name: str = field("verification", "The evaluation.")
    plda: Plda = field(Plda(), "Arguments of PLDA, fitted to training data.")
    num_resamples: int = field(
        0, "Number of resamples for confidence intervals; 0 for none."
    )
    calibrate: bool = field(
        True, "Whether scores are calibrated on the validation classes."
    )
    false_accept_rates: tuple[float, ...] = field(
        (0.01,), "Rates of the thresholds chosen on the validation classes."
    )
    num_per_class: int = field(
        0, "Examples of each class in the pairs of a split; 0 uses all."
    )
    euclidean: bool = field(
        False, "Whether to score by the Euclidean distance, too."
    )
    num_enrolled: int = field(
        0, "Number of enrolled examples per claimed class; 0: no claims."
    )
    trials_split: str = field("", "Split of the examples in lists of trials.")
    trials: Mapping[str, str] = field(
        {}, "Lists of trials below manual_dir, by name."
    )
    validation: VerificationValidation = field(
        VerificationValidation(), "Evaluated after each epoch."
    )

    monitor: ClassVar[str] = "val_accuracy_at_equal_error"


@dataclasses.dataclass(frozen=True)
class Uncertainty(Evaluation):
    """Uncertainties on damaged images: do they see damage and errors?"""

    name: str = field("uncertainty", "The evaluation.")
    num_per_class: int = field(100, "Images of each class; 0 uses all.")
    kinds: tuple[str, ...] = field(
        (
            "occlusion",
            "stripes",
            "contrast",
            "brightness",
            "pixelation",
            "zooming_out",
            "waves",
            "mixing",
            "blur",
            "noise",
        ),
        "Kinds of damage of datasets.degrade.",
    )
    num_classes: int = field(20, "Classes per episode.")
    num_support: int = field(5, "Supports per class.")
    num_query: int = field(15, "Queries per class.")
    num_episodes: int = field(100, "Number of episodes under each condition.")
    num_samples: int = field(50, "Samples per Gaussian embedding.")
    validation: UncertaintyValidation = field(
        UncertaintyValidation(), "Evaluated after each epoch."
    )

    monitor: ClassVar[str] = "val_recall_at_1"


EVALUATIONS = {
    "few_shot": FewShot,
    "disentanglement": Disentanglement,
    "retrieval": Retrieval,
    "verification": Verification,
    "n_digit_few_shot": NDigitFewShot,
    "colour_orientation": ColourOrientation,
    "out_of_distribution": OutOfDistribution,
    "uncertainty": Uncertainty,
}
