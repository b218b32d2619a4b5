"""Writes which claims about stochastic prototypes our runs reproduce.

    python -m tools.prototype_claims

Every number and every verdict of the table in `docs/results/reproduced.md`
about Scott, Ridgeway & Mozer 2019 comes from the result files in
`benchmarks/results`.
"""

import functools
import json
import statistics

from tools import claims
from tools import colour_orientation_table
from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools import out_of_distribution_table
from tools import samplers_study
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import differences
from tools.n_digit_grid import values

PAGE = ROOT / "docs" / "results" / "reproduced.md"
BEGIN, END = (
    "<!-- stochastic prototypes: begin -->",
    "<!-- stochastic prototypes: end -->",
)
STEP_COST = ROOT / "benchmarks" / "results" / "step_cost.json"
PLANE = "n_digit_2_dim_2"


def _n_digit(method: str, chosen) -> dict[tuple, tuple[float | None, float]]:
    """Ours and published of a method by (split, condition, shape)."""
    found = {}
    for n, dim in n_digit_grid.SHAPES:
        recipe = f"n_digit_{n}_dim_{dim}_{method}"
        for place, (split, condition) in enumerate(n_digit_grid.CELLS):
            rule = n_digit_grid.published_rule(method)
            ours = values(chosen[recipe], split, condition, rule)
            published = n_digit_grid.PUBLISHED[recipe][place]
            found[split, condition, (n, dim)] = (
                claims.mean_or_none(ours),
                published,
            )
    return found


def n_digit_claims(runs: list[dict]) -> list[claims.Claim]:
    """Claims about Table D.2."""
    chosen = {recipe: choose(recipe, runs) for recipe in n_digit_grid.PUBLISHED}
    spe = _n_digit("stochastic_prototypes", chosen)
    pn, hib = (
        _n_digit(m, chosen) for m in ("prototypical", "hedged_instances")
    )
    corrupt = []
    for split, condition, (n, dim) in spe:
        if condition != "corrupt_support":
            continue
        key = split, condition, (n, dim)
        paired = differences(
            chosen[f"n_digit_{n}_dim_{dim}_stochastic_prototypes"],
            chosen[f"n_digit_{n}_dim_{dim}_prototypical"],
            split,
            condition,
        )
        corrupt.append((claims.mean_or_none(paired), spe[key][1] - pn[key][1]))
    means = []
    for split, condition in n_digit_grid.CELLS:
        keys = [(split, condition, shape) for shape in n_digit_grid.SHAPES]
        ours = [(spe[key][0], hib[key][0]) for key in keys]
        complete = all(None not in pair for pair in ours)
        theirs = statistics.mean(spe[key][1] - hib[key][1] for key in keys)
        mean = statistics.mean(a - b for a, b in ours) if complete else None
        means.append((mean, theirs))
    return [
        (
            "SPE classifies numbers as well as published (Table D.2)",
            *claims.published_cells([*spe.values()]),
        ),
        (
            "SPE is better than PN if supports are corrupt (Table D.2)",
            *claims.published_differences(corrupt),
        ),
        (
            "SPE is better than HIB in all six means (Figure 6)",
            *claims.published_differences(means),
        ),
    ]


def omniglot_claims(results: list[dict]) -> list[claims.Claim]:
    """Claims about Table D.1 and 64 dimensions."""

    @functools.cache
    def chosen(num_support, method, condition, dim=2):
        name = omniglot_table.recipe(num_support, method, condition, dim)
        return choose(name, results)

    def paired(column, condition, dim=2):
        models = [
            chosen(column[0], method, condition, dim)
            for method in ("stochastic_prototypes", "prototypical")
        ]
        return claims.mean_or_none(
            differences(*models, omniglot_table.split(*column), condition)
        )

    cells, corrupt, many = [], [], []
    for place, column in enumerate(omniglot_table.COLUMNS):
        for condition in n_digit_grid.CONDITIONS:
            pn, spe = (
                omniglot_table.PUBLISHED[condition, method][place]
                for method in omniglot_table.METHODS
            )
            runs = chosen(column[0], "stochastic_prototypes", condition)
            ours = values(
                runs, omniglot_table.split(*column), condition, EPISODES
            )
            cells.append((claims.mean_or_none(ours), spe))
            if condition == "corrupt_support":
                corrupt.append((paired(column, condition), spe - pn))
        many.append(paired(column, "clean", omniglot_table.NOT_PUBLISHED_DIM))
    run = [value for value in many if value is not None]
    text = f"{len(run)} of {len(many)} cells run"
    if run:
        text += f"; SPE - PN from {min(run):+.1f} to {max(run):+.1f} points"
    equal = sum(abs(value) <= claims.NEAR for value in run)
    return [
        (
            "SPE classifies characters as well as published (Table D.1)",
            *claims.published_cells(cells),
        ),
        (
            "SPE is better than PN if supports are corrupt (Table D.1)",
            *claims.published_differences(corrupt),
        ),
        (
            "In 64 dimensions SPE and PN are comparable on characters",
            text,
            claims.verdict(equal, len(run), len(many)),
        ),
    ]


def sampler_claim(found: dict) -> claims.Claim:
    """One sample of the intersection sampler beside the naive sampler."""
    claim = (
        "One sample of the intersection sampler trains better than many of the "
        "naive sampler (Figure 4)"
    )
    one = found.get("intersection", {}).get(1)
    naive = found.get("naive")
    if not one or not naive:
        return claim, "", claims.verdict(0, 0)

    def accuracy(runs, split):
        return statistics.mean(values(runs, split, "clean", EPISODES))

    parts, held = [], 0
    for split in n_digit_grid.SPLITS:
        ours = accuracy(one, split)
        best, count = max(
            (accuracy(runs, split), count) for count, runs in naive.items()
        )
        held += ours >= best
        parts.append(
            f"{split.removeprefix('test_')} numbers {ours:.1f} beside "
            f"{best:.1f} of the naive sampler's best, {count} samples"
        )
    return claim, "; ".join(parts), claims.verdict(held, len(parts))


def colour_claims(results: list[dict]) -> list[claims.Claim]:
    """Claims about colour and orientation."""
    named = {
        "Accuracy is near that of an ideal classifier (Section 4.1)": "ideal",
        "Each axis tells one factor, colour or orientation (Figure 2)": "AUC",
        "Hue noise raises the variance of colour alone (Figure 3)": "hue noise",
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
        text = "; ".join(f"{name}: {value:.3g}" for name, value, _, _ in rows)
        held = sum(holds for *_, holds in rows)
        lines.append((claim, text, claims.verdict(held, len(rows))))
    return lines


def cost_claim(result: dict) -> claims.Claim:
    ratio = result["ratio"]
    return (
        "Training takes about as long as with PN",
        f"a step takes {ratio:.2f} times as long; a model beside itself "
        f"{result['ratio_of_equal_models']:.2f}",
        claims.verdict(ratio <= 1.05, 1),
    )


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
        return claim, evidence, claims.verdict(held, len(found))

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
            "Without a diagonal covariance, axes need not align (Appendix C)",
            full,
            gained,
            lambda value: value > 5,
            rotated,
        ),
        lines(
            "The variance rises with occlusion",
            diagonal,
            lambda run: run["evaluation"]["uncertainty"][
                "rank_correlation_with_occlusion"
            ],
            lambda value: value >= 0.5,
            "rank correlation",
        ),
    ]


def unknown_claim(results: list[dict]) -> claims.Claim:
    """AUROC of the predicted variance, of inputs of another kind."""
    claim = "The variance detects inputs from elsewhere (Sections 1 and 4.2)"
    found = {
        kind: scores["predicted_variance"]["auroc"]
        for run in results
        for name in run[out_of_distribution_table.SECTION]["settings"]["splits"]
        for kind, scores in run[out_of_distribution_table.SECTION][name].items()
        if "predicted_variance" in scores
    }
    text = "; ".join(f"{kind} {value:.2f}" for kind, value in found.items())
    held = sum(value >= 0.8 for value in found.values())
    evidence = f"AUROC: {text}" if found else ""
    return claim, evidence, claims.verdict(held, len(found))


def every_claim() -> list[claims.Claim]:
    """Returns claim, evidence and verdict of each row."""
    runs = n_digit_table.every_run()
    return [
        *n_digit_claims(runs),
        *omniglot_claims(omniglot_table.load()),
        sampler_claim(samplers_study.load()),
        *colour_claims(colour_orientation_table.load()),
        cost_claim(json.loads(STEP_COST.read_text())),
        *axes_claims(runs),
        unknown_claim(out_of_distribution_table.load()),
    ]


def main() -> None:
    write_between(PAGE, BEGIN, END, claims.claims_table(every_claim()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
