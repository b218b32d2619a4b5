"""Writes what was reproduced of the F-statistic loss and the learned distance.

    python -m tools.reproduced_table

Every number in these two tables of `docs/results/reproduced.md` comes from the
result files in `benchmarks/results`.
"""

from tools import cross_validation_results as folds
from tools import num_dims_sweep
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
LOSSES = ("triplet", "histogram")
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


def f_statistic_rows(found: dict) -> list[tuple]:
    """Figures and tables of Ridgeway & Mozer 2018, and of their workshop."""

    def difference(rival: str, data: str, name: str, prefix="sprites"):
        """The F-statistic loss minus a rival, or minus an untrained network."""
        ours = found.get((f"{prefix}_f_statistic", data))
        theirs = found.get((f"{prefix}_{rival}", data))
        section = "test"
        if rival == "untrained":
            theirs, section = ours, "test_untrained"
        if ours is None or theirs is None:
            return None
        pair = folds.paired(
            (ours, f"test.{name}"), (theirs, f"{section}.{name}")
        )
        ratio = ratio_of_test_to_train(ours["config"])
        return paired_difference(*pair, ratio)

    def minus(rival: str, data: str, name: str) -> str:
        return as_cell(difference(rival, data, name), 3)

    def recall(prefix: str, data: str) -> str:
        rivals = {
            loss: difference(loss, data, "recall_at_1", f"{prefix}_retrieval")
            for loss in ("histogram", "triplet", "lifted_structure")
        }
        return ", ".join(
            f"{loss.replace('_', ' ')} {as_cell(each, 1, 100)}"
            for loss, each in rivals.items()
        )

    def measured(name: str) -> str:
        return "; ".join(
            f"{where}, {rival}: {minus(rival, data, name)}"
            for data, where in (
                (WEAPON, "weapon visible"),
                (EVERY, "all frames"),
            )
            for rival in (*LOSSES, "untrained")
        )

    vaes = "; ".join(
        f"beta = {beta}: modularity "
        f"{minus(f'beta_vae_{beta}', EVERY, 'modularity')}, explicitness "
        f"{minus(f'beta_vae_{beta}', EVERY, 'explicitness')}"
        for beta in BETAS
    )
    norb = "small_norb"
    of_sets = ("sprites", WEAPON), ("sprites", EVERY), (norb, norb)
    higher = [
        difference(rival, data, "modularity", prefix)
        for rival in LOSSES
        for prefix, data in of_sets
    ] + [difference(rival, norb, "explicitness", norb) for rival in LOSSES]
    level = [
        difference(rival, data, "explicitness")
        for rival in LOSSES
        for data in (WEAPON, EVERY)
    ]
    sweep = num_dims_sweep.sweep(found)
    over_dims = "; ".join(
        f"{num_dims}: {as_cell(each, 1, 100)}"
        for num_dims, each in num_dims_sweep.differences(sweep).items()
    )
    of_vaes = [
        difference(f"beta_vae_{beta}", EVERY, name)
        for beta in BETAS
        for name in ("modularity", "explicitness")
    ]
    run = {
        fold
        for beta in BETAS
        for fold in found[f"sprites_beta_vae_{beta}", EVERY]["folds"]
    }
    # Fold 0 is for tuning.
    number = found["sprites_f_statistic", EVERY]["config"]["folds"]["num_folds"]
    left = {str(fold) for fold in range(1, number)} - run
    auc = "; ".join(
        f"{rival}: {minus(rival, EVERY, 'single_dimension_auc')}"
        for rival in ("triplet", "histogram", "untrained")
    )
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
            f"Sprites {recall('sprites', WEAPON)}; Omniglot "
            f"{recall('omniglot', 'omniglot')}",
            "the three sets and a GPU; [recipes](recipes_not_run.md). On "
            "Omniglot, the search over dimensions and `num_dims`",
        ),
        (
            "Section 2: all `num_dims` from 2 to 100 of 500 work about as well",
            num_dims_sweep.verdict(sweep),
            over_dims
            and "Omniglot, recall@1 minus that of 70 of 500, in "
            f"points: {over_dims}",
            "`omniglot_retrieval_f_statistic_K_of_500`, eight values of K, "
            "about 7 minutes of one core each",
        ),
        (
            "Figure 3: modularity of three losses on Sprites and small NORB, "
            "the F-statistic's the highest; explicitness, level on Sprites and "
            "its the highest on small NORB",
            of_differences(higher, level),
            "Sprites, the F-statistic minus, modularity: "
            f"{measured('modularity')}; explicitness: "
            f"{measured('explicitness')}",
            "equal searches on Sprites; small NORB's files (`small_norb_*`)",
        ),
        (
            "Figure 4: modularity and explicitness of beta-VAEs on Sprites, "
            "both below the F-statistic's",
            of_differences(of_vaes),
            f"{named_folds(run)}, all frames, the F-statistic minus {vaes}",
            f"{named_folds(left)}, and frames that show the weapon: 20 minutes "
            "a fold for each beta",
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
            f"all frames, the F-statistic minus {auc}; "
            "[figure](sprites_and_omniglot.md)",
            "equal searches; the paper prints a figure without numbers",
        ),
    ]


def tables() -> dict[str, str]:
    """Returns the text of both tables by name."""
    return {
        "F-statistic": table(f_statistic_rows(folds.load())),
        "learned distance": table(learned_distance_rows(trials.load())),
    }


def main() -> None:
    for name, text in tables().items():
        write_between(PAGE, *MARKS[name], text)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
