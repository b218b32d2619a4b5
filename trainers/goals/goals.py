"""What people train embeddings for, and the methods that fit each goal.

A goal has a default method, an evaluation, and the number by which
`trainers.compare` compares methods. A method has its section of the recipe,
its batches, and whether its embeddings are Gaussians.
"""

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from trainers.recipes import sections


@dataclasses.dataclass(frozen=True)
class TrainedBy:
    """How a method enters a recipe.

    section: `loss` or `objective`, with its arguments.
    episodes: Whether batches are episodes, or some examples of each class.
    gaussian: Whether the encoder ends in a Gaussian.
    distance: Distance by which retrieval ranks.
    """

    section: Mapping[str, Any]
    episodes: bool = False
    gaussian: bool = False
    distance: str = "l2"


def objective(name: str, **arguments) -> dict:
    return {"objective": {"name": name, **arguments}}


TRAINED_BY = {
    "StochasticPrototypes": TrainedBy(
        objective("StochasticPrototypes"), episodes=True, gaussian=True
    ),
    "PrototypicalLoss": TrainedBy(
        sections.loss("PrototypicalLoss"), episodes=True
    ),
    "HedgedInstances": TrainedBy(objective("HedgedInstances"), gaussian=True),
    "SoftContrastive": TrainedBy(objective("SoftContrastive")),
    "LearnedDistance": TrainedBy(
        sections.learned_distance(
            num_units=128, encoder_loss={"name": "LiftedStructureLoss"}
        )
    ),
    "FStatisticLoss": TrainedBy(sections.loss("FStatisticLoss")),
    "TripletLoss": TrainedBy(sections.loss("TripletLoss")),
    "HistogramLoss": TrainedBy(
        sections.loss("HistogramLoss"), distance="cosine"
    ),
    "BinomialDevianceLoss": TrainedBy(
        sections.loss("BinomialDevianceLoss"), distance="cosine"
    ),
    "LiftedStructureLoss": TrainedBy(sections.loss("LiftedStructureLoss")),
    "ContrastiveLoss": TrainedBy(sections.loss("ContrastiveLoss")),
}


@dataclasses.dataclass(frozen=True)
class Goal:
    """A goal of training.

    about: What the embedding is for, in a few words.
    method: Used without `--method`.
    dim: Dimensions of the embedding.
    compare: Methods that `trainers.compare` trains without `--methods`.
    number: Name of the number by which methods are compared.
    measure: Returns that number, from the results of an evaluation.
    higher_is_better: The direction of that number.
    refused: Methods that do not fit, each with the reason.
    """

    about: str
    method: str
    dim: int
    compare: tuple[str, ...]
    number: str
    measure: Callable[[dict], float]
    higher_is_better: bool = True
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def method_or_default(self, method: str | None) -> str:
        """Returns the method; for None, the goal's own.

        Raises:
            ValueError: If the method does not fit the goal.
        """
        method = self.method if method is None else method
        self.require(method)
        return method

    def require(self, method: str) -> None:
        """Raises ValueError if a method does not fit the goal."""
        if method in self.refused:
            raise ValueError(f"{method} does not fit: {self.refused[method]}")
        if method not in TRAINED_BY:
            known = [name for name in TRAINED_BY if name not in self.refused]
            raise ValueError(
                f"unknown method {method!r}; expected one of {', '.join(known)}"
            )


def _few_shot(results: dict) -> float:
    return results["test"]["clean"]["accuracy"]


def _retrieve(results: dict) -> float:
    return results["test"]["recall_at_1"]


def _verify(results: dict) -> float:
    """By the method's own score, as the command `verify`."""
    found = results["test"]
    return found[found["own_score"]]["equal_error_rate"]


def _disentangle(results: dict) -> float:
    found = results["test"]
    return (found["modularity_corrected"] + found["explicitness"]) / 2


ONE_LABELLING = (
    "its batches are episodes of one labelling, and its axes follow the "
    "classes, not the factors"
)
GOALS = {
    "few_shot": Goal(
        about="classify new classes from a few examples of each",
        method="StochasticPrototypes",
        dim=16,
        compare=(
            "StochasticPrototypes",
            "PrototypicalLoss",
            "HedgedInstances",
            "LearnedDistance",
            "TripletLoss",
        ),
        number="few-shot accuracy",
        measure=_few_shot,
        refused={
            "FStatisticLoss": "it separates classes along a few dimensions "
            "each, and class means compare all dimensions; take it for the "
            "goal disentangle"
        },
    ),
    "retrieve": Goal(
        about="find examples of the same class among many",
        method="LiftedStructureLoss",
        dim=64,
        compare=(
            "LiftedStructureLoss",
            "TripletLoss",
            "HistogramLoss",
            "BinomialDevianceLoss",
            "PrototypicalLoss",
        ),
        number="recall@1",
        measure=_retrieve,
    ),
    "verify": Goal(
        about="decide whether two examples are of the same class",
        method="LearnedDistance",
        dim=64,
        compare=(
            "LearnedDistance",
            "LiftedStructureLoss",
            "HistogramLoss",
            "TripletLoss",
            "BinomialDevianceLoss",
        ),
        number="equal error rate",
        measure=_verify,
        higher_is_better=False,
        refused={
            "FStatisticLoss": "it separates classes along a few dimensions "
            "each, and the score of a pair compares all dimensions; take it "
            "for the goal disentangle"
        },
    ),
    "disentangle": Goal(
        about="give single dimensions a meaning, from several factors",
        method="FStatisticLoss",
        dim=0,  # from the number of factors
        compare=(
            "FStatisticLoss",
            "TripletLoss",
            "HistogramLoss",
            "BinomialDevianceLoss",
            "LiftedStructureLoss",
        ),
        number="mean of modularity (corrected for chance) and explicitness",
        measure=_disentangle,
        refused={
            "StochasticPrototypes": ONE_LABELLING,
            "PrototypicalLoss": ONE_LABELLING,
            "LearnedDistance": "its distance is a network, so single "
            "dimensions need not mean anything",
            "HedgedInstances": "batches of one factor at a time would change "
            "the meaning of a match from batch to batch",
            "SoftContrastive": "batches of one factor at a time would change "
            "the meaning of a match from batch to batch",
        },
    ),
}


def goal_of(name: str) -> Goal:
    """The goal of that name.

    Raises:
        ValueError: If there is none; the message lists all.
    """
    if name not in GOALS:
        known = "; ".join(f"{k} ({g.about})" for k, g in GOALS.items())
        raise ValueError(f"unknown goal {name!r}; expected one of {known}")
    return GOALS[name]
