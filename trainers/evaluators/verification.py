"""Verification with a trained model: are two examples in one class?"""

import dataclasses

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import viz
from embeddings_tf.models.method import Method
from embeddings_tf.ops.counted import counted
from embeddings_tf.scoring.verifier import LEAST_CLASSES
from trainers.data.examples import some_of_each_class
from trainers.data.folds import class_ids
from trainers.evaluators.require_at_least import require_at_least
from trainers.measures import calibrated_scores
from trainers.measures.embed import embed
from trainers.measures.embed import split_to_embed
from trainers.measures.listed_trials import listed_trials
from trainers.measures.measured_split import with_title
from trainers.measures.scores import likelihood_ratio_names
from trainers.measures.scores import normalised_cosine
from trainers.measures.scores import of_points
from trainers.measures.scores import score_of_all_pairs
from trainers.measures.scores import score_of_pairs
from trainers.measures.scores import scores_of_all_pairs
from trainers.measures.stored_pairs import stored_pairs
from trainers.measures.streamed_pairs import streamed_pairs
from trainers.measures.trial_measures import claimed_classes
from trainers.measures.trial_measures import distance_properties
from trainers.measures.trial_measures import streamed
from trainers.measures.validation import Validation

# More trials are counted in bins instead of stored.
EXACT_TRIALS = 5_000_000


def validation(run, data, model) -> callbacks.EmbeddingEvaluation:
    """Logs 1 - EER over all pairs of the validation classes (higher is better).

    Pairs are scored by the method's log-likelihood ratio, or by the cosine if
    it has none; `validation.score` chooses the cosine or the method's own
    score. With `validation.trials`, a
    list of trials is used instead, or `validation.num_trials` trials drawn from
    it. With `validation.num_per_class`, some examples of each class make the
    pairs. More pairs than `EXACT_TRIALS` are counted in bins.
    """
    wanted = run.evaluation.validation
    require_changing_score(run, Method(model))
    if wanted.trials:
        return _listed_validation(wanted, data, model)
    x, labels = some_of_each_class(
        *data.split(wanted.split), wanted.num_per_class
    )
    method = Method(model)
    score = of_points(method, metrics.cosine_scores)
    if _is_own(wanted.score, method):
        score = score_of_all_pairs(method)

    def accuracy_at_equal_error(embeddings, classes):
        if len(classes) * (len(classes) - 1) // 2 > EXACT_TRIALS:
            found = streamed(score, embeddings, classes)
            return 1 - found["equal_error_rate"]
        first, second = np.triu_indices(len(classes), 1)
        scores = metrics.score_all_pairs(score, embeddings)[first, second]
        is_target = classes[first] == classes[second]
        return 1 - metrics.equal_error_rate(scores, is_target)[0]

    watched = {"accuracy_at_equal_error": accuracy_at_equal_error}
    return Validation(x, class_ids(labels), watched)


def _is_own(score: str, method: Method) -> bool:
    """Whether validation is by the method's own score, not the cosine."""
    return score == "own" or (score == "" and method.has_likelihood_ratio)


def require_changing_score(run, method: Method) -> None:
    """Raises ValueError if the cosine of a frozen encoder is the monitor."""
    training, score = run.training, run.evaluation.validation.score
    is_chosen_by_it = training.monitor == "val_accuracy_at_equal_error"
    if (
        training.freeze_encoder
        and is_chosen_by_it
        and not _is_own(score, method)
    ):
        raise ValueError(
            f"{run.method.name} has no likelihood ratio, so the cosine scores "
            "the pairs of the validation, and config.freeze_encoder keeps the "
            "embeddings as they are: the first epoch would stay the best; set "
            "config.monitor=loss"
        )


def _listed_validation(wanted, data, model) -> callbacks.EmbeddingEvaluation:
    x, *sides, is_target = data.trials(
        wanted.split, wanted.trials, wanted.num_trials
    )
    method = Method(model)
    score = of_points(method, metrics.cosine_score_pairs)
    if _is_own(wanted.score, method):
        score = score_of_pairs(method)

    def accuracy_at_equal_error(embeddings, numbers):
        scores = metrics.score_trials(
            score, embeddings, numbers, np.stack(sides, axis=1)
        )
        return 1 - metrics.equal_error_rate(scores, is_target)[0]

    watched = {"accuracy_at_equal_error": accuracy_at_equal_error}
    return Validation(x, np.arange(len(x)), watched)


def check(run, data) -> None:
    """Checks the section `evaluation` against the data.

    Raises:
        ValueError: If an argument of PLDA is out of range, a number is
            negative, a score has another name, or a split does not exist or
            has fewer than two classes.
    """
    wanted = run.evaluation
    models.PLDA(**dataclasses.asdict(wanted.plda))
    require_at_least(wanted, num_resamples=0, num_enrolled=0, num_per_class=0)
    if wanted.num_per_class == 1:
        raise ValueError(
            "config.evaluation.num_per_class=1 leaves no pairs of one class; "
            "set it to at least 2, or to 0 for all examples"
        )
    if wanted.validation.score not in ("", "cosine", "own"):
        raise ValueError(
            "config.validation.score must be cosine, own or empty; received "
            f"{wanted.validation.score!r}"
        )
    for rate in wanted.false_accept_rates:
        if not 0 < rate < 1:
            raise ValueError(
                "config.evaluation.false_accept_rates must be between 0 and 1; "
                f"received {rate}"
            )
    for name, path in wanted.trials.items():
        if name in wanted.splits or name.endswith("_claimed"):
            raise ValueError(
                f"config.evaluation.trials.{name} would replace other results; "
                f"give the list another name than {', '.join(wanted.splits)} "
                "and names that end in _claimed"
            )
        data.trials(wanted.trials_split, path)
    splits = set(wanted.splits)
    if wanted.calibrate:
        splits.add(wanted.validation.split)
    for split in sorted(splits):
        count = np.bincount(class_ids(data.labels(split)))
        if len(count) < 2 or count.max() < 2:
            raise ValueError(
                f"the split {split!r} has "
                f"{counted(len(count), 'class', 'classes')}, the largest with "
                f"{counted(count.max(initial=0), 'example')}; verification "
                "needs two classes, and two examples of one"
            )
        of_class = count.max()
        if wanted.num_per_class:
            of_class = min(of_class, wanted.num_per_class)
        if split in wanted.splits and wanted.num_enrolled >= of_class:
            raise ValueError(
                f"config.evaluation.num_enrolled={wanted.num_enrolled} leaves "
                f"no example of the split {split!r} to test; set it below "
                f"{of_class}, the largest number of examples of a class"
            )


def evaluate(run, data, model) -> tuple[dict, dict]:
    """Returns EER and related metrics over all pairs of the test classes.

    Pairs are unordered. With `evaluation.num_per_class`, some examples of each
    class make the pairs of a split. The scores are the cosine, PLDA (fitted to
    embeddings of the training split), the method's own score, by which `verify`
    decides (`own_score` is its name), with `evaluation.euclidean` the Euclidean
    distance and, if the own score is a log-likelihood ratio, its fusion with
    the cosine. Each EER has a 95 % interval from resampled classes, unless
    `evaluation.num_resamples` is 0 or the split has fewer than `LEAST_CLASSES`
    classes. Scores are also calibrated on the
    validation classes, see `calibrated_scores`: the results contain Cllr before
    (for scores that claim to be log-likelihood ratios) and after, its minimum,
    and the errors at the chosen thresholds. More than `EXACT_TRIALS` trials are
    counted in bins; each metric then has the bound of its error.

    Lists of trials in the section `evaluation.trials` are evaluated on the
    split `evaluation.trials_split`, without intervals. With
    `evaluation.num_enrolled`, claims of classes are also evaluated, see
    `claimed_classes`.

    For at most 2,000 examples, the results contain how far the
    distance 1 - D violates the axioms of a metric, where D is the same-class
    probability. Two-dimensional points of a method with a likelihood ratio are
    drawn, with the regions in which it is above 1.
    """
    wanted, method = run.evaluation, Method(model)
    scores, plda = _scores(run, data, model)
    calibrated = calibrated_scores.calibrate(run, data, model, scores)
    claims = likelihood_ratio_names(method)
    results, figures = {}, {}
    det, as_trained, after = {}, {}, {}
    for split in wanted.splits:
        x, labels = some_of_each_class(
            *split_to_embed(data, split), wanted.num_per_class
        )
        classes, embeddings = class_ids(labels), embed(model, x)
        results[split] = _sizes(classes, method)
        is_large = results[split]["trials"] > EXACT_TRIALS
        has_interval = results[split]["classes"] >= LEAST_CLASSES
        found = (streamed_pairs if is_large else stored_pairs)(
            *(scores, embeddings, classes, claims, calibrated),
            wanted.num_resamples if has_interval else 0,
        )
        results[split] |= found.results
        det |= with_title(split, found.det)
        as_trained |= with_title(split, found.as_trained)
        after |= with_title(split, found.calibrated)
        if method.has_likelihood_ratio:
            properties = distance_properties(scores[method.name], embeddings)
            results[split] |= _mean_and_largest(properties)
            figures["distance_properties"] = viz.distance_properties_figure(
                properties, title=split.replace("_", " ")
            )
        if wanted.num_enrolled:
            results[f"{split}_claimed"] = claimed_classes(
                scores, embeddings, classes, wanted.num_enrolled
            )
    for name, path in wanted.trials.items():
        results[name], curves = listed_trials(run, data, model, plda, path)
        det |= {f"{name}: {title}": curve for title, curve in curves.items()}
    if det:
        figures["det"] = viz.det_figure(det)
        figures["calibration"] = viz.calibration_figure(
            {
                "as trained": as_trained,
                "calibrated on other classes": after,
            }
        )
    # Of other scores no region is known: 0 is not their threshold.
    if wanted.splits and method.has_likelihood_ratio and not method.is_gaussian:
        points = method.points(embeddings).numpy()
        if points.shape[1] == 2:
            figures["embedding"] = viz.acceptance_figure(
                points, classes, scores[method.name]
            )
    return results, figures


def _scores(run, data, model) -> tuple[dict, models.PLDA | None]:
    """Scores of all pairs of two sets by name, and the PLDA among them."""
    method = Method(model)
    x, labels = split_to_embed(data, run.data.split)
    embeddings, classes = embed(model, x), class_ids(labels)
    points = method.points(embeddings).numpy()
    plda = _fitted_plda(run.evaluation.plda, points, classes)
    scores = scores_of_all_pairs(method, plda, run.evaluation.euclidean)
    try:
        normalised = normalised_cosine(method, embeddings, classes)
        normalised(embeddings[:1], embeddings[:1])
    except ValueError as error:  # a score more, beside the method's own
        print(f"Without the normalised cosine: {error}", flush=True)
    else:
        scores["cosine_as_norm"] = normalised
    return scores, plda


def _sizes(classes: np.ndarray, method: Method) -> dict:
    """Numbers of examples, classes and trials of a split."""
    of_class = np.bincount(classes)
    return {
        "examples": len(classes),
        "classes": len(np.unique(classes)),
        "trials": len(classes) * (len(classes) - 1) // 2,
        "targets": int(np.sum(of_class * (of_class - 1) // 2)),
        "own_score": method.name,
    }


def _mean_and_largest(properties: dict) -> dict[str, float]:
    found = {}
    for name, values in properties.items():
        found[f"mean_{name}"] = float(np.mean(values, dtype=np.float64))
        found[f"largest_{name}"] = float(np.max(values))
    return found


def _fitted_plda(wanted, points, classes) -> models.PLDA | None:
    """PLDA of training embeddings, with as many dimensions as LDA can keep.

    None if it cannot be fitted, such as to embeddings that are all equal.
    """
    plda = models.PLDA(**dataclasses.asdict(wanted))
    try:
        if wanted.num_dims is not None:
            most = plda.most_dims(points, classes)
            if most < wanted.num_dims:
                kept = f"{most} of {wanted.num_dims} dimensions"
                print(f"PLDA keeps {kept}.", flush=True)
                plda.num_dims = most or None  # 0: `fit` says what is wrong
        return plda.fit(points, classes)
    except ValueError as error:  # a score more, beside the method's own
        print(f"Without PLDA: {error}", flush=True)
        return None


def summary(results: dict) -> str:
    """Returns a text table: errors in per cent, and minDCF."""
    lines = []
    for split, found in results.items():
        width = 1 + max(17, len(split), *map(len, found))
        lines.append(
            f"{split.replace('_', ' '):<{width}}{'EER, %':>8}{'95 %':>16}"
            f"{'1 - AUC, %':>12}{'minDCF':>8}{'Cllr':>8}{'calibrated':>12}"
            f"{'minimum':>9}"
        )
        for name, row in found.items():
            if isinstance(row, dict):
                ends = [f"{100 * end:.2f}" for end in row.get("interval", ())]
                lines.append(
                    f"{name.replace('_', ' '):<{width}}"
                    f"{100 * row['equal_error_rate']:>8.2f}"
                    f"{' to '.join(ends):>16}"
                    f"{100 * row['one_minus_auc']:>12.2f}"
                    f"{row['min_dcf']:>8.3f}"
                    f"{_bits(row, 'cllr'):>8}{_bits(row, 'cllr_logistic'):>12}"
                    f"{_bits(row, 'min_cllr'):>9}"
                )
        lines.append(
            f"{counted(found['trials'], 'trial')}, {found['targets']} of them "
            "targets"
            + (f", of {found['classes']} classes" if "classes" in found else "")
        )
        # Lists of trials have no interval anyway.
        count = found.get("classes", LEAST_CLASSES)
        if count < LEAST_CLASSES and "own_score" in found:
            lines.append(f"{count} classes are too few for an interval")
        lines += calibrated_scores.threshold_lines(found)
    return "\n".join(lines)


def _bits(row: dict, name: str) -> str:
    if name not in row:
        return ""
    # A score far from a ratio has a cost of many digits.
    return f"{row[name]:.3f}" if row[name] < 1000 else f"{row[name]:.1e}"
