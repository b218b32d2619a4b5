"""Writes which claims about stochastic prototypes our runs reproduce.

    python -m tools.prototype_claims

Every number and every verdict of the table in `docs/results/reproduced.md`
about Scott, Ridgeway & Mozer 2019 comes from the result files in
`benchmarks/results`.
"""

import json
import statistics
from collections import Counter

from benchmarks import _side_by_side as side_by_side
from tools import claims
from tools import colour_orientation_table
from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools import out_of_distribution_table
from tools import prototype_planes
from tools import sampler_series
from tools import samplers_study
from tools.few_shot_claims import n_digit_claims
from tools.few_shot_claims import omniglot_claims
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import values
from tools.paired_difference import PairedDifference
from tools.paired_episodes import paired_runs
from tools.reproduced_verdicts import NO_EXPERIMENT
from tools.reproduced_verdicts import NO_VERDICT
from tools.reproduced_verdicts import NOT_IN_PAPER
from tools.reproduced_verdicts import judged
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields

PAGE = ROOT / "docs" / "results" / "reproduced.md"
BEGIN, END = (
    "<!-- stochastic prototypes: begin -->",
    "<!-- stochastic prototypes: end -->",
)
STEP_COST = ROOT / "benchmarks" / "results" / "step_cost.json"
PLANE = "n_digit_2_dim_2"
# Curves of the naive sampler, by recipe.
NAIVE = {
    sampler_series.CHARACTERS: ("naive",),
    sampler_series.NUMBERS: ("naive", sampler_series.FROM_SMALL),
}
# Samples of the longest runs of the naive sampler.
MANY = 100
# Unknown inputs that are of the same data set.
HELD_OUT_CLASSES = ("other classes", "other groups")
# Our judgement of a picture and its reason, by recipe and training steps.
SEEN = {
    ("omniglot_1_shot_dim_2_stochastic_prototypes", 5000): (
        "in part",
        "from left to right, single strokes become characters of many strokes, "
        "as in the paper; the other axis tells wide from tall characters only "
        "on the right",
    ),
    ("n_digit_2_dim_2_stochastic_prototypes", 8000): (
        "reproduced",
        "one axis is the first digit, the other the second; numbers that were "
        "not in training are where their digits say; 4 and 9 are neighbours on "
        "both axes, 3 and 5 on one instead of both",
    ),
}
# A ratio of times up to which two methods take about as long.
ABOUT = 1.1
ILLUSTRATIONS = [
    (
        "Figure 1: the graphical model of input, embedding and class (a), and "
        "the intersection sampler (b)",
        "",
        NO_EXPERIMENT,
    ),
    ("Figure 8: occluded images of two digits (Appendix E)", "", NO_EXPERIMENT),
]
# What a reproduction takes, in the order of the claims.
_RUN = "run: [commands](n_digit.md#the-published-table)"
_CHARACTERS = (
    "`omniglot_{1,5}_shot_dim_2_*`, 5,000 episodes each: "
    "[commands](omniglot.md)"
)
TAKES_ILLUSTRATIONS = (
    "an illustration",
    "an illustration; `datasets/corruption.py` occludes images in this way",
)
TAKES_NUMBERS = (
    f"{_RUN}, 8,000 episodes each",
    "the same",
    "the same; we did not have the paper of HIB ([our choices]"
    "(../hedged_instances.md#the-model))",
    "the same",
    _RUN,
    _RUN,
    "`n_digit_{2,3}_dim_{2,3}_hedged_instances`, 8,000 episodes each",
    "the same runs",
    f"{_RUN} of all four methods",
)
TAKES_CHARACTERS = (
    _CHARACTERS,
    "the same runs",
    "the same runs",
    "the same runs",
    "`omniglot_{1,5}_shot_dim_64_*`",
)
TAKES_SAMPLERS = (
    "runs of 2,000 episodes: [commands](prototypes.md#samples-in-training)",
    "the same",
)
TAKES_COLOURS = (
    "run: [command](prototypes.md#colour-and-orientation)",
    "the same run",
    "the same run",
    "the same run",
    "the same run",
)
TAKES_AXES = (
    "run: [numbers](n_digit.md#axis-alignment)",
    f"`{PLANE}_full_covariance`",
)


def sampler_claims(found: dict[str, dict]) -> list[claims.Claim]:
    """One sample of the intersection sampler beside the naive sampler.

    A claim for each data set. A cell is a split of the test data and a curve of
    the naive sampler: from the default variance, and on numbers also from a
    small one. The difference, intersection minus naive, is over seeds, or with
    one seed over test episodes.

    "Better" than the curve's best number of samples holds if the difference is
    significantly above 0. Without such a cell, differences that are all above 0
    are "in the same direction". The best number is chosen on the test, which
    favours the naive sampler.
    """
    better = "One sample of the intersection sampler trains better than many of"
    names = {
        sampler_series.CHARACTERS: f"{better} the naive sampler (Figure 4)",
        sampler_series.NUMBERS: "The same on numbers",
    }
    lines = []
    for part in samplers_study.PARTS:
        text, verdict = _sampler_verdict(part, found.get(part.recipe, {}))
        if part.recipe == sampler_series.NUMBERS:
            verdict = NOT_IN_PAPER + verdict
        lines.append((names[part.recipe], text, verdict))
    return lines


def _sampler_verdict(part, curves: dict) -> tuple[str, str]:
    """Evidence and verdict of `sampler_claims` for one data set."""
    of_best = _sampler_cells(part, curves)
    naive = NAIVE[part.recipe]
    cells = len(part.panels) * len(naive)
    sure = claims.num_higher(of_best.values(), cells)
    better = claims.verdict(sure, len(of_best), cells)
    all_above = all(each.mean > 0 for each in of_best.values())
    if len(of_best) == cells and all_above and not sure:
        better = "in the same direction"
    # The paper's most samples.
    has_many = all(max(curves.get(name, {0: ()})) >= MANY for name in naive)
    if better == "reproduced" and not has_many:
        better = "in part"
    is_one_seed = any(each.over != "runs" for each in of_best.values())
    return (
        _sampler_text(of_best),
        claims.of_one_seed(better, 1 if is_one_seed else 2),
    )


def _sampler_cells(part, curves: dict) -> dict[str, PairedDifference]:
    """One sample of the intersection sampler minus the best naive runs."""
    cells = {}
    one = curves.get("intersection", {}).get(1, [])
    for split, title in part.panels:
        for series in NAIVE[part.recipe]:
            candidates = curves.get(series, {})
            if not candidates:
                continue
            accuracy = {
                count: statistics.mean(values(runs, split, "clean", EPISODES))
                for count, runs in candidates.items()
            }
            best = max(accuracy, key=accuracy.get)
            paired = paired_runs(one, candidates[best], split, "clean")
            if paired is not None:
                name = (
                    f"{title}, one intersection sample minus {best} of "
                    f"{series} ({accuracy[best]:.1f} %):"
                )
                cells[name] = paired
    return cells


def _sampler_text(cells: dict[str, PairedDifference]) -> str:
    if not cells:
        return ""
    return (
        "points: "
        + claims.differences_text(cells)
        + claims.notes(cells.values())
    )


def colour_claims(results: list[dict]) -> list[claims.Claim]:
    """Claims about colour and orientation."""
    named = {
        "Accuracy is near that of an ideal classifier (Section 4.1)": "ideal",
        "Each axis tells one factor, colour or orientation (Figure 2)": "AUC",
        "Hue noise raises the variance of colour and not of orientation "
        "(Figure 3)": "hue noise",
        "Short legs raise both variances (Figure 3)": "short legs",
    }
    found = [
        colour_orientation_table.aims(run["evaluation"]["test"])
        for run in results
    ]
    lines = []
    for claim, word in named.items():
        rows = [
            (name, *row)
            for aims in found
            for name, row in aims.items()
            if word in name
        ]
        shown = colour_orientation_table.shown
        text = "; ".join(
            f"{name}: {shown(value)}" for name, value, _, _ in rows
        )
        held = sum(holds for *_, holds in rows)
        found_verdict = claims.verdict(held, len(rows))
        if word == "hue noise" and results:
            text += "; " + "; ".join(map(_growth_by_hue_noise, results))
            if found_verdict == "reproduced" and any(map(_both_grow, results)):
                found_verdict = "in part"
        found_verdict = claims.of_one_seed(found_verdict, len(results))
        lines.append((claim, text, found_verdict))
    return [*lines, half_way_claim(results)]


def half_way_claim(results: list[dict]) -> claims.Claim:
    """Where the variance of an axis is largest between two classes.

    A cell is a line of the grid of `evaluators.colour_orientation`, between
    both classes of a factor. The claim is true of a cell if the variance of the
    factor's axis is largest in the middle of the line.
    """
    texts, held, measured = [], 0, 0
    for run in results:
        found = run["evaluation"]["grid"]["variance"]
        axis = run["evaluation"]["test"]["axis"]
        # Rows of the grid are orientations, columns are hues.
        lines = {
            "orientation": [
                [cell[axis["orientation"]] for cell in line]
                for line in zip(*found, strict=True)
            ],
            "colour": [
                [cell[axis["colour"]] for cell in line] for line in found
            ],
        }
        for factor, of_factor in lines.items():
            in_middle = sum(
                line.index(max(line)) == len(line) // 2 for line in of_factor
            )
            held += in_middle
            measured += len(of_factor)
            texts.append(f"{factor} {in_middle} of {len(of_factor)}")
    evidence = "lines between two classes with the largest variance half-way: "
    return (
        "Half-way between two classes, the variance of the factor's axis is "
        "largest (Figure 2)",
        evidence + ", ".join(texts) if texts else "",
        claims.of_one_seed(claims.verdict(held, measured), len(results)),
    )


def _growth(run: dict) -> dict[str, float]:
    """Factor of each variance from the least to the most hue noise."""
    noise = run["evaluation"]["test"]["variance"]["hue_noise"]
    return {
        factor: noise[factor][-1] / noise[factor][1]
        for factor in colour_orientation_table.FACTORS
    }


def _growth_by_hue_noise(run: dict) -> str:
    cells = " and that of ".join(
        f"{factor} is {times:.1f} times"
        for factor, times in _growth(run).items()
    )
    return f"the variance of {cells} as large"


def _both_grow(run: dict) -> bool:
    """Whether hue noise also raises the variance of orientation, by 10 %."""
    return _growth(run)["orientation"] > 1.1


def cost_claim(result: dict | None) -> claims.Claim:
    """Steps of stochastic prototypes beside steps of prototypical networks.

    Each round gives a ratio of times. A step is measurably slower if the lower
    quartile of the ratios is above 1, and the median above the median of a
    second process of prototypical networks. "About as long" is reproduced if
    it is not measurably slower, holds in part if the upper quartile is at most
    `ABOUT`, and is not reproduced otherwise.
    """
    claim = "Training takes about as long as with PN"
    if result is None:
        return claim, "", claims.verdict(0, 0)
    contenders = result["cases"]["70 x 10 images"]
    ours, control = (
        side_by_side.ratio(contenders, name, "prototypical")
        for name in ("stochastic", "prototypical again")
    )

    def text(ratio: dict) -> str:
        low, high = ratio["low"], ratio["high"]
        return f"{ratio['median']:.2f} (quartiles {low:.2f} to {high:.2f})"

    is_slower = ours["low"] > 1 and ours["median"] > control["median"]
    found = "in part" if ours["high"] <= ABOUT else "not reproduced"
    return (
        claim,
        f"a step takes {text(ours)} times as long as a step of PN, a second "
        f"process of PN {text(control)}: "
        + (
            f"measurably slower, by {100 * (ours['median'] - 1):.0f} %"
            if is_slower
            else "not measurably slower"
        ),
        found if is_slower else "reproduced",
    )


def cost_beside_hedged_claim(result: dict | None) -> claims.Claim:
    """Steps of hedged instances and stochastic prototypes beside PN.

    Both ratios are to a step of prototypical networks with as many images. If
    the quartiles of both ratios do not overlap, the claim holds for each image.
    It is reproduced if a step of our recipes, which have as many steps and
    different numbers of images, takes less time as well.
    """
    claim = "SPE takes less time in training than HIB (Section 5)"
    if result is None:
        return claim, "", claims.verdict(0, 0)
    cases = result["cases"]
    ours = side_by_side.ratio(
        cases["70 x 10 images"], "stochastic", "prototypical"
    )
    theirs = side_by_side.ratio(cases["280 images"], "hedged", "prototypical")
    text = "; ".join(
        f"a step of {name} takes {found['median']:.2f} (quartiles "
        f"{found['low']:.2f} to {found['high']:.2f}) times as long as a step "
        f"of PN on the same {images} images"
        for name, found, images in (("SPE", ours, 700), ("HIB", theirs, 280))
    )
    steps = [
        1000 * statistics.median(cases[case][name]["seconds"])
        for case, name in (
            ("70 x 10 images", "stochastic"),
            ("280 images", "hedged"),
        )
    ]
    text += (
        f". A step takes {steps[0]:.0f} ms (SPE) and {steps[1]:.0f} ms (HIB)"
    )
    per_image = ours["high"] < theirs["low"]
    held = 1 + (steps[0] < steps[1]) if per_image else 0
    return claim, text, claims.verdict(held, 2)


def axes_claims(runs: list[dict]) -> list[claims.Claim]:
    """Claims about the plane of two digits."""
    diagonal, full = (
        choose(f"{PLANE}_{method}", runs)
        for method in ("stochastic_prototypes", "full_covariance")
    )

    def gained(run) -> float:
        """Information that the best rotation adds, in %."""
        rotation = run["evaluation"]["axes"]["rotation"]
        best, here = rotation["aligned_sum"], rotation["unrotated_aligned_sum"]
        return 100 * (best - here) / here

    def lines(claim, runs, measure, holds, text) -> claims.Claim:
        found = [measure(run) for run in runs]
        each = ", ".join(f"{value:.2g}" for value in found)
        held = sum(map(holds, found))
        evidence = f"{text}: {each}" if found else ""
        verdict = claims.verdict(held, len(found))
        return claim, evidence, claims.of_one_seed(verdict, len(found))

    rotated = "information that the best rotation adds, %"
    return [
        lines(
            "Axes align with the digits (Figure 7)",
            diagonal,
            gained,
            lambda value: value <= 5,
            rotated,
        ),
        lines(
            "Only a diagonal covariance aligns the axes (implied by Appendix "
            "C)",
            full,
            gained,
            lambda value: value > 5,
            rotated,
        ),
    ]


def occlusion_claim(runs: list[dict]) -> claims.Claim:
    """Whether the variance rises with the hidden share of an input.

    Args:
        runs: Runs of stochastic prototypes on numbers and on characters.
    """
    found = {}
    for run in runs:
        value = run["evaluation"]["uncertainty"][
            "rank_correlation_with_occlusion"
        ]
        found.setdefault(run["recipe"], []).append(value or 0.0)
    values = [value for of_recipe in found.values() for value in of_recipe]
    text = "; ".join(
        f"`{name}` {', '.join(f'{value:.2f}' for value in of_recipe)}"
        for name, of_recipe in found.items()
    )
    held = sum(value >= 0.5 for value in values)
    return (
        "The variance rises with occlusion",
        f"rank correlation, at least 0.5 counts: {text}" if found else "",
        claims.of_one_seed(
            claims.verdict(held, len(values)),
            min(map(len, found.values()), default=0),
        ),
    )


def unknown_claim(results: list[dict]) -> claims.Claim:
    """AUROC of the predicted variance, of other data sets and of noise.

    Held-out classes, and other splits of the run's own data set, are of the
    same kind and do not count. A run and its repetition with another
    uncertainty head have the same variance, which counts once.
    """
    claim = "The variance detects inputs from elsewhere (Sections 1 and 4.2)"
    found = [
        (f"{kind} (`{run['recipe']}`, seed {run['seed']}, {split})", scores)
        for run in results
        for split in run[out_of_distribution_table.SECTION]["settings"][
            "splits"
        ]
        for kind, scores in run[out_of_distribution_table.SECTION][
            split
        ].items()
        if kind not in (*HELD_OUT_CLASSES, run["config"]["dataset"])
        and "predicted_variance" in scores
    ]
    aurocs = dict.fromkeys(
        (name, scores["predicted_variance"]["auroc"]) for name, scores in found
    )
    text = "; ".join(f"{name} {value:.2f}" for name, value in aurocs)
    held = sum(value >= 0.8 for _, value in aurocs)
    evidence = f"AUROC, at least 0.8 counts: {text}" if found else ""
    kinds = Counter(run["recipe"] for run in results)
    found_verdict = claims.verdict(held, len(aurocs))
    return (
        claim,
        evidence,
        claims.of_one_seed(found_verdict, min(kinds.values(), default=0)),
    )


def plane_claims(planes: dict[str, dict]) -> list[claims.Claim]:
    """The planes of Figures 5 and 7, if they were drawn.

    No rule tells whether a picture looks like the paper's, so `SEEN` does.
    """
    names = {
        "Omniglot in the plane (Figure 5)": prototype_planes.CHARACTERS,
        "Two digits in the plane (Figure 7)": prototype_planes.NUMBERS,
    }
    found = []
    for claim, name in names.items():
        origin = planes.get(name)
        if origin is None:
            found.append((claim, "no picture", claims.verdict(0, 0)))
            continue
        steps = origin["training"]["steps"]
        recipe = recipe_fields(load_recipe(origin["recipe"]))
        whole = recipe["num_epochs"] * recipe["steps_per_epoch"]
        of = "" if steps >= whole else f" of {whole:,}"
        judgement, what = SEEN.get((origin["recipe"], steps), ("", ""))
        found.append(
            (
                claim,
                f"[picture](prototypes.md#planes) after {steps:,}{of} episodes"
                + f": {what}" * bool(what),
                judged(claims.of_one_seed(judgement, 1))
                if judgement
                else NO_VERDICT,
            )
        )
    return found


def every_claim() -> list[tuple[str, str, str, str]]:
    """Returns claim, evidence, verdict and what a reproduction takes."""
    runs = n_digit_table.every_run()
    characters = omniglot_table.load()
    with_variance = [
        run
        for recipe in (*n_digit_grid.PUBLISHED, *omniglot_table.recipes())
        if recipe.removesuffix("_corrupted").endswith("stochastic_prototypes")
        for run in choose(recipe, [*runs, *characters])
    ]
    planes = plane_claims(prototype_planes.load())
    step_cost = (
        json.loads(STEP_COST.read_text()) if STEP_COST.exists() else None
    )
    costs = [cost_claim(step_cost), cost_beside_hedged_claim(step_cost)]
    unknown = unknown_claim(out_of_distribution_table.load())
    parts = [
        (ILLUSTRATIONS, TAKES_ILLUSTRATIONS),
        (n_digit_claims(runs), TAKES_NUMBERS),
        (omniglot_claims(characters), TAKES_CHARACTERS),
        (sampler_claims(samplers_study.load()), TAKES_SAMPLERS),
        (colour_claims(colour_orientation_table.load()), TAKES_COLOURS),
        (planes[:1], ["`omniglot_1_shot_dim_2_stochastic_prototypes`"]),
        (costs, ["`python -m benchmarks.step_cost`, 2 minutes", "the same"]),
        (planes[1:], [f"`{PLANE}_stochastic_prototypes`, about 20 minutes"]),
        (axes_claims(runs), TAKES_AXES),
        ([occlusion_claim(with_variance)], ["the runs of both tables"]),
        ([unknown], ["[an evaluation](prototypes.md#unknown-inputs) of a run"]),
    ]
    return [
        (*claim, takes)
        for found, of_found in parts
        for claim, takes in zip(found, of_found, strict=True)
    ]


def main() -> None:
    write_between(PAGE, BEGIN, END, claims.claims_table(every_claim()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
