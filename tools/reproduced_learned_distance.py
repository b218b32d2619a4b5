"""What was reproduced of the figures and tables about the learned distance."""

import statistics

from tools import cross_validation_results as folds
from tools import distance_depth_table
from tools import plda_adaptation
from tools import verification_results as trials
from tools.claims import of_one_seed
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.reproduced_verdicts import NO_DATA
from tools.reproduced_verdicts import NO_EXPERIMENT
from tools.reproduced_verdicts import judged
from tools.reproduced_verdicts import named_folds
from tools.reproduced_verdicts import not_attempted

EER = "equal_error_rate"
LEARNED = ("learned distance", "learned distance")
ALONE = ("learned distance, no classifier", "learned distance")
# Other scores of the same embeddings, and other methods.
OWN_SCORES = {
    "its own cosine": trials.SCORES["cosine"],
    "its PLDA": trials.SCORES["plda"],
    "its Euclidean distance": trials.SCORES["l2"],
}
BASELINES = {
    "the distance without a classifier": ALONE,
    "the triplet loss": ("triplet", "cosine"),
    "the triplet loss by PLDA": ("triplet", trials.SCORES["plda"]),
    "the triplet loss with a classifier": ("triplet and classifier", "cosine"),
}
# Distances that score the embeddings of another loss.
OVER_ANOTHER = [
    (name, "learned distance")
    for recipe, name in trials.METHODS.items()
    if recipe.endswith(("_frozen", "_joint"))
]
PLANE = "mnist_learned_distance"
CLUSTERS = "omniglot_retrieval_learned_distance"
_mean = statistics.fmean


def learned_distance_rows(found: dict, searched: dict) -> list[tuple]:
    """Figures and tables of Monteiro et al. 2020.

    Args:
        found: Runs, as from `verification_results.load`.
        searched: The winners of searches with equal budgets, in the same form.
    """

    def of(dataset, protocol):
        return trials.rows(found, dataset, protocol)

    def difference(
        dataset, other, protocol=trials.FOLDS, ours=LEARNED, runs=found
    ):
        rows = trials.rows(runs, dataset, protocol)
        if ours not in rows or other not in rows:
            return None
        both = rows[ours], rows[other]
        pair = trials.paired_numbers(*both, EER)
        key = next(key for key in runs if key[:2] == (dataset, protocol))
        config = next(iter(runs[key].values()))["config"]
        by_fold = trials.paired_by(*both) == "folds"
        ratio = ratio_of_test_to_train(config) if by_fold else None
        return paired_difference(*pair, ratio)

    def minus(dataset, other) -> str:
        return as_cell(difference(dataset, other), 2, 100)

    def to_baselines(dataset, protocol, ours, runs=found) -> str:
        """Differences to every baseline that was run; empty for none."""
        method, _ = ours
        baselines = {w: (method, score) for w, score in OWN_SCORES.items()}
        if ours not in OVER_ANOTHER:
            baselines |= {w: r for w, r in BASELINES.items() if r != ours}
        cells = {
            what: difference(dataset, row, protocol, ours, runs)
            for what, row in baselines.items()
        }
        return ", ".join(
            f"{what} {as_cell(each, 2, 100)}"
            for what, each in cells.items()
            if each is not None
        )

    def in_small(dataset, protocol, runs=found) -> str:
        """The differences of each distance that was run, or that none was."""
        parts = {
            method: to_baselines(dataset, protocol, (method, score), runs)
            for method, score in (LEARNED, ALONE, *OVER_ANOTHER)
        }
        shown = "; ".join(
            f"{m} minus {cells}" for m, cells in parts.items() if cells
        )
        return shown or "not run"

    def eer(rows, *row) -> str:
        return f"{100 * _mean(trials.by_run(rows[row], EER)):.2f} %"

    adapted = plda_adaptation.load()
    adaptation = adapted and as_cell(
        plda_adaptation.differences(adapted)[plda_adaptation.EQUAL], 2, 100
    )
    clusters = folds.load()[CLUSTERS, "omniglot"]
    depth = next(iter(distance_depth_table.load().values()))
    plane = of("mnist", trials.TASKS["mnist_learned_distance"])
    (figure_3,) = found[
        "mnist", trials.TASKS["mnist_learned_distance"], PLANE
    ].values()
    properties = trials.of_test_split(figure_3)
    own, triplet = ("learned distance", "cosine"), ("triplet", "cosine")
    fine_tuned = ("learned distance, Omniglot before", "learned distance")
    return [
        ("Figure 1: verification", NO_EXPERIMENT, "", "an illustration"),
        (
            "Table 1: CIFAR-10 and mini-ImageNet, distance against cosine and "
            "triplet loss",
            not_attempted("cifar10_", "mini_imagenet_"),
            "600 epochs of ResNet-18 need a GPU. In small, EER of a distance, "
            "points. Omniglot: "
            f"{in_small('omniglot', trials.FOLDS)}. Tiny ImageNet: "
            f"{in_small('tiny_images', trials.DIVISION)}",
            "a GPU; recipes `cifar10_*`, `mini_imagenet_*`. In small: "
            "`tiny_images_*` (Tiny ImageNet, 32 x 32) and "
            "`omniglot_verification_*`",
        ),
        (
            "Figure 2: digits in a plane",
            judged(of_one_seed("reproduced", 1)),
            f"EER {eer(plane, *LEARNED)} by the distance, "
            f"{eer(plane, *own)} by its cosine; "
            "[figure](../learned_distance.md#how-far-it-is-from-a-metric)",
            "",
        ),
        (
            "Table 2: VoxCeleb, distance against PLDA and cosine",
            not_attempted("voxceleb_"),
            "no audio of VoxCeleb; EER of the distance minus its own cosine, "
            f"points: AN4 {minus('an4', own)}, spoken digits "
            f"{minus('spoken_digit', own)}; minus the triplet loss: AN4 "
            f"{minus('an4', triplet)}, spoken digits "
            f"{minus('spoken_digit', triplet)}. AN4 with equal budgets: "
            f"{in_small('an4', trials.FOLDS, searched)}",
            "VoxCeleb 1 and 2, and a GPU for 2 million batches (`voxceleb_*`)",
        ),
        (
            "Figure 3: how far 1 - D is from a metric",
            judged(of_one_seed("in part", 1)),
            "on the digits in a plane, mean and largest: self distance "
            f"{_properties(properties, 'self_distance')}, asymmetry "
            f"{_properties(properties, 'asymmetry')}, excess over the "
            f"triangle {_properties(properties, 'triangle_excess')}",
            "the paper's sets; every evaluation draws the figure",
        ),
        (
            "Figure 4: depth of the distance on ImageNet",
            not_attempted("imagenet_"),
            f"AN4, {named_folds(depth['folds'])}: [no decision](verification.md"
            "#hidden-layers-of-the-distance)",
            "ImageNet and a GPU (`imagenet_*`); on AN4 the other folds",
        ),
        (
            "Table 3: the TDNN encoder",
            NO_EXPERIMENT,
            "",
            "an architecture: `models.x_vector_encoder`; a test has its layers",
        ),
        (
            "Table 4: fine-tuning from English to Arabic speech",
            judged("not attempted"),
            "the data is not free; from characters to digits, EER of training "
            "anew minus fine-tuning, points: "
            f"{minus('mnist', fine_tuned)}; PLDA of characters minus adapted "
            f"to digits: {adaptation or 'not run'}",
            "the data of the paper; the steps are in "
            "[recipes that were not run](recipes_not_run.md)",
        ),
        (
            "Figure 5 and Table 5: retrieval and clusters of birds, cars and "
            "products",
            not_attempted("cub200_learned", "cars196_", "products_"),
            f"{NO_DATA}; Omniglot, {named_folds(clusters['folds'])}: "
            "[clusters](sprites_and_omniglot.md"
            "#omniglot-clusters-of-held-out-classes)",
            "the three sets, ImageNet weights and a GPU (`cub200_*`, "
            "`cars196_*`, `products_*`)",
        ),
    ]


def _properties(found: dict, name: str) -> str:
    return f"{found[f'mean_{name}']:.3f} and {found[f'largest_{name}']:.2f}"
