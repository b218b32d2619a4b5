"""Rows of the table of claims for the paper on the learned distance."""

import dataclasses
import statistics

from tools import cross_validation_results as folds
from tools import distance_depth_table
from tools import equal_budgets_results as winners
from tools import plda_adaptation
from tools import verification_results as trials
from tools.claims import of_one_seed
from tools.paired_difference import PairedDifference
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
    "its mean with its cosine": trials.SCORES["fused"],
    "its cosine with AS-norm": trials.SCORES["cosine_as_norm"],
    "its PLDA": trials.SCORES["plda"],
    "its Euclidean distance": trials.SCORES["l2"],
}
BASELINES = {
    "the distance without a classifier": ALONE,
    "the triplet loss": ("triplet", "cosine"),
    "the triplet loss by PLDA": ("triplet", trials.SCORES["plda"]),
    "the triplet loss with a classifier": ("triplet and classifier", "cosine"),
    "the triplet loss of all triplets": ("triplet, all triplets", "cosine"),
}
# What Table 2 compares the distance with.
OF_TABLE_2 = {
    "its own cosine": ("learned distance", "cosine"),
    "its mean with its cosine": ("learned distance", trials.SCORES["fused"]),
    "its own PLDA": ("learned distance", trials.SCORES["plda"]),
    "the distance without the classifier": ALONE,
}
# Monteiro et al. 2020, EER in % on VoxCeleb1's test list, E and H.
TABLE_2 = {
    "the distance": (2.51, 2.57, 4.73),
    "its own cosine": (4.97, 4.77, 8.61),
    "its mean with its cosine": (2.51, 2.53, 4.69),
    "its own PLDA": (3.75, 3.61, 5.98),
    "the distance without the classifier": (3.44, 3.70, 7.76),
}
PUBLISHED = "recipes_not_run.md#published-numbers-of-learned-distances"
PLANE = "mnist_learned_distance"
CLUSTERS = "omniglot_retrieval_learned_distance"
_mean = statistics.fmean


@dataclasses.dataclass(frozen=True)
class Errors:
    """Differences between equal error rates of runs.

    Attributes:
        runs: Runs, as from `verification_results.load`.
    """

    runs: dict

    def rows(self, dataset: str, protocol: str = trials.FOLDS) -> dict:
        return trials.rows(self.runs, dataset, protocol)

    def difference(
        self,
        dataset: str,
        other: tuple,
        protocol: str = trials.FOLDS,
        ours: tuple = LEARNED,
    ) -> PairedDifference | None:
        """One method and score minus another, None unless both were run."""
        rows = self.rows(dataset, protocol)
        if ours not in rows or other not in rows:
            return None
        both = rows[ours], rows[other]
        unit = trials.paired_by(*both)[0]
        pair = trials.paired_numbers(*both, EER, unit)
        key = next(key for key in self.runs if key[:2] == (dataset, protocol))
        config = next(iter(self.runs[key].values()))["config"]
        ratio = ratio_of_test_to_train(config) if unit == "folds" else None
        return paired_difference(*pair, ratio)

    def minus(self, dataset: str, other: tuple) -> str:
        return as_cell(self.difference(dataset, other), 2, 100)

    def in_small(self, dataset: str, protocol: str = trials.FOLDS) -> str:
        """The differences of the paper's distances, or that none was run."""
        parts = {
            method: self._to_baselines(dataset, protocol, (method, score))
            for method, score in (LEARNED, ALONE)
        }
        shown = "; ".join(
            f"{m} minus {cells}" for m, cells in parts.items() if cells
        )
        return shown or "not run"

    def _to_baselines(self, dataset: str, protocol: str, ours: tuple) -> str:
        """Differences to every baseline that was run; empty for none."""
        method, _ = ours
        baselines = {w: (method, score) for w, score in OWN_SCORES.items()}
        baselines |= {w: r for w, r in BASELINES.items() if r != ours}
        cells = {
            what: self.difference(dataset, row, protocol, ours)
            for what, row in baselines.items()
        }
        return ", ".join(
            f"{what} {as_cell(each, 2, 100)}"
            for what, each in cells.items()
            if each is not None
        )


def learned_distance_rows(found: dict, searched: dict) -> list[tuple]:
    """Figures and tables of Monteiro et al. 2020.

    Args:
        found: Runs, as from `verification_results.load`.
        searched: The winners of searches with equal budgets, in the same form.
    """
    by_hand, equal = Errors(found), Errors(searched)
    return [
        ("Figure 1: verification", NO_EXPERIMENT, "", "an illustration"),
        _table_1(by_hand),
        _figure_2(by_hand),
        _table_2(by_hand, equal),
        _figure_3(by_hand),
        (
            "Figure 4: ImageNet, distances of one layer as good as the triplet "
            "loss, deeper ones better",
            not_attempted("imagenet_"),
            _depths(distance_depth_table.load()),
            "ImageNet and a GPU (`imagenet_*`)",
        ),
        (
            "Table 3: the TDNN encoder",
            NO_EXPERIMENT,
            "",
            "an architecture: `models.x_vector_encoder`; a test has its layers",
        ),
        _table_4(by_hand),
        (
            "Figure 5 and Table 5: retrieval and clusters of birds, cars and "
            "products",
            not_attempted("cub200_learned", "cars196_", "products_"),
            f"{NO_DATA} ([published]({PUBLISHED}): after training, clusters "
            "by the distance are better than by k-means on all three). "
            + _retrieved(folds.load()[CLUSTERS, "omniglot"])
            + "; [table](sprites_and_omniglot.md#omniglot-clusters-of-held-out"
            "-classes). After a search by recall@1 by L2: "
            + _retrieved(_searched())
            + "; [equal budgets](equal_budgets.md)",
            "the three sets, ImageNet weights and a GPU (`cub200_*`, "
            "`cars196_*`, `products_*`)",
        ),
    ]


def _table_1(errors: Errors) -> tuple:
    return (
        "Table 1: CIFAR-10 and mini-ImageNet, distance against cosine and "
        "triplet loss",
        not_attempted("cifar10_", "mini_imagenet_"),
        f"600 epochs of ResNet-18 need a GPU ([published]({PUBLISHED})). "
        "In small, EER of a distance, points. Omniglot: "
        f"{errors.in_small('omniglot')}. Tiny ImageNet, one seed: "
        f"{errors.in_small('tiny_images', trials.DIVISION)}. Distances with "
        "other losses, which the paper does not have: "
        "[verification](verification.md#omniglot-many-classes-to-learn-from)",
        "a GPU; recipes `cifar10_*`, `mini_imagenet_*`. In small: "
        "`tiny_images_*` (Tiny ImageNet, 32 x 32) and "
        "`omniglot_verification_*`",
    )


def _figure_2(errors: Errors) -> tuple:
    plane = errors.rows("mnist", trials.TASKS[PLANE])
    return (
        "Figure 2: digits in a plane",
        judged(of_one_seed("reproduced", 1)),
        f"EER {_eer(plane, LEARNED)} by the distance, "
        f"{_eer(plane, ('learned distance', 'cosine'))} by its cosine; "
        "[figure](../learned_distance.md#how-far-it-is-from-a-metric)",
        "the recipe `mnist_learned_distance`: five minutes; more seeds for a "
        "test",
    )


def _table_2(by_hand: Errors, equal: Errors) -> tuple:
    parts = []
    for other, row in OF_TABLE_2.items():
        published = ", ".join(
            f"{ours - theirs:+.2f}"
            for ours, theirs in zip(
                TABLE_2["the distance"], TABLE_2[other], strict=True
            )
        )
        parts.append(
            f"minus {other}: published {published}, AN4 "
            f"{by_hand.minus('an4', row)}, spoken digits "
            f"{by_hand.minus('spoken_digit', row)}"
        )
    return (
        "Table 2: VoxCeleb, the distance against its cosine, PLDA, and "
        "training without the auxiliary classifier",
        not_attempted("voxceleb_"),
        "no audio of VoxCeleb; EER of the distance, points "
        f"([published]({PUBLISHED}): VoxCeleb1's test list, E and H), "
        f"{'; '.join(parts)}. AN4, equal budgets, folds 1 to 4, one seed: "
        f"{equal.in_small('an4')}",
        "VoxCeleb 1 and 2, and a GPU for 2 million batches (`voxceleb_*`)",
    )


def _figure_3(errors: Errors) -> tuple:
    (run,) = errors.runs["mnist", trials.TASKS[PLANE], PLANE].values()
    properties = trials.of_test_split(run)
    return (
        "Figure 3: how far 1 - D is from a metric",
        judged(of_one_seed("in part", 1)),
        "on the digits in a plane, mean and largest: self distance "
        f"{_properties(properties, 'self_distance')}, asymmetry "
        f"{_properties(properties, 'asymmetry')}, excess over the "
        f"triangle {_properties(properties, 'triangle_excess')}",
        "the paper's sets; every evaluation draws the figure",
    )


def _table_4(errors: Errors) -> tuple:
    digits = errors.rows("mnist")
    fine_tuned = ("learned distance, Omniglot before", "learned distance")
    return (
        "Table 4: fine-tuning from English to Arabic speech",
        judged("not attempted"),
        "the data is not free. EER in the paper: the distance 13.61 % "
        "before and 8.43 % after; PLDA 11.30 %, adapted 9.44 %. From "
        "characters to digits: the distance before fine-tuning was not "
        f"tested; after it has {_eer(digits, fine_tuned)}, trained anew "
        f"{_eer(digits, LEARNED)}, difference in points "
        f"{errors.minus('mnist', fine_tuned)}; {_adapted()}",
        "the data of the paper; the steps are in "
        "[recipes that were not run](recipes_not_run.md)",
    )


def _eer(rows: dict, row: tuple) -> str:
    return f"{100 * _mean(trials.by_run(rows[row], EER)):.2f} %"


def _depths(found: dict[int, dict]) -> str:
    """The error by number of hidden layers, beside the triplet loss."""
    of_scores = {
        depth: distance_depth_table.errors_by_fold(
            results, "learned_distance" if depth else "cosine"
        )
        for depth, results in sorted(found.items())
    }
    mean = {
        depth: _mean(errors.values()) for depth, errors in of_scores.items()
    }
    own = distance_depth_table.OWN
    ratio = ratio_of_test_to_train(found[own]["config"])
    test = paired_difference(of_scores[own], of_scores[0], ratio)
    layers = ", ".join(f"{n}: {mean[n]:.1f}" for n in mean if n)
    return (
        f"AN4, {named_folds(found[own]['folds'])}, one seed, EER in % by "
        f"hidden layers: {layers}; triplet loss by cosine {mean[0]:.1f}; {own} "
        f"layers minus it, points: {as_cell(test, 2)}; "
        "[table](verification.md#hidden-layers-of-the-distance)"
    )


def _adapted() -> str:
    """PLDA before and after adaptation, from characters to digits."""
    found = plda_adaptation.load()
    if found is None:
        return "PLDA that is adapted: not run"
    source, equal = plda_adaptation.SOURCE, plda_adaptation.EQUAL
    before, after = (
        100 * _mean(fold[score] for fold in found["folds"].values())
        for score in (source, equal)
    )
    fewer = as_cell(plda_adaptation.differences(found)[equal], 2, 100)
    return (
        f"PLDA of characters {before:.2f} %, adapted to digits {after:.2f} %, "
        f"difference {fewer}"
    )


def _retrieved(results: dict) -> str:
    """Clusters and recall@1 by the distance, k-means and L2 on Omniglot."""
    ratio = ratio_of_test_to_train(results["config"])

    def of(name: str) -> float:
        return _mean(folds.values(results, name))

    def minus(ours: str, theirs: str, *how) -> str:
        pair = folds.paired((results, ours), (results, theirs))
        return as_cell(paired_difference(*pair, ratio), *how)

    start = "test.mutual_information"
    k_means, by_distance, to_means = (
        f"{start}_{kind}"
        for kind in (
            "k_means",
            "learned_distance_to_k_means",
            "learned_distance_to_class_means",
        )
    )
    count = len(folds.seeds_of(results))
    seeds = "one seed" if count == 1 else f"{count} seeds"
    ranked, by_l2 = "test_learned_distance.recall_at_1", "test.recall_at_1"
    return (
        f"Omniglot, {named_folds(results['folds'])}, {seeds}, normalized "
        f"mutual information: k-means {of(k_means):.3f}, by the distance to "
        f"its centroids {of(by_distance):.3f}, difference "
        f"{minus(by_distance, k_means, 3)}; by the distance to class means "
        f"{of(to_means):.3f}. Recall@1 by the distance {100 * of(ranked):.1f} "
        f"%, by L2 {100 * of(by_l2):.1f} %, difference "
        f"{minus(ranked, by_l2, 1, 100)}"
    )


def _searched() -> dict:
    """The winner of the search of `CLUSTERS`."""
    found = winners.of_evaluation(winners.load(), "retrieval")
    return folds.together(found)[CLUSTERS, "omniglot"]


def _properties(found: dict, name: str) -> str:
    return f"{found[f'mean_{name}']:.3f} and {found[f'largest_{name}']:.2f}"
