"""Writes the tables of `docs/results/n_digit.md` from the result files.

    python -m tools.n_digit_table [FOLDER ...]

A FOLDER is a workdir. The script first copies its numbers to
`benchmarks/results/n_digit`. It then makes the tables from these files only.
"""

import itertools
import pathlib
import statistics

from tools import n_digit_grid
from tools.generated_text import NOT_RUN
from tools.generated_text import collect_folders
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import write_between
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.keep_result import results_of
from tools.n_digit_grid import CELLS
from tools.n_digit_grid import PUBLISHED
from tools.paired_difference import difference_table
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_config
from tools.run_files import run_results
from tools.sampler_series import series_of
from trainers.config import load_recipe
from trainers.workdirs.overrides import overrides
from trainers.workdirs.workdir import recipe_fields

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "n_digit"
PAGE = ROOT / "docs" / "results" / "n_digit.md"
BEGIN, END = "<!-- n_digit table: begin -->", "<!-- n_digit table: end -->"
HELD_OUT_BEGIN, HELD_OUT_END = (
    "<!-- held-out numbers: begin -->",
    "<!-- held-out numbers: end -->",
)
HELD_OUT = "_held_out_numbers"
# Fields that every file name and every row of the table contain.
USUAL = (
    "seed",
    "num_epochs",
    "optimizer.learning_rate.initial_learning_rate",
    "optimizer.learning_rate.decay_steps",
)


def collect(
    workdir: pathlib.Path,
    replace: bool = False,
    folder: pathlib.Path = RESULTS,
) -> None:
    """Copies a run's numbers into a folder of the repository."""
    results = run_results(workdir)
    config = run_config(workdir)
    optimizer = config["optimizer"]
    results |= {"optimizer": optimizer, "config": config}
    rate = optimizer["learning_rate"]["initial_learning_rate"]
    steps = config["num_epochs"] * config["steps_per_epoch"]
    name = f"{results['recipe']}_seed_{results['seed']}_{rate:g}_{steps}"
    others = "".join(f"_{setting}" for setting in other_settings(results))
    keep_result(folder / f"{name}{others}.json", results, replace=replace)


def other_settings(run: dict) -> list[str]:
    """Returns `field=value` for each changed field that is not in USUAL."""
    differing = overrides(run["recipe"], config_of(run))
    return [
        f"{name.rpartition('.')[2]}={value}"
        for name, value in differing.items()
        if name not in USUAL
    ]


def every_run() -> list[dict]:
    """Returns the contents of all result files, with complete configs."""
    return [run | {"config": config_of(run)} for run in results_of(RESULTS)]


def runs() -> dict[tuple, list[dict]]:
    """Returns results that differ in the seed only, sorted by seed.

    Their key has the recipe with its changes, the learning rate, the number of
    epochs, and the length of the learning rate's decay.
    """
    found = {}
    for results in results_of(RESULTS):
        rate = results["optimizer"]["learning_rate"]
        key = (
            " ".join([results["recipe"], *other_settings(results)]),
            rate["initial_learning_rate"],
            config_of(results)["num_epochs"],
            rate.get("decay_steps"),
        )
        found.setdefault(key, []).append(results)
    return found


def table(runs: dict[tuple, list[dict]]) -> str:
    """Returns the Markdown between the marks.

    Runs of the two studies have tables of their own and are left out.
    """
    runs = {
        key: kept
        for key, results in runs.items()
        if (kept := [run for run in results if not is_of_a_study(run)])
    }
    found = {
        key: [r for r in results if _is_tested(r)]
        for key, results in runs.items()
        if any(map(_is_tested, results))
    }
    lines = [
        "| recipe, learning rate | seeds | clean seen | clean unseen "
        "| corrupt support seen | corrupt support unseen "
        "| corrupt query seen | corrupt query unseen "
        "| validation | episodes | minutes | commit |",
        "|---|---|" + "---:|" * 10,
    ]
    published = set()
    for key, results in found.items():
        recipe = key[0]
        if recipe in PUBLISHED and recipe not in published:
            published.add(recipe)
            cells = " | ".join(f"{v:.1f}" for v in PUBLISHED[recipe])
            lines.append(f"| {_published(recipe)} | | {cells} | | | | |")
        everywhere = [
            [r["evaluation"][split][name] for r in results]
            for split, name in CELLS
        ]
        if all(
            "leave_one_out_accuracy" in c for cell in everywhere for c in cell
        ):
            means = (
                statistics.mean(100 * c["leave_one_out_accuracy"] for c in cell)
                for cell in everywhere
            )
            cells = " | ".join(f"{mean:.1f}" for mean in means)
            lines.append(f"| {_name(key)}, leave one out | | {cells} | | | | |")
        cells = [_cell(results, split, name) for split, name in CELLS]
        training = [r["training"] for r in results]
        lines.append(
            f"| {_name(key)} | {', '.join(str(r['seed']) for r in results)} | "
            + " | ".join(cells)
            + " | "
            + " ".join(f"{100 * t['best_value']:.1f}" for t in training)
            + " | "
            + " ".join(str(t["steps"]) for t in training)
            + " | "
            + " ".join(f"{t['seconds'] / 60:.0f}" for t in training)
            + " | "
            + commits(training)
            + " |"
        )
    lines += ["", *_axes(found), "", *_trust(found), "", *_choices(runs)]
    training = [r["training"] for results in found.values() for r in results]
    lines += ["", f"Hardware: {hardware(training)}."]
    kept = kept_results(RESULTS).items()
    ours = {path.stem: run for path, run in kept if not is_of_a_study(run)}
    return "\n".join([*lines, *_commands(ours)])


def held_out_table(runs: dict[tuple, list[dict]]) -> str:
    """Returns accuracies on validation numbers that were not trained on.

    Runs of other recipes are ignored.
    """
    found = {
        f"{_name(key)}, {run['seed']}": run
        for key, results in runs.items()
        for run in results
        if "validation" in run.get("evaluation", {})
    }
    if not found:
        return NOT_RUN
    lines = [
        "| recipe, learning rate, seed | episodes | clean | corrupt support "
        "| corrupt query | validation |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, run in found.items():
        cells, training = run["evaluation"]["validation"], run["training"]
        lines.append(
            f"| {name} | {training['steps']} | "
            + " | ".join(
                f"{100 * cells[name]['accuracy']:.1f}±"
                f"{100 * cells[name]['interval']:.1f}"
                for name in n_digit_grid.CONDITIONS
            )
            + f" | {100 * training['best_value']:.1f} |"
        )
    lines += _of_corruption([*found.values()])
    training = [run["training"] for run in found.values()]
    lines += ["", f"Commit {commits(training)}; {hardware(training)}."]
    kept = kept_results(RESULTS).items()
    ours = {p.stem: run for p, run in kept if HELD_OUT in run["recipe"]}
    return "\n".join([*lines, *_commands(ours)])


def _of_corruption(runs: list[dict]) -> list[str]:
    """Differences of more corruption in training, by learning rate."""
    by_rate: dict = {}
    for run in runs:
        config = config_of(run)
        rate = config["optimizer"]["learning_rate"]["initial_learning_rate"]
        share = config["preprocess"]["probability"]
        of_share = by_rate.setdefault(rate, {}).setdefault(share, {})
        of_share[run["seed"]] = run["evaluation"]["validation"]
    names = n_digit_grid.CONDITIONS
    pairs = {
        f"{most:g} minus {least:g}, rate {rate:g}": [
            (_accuracy(of[most], name), _accuracy(of[least], name))
            for name in names
        ]
        for rate, of in by_rate.items()
        for least, most in itertools.pairwise(sorted(of))
    }
    if not pairs:
        return []
    headings = [f"{name.replace('_', ' ')}, points" for name in names]
    return [
        "",
        "Share of digits that are corrupted in training:",
        *difference_table(None, headings, pairs, None, 1, 100, "seeds"),
    ]


def _accuracy(by_seed: dict, condition: str) -> dict:
    return {seed: run[condition]["accuracy"] for seed, run in by_seed.items()}


def _commands(runs: dict[str, dict]) -> list[str]:
    """Lists the command of each run, by the name of its result file."""
    return command_lines(
        {
            name: rerun_command(run["recipe"], config_of(run), f"runs/{name}")
            for name, run in runs.items()
        }
    )


def is_of_a_study(run: dict) -> bool:
    """Whether a run is of the held-out numbers or of the samplers."""
    return (
        HELD_OUT in run["recipe"]
        or series_of(run | {"config": config_of(run)}) is not None
    )


def _published(recipe: str) -> str:
    """Names the row of the paper's numbers, and their rule."""
    rule = n_digit_grid.published_rule(recipe)
    is_of_pairs = rule == n_digit_grid.LEAVE_ONE_OUT
    return "*published, leave one out*" if is_of_pairs else "*published*"


def config_of(results: dict) -> dict:
    """Returns the config of a run.

    Sixteen files in benchmarks/results/n_digit have only a part.
    """
    if "config" in results:
        return results["config"]
    config = recipe_fields(load_recipe(results["recipe"]))
    config |= {"optimizer": results["optimizer"], "seed": results["seed"]}
    steps = results["training"]["steps"]
    return config | {"num_epochs": steps // config["steps_per_epoch"]}


def _is_tested(run: dict) -> bool:
    """Whether a run was evaluated on the test data."""
    return CELLS[0][0] in run.get("evaluation", {})


def _name(key: tuple) -> str:
    recipe, rate, *_ = key
    return f"`{recipe}`, {rate:g}"


def _cell(results, split, condition) -> str:
    """Mean over seeds, followed by each seed's value and interval."""
    cells = [r["evaluation"][split][condition] for r in results]
    mean = statistics.mean(100 * c["accuracy"] for c in cells)
    each = ", ".join(
        f"{100 * c['accuracy']:.1f}±{100 * c['interval']:.1f}" for c in cells
    )
    return f"**{mean:.1f}** ({each})"


def _axes(found) -> list[str]:
    bits = 1 / 0.6931471805599453
    lines = [
        "| recipe, learning rate, seed | axis 1: first, second digit "
        "| axis 2: first, second digit "
        "| aligned sum | best rotation | aligned sum there |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for key, results in found.items():
        for result in results:
            rotation = result["evaluation"]["axes"].get("rotation")
            if rotation is None:
                continue
            information = rotation["unrotated_mutual_information"]
            axes = " | ".join(
                ", ".join(f"{bits * value:.2f}" for value in row)
                for row in information
            )
            lines.append(
                f"| {_name(key)}, {result['seed']} | {axes} | "
                f"{bits * rotation['unrotated_aligned_sum']:.2f} | "
                f"{rotation['angle']:.0f}° | "
                f"{bits * rotation['aligned_sum']:.2f} |"
            )
    return lines


def _trust(found) -> list[str]:
    lines = [
        "| recipe, learning rate, seed "
        "| calibration error: clean, corrupt query (unseen) | "
        "error, after rejecting half, clean (unseen) | rank correlation of "
        "variance and occlusion |",
        "|---|---:|---:|---:|",
    ]
    for key, results in found.items():
        for result in results:
            evaluation = result["evaluation"]
            cells = evaluation["test_unseen"]
            correlation = evaluation.get("uncertainty", {}).get(
                "rank_correlation_with_occlusion"
            )
            clean = cells["clean"]
            lines.append(
                f"| {_name(key)}, {result['seed']} | "
                + ", ".join(
                    f"{cells[c]['expected_calibration_error']:.3f}"
                    for c in ("clean", "corrupt_query")
                )
                + f" | {100 * (1 - clean['accuracy']):.1f} %, "
                f"{100 * clean['error_at_half']:.1f} % | "
                + ("" if correlation is None else f"{correlation:.2f}")
                + " |"
            )
    return lines


def _choices(runs) -> list[str]:
    """Lists the settings that were tried, with validation accuracy."""
    lines = [
        "| recipe, seed | schedule | from | episodes | best validation "
        "accuracy |",
        "|---|---|---:|---:|---:|",
    ]
    for (recipe, *_), results in runs.items():
        for result in results:
            rate = result["optimizer"]["learning_rate"]
            training = result["training"]
            lines.append(
                f"| `{recipe}`, {result['seed']} | {rate['name']} | "
                f"{rate['initial_learning_rate']:g} | {training['steps']} | "
                f"{100 * training['best_value']:.1f} |"
            )
    return lines


def write_page() -> None:
    """Writes the tables between the marks of the page."""
    grid = n_digit_grid.table(every_run())
    write_between(PAGE, n_digit_grid.BEGIN, n_digit_grid.END, grid)
    found = runs()
    write_between(PAGE, HELD_OUT_BEGIN, HELD_OUT_END, held_out_table(found))
    write_between(PAGE, BEGIN, END, table(found))


def main() -> None:
    collect_folders(__doc__, collect)
    write_page()
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
