"""Paired differences of two methods, with t-tests, for generated tables."""

import dataclasses
import math
import statistics
from collections.abc import Mapping
from collections.abc import Sequence

LEGENDS = {
    "folds": "Differences are paired by fold: mean ± standard error, and in "
    "brackets the p-value of the paired t-test and of its correction for folds "
    "that share training data (Nadeau & Bengio 2003).",
    "seeds": "Differences are paired by seed: mean ± standard error, and in "
    "brackets the p-value of the paired t-test. All seeds have one test set.",
    "seeds of folds": "Differences are paired by seed, each the mean over the "
    "folds: mean ± standard error, and in brackets the p-value of the paired "
    "t-test. All seeds have the same test data.",
}
# Largest p-value of a difference that counts.
LEVEL = 0.05
# Smallest p-value that tables show.
SMALLEST = 0.001
# Differences that vary by a smaller share of their mean are equal.
ROUNDING = 1e-9
# What is divided into folds: characters, digits, identities, or speakers.
DIVIDED = {
    "an4": 84,
    "mnist": 10,
    "omniglot": 1623,
    "spoken_digit": 5,
    "sprites": 672,
}
# Numbers that keys of one fold or seed share are compared with each other.
Values = Mapping[object, float]


@dataclasses.dataclass(frozen=True)
class PairedDifference:
    """The mean difference of two methods over shared folds or seeds.

    Fields:
        count: Number of folds or seeds that both methods have.
        mean: Mean difference.
        standard_error: Its standard error; None for a single pair.
        p: Two-sided p-value of the paired t-test; None without a test, that
            is for a single pair, or if all differences are equal.
        p_corrected: p-value of Nadeau & Bengio's corrected test, for folds
            that share training data; None without `test_to_train`, or without
            a test.
        over: `"runs"`, that is folds or seeds; `"episodes"` of one test; or
            `"intervals"` of two tests that were not paired.
    """

    count: int
    mean: float
    standard_error: float | None
    p: float | None
    p_corrected: float | None
    over: str = "runs"


def paired_difference(
    first: Values, second: Values, test_to_train: float | None = None
) -> PairedDifference | None:
    """Compares two methods on the folds or seeds that both have.

    With k differences of mean m and variance s^2 (divided by k - 1):

        t           = m / sqrt(s^2 / k)
        t corrected = m / sqrt(s^2 (1 / k + test_to_train))

    both with k - 1 degrees of freedom. The plain test takes the differences as
    independent. Folds of one data set share training examples, so it finds
    differences too often; the second test corrects for that.

    Args:
        first: A number for each fold or seed.
        second: The same for the other method.
        test_to_train: Test examples divided by training examples; None for
            runs that are not folds.

    Returns:
        The difference first - second; None if nothing is shared.

    Reference:
        - Nadeau & Bengio, Inference for the generalization error, Machine
          Learning 52, 2003.
    """
    shared = [key for key in first if key in second]
    if not shared:
        return None
    differences = [first[key] - second[key] for key in shared]
    return of_differences(differences, test_to_train)


def means_of_shared_seeds(
    first: Mapping[tuple, float], second: Mapping[tuple, float], key: int = 0
) -> tuple[dict, dict]:
    """Returns the numbers of both by fold, means over the seeds of both.

    Args:
        first: A number by fold and seed. Only what both methods have counts.
        second: The same of the other method.
        key: 0: by fold; 1: by seed, means over the folds of both.
    """
    shared = [pair for pair in first if pair in second]
    return tuple(
        {
            where: statistics.fmean(
                numbers[pair] for pair in shared if pair[key] == where
            )
            for where in dict.fromkeys(pair[key] for pair in shared)
        }
        for numbers in (first, second)
    )


def of_differences(
    differences: Sequence[float],
    test_to_train: float | None = None,
    over: str = "runs",
) -> PairedDifference:
    """Tests differences, one for each fold or seed, as `paired_difference`.

    `over="episodes"`: one for each test episode.
    """
    count, mean = len(differences), statistics.fmean(differences)
    if count < 2:
        return PairedDifference(count, mean, None, None, None, over)
    variance = statistics.variance(differences)
    corrected = None
    if test_to_train is not None:
        corrected = _p(mean, variance * (1 / count + test_to_train), count)
    return PairedDifference(
        count,
        mean,
        math.sqrt(variance / count),
        _p(mean, variance / count, count),
        corrected,
        over,
    )


def mean_over_episodes(
    parts: Sequence[Sequence[float]],
) -> PairedDifference:
    """Tests the mean of several mean differences over episodes.

    With means m_i and variances s_i^2 of n_i differences in k independent
    parts, t = mean(m_i) / (sqrt(sum of s_i^2 / n_i) / k), with as many degrees
    of freedom as the smallest part.
    """
    found = [
        (
            statistics.fmean(part),
            math.sqrt(statistics.variance(part) / len(part)),
        )
        for part in parts
    ]
    return mean_of_parts(found, min(map(len, parts)), "episodes")


def mean_of_parts(
    parts: Sequence[tuple[float, float]], count: int, over: str
) -> PairedDifference:
    """Tests the mean of k independent differences from their standard errors.

    With differences m_i and standard errors s_i,
    t = mean(m_i) / (sqrt(sum of s_i^2) / k), with `count - 1` degrees of
    freedom.

    Args:
        parts: Difference and standard error of each part.
        count: Episodes of the smallest part.
        over: As in `PairedDifference`.
    """
    mean = statistics.fmean(difference for difference, _ in parts)
    squared_error = sum(s**2 for _, s in parts) / len(parts) ** 2
    p = _p(mean, squared_error, count)
    return PairedDifference(
        count, mean, math.sqrt(squared_error), p, None, over
    )


def _p(mean: float, variance: float, count: int) -> float | None:
    from scipy import stats

    error = math.sqrt(variance)
    if error <= ROUNDING * abs(mean):
        return None
    return float(2 * stats.t.sf(abs(mean) / error, count - 1))


def ratio_of_test_to_train(config: dict, split: str = "test") -> float | None:
    """Test classes divided by training classes, the mean over the folds.

    `split="validation"`: for numbers of the validation classes.

    A fifth of the classes that are not in the test are for validation, rounded
    up: of MNIST's ten digits, two are for the test and six for training. None
    without folds, or if one test split is the test of every fold.

    Raises:
        ValueError: If the number of classes of the data set is not known.
    """
    from trainers.data.folds import split_classes

    folds = config.get("folds", {})
    number = folds.get("num_folds", 0)
    if not number or folds.get("test_split"):
        return None
    dataset = config["dataset"].partition("/")[0]
    if dataset not in DIVIDED:
        raise ValueError(
            f"received folds of {dataset}; expected one of {[*DIVIDED]}. Add "
            "its number of classes to tools/paired_difference.py"
        )
    sizes = [
        split_classes(DIVIDED[dataset], fold, number, min_num_test=1)
        for fold in range(number)
    ]
    return statistics.fmean(len(s[split]) / len(s["train"]) for s in sizes)


def as_cell(found: PairedDifference | None, digits: int, scale=1.0) -> str:
    """`difference ± standard error (p; corrected p)`; empty for None.

    Without a test, the brackets are left out.
    """
    if found is None:
        return ""
    text = f"{scale * found.mean:+.{digits}f}"
    if found.standard_error is None:
        return text
    text += f" ± {scale * found.standard_error:.{digits}f}"
    tests = [p for p in (found.p, found.p_corrected) if p is not None]
    return f"{text} ({'; '.join(map(rounded, tests))})" if tests else text


def cell_of_seeds(
    differences: Sequence[float], found: PairedDifference | None = None
) -> str:
    """`**mean** ± standard error, p [each]` of differences in points.

    `found` is their test; by default over seeds.
    """
    found = found or of_differences(differences)
    text = f"**{found.mean:+.1f}**"
    if found.standard_error is not None:
        text += f" ± {found.standard_error:.1f}"
    if found.p is not None:
        text += f", p {rounded(found.p)}"
    if found.over == "episodes":
        return f"{text} (one seed)"
    each = ", ".join(f"{value:+.1f}" for value in differences)
    return f"{text} [{each}]"


def difference_table(
    first: str | None,
    names: Sequence[str],
    pairs: Mapping[str, Sequence[tuple[Values, Values]]],
    test_to_train: float | None,
    digits: int | Sequence[int],
    scale: float | Sequence[float] = 1.0,
    unit: str = "folds",
) -> list[str]:
    """Returns a Markdown table of differences of one method to others.

    Args:
        first: The method whose numbers come first in each pair; None for rows
            that name both methods.
        names: Headings of the measures.
        pairs: By the name of the row, a pair of numbers by fold or seed for
            each measure.
        test_to_train: As in `paired_difference`.
        digits: Digits after the point, of all measures or of each.
        scale: Factor of the numbers, such as 100 for per cent, of all measures
            or of each.
        unit: Numbers are paired by `"folds"`, by `"seeds"`, or by `"seeds of
            folds"`: by seed, with the mean over folds.
    """
    digits = _of_each(digits, names)
    scale = _of_each(scale, names)
    heading = "difference" if first is None else f"{first} minus"
    legend, unit = LEGENDS[unit], unit.partition(" ")[0]
    lines = [
        "",
        f"| {heading} | {unit} | " + " | ".join(names) + " |",
        "|---|---:|" + "---:|" * len(names),
    ]
    for method, of_measures in pairs.items():
        found = [paired_difference(*p, test_to_train) for p in of_measures]
        counts = [each.count for each in found if each is not None]
        if counts:
            most = max(counts)
            cells = [
                as_cell(each, *how) + fewer(each, most, unit)
                for each, *how in zip(found, digits, scale, strict=True)
            ]
            row = " | ".join([method, str(most), *cells])
            lines.append(f"| {row} |")
    return [*lines, "", legend]


def _of_each(value, names: Sequence[str]) -> Sequence:
    return value if isinstance(value, Sequence) else [value] * len(names)


def fewer(found: PairedDifference | None, most: int, unit: str) -> str:
    """`, 2 folds`, if a difference has fewer than its row says."""
    if found is None or found.count == most:
        return ""
    return f", {found.count} {unit if found.count > 1 else unit[:-1]}"


def rounded(p: float) -> str:
    """Three digits; `<.050` if a p below the level would round to it."""
    rounded = max(round(p, 3), SMALLEST)
    is_below = p < rounded and rounded in (SMALLEST, LEVEL)
    return "<" * is_below + f"{rounded:.3f}".removeprefix("0")
