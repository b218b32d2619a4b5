"""Writes which claims about stochastic prototypes our runs reproduce.

    python -m tools.prototype_claims

Every number and every verdict of the table in `docs/results/reproduced.md`
about Scott, Ridgeway & Mozer 2019 comes from the result files in
`benchmarks/results`.
"""

import json
import operator
import statistics
from collections.abc import Callable

from benchmarks import _side_by_side as side_by_side
from tools import claims
from tools import colour_orientation_table
from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools import out_of_distribution_table
from tools import samplers_study
from tools.few_shot_claims import n_digit_claims
from tools.few_shot_claims import omniglot_claims
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import values

PAGE = ROOT / "docs" / "results" / "reproduced.md"
BEGIN, END = (
    "<!-- stochastic prototypes: begin -->",
    "<!-- stochastic prototypes: end -->",
)
STEP_COST = ROOT / "benchmarks" / "results" / "step_cost.json"
PLANE = "n_digit_2_dim_2"


def sampler_claims(found: dict) -> list[claims.Claim]:
    """One sample of the intersection sampler beside the naive sampler."""
    naive = found.get("naive", {})
    ten = {count: runs for count, runs in naive.items() if count == 10}
    return [
        _sampler_claim(
            "One sample of the intersection sampler trains to at least the "
            "accuracy of ten of the naive sampler (Figure 4)",
            found,
            ten,
            operator.ge,
        ),
        _sampler_claim(
            "One sample of the intersection sampler trains better than many of "
            "the naive sampler (Figure 4)",
            found,
            naive,
            operator.gt,
        ),
    ]


def _sampler_claim(
    claim: str, found: dict, naive: dict, holds: Callable[[float, float], bool]
) -> claims.Claim:
    one = found.get("intersection", {}).get(1)
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
        held += holds(ours, best)
        parts.append(
            f"{split.removeprefix('test_')} numbers {ours:.1f} beside "
            f"{best:.1f} of the naive sampler, {count} samples"
            + (", its best" if len(naive) > 1 else "")
        )
    return claim, "; ".join(parts), claims.verdict(held, len(parts))


def colour_claims(results: list[dict]) -> list[claims.Claim]:
    """Claims about colour and orientation."""
    named = {
        "Accuracy is near that of an ideal classifier (Section 4.1)": "ideal",
        "Each axis tells one factor, colour or orientation (Figure 2)": "AUC",
        "Hue noise raises the variance of colour at least three times as much "
        "as of orientation (Figure 3)": "hue noise",
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
        lines.append((claim, text, claims.verdict(held, len(rows))))
    return lines


def cost_claim(result: dict | None) -> claims.Claim:
    """Steps of stochastic prototypes beside steps of prototypical networks."""
    claim = "Training takes about as long as with PN"
    if result is None:
        return claim, "", claims.verdict(0, 0)
    contenders = result["cases"]["70 x 10 images"]

    def ratio(name: str) -> float:
        return side_by_side.ratio(contenders, name, "prototypical")["median"]

    return (
        claim,
        f"a step takes {ratio('stochastic'):.2f} times as long; a model beside "
        f"itself {ratio('prototypical again'):.2f}",
        claims.verdict(ratio("stochastic") <= 1.05, 1),
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
            lambda run: (
                run["evaluation"]["uncertainty"][
                    "rank_correlation_with_occlusion"
                ]
                or 0.0
            ),
            lambda value: value >= 0.5,
            "rank correlation",
        ),
    ]


def unknown_claim(results: list[dict]) -> claims.Claim:
    """AUROC of the predicted variance, of inputs of another kind."""
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
        if "predicted_variance" in scores
    ]
    aurocs = [scores["predicted_variance"]["auroc"] for _, scores in found]
    text = "; ".join(
        f"{name} {value:.2f}"
        for (name, _), value in zip(found, aurocs, strict=True)
    )
    held = sum(value >= 0.8 for value in aurocs)
    evidence = f"AUROC: {text}" if found else ""
    return claim, evidence, claims.verdict(held, len(found))


def every_claim() -> list[claims.Claim]:
    """Returns claim, evidence and verdict of each row."""
    runs = n_digit_table.every_run()
    return [
        *n_digit_claims(runs),
        *omniglot_claims(omniglot_table.load()),
        *sampler_claims(samplers_study.load()),
        *colour_claims(colour_orientation_table.load()),
        cost_claim(
            json.loads(STEP_COST.read_text()) if STEP_COST.exists() else None
        ),
        *axes_claims(runs),
        unknown_claim(out_of_distribution_table.load()),
    ]


def main() -> None:
    write_between(PAGE, BEGIN, END, claims.claims_table(every_claim()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
