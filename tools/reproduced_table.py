"""Writes what was reproduced of the F-statistic loss and the learned distance.

    python -m tools.reproduced_table

Every number in these two tables of `docs/results/reproduced.md` comes from the
result files in `benchmarks/results`.
"""

from tools import cross_validation_results as folds
from tools import equal_budgets_results as winners
from tools import num_dims_sweep
from tools import untrained_networks
from tools import verification_results as trials
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.reproduced_learned_distance import learned_distance_rows
from tools.reproduced_verdicts import NO_DATA
from tools.reproduced_verdicts import NO_EXPERIMENT
from tools.reproduced_verdicts import PARTS
from tools.reproduced_verdicts import judged
from tools.reproduced_verdicts import named_folds
from tools.reproduced_verdicts import not_attempted
from tools.reproduced_verdicts import of_differences

PAGE = ROOT / "docs" / "results" / "reproduced.md"
MARKS = {
    name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
    for name in ("F-statistic", "learned distance")
}
WEAPON, EVERY = "sprites/weapon_visible", "sprites/all_frames"
SETS = {WEAPON: "weapon visible", EVERY: "all frames"}
LOSSES = ("triplet", "histogram")
SHOWN = (
    "modularity",
    "modularity_corrected",
    "explicitness",
    "single_dimension_auc",
)
RETRIEVED = {
    ("sprites", WEAPON): "Sprites, weapon visible",
    ("sprites", EVERY): "Sprites, all frames",
    ("omniglot", "omniglot"): "Omniglot",
}
RIVALS = ("histogram", "triplet", "lifted_structure", "binomial_deviance")
# In place of a loss: the mean of ten networks without training.
UNTRAINED = "untrained"
# Folds of a difference, unless a row says otherwise.
USUAL = 4
NO_RUN: dict = {"folds": {}}
BETAS = (1, 2, 4, 8)


def table(rows: list[tuple]) -> str:
    """Returns Markdown of `(what, verdict, our numbers, what it takes)`."""
    lines = [
        "| in the paper | verdict | ours | what a reproduction takes |",
        "|---|---|---|---|",
    ]
    for what, verdict, ours, takes in rows:
        if verdict not in PARTS:
            raise ValueError(f"{what}: received the verdict {verdict!r}")
        lines.append(f"| {what} | **{verdict}** | {ours} | {takes} |")
    return "\n".join(lines)


def f_statistic_rows(found: dict, searched: dict) -> list[tuple]:
    """Figures and tables of Ridgeway & Mozer 2018, and of their workshop.

    Args:
        found: Results by recipe and data set.
        searched: The winners of searches with equal budgets, in the same form.
            Where both methods of a difference have one, its verdict is theirs.
    """

    networks = untrained_networks.load()

    def difference(
        results: dict,
        rival: str,
        data: str,
        name: str,
        prefix="sprites",
        first="f_statistic",
    ):
        """The F-statistic loss minus a rival, or minus untrained networks."""
        ours = results.get((f"{prefix}_{first}", data))
        theirs = results.get((f"{prefix}_{rival}", data))
        if ours is None or (theirs is None and rival != UNTRAINED):
            return None
        own = ours, f"test.{name}"
        if rival == UNTRAINED:
            mean = untrained_networks.of_mean_network(networks[data], name)
            pair = folds.by_fold(*own), mean
        else:
            pair = folds.paired(own, (theirs, f"test.{name}"))
        ratio = ratio_of_test_to_train(ours["config"])
        return paired_difference(*pair, ratio)

    def judged_by(*words):
        return difference(searched, *words) or difference(found, *words)

    def minus(results: dict, rivals: dict, data: str, name: str, **more) -> str:
        """Differences of the rivals that have the measure, by their names."""
        cells = {
            shown: difference(results, rival, data, name, **more)
            for rival, shown in rivals.items()
        }
        return listed(cells, 3)

    def measures(results: dict, rivals: dict, names, **more) -> str:
        """All differences of some measures, by data set."""
        parts = [
            f"{where}, {folds.MEASURES[name]}: {text}"
            for data, where in SETS.items()
            for name in names
            if (text := minus(results, rivals, data, name, **more))
        ]
        return "; ".join(parts)

    def recall(results: dict) -> str:
        parts = []
        for (prefix, data), where in RETRIEVED.items():
            cells = {
                loss.replace("_", " "): difference(
                    results, loss, data, "recall_at_1", f"{prefix}_retrieval"
                )
                for loss in RIVALS
            }
            if text := listed(cells, 1, 100):
                parts.append(f"{where}{_fewer_folds(cells)}: {text}")
        return "; ".join(parts)

    def both(text_of, *words) -> str:
        """Differences of the tables, and of the equal budgets."""
        return (
            f"{text_of(found, *words)}. Equal budgets: "
            f"{text_of(searched, *words) or 'not run'}"
        )

    norb = "small_norb"
    of_sets = ("sprites", WEAPON), ("sprites", EVERY), (norb, norb)
    higher = [
        judged_by(rival, data, "modularity", prefix)
        for rival in LOSSES
        for prefix, data in of_sets
    ] + [judged_by(rival, norb, "explicitness", norb) for rival in LOSSES]
    level = [
        judged_by(rival, data, "explicitness")
        for rival in LOSSES
        for data in (WEAPON, EVERY)
    ]
    sweep = num_dims_sweep.sweep(found)
    of_vaes = [
        difference(searched, "beta_vae", data, name)
        or difference(found, f"beta_vae_{beta}", data, name)
        for beta in BETAS
        for data in SETS
        for name in ("modularity", "explicitness")
    ]
    both_measures = ("modularity", "explicitness")
    oracle = "f_statistic_class_oracle"
    of_oracle = [
        difference(found, f"beta_vae_{beta}", data, name, first=oracle)
        for beta in BETAS
        for data in SETS
        for name in both_measures
    ]
    least, most = (f"beta_vae_{beta}" for beta in (BETAS[0], BETAS[-1]))
    of_beta = [
        difference(found, rival, data, name, first=first)
        for data in SETS
        for first, rival, name in (
            (most, least, "modularity"),
            (least, most, "explicitness"),
        )
    ]
    run = {data: _folds_of_vaes(found, data) for data in SETS}
    shown = ", ".join(
        f"{where} {named_folds(run[data])}"
        for data, where in SETS.items()
        if run[data]
    )
    rivals = {loss: loss for loss in (*LOSSES, UNTRAINED)}
    searches = "" if measures(searched, rivals, SHOWN) else "equal searches; "
    vaes = {f"beta_vae_{beta}": f"beta = {beta}" for beta in BETAS}
    return [
        (
            "Figure 1: how the loss moves points",
            NO_EXPERIMENT,
            "",
            "an illustration without data; the [page of the loss]"
            "(../f_statistic_loss.md) explains "
            "the value",
        ),
        (
            "Figure 2 (Table 2 in the text): recall@1 on CUHK03, Market-1501 "
            "and CUB-200, level with or ahead of four losses",
            not_attempted("cuhk03_", "market1501_", "cub200_f_statistic"),
            f"{NO_DATA}; on other data the F-statistic minus, in points: "
            f"{both(recall)}",
            "the three sets and a GPU; [recipes](recipes_not_run.md)"
            + "; equal searches" * (not recall(searched)),
        ),
        (
            'Section 2.1: "relatively insensitive to d for 2 < d < 100"; d is '
            "`num_dims`, of 500 dimensions",
            num_dims_sweep.verdict(sweep),
            _over_num_dims(sweep),
            _left_of_sweep(found, sweep),
        ),
        (
            "Figure 3: the F-statistic loss has the highest modularity on "
            "Sprites and small NORB. Its explicitness is level on Sprites and "
            "the highest on small NORB",
            of_differences(higher, level),
            "Sprites, the F-statistic minus, "
            f"{both(measures, rivals, SHOWN[:-1])}",
            f"{searches}small NORB's files (`small_norb_*`)",
        ),
        (
            "Figure 4: modularity and explicitness of beta-VAEs on Sprites, "
            "both below the F-statistic's",
            of_differences(of_vaes),
            f"{shown}; the F-statistic minus, "
            f"{measures(found, vaes, SHOWN)}. Equal budgets: "
            + (
                measures(searched, {"beta_vae": "beta-VAE"}, SHOWN) or "not run"
            ),
            _left_of_vaes(found, run),
        ),
        (
            "Figure 4: the F-statistic with the class-aware oracle is above "
            "every beta-VAE",
            of_differences(of_oracle),
            f"{shown}; the class oracle minus, "
            + measures(found, vaes, both_measures, first=oracle),
            _left_of_vaes(found, run),
        ),
        (
            "Figure 4: as beta rises, modularity rises and explicitness falls",
            of_differences(of_beta),
            f"{shown}; beta = {BETAS[-1]} minus, "
            + measures(
                found,
                {least: f"beta = {BETAS[0]}"},
                both_measures,
                first=most,
            ),
            _left_of_vaes(found, run),
        ),
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
            f"{both(measures, rivals, SHOWN[-1:])}; "
            "[figure](sprites_and_omniglot.md)",
            f"{searches}the paper prints a figure without numbers",
        ),
    ]


def listed(cells: dict, digits: int, scale: float = 1) -> str:
    """Returns `name difference` of each difference that is not None."""
    return ", ".join(
        f"{name} {as_cell(each, digits, scale)}"
        for name, each in cells.items()
        if each is not None
    )


def _fewer_folds(cells: dict) -> str:
    """` (2 folds)` if some difference has fewer than `USUAL`."""
    counts = sorted({each.count for each in cells.values() if each is not None})
    if counts == [USUAL]:
        return ""
    return f" ({' to '.join(map(str, counts))} folds)"


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


def _folds_of_vaes(found: dict, data: str) -> set[str]:
    """The folds on which beta-VAEs were run."""
    return {
        fold
        for beta in BETAS
        for fold in found.get((f"sprites_beta_vae_{beta}", data), NO_RUN)[
            "folds"
        ]
    }


def _left_of_vaes(found: dict, run: dict[str, set[str]]) -> str:
    """What is left to run."""
    every = set(_every_fold(found))
    left = [
        f"{where} {named_folds(every - run[data])}"
        for data, where in SETS.items()
        if every - run[data]
    ]
    return ", ".join(left) + ": 20 minutes a fold for each beta" * bool(left)


def _every_fold(found: dict) -> list[str]:
    """The folds but fold 0, which is for tuning."""
    number = found["sprites_f_statistic", EVERY]["config"]["folds"]["num_folds"]
    return [str(fold) for fold in range(1, number)]


def searched_results() -> dict:
    """Returns the winners of equal searches, as `folds.load` does."""
    every = winners.load()
    return folds.together(
        winners.of_evaluation(every, "disentanglement")
        | winners.of_evaluation(every, "retrieval")
    )


def tables() -> dict[str, str]:
    """Returns the text of both tables by name."""
    pairs = trials.load(), winners.verified(winners.load())
    return {
        "F-statistic": table(
            f_statistic_rows(folds.load(), searched_results())
        ),
        "learned distance": table(learned_distance_rows(*pairs)),
    }


def main() -> None:
    for name, text in tables().items():
        write_between(PAGE, *MARKS[name], text)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
