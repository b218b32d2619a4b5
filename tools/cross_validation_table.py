"""Writes tables and figures of the cross-validated runs.

    python -m tools.cross_validation_table [FOLDER ...]

A FOLDER is a workdir of `trainers.cross_validate`. The script first copies its
numbers to `benchmarks/results/cross_validation`. It then makes the tables in
`docs/results` and the figures in `docs/figures` from these result files only.
"""

import statistics
from collections.abc import Mapping

from tools import num_dims_sweep
from tools import untrained_networks
from tools.cross_validation_figures import figures
from tools.cross_validation_results import COMPARED
from tools.cross_validation_results import DISENTANGLING
from tools.cross_validation_results import LOSSES
from tools.cross_validation_results import METHODS
from tools.cross_validation_results import RETRIEVAL
from tools.cross_validation_results import by_fold
from tools.cross_validation_results import collect
from tools.cross_validation_results import disentangled
from tools.cross_validation_results import load
from tools.cross_validation_results import paired
from tools.cross_validation_results import rankings
from tools.cross_validation_results import retrieved
from tools.cross_validation_results import runs_of
from tools.cross_validation_results import seeds_of
from tools.cross_validation_results import shared_seeds
from tools.cross_validation_results import values
from tools.cross_validation_results import with_seeds
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import command_lines
from tools.rerun_command import first_command
from trainers.measures.standard_error import standard_error
from trainers.recipes import every_recipe

PAGE = ROOT / "docs" / "results" / "sprites_and_omniglot.md"
BEGIN, END = (
    "<!-- cross-validation: begin -->",
    "<!-- cross-validation: end -->",
)
# With the modularity of the untrained network in brackets.
COLUMNS = {
    **COMPARED,
    "modularity": "modularity (untrained)",
    "explicitness_held_out": "explicitness, held out",
}
# A comparison with as many batches.
DROPOUT = ("F-statistic, dimension dropout", "F-statistic, 16,000 batches")
UNTRAINED = "*untrained network*"
SEEDS = (
    "A fold's value is the mean over the seeds that both methods have. An "
    "untrained network is a single random network for each seed."
)
# Losses in 500 dimensions that are compared with each other.
OF_70, INVERTED, WELCH = (
    LOSSES[f"f_statistic_{name}"]
    for name in (f"{num_dims_sweep.REFERENCE}_of_500", "merge", "welch")
)
# Below the bars.
DASHED = (
    "Dashed: the mean of ten untrained networks with the encoder of the "
    "losses. The beta-VAEs have another encoder."
)
CLUSTERS = {
    "k_means": "k-means",
    "learned_distance_to_k_means": "learned distance to k-means centroids",
    "learned_distance_to_class_means": "learned distance to the class means",
}


COMPARED_CLUSTERS = (
    ("k_means", "learned_distance_to_k_means"),
    ("learned_distance_to_class_means", "k_means"),
)
NOTHING: Mapping[str, str] = {}


def table(found: dict[tuple[str, str], dict]) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    for dataset, heading in DISENTANGLING.items():
        if rows := disentangled(found, dataset):
            parts += ["", f"### {heading}: disentangling", ""]
            parts += disentangling(rows, _not_disentangled(found, dataset))
            name = dataset.replace("/", "_")
            parts += ["", _pictures(name, "plane", "measures")]
            parts += ["", DASHED, ""]
            parts += [_pictures(name, "explicitness_curves")]
            parts += [_pictures(name, "modularity_curves", "auc_distribution")]
    parts += untrained_networks.section(
        untrained_networks.load(),
        {
            dataset: found[untrained_networks.RECIPE, dataset]
            for dataset in DISENTANGLING
            if (untrained_networks.RECIPE, dataset) in found
        },
    )
    for dataset, heading in RETRIEVAL.items():
        if rows := retrieved(found, dataset):
            parts += ["", f"### {heading}: recall of held-out classes, %", ""]
            parts += retrieval(rows, _not_retrieved(found, dataset))
            parts += ["", _pictures(dataset.replace("/", "_"), "recall")]
            parts += _clusters(rows, heading)
    parts += num_dims_sweep.section(num_dims_sweep.sweep(found))
    return "\n".join(parts)


def _not_disentangled(found: dict, dataset: str) -> dict[str, str]:
    """Commands of the methods, and of untrained networks, without a result.

    Every data set has the untrained networks of the same seeds.
    """
    recipes = {
        name: (recipe, 0)
        for recipe, name in METHODS.items()
        if (recipe, dataset) not in found
    }
    of_sets = [disentangled(found, each) for each in DISENTANGLING]
    firsts = [next(iter(rows.items())) for rows in of_sets if rows]
    ours = next(iter(disentangled(found, dataset).values()))
    recipes |= {
        f"{UNTRAINED}, seed {seed}": (ours["recipe"], seed)
        for _, results in firsts
        for seed in seeds_of(results)
        if seed not in seeds_of(ours)
    }
    return _first_commands(recipes, dataset, list(ours["folds"]))


def _not_retrieved(found: dict, dataset: str) -> dict[str, str]:
    """Commands of the losses without a result."""
    prefix = dataset.partition("/")[0]
    recipes = {
        name: (recipe, 0)
        for loss, name in LOSSES.items()
        if (recipe := f"{prefix}_retrieval_{loss}") in every_recipe()
        and (recipe, dataset) not in found
    }
    return _first_commands(recipes, dataset, ["1", "2", "3", "4"])


def _first_commands(recipes: dict, dataset: str, folds: list[str]) -> dict:
    """Commands by the name of a row, from its recipe and seed."""
    return {
        name: first_command(
            recipe,
            f"runs/{recipe}-{dataset.replace('/', '-')}"
            + f"-seed_{seed}" * (seed > 0),
            [f"dataset={dataset}", f"seed={seed}"],
            folds,
        )
        for name, (recipe, seed) in recipes.items()
    }


def _folds(results: dict) -> str:
    seeds = {fold: len(runs) for fold, runs in results["folds"].items()}
    if len({*seeds.values()}) > 1:
        return ", ".join(f"{fold} x {n} seeds" for fold, n in seeds.items())
    (number,) = {*seeds.values()}
    return ", ".join(seeds) + f" x {number} seeds" * (number > 1)


def _pictures(prefix: str, *names: str) -> str:
    return "\n".join(
        f"![{name.replace('_', ' ')}](../figures/{prefix}_{name}.png)"
        for name in names
    )


def _cell(numbers: list[float], digits: int = 3, scale: float = 1) -> str:
    if not numbers:
        return ""
    error = standard_error(numbers)
    text = f"{scale * statistics.fmean(numbers):.{digits}f}"
    return text if error is None else f"{text} ± {scale * error:.{digits}f}"


def _of_folds(results: dict, name: str) -> str:
    """The cell of a number, with its folds if some folds lack it."""
    found = by_fold(results, name)
    note = ""
    if found and len(found) < len(results["folds"]):
        note = f" (fold{'s' * (len(found) > 1)} {', '.join(found)})"
    return _cell([*found.values()]) + note


def _run_columns(results: dict) -> str:
    training = [run["training"] for run in runs_of(results)]
    # Early stopping may end some runs sooner.
    steps = [t["steps"] for t in training]
    fewest, most = min(steps), max(steps)
    return (
        f" | {most if fewest == most else f'{fewest} to {most}'} | "
        f"{statistics.fmean([t['seconds'] for t in training]) / 60:.1f} | "
        + " ".join(sorted({t["commit"][:7] for t in training}))
        + " |"
    )


def disentangling(
    rows: dict[str, dict], missing: Mapping[str, str] = NOTHING
) -> list[str]:
    """Returns the lines of a table of disentangling, and what is below it.

    Args:
        rows: Results by method; differences are of the first to the others.
        missing: Commands of the rows without a result.
    """
    measures = [
        name
        for name in COLUMNS
        if any(values(results, f"test.{name}") for results in rows.values())
    ]
    more = len(measures) + 3
    lines = [
        "| method | folds | "
        + " | ".join(COLUMNS[name] for name in measures)
        + " | batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * more,
    ]
    for method, results in rows.items():
        cells = [_of_folds(results, f"test.{name}") for name in measures]
        before = values(results, "test_untrained.modularity")
        cells[0] += f" ({statistics.fmean(before):.3f})"
        lines.append(
            f"| {method} | {_folds(results)} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    first = next(iter(rows.values()))
    for seed in seeds_of(first):  # each is one random network
        of_seed = with_seeds(first, [seed])
        cells = [
            _of_folds(of_seed, f"test_untrained.{name}") for name in measures
        ]
        lines.append(
            f"| {UNTRAINED}, seed {seed} | {_folds(of_seed)} | "
            + " | ".join(cells)
            + " | | | |"
        )
    ideal = {
        fold: run["evaluation"]["test"]["modularity_of_ideal"]
        for fold, runs in first["folds"].items()
        for run in runs
        if "modularity_of_ideal" in run["evaluation"]["test"]
    }
    if ideal:
        lines.append(
            f"| *one dimension for every value* | {', '.join(ideal)} | "
            f"{_cell([*ideal.values()])} |" + " |" * (more - 1)
        )
    lines += [f"| {name} | not run |" + " |" * more for name in missing]
    compared = [name for name in measures if name in COMPARED]
    lines += _differences(rows, compared)
    if all(method in rows for method in DROPOUT):
        lines += _differences({m: rows[m] for m in DROPOUT}, compared)
    return lines + _hardware(rows, missing)


def _differences(rows: dict[str, dict], measures: list[str]) -> list[str]:
    """Paired differences of the first method to the others."""
    (first, ours), *others = rows.items()
    kinds = {method: (results, "test") for method, results in others}
    seeds = seeds_of(ours)
    for seed in seeds:
        of_seed = with_seeds(ours, [seed])
        kinds[f"{UNTRAINED}, seed {seed}"] = of_seed, "test_untrained"
    if len(seeds) > 1:
        kinds[f"{UNTRAINED}, mean of {len(seeds)}"] = ours, "test_untrained"
    pairs = {
        _with_shared_seeds(method, ours, theirs): [
            paired((ours, f"test.{name}"), (theirs, f"{section}.{name}"))
            for name in measures
        ]
        for method, (theirs, section) in kinds.items()
    }
    names = [COMPARED[name] for name in measures]
    ratio = ratio_of_test_to_train(ours["config"])
    return [*difference_table(first, names, pairs, ratio, 3), "", SEEDS]


def _with_shared_seeds(method: str, ours: dict, theirs: dict) -> str:
    """Names the seeds of a comparison if a method has others, too."""
    shared = shared_seeds({"ours": ours, "theirs": theirs})
    if shared == seeds_of(ours) == seeds_of(theirs) or ", seed " in method:
        return method
    return f"{method}, seed {' '.join(map(str, shared))}"


def retrieval(
    rows: dict[str, dict], missing: Mapping[str, str] = NOTHING
) -> list[str]:
    """Returns the lines of a table of recall, and what is below it.

    Arguments are as in `disentangling`.
    """
    first = next(iter(rows.values()))
    ks = first["config"]["evaluation"]["k"]
    lines = [
        "| loss | folds | "
        + " | ".join(f"recall@{k}" for k in ks)
        + " | batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * (len(ks) + 3),
    ]
    for method, (results, ranking) in rankings(rows).items():
        cells = [
            _cell(values(results, f"{ranking}.recall_at_{k}"), 2, 100)
            for k in ks
        ]
        lines.append(
            f"| {method} | {_folds(results)} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    by_dim = {}  # networks of other dimensions start from another recall
    for results, _ in rankings(rows).values():
        by_dim.setdefault(results["config"]["encoder"]["dim"], results)
    for dim, results in by_dim.items():
        name = f"untrained network, {dim} dimensions"
        cells = [
            _cell(values(results, f"test_untrained.recall_at_{k}"), 2, 100)
            for k in ks
        ]
        lines.append(
            f"| *{name if len(by_dim) > 1 else 'untrained network'}* | "
            f"{_folds(results)} | " + " | ".join(cells) + " | | | |"
        )
    lines.append(
        f"| *ceiling of equal images* | {_folds(first)} | "
        + _cell(values(first, "test.ceiling"), 2, 100)
        + " |" * (len(ks) + 3)
    )
    more = len(ks) + 3
    lines += [f"| {name} | not run |" + " |" * more for name in missing]
    lines += _recall_differences(rows, ks)
    return lines + _hardware(rows, missing)


def _recall_differences(rows: dict[str, dict], ks) -> list[str]:
    """Paired differences of the first method to the other rankings."""
    (first, ours), *others = rankings(rows).items()
    pairs = {method: recalls(ours, theirs, ks) for method, theirs in others}
    names = [f"recall@{k}" for k in ks]
    ratio = ratio_of_test_to_train(ours[0]["config"])
    lines = difference_table(first, names, pairs, ratio, 2, 100)
    if chosen := _of_500(rows, ks):
        lines += difference_table(None, names, chosen, ratio, 2, 100)
    return lines


def _of_500(rows: dict[str, dict], ks) -> dict[str, list]:
    """Pairs of the losses in 500 dimensions, and of an untrained network."""
    pairs = {
        f"{method} minus {OF_70}": recalls(
            (rows[method], "test"), (rows[OF_70], "test"), ks
        )
        for method in (WELCH, INVERTED)
        if {method, OF_70} <= {*rows}
    }
    if INVERTED in rows:
        ours = rows[INVERTED]
        pairs[f"{INVERTED} minus the untrained network"] = recalls(
            (ours, "test"), (ours, "test_untrained"), ks
        )
    return pairs


def recalls(ours: tuple, theirs: tuple, ks) -> list[tuple[dict, dict]]:
    """Pairs of recall@k of two rankings, each of results and its name."""
    return [
        paired(
            *(
                (results, f"{ranking}.recall_at_{k}")
                for results, ranking in (ours, theirs)
            )
        )
        for k in ks
    ]


def _clusters(rows: dict[str, dict], heading: str) -> list[str]:
    """Returns rows of the methods that were evaluated with `cluster`."""
    lines = []
    for method, results in rows.items():
        run = runs_of(results)[0]
        for clusters, name in CLUSTERS.items():
            measure = f"mutual_information_{clusters}"
            if measure in run["evaluation"]["test"]:
                cell = _cell(values(results, f"test.{measure}"), 3)
                folds = _folds(results)
                lines.append(f"| {method} | {name} | {folds} | {cell} |")
    if not lines:
        return []
    return [
        "",
        f"### {heading}: clusters of held-out classes",
        "",
        "| loss | clusters | folds | normalized mutual information |",
        "|---|---|---|---:|",
        *lines,
        *_cluster_differences(rows),
    ]


def _cluster_differences(rows: dict[str, dict]) -> list[str]:
    """k-means against the learned distance, on the same embeddings."""
    pairs, ratio = {}, None
    for method, results in rows.items():
        for first, second in COMPARED_CLUSTERS:
            pair = paired(
                *(
                    (results, f"test.mutual_information_{clusters}")
                    for clusters in (first, second)
                )
            )
            name = f"{method}: {CLUSTERS[first]} minus {CLUSTERS[second]}"
            if all(pair):
                pairs[name] = [pair]
                ratio = ratio_of_test_to_train(results["config"])
    return difference_table(None, ["mutual information"], pairs, ratio, 3)


def _hardware(rows: dict[str, dict], missing: Mapping[str, str]) -> list[str]:
    training = [
        run["training"] for results in rows.values() for run in runs_of(results)
    ]
    commands = {
        f"{name}, seed {seed}": command
        for name, results in rows.items()
        for seed, command in results["commands"].items()
    }
    commands |= {f"{name}, not run": line for name, line in missing.items()}
    return ["", f"Hardware: {hardware(training)}.", *command_lines(commands)]


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
