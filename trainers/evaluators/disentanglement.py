"""Disentanglement of a trained model: information of each dimension."""

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import viz
from embeddings_tf.models.method import Method
from trainers.data.folds import class_ids
from trainers.measures.embed import embed_points
from trainers.measures.embed import split_to_embed
from trainers.measures.validation import PointValidation
from trainers.terminal.progress import Progress
from trainers.training.model import untrained_model

# Number of held-out images for the likelihood during training.
NUM_RECONSTRUCTIONS = 512
# Permutations of the chance correction in each epoch; the evaluation has 100.
NUM_PERMUTATIONS = 20
# Number of examples for SAP and DCI, whose fits take long; half are tested.
NUM_FITTED = 2_000
# Measures of a code that are counted by the progress, and how many of them
# compare dimensions, so that a code of one dimension does not have them.
NUM_MEASURES, NUM_COMPARING = 11, 3
PUBLISHED = {
    "mutual_information_gap": "MIG",
    "separated_attribute_predictability": "SAP",
    "dci_disentanglement": "DCI disentanglement",
    "dci_completeness": "DCI completeness",
    "dci_informativeness": "DCI informativeness",
}


def explicitness(codes, factors) -> float:
    """Explicitness as in the paper's early stopping: averaged by factor."""
    found = metrics.explicitness_by_value(codes, factors)
    return _mean_over_factors(found["factor"], found["auc"])


def validation(run, data, model) -> callbacks.EmbeddingEvaluation:
    """Logs the mean factor explicitness of validation data, and modularity.

    `corrected_modularity_plus_explicitness` chooses between methods: it is high
    only if a code tells the factors, and each dimension at most one of them.
    For an autoencoder it also logs the log-likelihood of held-out images,
    given the mean of their code.
    """
    x, factors = data.split(run.evaluation.validation.split)
    points = of_length_1 if _is_normalized(run, model) else np.asarray
    last = {}  # its fits take long

    def explicitness_of_epoch(codes, factors):
        last["explicitness"] = explicitness(codes, factors)
        return last["explicitness"]

    def corrected_modularity_plus_explicitness(codes, factors):
        return last["explicitness"] + metrics.modularity(
            codes,
            factors,
            correction="permutation",
            num_permutations=NUM_PERMUTATIONS,
        )

    measures = {
        "explicitness": explicitness_of_epoch,
        "modularity": metrics.modularity,
        "corrected_modularity_plus_explicitness": (
            corrected_modularity_plus_explicitness
        ),
        "single_dimension_auc": metrics.single_dimension_auc,
    }
    if hasattr(model, "log_likelihood"):
        rows = np.linspace(0, len(x) - 1, NUM_RECONSTRUCTIONS).astype(int)
        rows = np.unique(rows)

        def log_likelihood(codes, factors):
            return float(np.mean(model.log_likelihood(x[rows], codes[rows])))

        measures["log_likelihood"] = log_likelihood

    def of_points(measure):
        return lambda codes, factors: measure(points(codes), factors)

    measures = {name: of_points(found) for name, found in measures.items()}
    return PointValidation(x, factors, measures)


def _is_normalized(run, model) -> bool:
    wanted = run.evaluation.normalize_codes
    return wanted and Method(model).distance == "cosine"


def of_length_1(codes) -> np.ndarray:
    """Scales codes `(n, dim)` to length 1; zeros stay."""
    codes = np.asarray(codes, np.float64)
    lengths = np.linalg.norm(codes, axis=1, keepdims=True)
    return codes / np.where(lengths > 0, lengths, 1)


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If labels are not factors, if the number of names differs
            from the number of factors, if fewer than two factors vary in a
            split, or if a split does not exist.
    """
    names = run.evaluation.factor_names
    wanted = run.evaluation
    for split in dict.fromkeys((*wanted.splits, wanted.validation.split)):
        labels = data.labels(split)
        shape = labels.shape
        if len(shape) != 2 or shape[1] != len(names):
            raise ValueError(
                "config.evaluation.name='disentanglement' needs labels of "
                "shape (examples, factors), a column for each of "
                f"config.evaluation.factor_names ({len(names)} names); the "
                f"split {split!r} has labels of shape {shape}"
            )
        varying = [
            name
            for name, column in zip(names, labels.T, strict=True)
            if len(np.unique(column)) > 1
        ]
        if len(varying) < 2:
            raise ValueError(
                f"the split {split!r} has several values of "
                f"{' and '.join(varying) or 'no factor'} only; modularity "
                "compares factors and needs two that vary"
            )


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns all metrics of a trained model and of an untrained model."""
    untrained = untrained_model(run, data, model)
    points = of_length_1 if _is_normalized(run, model) else np.asarray
    results = {}
    for split in run.evaluation.splits:
        x, factors = split_to_embed(data, split)
        codes = points(embed_points(model, x))
        untrained_codes = points(embed_points(untrained, x))
        missing = NUM_COMPARING if codes.shape[1] < 2 else 0
        progress = Progress(2 * (NUM_MEASURES - missing), "measure")
        results[split] = _measures(codes, factors, progress)
        results[split]["modularity_of_ideal"] = modularity_of_ideal(factors)
        results[f"{split}_untrained"] = _measures(
            untrained_codes, factors, progress
        )
    names = run.evaluation.factor_names
    counted = Progress(2, "measure").counting
    information = counted(metrics.mutual_information)(codes, factors)
    figures = {
        "mutual_information": viz.mutual_information_figure(
            information,
            names,
            factors=factors,
            chance=counted(metrics.chance_information)(codes, factors),
        ),
        "auc_distribution": viz.auc_distribution_figure(
            {
                split.replace("_", " "): [found["nonredundant_values"]["auc"]]
                for split, found in results.items()
            }
        ),
    }
    if np.ndim(x[0]) == 3:  # images, not rows of features
        try:
            figures["traversal"] = viz.traversal_figure(
                x,
                codes,
                information,
                names,
                factors=factors,
                reference=viz.traversal_reference(codes),
                decode=_decode(model),
            )
        except ValueError as error:  # images that cannot be drawn
            print(f"No picture of a traversal: {error}", flush=True)
    return results, figures


def modularity_of_ideal(factors) -> float:
    """Modularity of a code with one dimension for every value of a factor.

    It is below 1 if factors depend on each other: a character's hair gives
    information about its gender. It is not an upper bound: a code that leaves
    out such a factor has a higher modularity.
    """
    indicators = [
        column == value
        for column in factors.T
        for value in np.unique(column)
        if not np.all(column == value)  # skips constant columns
    ]
    return metrics.modularity(np.stack(indicators, 1).astype(float), factors)


def _decode(model):
    """Returns images of codes, pixels 0 to 255, if the model can decode."""
    if not hasattr(model, "decode"):
        return None
    return lambda codes: model.decode(codes).numpy()


def _half(factors: np.ndarray) -> np.ndarray:
    """Marks half of the combinations of values: every other one.

    If a factor then has values on one side only, as the last factor can if
    every combination exists, halves are drawn at random. The half with the
    fewest such values is taken.
    """
    combinations = class_ids(factors)
    rng = np.random.default_rng(0)
    order = np.arange(combinations.max() + 1)
    best, fewest = None, np.inf
    for _ in range(20):
        half = order[combinations] % 2 == 0
        missing = sum(
            len(np.setxor1d(column[half], column[~half]))
            for column in factors.T
        )
        if missing < fewest:
            best, fewest = half, missing
        if not missing:
            break
        order = rng.permutation(order)
    return best


def _measures(codes, factors, progress: Progress) -> dict:
    """Returns all measures; each of `NUM_MEASURES` advances by one."""
    counted = progress.counting
    by_value = counted(metrics.explicitness_by_value)(codes, factors)
    single = counted(metrics.single_dimension_auc_by_value)(codes, factors)
    half = _half(factors)
    return {
        "modularity": counted(metrics.modularity)(codes, factors),
        # Corrected for chance; the published one favours uninformative codes.
        "modularity_corrected": counted(metrics.modularity)(
            codes, factors, correction="permutation"
        ),
        "explicitness": float(np.mean(by_value["auc"])),
        "explicitness_by_factor": _mean_over_factors(
            by_value["factor"], by_value["auc"]
        ),
        # Fitted on every other combination of values, scored on the rest.
        "explicitness_held_out": counted(metrics.explicitness)(
            codes[half],
            factors[half],
            test_codes=codes[~half],
            test_factors=factors[~half],
        ),
        "explicitness_disentanglement_lib": counted(metrics.explicitness)(
            codes, factors, variant="disentanglement_lib"
        ),
        "single_dimension_auc": float(np.mean(single["auc"])),
        **_published_measures(codes, factors, progress),
        "examples": len(codes),
        "values": {
            "factor": by_value["factor"].tolist(),
            "value": by_value["value"].tolist(),
            "explicitness": by_value["auc"].tolist(),
        },
        "nonredundant_values": {
            name: values.tolist() for name, values in single.items()
        },
        "mutual_information": counted(metrics.mutual_information)(
            codes, factors
        ).tolist(),
        "mutual_information_corrected": counted(metrics.mutual_information)(
            codes,
            factors,
            correction="permutation",
        ).tolist(),
    }


def _published_measures(codes, factors, progress: Progress) -> dict:
    """MIG, DCI and SAP, the last two on drawn examples, half of them unseen."""
    if codes.shape[1] < 2:
        return {}  # they compare dimensions
    rows = np.random.default_rng(0).permutation(len(codes))[:NUM_FITTED]
    half = len(rows) // 2
    sides = {
        "codes": codes[rows[:half]],
        "factors": factors[rows[:half]],
        "test_codes": codes[rows[half:]],
        "test_factors": factors[rows[half:]],
    }
    counted = progress.counting
    dci = counted(metrics.dci)(**sides)
    return {
        "mutual_information_gap": counted(metrics.mutual_information_gap)(
            codes, factors
        ),
        "separated_attribute_predictability": counted(
            metrics.separated_attribute_predictability
        )(**sides),
        **{f"dci_{name}": value for name, value in dci.items()},
    }


def _mean_over_factors(factor, values) -> float:
    return float(
        np.mean([values[factor == column].mean() for column in set(factor)])
    )


def summary(results: dict) -> str:
    """Returns the metrics as a small text table."""
    names = (
        "modularity",
        "modularity_corrected",
        "explicitness",
        "single_dimension_auc",
    )
    lines = _table(results, {name: name for name in names})
    if all("mutual_information_gap" in found for found in results.values()):
        lines += _table(results, PUBLISHED)
    return "\n".join(lines)


def _table(results: dict, names: dict[str, str]) -> list[str]:
    """Returns a line per split, with columns of the results by their title."""
    return [" " * 16 + "".join(f"{title:>22}" for title in names.values())] + [
        f"{split.replace('_', ' '):<16}"
        + "".join(f"{found[name]:>22.3f}" for name in names)
        for split, found in results.items()
    ]
