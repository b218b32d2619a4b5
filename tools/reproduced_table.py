"""Writes what was reproduced of the F-statistic loss and the learned distance.

    python -m tools.reproduced_table

Every number in these two tables of `docs/results/reproduced.md` comes from the
result files in `benchmarks/results`.
"""

import statistics

from tools import cross_validation_results as folds
from tools import verification_results as trials
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.paired_difference import as_cell
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train

PAGE = ROOT / "docs" / "results" / "reproduced.md"
MARKS = {
    name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
    for name in ("F-statistic", "learned distance")
}
WEAPON, EVERY = "sprites/weapon_visible", "sprites/all_frames"
PARTS = ("in part", "reproduced", "not attempted")
NO_DATA = "the data was not available"


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

    def minus(rival: str, data: str, name: str, digits=3, scale=1.0) -> str:
        ours = found["sprites_f_statistic", data]
        theirs = (
            (ours, f"test_untrained.{name}")
            if rival == "untrained"
            else (found[f"sprites_{rival}", data], f"test.{name}")
        )
        pair = folds.paired((ours, f"test.{name}"), theirs)
        ratio = ratio_of_test_to_train(ours["config"])
        return _cell(*pair, ratio, digits, scale)

    def recall(prefix: str, data: str) -> str:
        ours = found[f"{prefix}_retrieval_f_statistic", data]
        return ", ".join(
            f"{loss.replace('_', ' ')} "
            + _cell(
                *folds.paired(
                    (ours, "test.recall_at_1"),
                    (
                        found[f"{prefix}_retrieval_{loss}", data],
                        "test.recall_at_1",
                    ),
                ),
                ratio_of_test_to_train(ours["config"]),
                1,
                100,
            )
            for loss in ("histogram", "triplet", "lifted_structure")
        )

    modularity = "; ".join(
        f"{name}: {minus(rival, data, 'modularity')}"
        for rival, data, name in (
            ("triplet", WEAPON, "weapon visible, triplet"),
            ("triplet", EVERY, "all frames, triplet"),
            ("histogram", EVERY, "histogram"),
            ("untrained", EVERY, "untrained network"),
        )
    )
    vaes = "; ".join(
        f"beta = {beta}: modularity "
        f"{minus(f'beta_vae_{beta}', EVERY, 'modularity')}, explicitness "
        f"{minus(f'beta_vae_{beta}', EVERY, 'explicitness')}"
        for beta in (1, 8)
    )
    auc = "; ".join(
        f"{rival}: {minus(rival, EVERY, 'single_dimension_auc')}"
        for rival in ("triplet", "histogram", "untrained")
    )
    return [
        (
            "Figure 1: how the loss moves points",
            "not attempted",
            "",
            "an illustration without data; the [page of the loss]"
            "(../f_statistic_loss.md) explains "
            "the value",
        ),
        (
            "Figure 2 (Table 2 in the text): recall@1 on CUHK03, Market-1501 "
            "and CUB-200, level with or ahead of four losses",
            "not attempted",
            f"{NO_DATA}; on other data the F-statistic minus, in points: "
            f"Sprites {recall('sprites', WEAPON)}; Omniglot "
            f"{recall('omniglot', 'omniglot')}",
            "the three sets and a GPU; [recipes](recipes_not_run.md). On "
            "Omniglot, the search over dimensions and `num_dims`",
        ),
        (
            "Section 2: all `num_dims` from 2 to 100 of 500 work about as well",
            "not attempted",
            "",
            "`omniglot_retrieval_f_statistic_K_of_500`, eight values of K, "
            "about 7 minutes of one core each",
        ),
        (
            "Figure 3: modularity and explicitness of three losses, on Sprites "
            "and small NORB",
            "in part",
            f"Sprites, the F-statistic's modularity minus: {modularity}",
            "equal searches on Sprites; small NORB's files (`small_norb_*`)",
        ),
        (
            "Figure 4: modularity and explicitness of beta-VAEs on Sprites",
            "in part",
            f"two folds, all frames, the F-statistic minus {vaes}",
            "folds 3 and 4, and frames that show the weapon: 20 minutes a fold "
            "for each beta",
        ),
        (
            "Workshop, Figure 1: three embeddings of one data set",
            "not attempted",
            "",
            "an illustration without data",
        ),
        (
            "Workshop, Figure 2: recall@k on CUHK03",
            "not attempted",
            NO_DATA,
            "CUHK03; recipes `cuhk03_*`",
        ),
        (
            "Workshop, Figure 3: AUC of single dimensions on Sprites",
            "in part",
            f"all frames, the F-statistic minus {auc}; "
            "[figure](sprites_and_omniglot.md)",
            "equal searches; the paper prints a figure without numbers",
        ),
    ]


def learned_distance_rows(found: dict) -> list[tuple]:
    """Figures and tables of Monteiro et al. 2020."""

    def of(dataset, protocol):
        return trials.rows(found, dataset, protocol)

    def minus(dataset, other) -> str:
        rows = of(dataset, "folds")
        both = rows["learned distance", "learned distance"], rows[other]
        pair = trials.paired_numbers(*both, EER)
        key = next(key for key in found if key[:2] == (dataset, "folds"))
        config = next(iter(found[key].values()))["config"]
        by_fold = trials.paired_by(*both) == "folds"
        ratio = ratio_of_test_to_train(config) if by_fold else None
        return _cell(*pair, ratio, 2, 100)

    def eer(rows, *row) -> str:
        return f"{100 * _mean(trials.by_run(rows[row], EER)):.2f} %"

    plane = of("mnist", trials.TASKS["mnist_learned_distance"])
    (figure_3,) = found[
        "mnist", trials.TASKS["mnist_learned_distance"], PLANE
    ].values()
    properties = trials.of_test_split(figure_3)
    learned = ("learned distance", "learned distance")
    own, triplet = ("learned distance", "cosine"), ("triplet", "cosine")
    fine_tuned = ("learned distance, Omniglot before", "learned distance")
    return [
        ("Figure 1: verification", "not attempted", "", "an illustration"),
        (
            "Table 1: CIFAR-10 and mini-ImageNet, distance against cosine and "
            "triplet loss",
            "not attempted",
            "600 epochs of ResNet-18 need a GPU",
            "a GPU; recipes `cifar10_*`, `mini_imagenet_*`. In small: "
            "`tiny_images_*` (Tiny ImageNet, 32 x 32) and "
            "`omniglot_verification_*`",
        ),
        (
            "Figure 2: digits in a plane",
            "reproduced",
            f"EER {eer(plane, *learned)} by the distance, "
            f"{eer(plane, *own)} by its cosine; "
            "[figure](../learned_distance.md#how-far-it-is-from-a-metric)",
            "",
        ),
        (
            "Table 2: VoxCeleb, distance against PLDA and cosine",
            "not attempted",
            "no audio of VoxCeleb; EER of the distance minus its own cosine, "
            f"points: AN4 {minus('an4', own)}, spoken digits "
            f"{minus('spoken_digit', own)}; minus the triplet loss: AN4 "
            f"{minus('an4', triplet)}, spoken digits "
            f"{minus('spoken_digit', triplet)}",
            "VoxCeleb 1 and 2, and a GPU for 2 million batches (`voxceleb_*`)",
        ),
        (
            "Figure 3: how far 1 - D is from a metric",
            "in part",
            "on the digits in a plane, mean and largest: self distance "
            f"{_properties(properties, 'self_distance')}, asymmetry "
            f"{_properties(properties, 'asymmetry')}, excess over the "
            f"triangle {_properties(properties, 'triangle_excess')}",
            "the paper's sets; every evaluation draws the figure",
        ),
        (
            "Figure 4: depth of the distance on ImageNet",
            "not attempted",
            "AN4, two folds: [no decision](verification.md"
            "#hidden-layers-of-the-distance)",
            "ImageNet and a GPU (`imagenet_*`); on AN4 the other folds",
        ),
        (
            "Table 3: the TDNN encoder",
            "reproduced",
            "`models.x_vector_encoder`; a test has its layers",
            "",
        ),
        (
            "Table 4: fine-tuning from English to Arabic speech",
            "not attempted",
            "the data is not free; from characters to digits, EER of training "
            "anew minus fine-tuning, points: " + minus("mnist", fine_tuned),
            "the data of the paper; the steps are in "
            "[recipes that were not run](recipes_not_run.md)",
        ),
        (
            "Figure 5 and Table 5: retrieval and clusters of birds, cars and "
            "products",
            "not attempted",
            f"{NO_DATA}; Omniglot, two folds: "
            "[clusters](sprites_and_omniglot.md"
            "#omniglot-clusters-of-held-out-classes)",
            "the three sets, ImageNet weights and a GPU (`cub200_*`, "
            "`cars196_*`, `products_*`)",
        ),
    ]


EER = "equal_error_rate"
PLANE = "mnist_learned_distance"
_mean = statistics.fmean


def _cell(ours, theirs, ratio, digits, scale) -> str:
    found = paired_difference(ours, theirs, ratio)
    return as_cell(found, digits, scale)


def _properties(found: dict, name: str) -> str:
    return f"{found[f'mean_{name}']:.3f} and {found[f'largest_{name}']:.2f}"


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
