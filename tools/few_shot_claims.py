"""Claims about the accuracies of stochastic prototypes in few-shot tables."""

import functools
import math
import statistics

from tools import claims
from tools import n_digit_grid
from tools import omniglot_table
from tools.n_digit_grid import EPISODES
from tools.n_digit_grid import choose
from tools.n_digit_grid import differences
from tools.n_digit_grid import mean_differences
from tools.n_digit_grid import values
from tools.paired_difference import PairedDifference
from tools.paired_difference import mean_of_parts
from tools.paired_difference import mean_over_episodes
from tools.paired_difference import of_differences
from tools.paired_episodes import mean_of_each
from tools.paired_episodes import mean_of_runs
from tools.paired_episodes import paired_episodes
from tools.paired_episodes import paired_runs

SPE, PN, HIB = "stochastic_prototypes", "prototypical", "hedged_instances"
CONTRASTIVE = "soft_contrastive"
NAMES = n_digit_grid.METHODS | {CONTRASTIVE: "The soft contrastive loss"}
# Differences up to this share of the error are comparable.
COMPARABLE = 0.2


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


def _mean_difference(
    chosen, split, condition, methods, shapes=n_digit_grid.SHAPES
) -> PairedDifference | None:
    """A method minus another one, the mean over shapes.

    The difference is over seeds that all shapes have. Both are scored by the
    rules of the published numbers. With one seed both are scored by episodes,
    and the test is over episodes.
    """
    of_shapes, runs_of_shapes = [], []
    for n, dim in shapes:
        accuracies, by_seed = [], []
        for method in methods:
            runs = chosen[f"n_digit_{n}_dim_{dim}_{method}"]
            rule = n_digit_grid.published_rule(method)
            ours = values(runs, split, condition, rule)
            seeds = [run["seed"] for run in runs] if ours else []
            accuracies.append(dict(zip(seeds, ours, strict=True)))
            by_seed.append({run["seed"]: run for run in runs})
        ours, others = accuracies
        of_shapes.append({s: ours[s] - others[s] for s in ours if s in others})
        runs_of_shapes.append(by_seed)
    seeds = sorted(set.intersection(*map(set, of_shapes)))
    if len(seeds) == 1:
        pairs = [
            tuple(of_method[seeds[0]] for of_method in by_seed)
            for by_seed in runs_of_shapes
        ]
        parts = _by_digits(pairs, shapes, split, condition)
        if all(parts):
            return mean_over_episodes(parts)
        return _unpaired(pairs, shapes, split, condition)
    means = [
        statistics.mean(found[seed] for found in of_shapes) for seed in seeds
    ]
    return of_differences(means) if means else None


def _by_digits(pairs, shapes, split, condition) -> list[list[float]]:
    """Differences in each test episode, for each number of digits.

    Two and three dimensions have the same test episodes, so their differences
    are averaged episode by episode: they are not independent.

    Args:
        pairs: The runs of two methods for each of `shapes`.
        shapes: Numbers of digits and dimensions.
        split: As in `paired_episodes`.
        condition: As in `paired_episodes`.

    Returns:
        A list for each number of digits; empty without shared episodes.
    """
    parts = {}
    for (digits, _), pair in zip(shapes, pairs, strict=True):
        found = paired_episodes(*pair, split, condition)
        parts.setdefault(digits, []).append(found)
    return [mean_of_each(of_shapes) for of_shapes in parts.values()]


def _unpaired(pairs, shapes, split, condition) -> PairedDifference:
    """The test without single episodes, from the intervals of both methods.

    Errors of two and three dimensions are added up, since their tests may have
    the same images. Arguments are as in `_by_digits`.
    """
    parts, counts = {}, []
    quantile = statistics.NormalDist().inv_cdf(0.975)
    for (digits, _), pair in zip(shapes, pairs, strict=True):
        cells = [run["evaluation"][split][condition] for run in pair]
        counts += [cell["episodes"] for cell in cells]
        spe, other = (100 * cell[EPISODES] for cell in cells)
        error = 100 * math.hypot(*(cell["interval"] for cell in cells))
        found = spe - other, error / quantile
        parts.setdefault(digits, []).append(found)
    means = [
        tuple(map(statistics.fmean, zip(*of_shapes, strict=True)))
        for of_shapes in parts.values()
    ]
    return mean_of_parts(means, min(counts), "intervals")


def _single_cells(chosen, method: str, other: str) -> dict:
    """A method minus another one in each cell where it is better in the paper.

    Differences as in `_mean_difference`, with the published ones.
    """
    ours, theirs = (_n_digit(name, chosen) for name in (method, other))
    found = {}
    for key, (_, published) in ours.items():
        split, condition, shape = key
        better = published - theirs[key][1]
        if better > 0:
            name = _name(*key)
            difference = _mean_difference(
                chosen, split, condition, (method, other), [shape]
            )
            found[name] = difference, better
    return found


def _beside_published(spe: dict, hib: dict) -> str:
    """How far our HIB is from the published one, and SPE from that one.

    Each is the mean over shapes. HIB that is not as good as published makes
    SPE look better.
    """
    own, above = [], []
    for split, condition in n_digit_grid.CELLS:
        keys = [(split, condition, shape) for shape in n_digit_grid.SHAPES]
        theirs = statistics.mean(hib[key][1] for key in keys)
        for found, of_method in ((hib, own), (spe, above)):
            ours = [found[key][0] for key in keys]
            if None in ours:
                return ""
            of_method.append(statistics.mean(ours) - theirs)
    return (
        f"Our HIB minus the published HIB: {claims.ends(own)} points. Our SPE "
        f"minus the published HIB: {claims.ends(above)} points, above 0 in "
        f"{sum(each > 0 for each in above)} of {len(above)} means."
    )


def _name(split: str, condition: str, shape: tuple[int, int]) -> str:
    return f"{_shape(*shape, split)} {condition.replace('_', ' ')}"


def _cell(split: str, condition: str) -> str:
    return f"{split.removeprefix('test_')} {condition.replace('_', ' ')}"


def _shape(n: int, dim: int, split: str) -> str:
    return f"N{n}D{dim} {split.removeprefix('test_')}"


def n_digit_claims(runs: list[dict]) -> list[claims.Claim]:
    """Claims about Table D.2."""
    chosen = {recipe: choose(recipe, runs) for recipe in n_digit_grid.PUBLISHED}
    found = {
        method: _n_digit(method, chosen) for method in n_digit_grid.METHODS
    }
    spe, pn, hib = (found[method] for method in (SPE, PN, HIB))
    corrupt = {}
    for split, condition, (n, dim) in spe:
        if condition != "corrupt_support":
            continue
        key = split, condition, (n, dim)
        published = spe[key][1] - pn[key][1]
        if published > 0:
            paired = paired_runs(
                chosen[f"n_digit_{n}_dim_{dim}_stochastic_prototypes"],
                chosen[f"n_digit_{n}_dim_{dim}_prototypical"],
                split,
                condition,
            )
            corrupt[_shape(n, dim, split)] = paired, published

    def against_hib() -> tuple[str, str]:
        """With one seed the rule of scoring is not the published one."""
        of_means = means(HIB, hib)
        evidence, verdict = claims.published_differences(of_means)
        if any(ours and ours.over != "runs" for ours, _ in of_means.values()):
            evidence += (
                " Both are of the seed that they share, and are scored by "
                "episodes; published numbers of HIB leave one image out, and "
                "HIB saw 40 % of the images of SPE."
            )
        return f"{evidence} {_beside_published(spe, hib)}".strip(), verdict

    def as_published(method: str) -> claims.Claim:
        """Accuracies of a method beside the published ones."""
        return (
            f"{NAMES[method]} classifies numbers as well as published (Table "
            "D.2)",
            *claims.published_cells(
                {_name(*key): pair for key, pair in found[method].items()},
                min(
                    len(chosen[f"n_digit_{n}_dim_{dim}_{method}"])
                    for n, dim in n_digit_grid.SHAPES
                ),
            ),
        )

    def single_cells_of_hib() -> tuple[str, str]:
        evidence, verdict = claims.published_differences(
            _single_cells(chosen, SPE, HIB), names_all=False
        )
        more = [
            ours - hib[key][1]
            for key, (ours, published) in spe.items()
            if published > hib[key][1] and ours is not None
        ]
        if more:
            evidence += (
                f". Our SPE minus the published HIB: {claims.ends(more)} "
                f"points, above 0 in {sum(each > 0 for each in more)} cells"
            )
        return evidence, verdict

    def means(other: str, published: dict) -> dict:
        """SPE minus another method, where SPE is better in the paper."""
        found = {}
        for split, condition in n_digit_grid.CELLS:
            keys = [(split, condition, shape) for shape in n_digit_grid.SHAPES]
            theirs = statistics.mean(spe[k][1] - published[k][1] for k in keys)
            if theirs > 0:
                ours = _mean_difference(chosen, split, condition, (SPE, other))
                found[_cell(split, condition)] = ours, theirs
        return found

    return [
        *map(as_published, n_digit_grid.METHODS),
        (
            "SPE is better than PN if supports are corrupt (the cells of Table "
            "D.2 in which the paper's SPE is better)",
            *claims.published_differences(corrupt),
        ),
        (
            "SPE is better than PN, means over the four tasks of numbers "
            "(those of Table D.2 in which the paper's SPE is better)",
            *claims.published_differences(means(PN, pn)),
        ),
        (
            "SPE is better than HIB in all six means (Figure 6)",
            *against_hib(),
        ),
        (
            "SPE is better than HIB in single cells (Section 4.3; the cells of "
            "Table D.2 in which the paper's SPE is better)",
            *single_cells_of_hib(),
        ),
        (
            "Deterministic methods are worse than stochastic ones: PN than "
            "SPE, and the soft contrastive loss than HIB (Section 4.3; the "
            "cells of Table D.2 in which the paper's are)",
            *claims.published_differences(
                {
                    f"{names}, {cell}": difference
                    for names, *methods in (
                        ("SPE minus PN", SPE, PN),
                        ("HIB minus soft contrastive", HIB, CONTRASTIVE),
                    )
                    for cell, difference in _single_cells(
                        chosen, *methods
                    ).items()
                },
                names_all=False,
            ),
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
            chosen(column[0], method, condition, dim) for method in (SPE, PN)
        ]
        return paired_runs(*models, omniglot_table.split(*column), condition)

    def mean_difference(condition) -> PairedDifference | None:
        """SPE - PN, the mean over the columns, over seeds that all have.

        With one seed the test is over episodes.
        """
        cells = [
            (
                chosen(column[0], SPE, condition),
                chosen(column[0], PN, condition),
                omniglot_table.split(*column),
                condition,
            )
            for column in omniglot_table.COLUMNS
        ]
        of_one_seed = mean_of_runs(cells)
        if of_one_seed is not None:
            return of_one_seed
        means = mean_differences([differences(*cell) for cell in cells])
        return of_differences(means) if means else None

    corrupt = {}
    cells = {method: {} for method in (SPE, PN)}
    seeds = {method: [] for method in cells}
    many, seeds_of_many = [], []
    for place, column in enumerate(omniglot_table.COLUMNS):
        for condition in n_digit_grid.CONDITIONS:
            pn, spe = (
                omniglot_table.PUBLISHED[condition, method][place]
                for method in omniglot_table.METHODS
            )
            where = "{}-shot {}-class".format(*column)
            name = f"{where} {condition.replace('_', ' ')}"
            for method, published in ((SPE, spe), (PN, pn)):
                runs = chosen(column[0], method, condition)
                ours = values(
                    runs, omniglot_table.split(*column), condition, EPISODES
                )
                cells[method][name] = claims.mean_or_none(ours), published
                seeds[method].append(len(runs))
            if condition == "corrupt_support" and spe > pn:
                corrupt[where] = paired(column, condition), spe - pn
        dim = omniglot_table.NOT_PUBLISHED_DIM
        found = paired(column, "clean", dim)
        if found is not None:
            pn = values(
                chosen(column[0], PN, "clean", dim),
                omniglot_table.split(*column),
                "clean",
                EPISODES,
            )
            many.append((found.mean, 100 - statistics.mean(pn)))
            seeds_of_many.append(found.count if found.over == "runs" else 1)
    means = {
        condition.replace("_", " "): (
            mean_difference(condition),
            statistics.mean(omniglot_table.PUBLISHED[condition, SPE])
            - statistics.mean(omniglot_table.PUBLISHED[condition, PN]),
        )
        for condition in n_digit_grid.CONDITIONS
    }
    text = f"{len(many)} of {len(omniglot_table.COLUMNS)} cells run"
    if many:
        text += "; SPE - PN in points, and in brackets the error of PN: "
        text += ", ".join(
            f"{more:+.1f} ({error:.1f} %)" for more, error in many
        )
    equal = sum(abs(more) <= COMPARABLE * error for more, error in many)
    comparable = claims.verdict(equal, len(many), len(omniglot_table.COLUMNS))
    return [
        *(
            (
                f"{NAMES[method]} classifies characters as well as published "
                "(Table D.1)",
                *claims.published_cells(of_method, min(seeds[method])),
            )
            for method, of_method in cells.items()
        ),
        (
            "SPE is better than PN if supports are corrupt (the cells of Table "
            "D.1 in which the paper's SPE is better)",
            *claims.published_differences(corrupt),
        ),
        (
            "SPE is better than PN, means over the four tasks of characters "
            "(Figure 6)",
            *claims.published_differences(means),
        ),
        (
            "In 64 dimensions SPE and PN are comparable on characters",
            text,
            claims.of_one_seed(comparable, min(seeds_of_many, default=0)),
        ),
    ]
