"""Error of predicted probabilities by sampler and number of samples.

    python -m benchmarks.prediction_samplers
    python -m benchmarks.prediction_samplers --workdir runs/spe_0

Queries among 70 classes on a grid in the plane, narrower than the classes, as
wide, and wider. The probabilities by each sampler of
`StochasticPrototypes.log_prob` are compared with the integral on a fine grid.
With the workdir of a run of n-digit numbers: the accuracy of its model on
corrupt queries of unseen numbers. Some minutes each; writes
`benchmarks/results/prediction_samplers.json` and the tables in
`docs/stochastic_prototypes.md`.
"""

import argparse
import functools
import json
import pathlib
import time

import numpy as np

from tools.generated_text import hardware
from tools.generated_text import write_between
from trainers.terminal.quiet import import_tensorflow

ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "prediction_samplers.json"
PAGE = ROOT / "docs" / "stochastic_prototypes.md"
BEGIN, END = "<!-- samplers: begin -->", "<!-- samplers: end -->"
SAMPLERS, SAMPLES = ("naive", "intersection"), (1, 5, 20, 100, 500)
# Standard deviation of a class; neighbours are 1 apart.
CLASS_STDDEV, NUM_QUERIES, NUM_SEEDS = 0.25, 20, 20
# Variance of a query relative to the variance of a class.
WIDTHS = {"a quarter": 0.25, "equal": 1.0, "four times": 4.0, "16 times": 16.0}


def classes() -> np.ndarray:
    """Means `(70, 2)`."""
    return np.stack(np.mgrid[:10, :7], -1).reshape(-1, 2).astype("float64")


def queries() -> np.ndarray:
    """Means `(NUM_QUERIES, 2)`, anywhere among the classes."""
    rng = np.random.default_rng(0)
    return rng.uniform([0, 0], [9, 6], (NUM_QUERIES, 2))


def exact(mean, stddev, class_means, class_stddev, steps=301) -> np.ndarray:
    """Eq. 7 of one query, by summing over a grid of 6 standard deviations."""
    axis = np.linspace(-6, 6, steps)
    weight = np.exp(-(axis**2) / 2)
    weight = np.outer(weight, weight).ravel()
    z = mean + stddev * np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    square = ((z[:, None] - class_means) ** 2).sum(-1)
    square -= square.min(axis=1, keepdims=True)
    softmax = np.exp(-square / (2 * class_stddev**2))
    softmax /= softmax.sum(axis=1, keepdims=True)
    return weight @ softmax / weight.sum()


def errors(width: float) -> dict[str, dict[str, float]]:
    """Mean total variation from the integral, by sampler and samples."""
    from embeddings_tf import objectives

    stddev = CLASS_STDDEV * width**0.5
    means, centres = queries(), classes()
    expected = np.stack(
        [exact(mean, stddev, centres, CLASS_STDDEV) for mean in means]
    )
    # Half of the variance of a class is noise, half its prototype's own.
    half = CLASS_STDDEV**2 / 2
    objective = objectives.StochasticPrototypes(1, initial_noise_variance=half)

    def packed(mean, variance):
        variance = np.full_like(mean, variance)
        return np.hstack([mean, variance]).astype("float32")

    sides = packed(means, stddev**2), packed(centres, half)
    found = {}
    for sampler in SAMPLERS:
        found[sampler] = {}
        for count in SAMPLES:
            distances = [
                np.abs(
                    np.exp(
                        objective.log_prob(
                            *sides, count, seed, sampler=sampler
                        ).numpy()
                    )
                    - expected
                ).sum(axis=1)
                / 2
                for seed in range(NUM_SEEDS)
            ]
            found[sampler][str(count)] = float(np.mean(distances))
    return found


def accuracies(workdir: str) -> dict:
    """Accuracy of a trained model by sampler and samples, 20 episodes."""
    from embeddings_tf import metrics
    from trainers.data.data import Data
    from trainers.evaluators.n_digit_few_shot import num_digits
    from trainers.measures.embed import embed
    from trainers.measures.occluded import embed_corrupted
    from trainers.training.checkpoint import load_best
    from trainers.workdirs.provenance import provenance
    from trainers.workdirs.results import read_results
    from trainers.workdirs.workdir import run_of_workdir

    path = pathlib.Path(workdir)
    recipe, run = run_of_workdir(path)
    model, wanted = load_best(path), run.evaluation
    x, labels = Data(run).split("test_unseen")
    num_classes = len(np.unique(labels))
    corrupted = embed_corrupted(model, x, 0, num_digits(np.shape(x)[1:]))
    clean = embed(model, x)
    objective = model.objective

    def log_prob(support, of_class, query, num_classes, seed, **sampling):
        prototypes = objective.prototypes(support, of_class, num_classes)
        return objective.log_prob(query, prototypes, seed=seed, **sampling)

    def accuracy(sampler, count):
        return metrics.few_shot_accuracy(
            clean,
            labels,
            wanted.num_support,
            wanted.num_query,
            num_classes,
            num_episodes=20,
            log_prob=functools.partial(
                log_prob, num_samples=count, sampler=sampler
            ),
            query_embeddings=corrupted,
        )

    return {
        "recipe": recipe,
        "seed": read_results(path)["seed"],
        "accuracy": {
            sampler: {str(n): float(accuracy(sampler, n)) for n in SAMPLES}
            for sampler in SAMPLERS
        },
        **provenance(),
    }


def load() -> dict:
    return json.loads(RESULT.read_text())


def table(result: dict) -> str:
    """The markdown between the marks."""
    lines = _head("variance of the query, of a class's")
    for width, by_sampler in result["total_variation"].items():
        for sampler, by_samples in by_sampler.items():
            cells = " | ".join(f"{by_samples[str(n)]:.3f}" for n in SAMPLES)
            lines.append(f"| {width} | {sampler} | {cells} |")
    lines += [
        "",
        "Total variation between the predicted probabilities of 70 classes and "
        f"their limit: mean of {NUM_QUERIES} queries and {NUM_SEEDS} seeds. "
        "`python -m benchmarks.prediction_samplers`, commit "
        f"{result['commit'][:7]}; {hardware([result])}.",
    ]
    if "trained" in result:
        trained = result["trained"]
        lines += ["", *_head("trained model")]
        for sampler, by_samples in trained["accuracy"].items():
            cells = " | ".join(
                f"{100 * by_samples[str(n)]:.1f}" for n in SAMPLES
            )
            lines.append(f"| corrupt queries | {sampler} | {cells} |")
        lines += [
            "",
            f"Accuracy in % of `{trained['recipe']}`, seed {trained['seed']}, "
            "on unseen numbers: 20 episodes with clean supports. The same "
            f"command with `--workdir`, commit {trained['commit'][:7]}.",
        ]
    return "\n".join(lines)


def _head(first: str) -> list[str]:
    counts = (f"{count} sample{'s' * (count > 1)}" for count in SAMPLES)
    return [
        f"| {first} | sampler | {' | '.join(counts)} |",
        "|---|---|" + "---:|" * len(SAMPLES),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workdir", help="of a run of stochastic prototypes")
    workdir = parser.parse_args().workdir
    import_tensorflow()
    if workdir:
        update(load() | {"trained": accuracies(workdir)})
    else:
        update(measure())


def measure() -> dict:
    """The part of the result file about made-up queries."""
    from trainers.workdirs.provenance import provenance

    started = time.monotonic()
    found = {name: errors(width) for name, width in WIDTHS.items()}
    return {
        "command": "python -m benchmarks.prediction_samplers",
        "total_variation": found,
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }


def update(result: dict) -> None:
    """Writes the result file and the page."""
    from trainers.workdirs.json_files import write_json

    write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, table(result))


if __name__ == "__main__":
    main()
