"""Measures accuracy by sampler, number of supports and initial variance.

    python -m benchmarks.prototype_choices

Trains stochastic prototypes on two-digit numbers of scikit-learn's digits for
500 episodes, with each sampler, initial variance and number of supports and
ten seeds each. Then classifies numbers of held-out classes with different
numbers of samples per prediction. Takes some minutes; writes
`benchmarks/results/prototype_choices.json` and the table in
`docs/stochastic_prototypes.md`.
"""

import json
import pathlib
import statistics
import time

from tools.generated_text import hardware
from tools.generated_text import write_between
from tools.paired_difference import paired_difference
from tools.paired_difference import rounded
from trainers.terminal.quiet import import_tensorflow

ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "prototype_choices.json"
PAGE = ROOT / "docs" / "stochastic_prototypes.md"
BEGIN, END = "<!-- choices: begin -->", "<!-- choices: end -->"
SEEDS, STEPS, CLASSES = tuple(range(10)), 500, 70
# Sampler, initial variance (the default of the layer is 0.69), supports.
CASES = {
    "intersection, 5 supports": ("intersection", None, 5),
    "intersection, 2 supports": ("intersection", None, 2),
    "naive, initial variance 0.69": ("naive", None, 5),
    "naive, initial variance 0.05": ("naive", 0.05, 5),
}
SAMPLES = (1, 10, 50, 200)
# Three times the accuracy of chance.
LEARNED = 0.1


def trained(sampler, initial_variance, num_support, seed):
    """Returns a model after `STEPS` episodes of all classes."""
    import keras

    from embeddings_tf import datasets
    from embeddings_tf import models
    from embeddings_tf import objectives
    from embeddings_tf import sampling

    keras.utils.set_random_seed(seed)
    x, labels = datasets.load("n_digit/digits_2_number", "train")
    encoder = models.n_digit_encoder(
        2, image_shape=(8, 16, 1), initial_variance=initial_variance
    )
    model = models.EmbeddingModel(
        encoder,
        objectives.StochasticPrototypes(num_support, sampler, seed=seed),
    )
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=10.0))
    episodes = sampling.episodes(labels, CLASSES, num_support, 5, seed)
    batches = datasets.batches(x, labels, episodes)
    model.fit(batches, steps_per_epoch=STEPS, shuffle=False, verbose=0)
    return model


def accuracy(model, num_samples):
    """Accuracy on held-out numbers: 30 classes, 5 supports each."""
    from embeddings_tf import datasets
    from embeddings_tf import metrics

    x, labels = datasets.load("n_digit/digits_2_number", "test_unseen")

    def log_prob(support, support_labels, query, num_classes, seed):
        prototypes = model.objective.prototypes(
            support, support_labels, num_classes
        )
        return model.objective.log_prob(query, prototypes, num_samples, seed)

    return metrics.few_shot_accuracy(
        model.predict(x[:], batch_size=512, verbose=0),
        labels[:, 0] if labels.ndim == 2 else labels,
        num_support=5,
        num_episodes=20,
        log_prob=log_prob,
    )


def load() -> dict:
    return json.loads(RESULT.read_text())


def table(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| training | "
        + " | ".join(f"{count} sample{'s' * (count > 1)}" for count in SAMPLES)
        + " |",
        "|---|" + "---:|" * len(SAMPLES),
    ]
    for name, by_samples in result["accuracy"].items():
        cells = []
        for count in SAMPLES:
            found = [100 * value for value in by_samples[str(count)]]
            cells.append(
                f"{statistics.fmean(found):.1f} "
                f"({min(found):.1f} to {max(found):.1f})"
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        _in_words(result["accuracy"]),
        "",
        f"Accuracy in %, mean (smallest to largest) of {len(result['seeds'])} "
        f"seeds after {result['steps']} episodes, by the samples of a "
        f"prediction; chance is {100 / 30:.1f} %. "
        f"`python -m benchmarks.prototype_choices`, commit "
        f"{result['commit'][:7]}; {hardware([result])}.",
    ]
    return "\n".join(lines)


def _in_words(accuracy: dict) -> str:
    """How many seeds learn, and whether the samplers differ."""
    last = {
        name: dict(enumerate(by_samples[str(SAMPLES[-1])]))
        for name, by_samples in accuracy.items()
    }
    learned = "; ".join(
        f"{name}: {sum(value > LEARNED for value in values.values())}"
        for name, values in last.items()
    )
    intersection, *_, naive = last.values()
    found = paired_difference(naive, intersection)
    return (
        f"Seeds above {100 * LEARNED:.0f} % with {SAMPLES[-1]} samples: "
        f"{learned}. The last row minus the first: {100 * found.mean:+.1f} "
        f"points, p {rounded(found.p)} (paired t-test over seeds)."
    )


def main() -> None:
    import_tensorflow()
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    started = time.monotonic()
    found = {}
    for name, case in CASES.items():
        models = [trained(*case, seed) for seed in SEEDS]
        found[name] = {
            str(count): [accuracy(model, count) for model in models]
            for count in SAMPLES
        }
        print(name, found[name], flush=True)
    result = {
        "command": "python -m benchmarks.prototype_choices",
        "seeds": list(SEEDS),
        "steps": STEPS,
        "accuracy": found,
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }
    write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, table(result))


if __name__ == "__main__":
    main()
