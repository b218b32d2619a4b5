"""Methods compared repeat by repeat: differences from the best, and a table."""

import numpy as np
from scipy import stats


def paired_methods(
    values: dict[str, list[float]],
    higher_is_better: bool,
    test_to_train: float = 0.0,
) -> dict:
    """Mean of each method, and its difference from the best, best first.

    Args:
        values: A number for each repeat, by method.
        higher_is_better: Whether a larger number is better.
        test_to_train: Test examples for each training example if every repeat
            divides the data anew, else 0. Such repeats share examples, so their
            numbers vary less than with new data (Nadeau & Bengio 2003).

    Returns:
        By method: `values`, `mean`, `difference` (mean of the differences from
        the best method, repeat by repeat) and `interval`, its 95 % interval
        by Student's t; None for the best method.
    """
    sign = -1 if higher_is_better else 1
    order = sorted(values, key=lambda method: sign * np.mean(values[method]))
    best = np.asarray(values[order[0]])
    found = {}
    for method in order:
        differences = np.asarray(values[method]) - best
        count = len(differences)
        error = differences.std(ddof=1) * np.sqrt(1 / count + test_to_train)
        half = stats.t.ppf(0.975, count - 1) * error
        mean = float(differences.mean())
        found[method] = {
            "values": [float(value) for value in values[method]],
            "mean": float(np.mean(values[method])),
            "difference": mean,
            "interval": None
            if method == order[0]
            else [mean - float(half), mean + float(half)],
        }
    return found


def methods_table(comparison: dict) -> str:
    """The comparison as text, best method first."""
    methods = comparison["methods"]
    width = max(map(len, methods)) + 2
    direction = "higher" if comparison["higher_is_better"] else "lower"
    repeats = len(next(iter(methods.values()))["values"])
    lines = [
        f"{comparison['number']} ({direction} is better), {repeats} repeats",
        f"{'method':<{width}}{'mean':>8}{'difference':>12}{'95 %':>20}"
        f"{'seconds':>9}{'a batch':>9}{'examples':>11}",
    ]
    undecided = []
    for name, row in methods.items():
        budget = comparison["budgets"][name]
        end = f"{comparison['seconds'][name]:>9.0f}" + "".join(
            f"{'-' if count is None else f'{count:,}':>{size}}"
            for count, size in zip(budget.values(), (9, 11), strict=True)
        )
        start = f"{name:<{width}}{row['mean']:>8.4f}"
        if row["interval"] is None:
            lines.append(f"{start}{'':>32}{end}")
            continue
        low, high = row["interval"]
        if low <= 0 <= high:
            undecided.append(name)
        lines.append(
            f"{start}{row['difference']:>+12.4f}"
            f"{f'{low:+.4f} to {high:+.4f}':>20}{end}"
        )
    best = next(iter(methods))
    lines.append(
        f"The difference is to {best}, which has the best mean. "
        + (
            f"Not decided by {repeats} repeats: {', '.join(undecided)}."
            if undecided
            else "Every interval excludes 0."
        )
        + " The best method is chosen by these numbers, so it looks better "
        "than it is; repeats with other seeds confirm it."
    )
    return "\n".join(lines)
