"""Rows of the table of claims for the papers on the F-statistic loss."""

import dataclasses
from collections.abc import Sequence

from tools import cross_validation_results as folds
from tools import num_dims_sweep
from tools import untrained_networks
from tools.paired_difference import PairedDifference
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.reproduced_verdicts import NO_DATA
from tools.reproduced_verdicts import NO_EXPERIMENT
from tools.reproduced_verdicts import judged
from tools.reproduced_verdicts import named_folds
from tools.reproduced_verdicts import not_attempted
from tools.reproduced_verdicts import of_differences

WEAPON, EVERY = "sprites/weapon_visible", "sprites/all_frames"
NORB = "small_norb"
SETS = {WEAPON: "weapon visible", EVERY: "all frames"}
LOSSES = ("triplet", "histogram")
# In place of a loss: the mean of ten networks without training.
UNTRAINED = "untrained"
BESIDE = {loss: loss for loss in (*LOSSES, UNTRAINED)} | {
    f"{loss}_former_winner": f"{loss} (former winner)" for loss in LOSSES
}
BOTH_MEASURES = ("modularity", "explicitness")
SHOWN = ("modularity", "modularity_corrected", "explicitness")
ALONE = "single_dimension_auc"
# Left to run for beta-VAEs once they have all folds.
MORE_SEEDS = (
    "beta-VAEs have one seed: more seeds, up to 20 minutes a fold; the paper "
    "does not say how it trained them"
)
RETRIEVED = {
    ("sprites", WEAPON): "Sprites, weapon visible",
    ("sprites", EVERY): "Sprites, all frames",
    ("omniglot", "omniglot"): "Omniglot",
}
RIVALS = ("histogram", "triplet", "lifted_structure", "binomial_deviance")
RECALLED = {loss: loss.replace("_", " ") for loss in RIVALS} | {
    f"{loss}_former_winner": f"{loss.replace('_', ' ')} (former winner)"
    for loss in RIVALS
}
# Folds of a difference, unless a row says otherwise.
USUAL = 4
BETAS = (1, 2, 4, 8)
VAES = {f"beta_vae_{beta}": f"beta = {beta}" for beta in BETAS}
ORACLE = "f_statistic_class_oracle"


@dataclasses.dataclass(frozen=True)
class Differences:
    """Differences between methods of one family of results.

    Attributes:
        results: Results by recipe and data set.
        networks: Networks without training, by data set.
    """

    results: dict
    networks: dict

    def of(
        self,
        rival: str,
        data: str,
        name: str,
        prefix: str = "sprites",
        first: str = "f_statistic",
    ) -> PairedDifference | None:
        """The F-statistic loss minus a rival, or minus untrained networks."""
        ours = self.results.get((f"{prefix}_{first}", data))
        theirs = self.results.get((f"{prefix}_{rival}", data))
        if ours is None or (theirs is None and rival != UNTRAINED):
            return None
        own = ours, f"test.{name}"
        if rival == UNTRAINED:
            mean = untrained_networks.of_mean_network(self.networks[data], name)
            pair = folds.by_fold(*own), mean
        else:
            pair = folds.paired(own, (theirs, f"test.{name}"))
        return paired_difference(*pair, ratio_of_test_to_train(ours["config"]))

    def of_measures(
        self, rivals: dict, names: Sequence[str], first: str = "f_statistic"
    ) -> str:
        """All differences of some measures, by data set, in words."""
        parts = []
        for data, where in SETS.items():
            for name in names:
                cells = {
                    shown: self.of(rival, data, name, first=first)
                    for rival, shown in rivals.items()
                }
                if text := listed(cells, 3):
                    parts.append(f"{where}, {folds.MEASURES[name]}: {text}")
        return "; ".join(parts)

    def of_recall(self, first: str = "f_statistic") -> str:
        """All differences of recall@1 in points, by data set, in words."""
        parts = []
        for (prefix, data), where in RETRIEVED.items():
            prefix = f"{prefix}_retrieval"
            cells = {
                shown: self.of(loss, data, "recall_at_1", prefix, first)
                for loss, shown in RECALLED.items()
            }
            if text := listed(cells, 1, 100):
                parts.append(f"{where}: {text}")
        return "; ".join(parts)


def f_statistic_rows(found: dict, searched: dict) -> list[tuple]:
    """Figures and tables of Ridgeway & Mozer 2018, and of their workshop.

    Args:
        found: Results by recipe and data set.
        searched: The winners of searches with equal budgets, in the same form.
            Where both methods of a difference have one, its verdict is theirs.
    """
    networks = untrained_networks.load()
    by_hand = Differences(found, networks)
    equal = Differences(searched, networks)
    return [
        (
            "Figure 1: how the loss moves points",
            NO_EXPERIMENT,
            "",
            "an illustration without data; the [page of the loss]"
            "(../f_statistic_loss.md) explains "
            "the value",
        ),
        *_retrieval_rows(by_hand, equal),
        _disentangling_row(by_hand, equal),
        *_vae_rows(by_hand, equal),
        *_workshop_rows(by_hand, equal),
    ]


def _retrieval_rows(by_hand: Differences, equal: Differences) -> list[tuple]:
    found = by_hand.results
    sweep = num_dims_sweep.sweep(found)
    searched = equal.of_recall()
    if wide := equal.of_recall("f_statistic_70_of_500"):
        searched += f". A second search, with 500 dimensions: {wide}"
    return [
        (
            "Figure 2 (Table 2 in the text): recall@1 against four losses: "
            "the best on CUHK03, level on Market-1501, behind the best on "
            "CUB-200",
            not_attempted("cuhk03_", "market1501_", "cub200_f_statistic"),
            f"{NO_DATA}; on other data the F-statistic minus, in points: "
            f"{_beside(by_hand.of_recall(), searched)}",
            "the three sets and a GPU; [recipes](recipes_not_run.md)"
            + "; equal searches" * (not searched),
        ),
        (
            'Section 2.1: "relatively insensitive to d for 2 < d < 100"; d is '
            "`num_dims`, of 500 dimensions",
            num_dims_sweep.verdict(sweep),
            _over_num_dims(sweep),
            _left_of_sweep(found, sweep),
        ),
    ]


def _disentangling_row(by_hand: Differences, equal: Differences) -> tuple:
    def judged_by(*words):
        return equal.of(*words) or by_hand.of(*words)

    of_sets = ("sprites", WEAPON), ("sprites", EVERY), (NORB, NORB)
    higher = [
        judged_by(rival, data, "modularity", prefix)
        for rival in LOSSES
        for prefix, data in of_sets
    ] + [judged_by(rival, NORB, "explicitness", NORB) for rival in LOSSES]
    level = [
        judged_by(rival, data, "explicitness")
        for rival in LOSSES
        for data in (WEAPON, EVERY)
    ]
    return (
        "Figure 3: the F-statistic loss has the highest modularity on "
        "Sprites and small NORB. Its explicitness is level on Sprites and "
        "the highest on small NORB",
        of_differences(higher, level),
        "Sprites, the F-statistic minus, "
        + _beside(*_of_measures(by_hand, equal, SHOWN)),
        f"{_searches(equal)}small NORB's files (`small_norb_*`)",
    )


def _vae_rows(by_hand: Differences, equal: Differences) -> list[tuple]:
    of_oracle = [
        by_hand.of(vae, data, name, first=ORACLE)
        for vae in VAES
        for data in SETS
        for name in BOTH_MEASURES
    ]
    least, *_, most = VAES
    of_beta = [
        by_hand.of(rival, data, name, first=first)
        for data in SETS
        for first, rival, name in (
            (most, least, "modularity"),
            (least, most, "explicitness"),
        )
    ]
    measures = (*SHOWN, ALONE)
    searched = equal.of_measures({"beta_vae": "beta-VAE"}, measures)
    return [
        (
            "Figure 4: modularity and explicitness of beta-VAEs on Sprites, "
            "both below the F-statistic's",
            of_differences(cells_of_vaes(by_hand, equal)),
            "the F-statistic minus, "
            + _beside(by_hand.of_measures(VAES, measures), searched),
            _left(by_hand.results, VAES),
        ),
        (
            "Figure 4: the F-statistic with the class-aware oracle is above "
            "every beta-VAE",
            of_differences(of_oracle),
            "the class oracle minus, "
            + by_hand.of_measures(VAES, SHOWN, first=ORACLE),
            _left(by_hand.results, {**VAES, ORACLE: "class oracle"}),
        ),
        (
            "Figure 4: as beta rises, modularity rises and explicitness falls",
            of_differences(of_beta),
            f"{VAES[most]} minus, "
            + by_hand.of_measures({least: VAES[least]}, SHOWN, first=most),
            _left(by_hand.results, {vae: VAES[vae] for vae in (least, most)}),
        ),
    ]


def cells_of_vaes(
    by_hand: Differences, equal: Differences
) -> list[PairedDifference | None]:
    """The F-statistic loss minus each beta-VAE, by data set and measure.

    A search has one beta-VAE, and gives one cell in place of four.
    """
    cells = []
    for data in SETS:
        for name in BOTH_MEASURES:
            of_search = equal.of("beta_vae", data, name)
            each = [by_hand.of(vae, data, name) for vae in VAES]
            cells += [of_search] if of_search else each
    return cells


def _workshop_rows(by_hand: Differences, equal: Differences) -> list[tuple]:
    return [
        (
            "Workshop, Figure 1: three embeddings of one data set",
            NO_EXPERIMENT,
            "",
            "an illustration without data",
        ),
        (
            "Workshop, Figure 2: recall@k on CUHK03",
            not_attempted("cuhk03_"),
            NO_DATA,
            "CUHK03; recipes `cuhk03_*`",
        ),
        (
            "Workshop, Figure 3: AUC of single dimensions on Sprites",
            judged("in part"),
            "the F-statistic minus, "
            + _beside(*_of_measures(by_hand, equal, [ALONE]))
            + "; [figure](sprites_and_omniglot.md)",
            f"{_searches(equal)}the paper prints a figure without numbers",
        ),
    ]


def listed(cells: dict, digits: int, scale: float = 1) -> str:
    """Returns `name difference` of each difference that is not None.

    A difference with another number of folds than `USUAL` has it.
    """
    return ", ".join(
        f"{name} {as_cell(each, digits, scale)}"
        + f" over {each.count} fold{'s' * (each.count > 1)}"
        * (each.count != USUAL)
        for name, each in cells.items()
        if each is not None
    )


def _beside(by_hand: str, equal: str) -> str:
    """Differences of the tables, and of the equal budgets."""
    return f"{by_hand}. Equal budgets: {equal or 'not run'}"


def _of_measures(
    by_hand: Differences, equal: Differences, names: Sequence[str]
) -> tuple[str, str]:
    return by_hand.of_measures(BESIDE, names), equal.of_measures(BESIDE, names)


def _searches(equal: Differences) -> str:
    """What is left of the searches for disentangling."""
    found = equal.of_measures(BESIDE, (*SHOWN, ALONE))
    return "" if found else "equal searches; "


def _over_num_dims(sweep: dict[int, dict]) -> str:
    """Differences of the sweep over `num_dims`, of the runs of all values."""
    found = num_dims_sweep.differences(sweep)
    if not found:
        return ""
    return (
        f"Omniglot, {num_dims_sweep.which_runs(sweep)}, recall@1 minus that of "
        f"{num_dims_sweep.REFERENCE} dimensions, points: "
        + "; ".join(
            f"{num_dims}: {as_cell(each, 1, 100)}"
            for num_dims, each in found.items()
        )
    )


def _left_of_sweep(found: dict, sweep: dict[int, dict]) -> str:
    left = num_dims_sweep.left(sweep, _every_fold(found))
    recipe = "`omniglot_retrieval_f_statistic_K_of_500`"
    return f"{recipe}: {left}" if left else recipe


def _left(found: dict, recipes: dict[str, str]) -> str:
    """The folds of some recipes that are left to run; if none, more seeds.

    Args:
        found: Results by recipe and data set.
        recipes: Names to show, by recipe without `sprites_`.
    """
    every = set(_every_fold(found))
    left = []
    for data, where in SETS.items():
        by_folds: dict = {}
        for recipe, shown in recipes.items():
            results = found.get((f"sprites_{recipe}", data), {"folds": ()})
            missing = frozenset(every - set(results["folds"]))
            by_folds.setdefault(missing, []).append(shown)
        left += [
            f"{where} {named_folds(missing)}"
            + f" ({', '.join(names)})" * (len(names) < len(recipes))
            for missing, names in by_folds.items()
            if missing
        ]
    if not left:
        return MORE_SEEDS
    return f"{', '.join(left)}: up to 20 minutes a fold"


def _every_fold(found: dict) -> list[str]:
    """The folds but fold 0, which is for tuning."""
    number = found["sprites_f_statistic", EVERY]["config"]["folds"]["num_folds"]
    return [str(fold) for fold in range(1, number)]
