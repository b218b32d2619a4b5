"""Tables and figures of the cross-validated runs, from their result files.

    python -m benchmarks.cross_validation_table [WORKDIR ...]

Workdirs of `trainers.cross_validate` given are first copied, as far as numbers
go, into `benchmarks/results/cross_validation`; the tables in the recipes'
README and the figures in `docs/figures` are then made from that folder alone.
"""

import json
import pathlib
import shutil
import statistics
import sys

from benchmarks.n_digit_table import README
from benchmarks.n_digit_table import ROOT
from trainers.cross_validate import flat
from trainers.cross_validate import standard_error
from trainers.workdir import write_atomically
from trainers.workdir import write_json

RESULTS = ROOT / "benchmarks" / "results" / "cross_validation"
FIGURES = ROOT / "docs" / "figures"
BEGIN, END = (
    "<!-- cross-validation: begin -->",
    "<!-- cross-validation: end -->",
)
METHODS = {
    "sprites_f_statistic": "F-statistic",
    "sprites_triplet": "triplet",
    "sprites_histogram": "histogram",
    "sprites_f_statistic_class_oracle": "F-statistic, class oracle",
    "sprites_beta_vae_1": "beta-VAE, beta = 1",
    "sprites_beta_vae_2": "beta-VAE, beta = 2",
    "sprites_beta_vae_4": "beta-VAE, beta = 4",
    "sprites_beta_vae_8": "beta-VAE, beta = 8",
}
LOSSES = {
    "f_statistic": "F-statistic",
    "histogram": "histogram",
    "triplet": "triplet",
    "binomial_deviance": "binomial deviance",
    "lifted_structure": "lifted structure",
}
# Of the first fold of these, what single dimensions mean.
DRAWN = ("sprites_f_statistic", "sprites_triplet")
MEASURES = {
    "modularity": "modularity",
    "explicitness": "explicitness",
    "single_dimension_auc": "single-dimension AUC",
}


def collect(workdir: pathlib.Path) -> None:
    """Keeps the numbers of a cross-validation in the repository."""
    results = json.loads((workdir / "results.json").read_text())
    config = json.loads((workdir / "config.json").read_text())["config"]
    for run in results["folds"].values():
        for found in run["evaluation"].values():
            if isinstance(found, dict):
                found.pop("mutual_information", None)  # drawn in the workdir
    kept = {
        "recipe": results["recipe"],
        "dataset": config["dataset"],
        "config": config,
        "folds": results["folds"],
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    name = f"{kept['recipe']}-{kept['dataset'].replace('/', '-')}"
    write_json(RESULTS / f"{name}.json", kept)
    if kept["recipe"] in DRAWN:
        FIGURES.mkdir(parents=True, exist_ok=True)
        run = workdir / f"fold_{next(iter(results['folds']))}"
        for picture in ("mutual_information", "traversal"):
            shutil.copyfile(
                run / f"{picture}.png", FIGURES / f"{name}-{picture}.png"
            )


def load() -> dict[tuple[str, str], dict]:
    """Result files by recipe and data set."""
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        results = json.loads(path.read_text())
        found[results["recipe"], results["dataset"]] = results
    return found


def values(results: dict, name: str) -> list[float]:
    """A number of the evaluation, fold by fold."""
    return [flat(run["evaluation"])[name] for run in results["folds"].values()]


def table(found: dict[tuple[str, str], dict]) -> str:
    """The markdown between the markers."""
    parts = []
    for dataset, heading in (
        ("sprites/weapon_visible", "Sprites, frames that show the weapon"),
        ("sprites/all_frames", "Sprites, all frames"),
    ):
        rows = {
            name: found[recipe, dataset]
            for recipe, name in METHODS.items()
            if (recipe, dataset) in found
        }
        if rows:
            parts += ["", f"### {heading}: disentangling", ""]
            parts += _disentangling(rows)
            name = dataset.replace("/", "_")
            parts += ["", _pictures(name, "measures", "explicitness_curves")]
            parts += [_pictures(name, "modularity_curves", "auc_distribution")]
    for prefix, dataset, heading in (
        ("sprites", "sprites/weapon_visible", "Sprites, weapon visible"),
        ("sprites", "sprites/all_frames", "Sprites, all frames"),
        ("omniglot", "omniglot", "Omniglot"),
    ):
        rows = {
            name: found[f"{prefix}_retrieval_{loss}", dataset]
            for loss, name in LOSSES.items()
            if (f"{prefix}_retrieval_{loss}", dataset) in found
        }
        if rows:
            parts += ["", f"### {heading}: recall of held-out classes, %", ""]
            parts += _retrieval(rows)
            parts += ["", _pictures(dataset.replace("/", "_"), "recall")]
    return "\n".join(parts)


def _pictures(prefix: str, *names: str) -> str:
    return "\n".join(
        f"![{name.replace('_', ' ')}](../../docs/figures/{prefix}_{name}.png)"
        for name in names
    )


def _cell(numbers: list[float], digits: int = 3, scale: float = 1) -> str:
    error = standard_error(numbers)
    text = f"{scale * statistics.fmean(numbers):.{digits}f}"
    return text if error is None else f"{text} ± {scale * error:.{digits}f}"


def _run_columns(results: dict) -> str:
    training = [run["training"] for run in results["folds"].values()]
    return (
        f" | {training[0]['steps']} | "
        f"{statistics.fmean([t['seconds'] for t in training]) / 60:.1f} | "
        + " ".join(sorted({t["commit"][:7] for t in training}))
        + " |"
    )


def _disentangling(rows: dict[str, dict]) -> list[str]:
    lines = [
        "| method | folds | modularity | explicitness "
        "| explicitness, held out | single-dimension AUC "
        "| batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * 7,
    ]
    names = (*MEASURES, "explicitness_held_out")
    names = (names[0], names[1], names[3], names[2])
    for method, results in rows.items():
        cells = [_cell(values(results, f"test.{name}")) for name in names]
        lines.append(
            f"| {method} | {', '.join(results['folds'])} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    first = next(iter(rows.values()))
    cells = [_cell(values(first, f"test_untrained.{name}")) for name in names]
    lines.append(
        f"| *untrained network* | {', '.join(first['folds'])} | "
        + " | ".join(cells)
        + " | | | |"
    )
    return lines + _hardware(rows)


def _retrieval(rows: dict[str, dict]) -> list[str]:
    first = next(iter(rows.values()))
    ks = [
        name.removeprefix("recall_at_")
        for name in first["folds"][next(iter(first["folds"]))]["evaluation"][
            "test"
        ]
        if name.startswith("recall_at_")
    ]
    lines = [
        "| loss | folds | "
        + " | ".join(f"recall@{k}" for k in ks)
        + " | batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * (len(ks) + 3),
    ]
    for method, results in rows.items():
        cells = [
            _cell(values(results, f"test.recall_at_{k}"), 2, 100) for k in ks
        ]
        lines.append(
            f"| {method} | {', '.join(results['folds'])} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    for title, prefix in (("untrained network", "test_untrained"),):
        cells = [
            _cell(values(first, f"{prefix}.recall_at_{k}"), 2, 100) for k in ks
        ]
        lines.append(
            f"| *{title}* | {', '.join(first['folds'])} | "
            + " | ".join(cells)
            + " | | | |"
        )
    lines.append(
        f"| *ceiling of equal images* | {', '.join(first['folds'])} | "
        + _cell(values(first, "test.ceiling"), 2, 100)
        + " |" * (len(ks) + 3)
    )
    return lines + _hardware(rows)


def _hardware(rows: dict[str, dict]) -> list[str]:
    machines = sorted(
        {
            f"{run['training']['processor']}, {run['training']['cores']} cores"
            for results in rows.values()
            for run in results["folds"].values()
        }
    )
    return ["", f"Hardware: {'; '.join(machines)}, two runs at a time."]


def draw(found: dict[tuple[str, str], dict]) -> None:
    """Bars, AUC distributions, learning and recall curves, as PNG."""
    from embeddings_tf import viz

    FIGURES.mkdir(parents=True, exist_ok=True)
    for frames in ("weapon_visible", "all_frames"):
        rows = {
            name: found[recipe, f"sprites/{frames}"]
            for recipe, name in METHODS.items()
            if (recipe, f"sprites/{frames}") in found
        }
        if not rows:
            continue
        title = f"Sprites, {frames.replace('_', ' ')}"
        first = next(iter(rows.values()))
        measures = {
            title_of: {
                name: values(results, f"test.{measure}")
                for name, results in rows.items()
            }
            for measure, title_of in MEASURES.items()
        }
        untrained = {
            title_of: values(first, f"test_untrained.{measure}")
            for measure, title_of in MEASURES.items()
        }
        figures = {
            "measures": viz.bars_figure(
                measures,
                baselines=untrained,
                starts={
                    measure: _start(
                        [statistics.fmean(v) for v in by_method.values()]
                        + [statistics.fmean(untrained[measure])]
                    )
                    for measure, by_method in measures.items()
                },
                title=title,
            ),
            "auc_distribution": viz.auc_distribution_figure(
                {
                    name: [
                        run["evaluation"]["test"]["nonredundant_values"]["auc"]
                        for run in results["folds"].values()
                    ]
                    for name, results in rows.items()
                },
                title=title,
            ),
        }
        for measure in ("explicitness", "modularity"):
            figures[f"{measure}_curves"] = viz.learning_curves_figure(
                {
                    name: _curves(results, f"val_{measure}")
                    for name, results in rows.items()
                },
                f"{measure} on validation identities",
                step="batch",
                title=title,
            )
        for name, figure in figures.items():
            viz.save_figure(figure, FIGURES / f"sprites_{frames}_{name}.png")
    for prefix, dataset in (
        ("sprites", "sprites/weapon_visible"),
        ("sprites", "sprites/all_frames"),
        ("omniglot", "omniglot"),
    ):
        rows = {
            name: found[f"{prefix}_retrieval_{loss}", dataset]
            for loss, name in LOSSES.items()
            if (f"{prefix}_retrieval_{loss}", dataset) in found
        }
        if rows:
            first = next(iter(rows.values()))
            figure = viz.recall_figure(
                {
                    name: [
                        _recalls(run["evaluation"]["test"])
                        for run in results["folds"].values()
                    ]
                    for name, results in rows.items()
                },
                ceiling=statistics.fmean(values(first, "test.ceiling")),
                title=dataset.replace("/", ", ").replace("_", " "),
            )
            name = dataset.replace("/", "_")
            viz.save_figure(figure, FIGURES / f"{name}_recall.png")


def _start(means: list[float]) -> float:
    """Where an axis starts to show differences between the means."""
    return max(0.0, int(20 * min(means) - 1e-9) / 20 - 0.05)


def _curves(results: dict, measure: str) -> list[dict[int, float]]:
    """From the batch to the measure, for each fold."""
    curves = []
    for run in results["folds"].values():
        training = run["training"]
        batches = training["steps"] // training["epochs"]
        curves.append(
            {
                row["epoch"] * batches: row[measure]
                for row in training["history"]
            }
        )
    return curves


def _recalls(found: dict) -> dict[int, float]:
    return {
        int(name.removeprefix("recall_at_")): value
        for name, value in found.items()
        if name.startswith("recall_at_")
    }


def main() -> None:
    for workdir in sys.argv[1:]:
        collect(pathlib.Path(workdir))
    found = load()
    text = README.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    write_atomically(README, f"{head}{BEGIN}\n{table(found)}\n{END}{tail}")
    draw(found)
    print(f"wrote {README.relative_to(ROOT)} and {FIGURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
