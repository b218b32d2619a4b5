"""Evaluates untrained networks of several seeds on Sprites.

    python -m tools.untrained_networks [--seeds 10]

The encoder of `sprites_f_statistic` embeds the test identities of folds 1 to 4
with the random weights of each seed, as `trainers.evaluate` does for one seed.
Writes `benchmarks/results/untrained_networks.json` after each fold, and
continues an interrupted run; `--file` names another file. Then remake what
shows these networks: `tools.cross_validation_table`,
`tools.equal_budgets_table`, `tools.reproduced_table` and
`tools.readme_results`.
"""

import argparse
import json
import pathlib
import statistics
import time

from tools.cross_validation_results import COMPARED
from tools.cross_validation_results import DISENTANGLING
from tools.cross_validation_results import SUM
from tools.cross_validation_results import by_fold
from tools.generated_text import ROOT
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from trainers.workdirs.json_files import write_json

RESULT = ROOT / "benchmarks" / "results" / "untrained_networks.json"
RECIPE = "sprites_f_statistic"
FOLDS = ("1", "2", "3", "4")
COMMAND = "    python -m tools.untrained_networks"


def measures(codes, factors) -> dict[str, float]:
    """Returns the measures of the tables, as `trainers.evaluate` does."""
    import numpy as np

    from embeddings_tf import metrics

    by_value = metrics.explicitness_by_value(codes, factors)
    single = metrics.single_dimension_auc_by_value(codes, factors)
    return {
        "modularity": metrics.modularity(codes, factors),
        "modularity_corrected": metrics.modularity(
            codes, factors, correction="permutation"
        ),
        "explicitness": float(np.mean(by_value["auc"])),
        "single_dimension_auc": float(np.mean(single["auc"])),
    }


def evaluate(dataset: str, fold: str, seeds: range) -> dict:
    """Returns the measures of the network of each seed on one fold."""
    import keras

    from trainers.config import load_recipe
    from trainers.data.data import Data
    from trainers.data.data_fingerprint import fingerprint
    from trainers.measures.embed import embed_points
    from trainers.measures.embed import split_to_embed
    from trainers.training.model import build_model
    from trainers.workdirs.provenance import provenance

    started = time.monotonic()
    fields = [f"dataset={dataset}", f"folds.fold={fold}"]
    data = Data(load_recipe(RECIPE, fields))
    x, factors = split_to_embed(data, "test")
    networks = {}
    for seed in seeds:
        run = load_recipe(RECIPE, [*fields, f"seed={seed}"])
        keras.utils.set_random_seed(seed)
        network = build_model(run, num_classes=data.num_classes)
        networks[str(seed)] = measures(embed_points(network, x), factors)
        print(f"{dataset}, fold {fold}, seed {seed}", flush=True)
        keras.backend.clear_session()
    return {
        "networks": networks,
        "data_fingerprint": fingerprint(data, "test"),
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }


def study(num_seeds: int, path: pathlib.Path) -> None:
    """Evaluates the folds that have no result with as many seeds."""
    found = load(path)
    for dataset in DISENTANGLING:
        for fold in FOLDS:
            kept = found.setdefault(dataset, {})
            if len(kept.get(fold, {}).get("networks", ())) < num_seeds:
                kept[fold] = evaluate(dataset, fold, range(num_seeds))
                write_json(path, found)


def load(path: pathlib.Path | None = None) -> dict[str, dict]:
    """Returns the result by data set and fold; empty if there is none."""
    path = path or RESULT
    return json.loads(path.read_text()) if path.exists() else {}


def command(found: dict) -> str:
    """Returns the command that measures all folds again, in another file."""
    folds = next(iter(found.values()))
    seeds = len(next(iter(folds.values()))["networks"])
    file = f"runs/{RESULT.name}"
    return f"{COMMAND.strip()} --seeds {seeds} --file {file}"


def section(found: dict[str, dict], ours: dict[str, dict]) -> list[str]:
    """Returns the lines of the tables of untrained networks.

    Args:
        found: As from `load`.
        ours: Results of the F-statistic loss by data set.
    """
    heading = ["", "### Sprites: untrained networks of several seeds", ""]
    if not found:
        return [*heading, "Not run:", "", COMMAND]
    return heading + tables(found, ours)


def tables(found: dict[str, dict], ours: dict[str, dict]) -> list[str]:
    """Returns the lines of `section` below its heading."""
    names = [*COMPARED.values()]
    lines = [
        "| frames | networks | folds | " + " | ".join(names) + " | of these "
        "above the F-statistic's modularity |",
        "|---|---:|---|" + "---:|" * (len(names) + 1),
    ]
    pairs, config = {}, None
    for dataset, folds in found.items():
        if dataset not in ours:
            continue
        config = ours[dataset]["config"]
        trained = {
            name: by_fold(ours[dataset], f"test.{name}") for name in COMPARED
        }
        of_networks = {name: by_network(folds, name) for name in COMPARED}
        cells = [_spread(numbers) for numbers in of_networks.values()]
        modularity = of_networks["modularity"]
        shared = [f for f in folds if f in trained["modularity"]]
        mean = statistics.fmean(trained["modularity"][f] for f in shared)
        above = sum(number > mean for number in modularity)
        lines.append(
            f"| {DISENTANGLING[dataset]} | {len(modularity)} | "
            f"{', '.join(folds)} | {' | '.join(cells)} | {above} |"
        )
        pairs[f"the mean network, {DISENTANGLING[dataset]}"] = [
            (trained[name], of_mean_network(folds, name)) for name in COMPARED
        ]
    if config:
        ratio = ratio_of_test_to_train(config)
        lines += difference_table("F-statistic", names, pairs, ratio, 3)
    runs = [run for folds in found.values() for run in folds.values()]
    commits = " ".join(sorted({run["commit"][:7] for run in runs}))
    return [
        *lines,
        "",
        "Mean over networks, and the lowest to the highest network; the value "
        f"of a network is the mean over folds. Commit {commits}.",
        "",
        f"{COMMAND} --seeds {len(runs[0]['networks'])}",
    ]


def by_network(folds: dict, name: str) -> list[float]:
    """The measure of each network, the mean over folds."""
    first = next(iter(folds.values()))["networks"]
    return [
        statistics.fmean(
            _value(run["networks"][seed], name) for run in folds.values()
        )
        for seed in first
    ]


def of_mean_network(folds: dict, name: str) -> dict[str, float]:
    """The measure of each fold, the mean over networks."""
    return {
        fold: statistics.fmean(
            _value(network, name) for network in run["networks"].values()
        )
        for fold, run in folds.items()
    }


def _value(network: dict[str, float], name: str) -> float:
    if name == SUM:
        return network["modularity_corrected"] + network["explicitness"]
    return network[name]


def _spread(numbers: list[float]) -> str:
    ends = f"{min(numbers):.3f} to {max(numbers):.3f}"
    return f"{statistics.fmean(numbers):.3f} ({ends})"


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seeds",
        type=int,
        default=10,
        metavar="N",
        help="seeds 0 to N - 1 (%(default)s)",
    )
    parser.add_argument(
        "--file",
        type=pathlib.Path,
        default=RESULT,
        help="result file; in a new one, all folds are run (%(default)s)",
    )
    arguments = parser.parse_args(words)
    if arguments.seeds < 1:
        parser.error(f"--seeds must be at least 1; received {arguments.seeds}")
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    before = load(arguments.file)
    study(arguments.seeds, arguments.file)
    if load(arguments.file) == before:
        print(f"{arguments.file} already has all folds; nothing was run")
    else:
        print(f"wrote {arguments.file}")


if __name__ == "__main__":
    main()
