"""Scores all unordered pairs of 10,000 embeddings with a learned distance.

    python -m benchmarks.all_trials

The embeddings are 1,000 classes of ten, in 128 dimensions, Gaussian around
Gaussian means. The distance has three hidden layers of 256 units and was
trained for a minute on other such classes. The 49,995,000 scores are counted
block by block and discarded, five times. The scores of the first 1,000
embeddings, 499,500 trials, are also kept, to compare the error rates with
scikit-learn. Peak memory is the growth of the resident set by streaming the
first time. Prints and writes the figures.
"""

import os
import pathlib
import time

from tools import scoring_table

RESULT = pathlib.Path(__file__).parent / "results" / "all_trials.json"
NUM_CLASSES, NUM_PER_CLASS, DIM, UNITS = 1000, 10, 128, (256, 256, 256)
NUM_HELD = 1000
STEPS, TRAINING_CLASSES = 600, 1000
SPREAD = 1.5  # standard deviation within a class; class means have 1
AIM_BYTES = 2 * 2**30


def classes(rng, num_classes):
    """Returns embeddings `(classes * NUM_PER_CLASS, DIM)` and labels."""
    import numpy as np

    labels = np.repeat(np.arange(num_classes), NUM_PER_CLASS)
    z = rng.normal(size=(num_classes, DIM))[labels]
    z += SPREAD * rng.normal(size=z.shape)
    return z.astype("float32"), labels.astype("int32")


def trained_distance(rng):
    import keras

    from embeddings_tf import datasets
    from embeddings_tf import models
    from embeddings_tf import objectives
    from embeddings_tf import sampling
    from embeddings_tf.layers import PairDistance

    keras.utils.set_random_seed(0)
    distance = PairDistance(UNITS)
    inputs = keras.Input((DIM,))
    model = models.EmbeddingModel(
        keras.Model(inputs, keras.layers.Identity()(inputs)),
        objectives.LearnedDistance(distance),
    )
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    z, labels = classes(rng, TRAINING_CLASSES)
    batches = sampling.class_balanced_batches(labels, 24, 5, seed=0)
    model.fit(
        datasets.batches(z, labels, batches),
        steps_per_epoch=STEPS,
        shuffle=False,  # the sampler already shuffles
        verbose=0,
    )
    return distance


def by_scikit_learn(scores, is_target):
    """EER by linear interpolation between neighbouring thresholds."""
    import numpy as np
    from sklearn.metrics import roc_auc_score
    from sklearn.metrics import roc_curve

    false_alarm, hit, _ = roc_curve(is_target, scores, drop_intermediate=False)
    miss = 1 - hit
    after = int(np.argmax(false_alarm >= miss))
    gap = miss - false_alarm
    share = gap[after - 1] / (gap[after - 1] - gap[after])
    eer = miss[after - 1] + share * (miss[after] - miss[after - 1])
    return float(eer), float(roc_auc_score(is_target, scores))


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np

    from benchmarks._provenance import provenance
    from benchmarks._side_by_side import LEAST_ROUNDS
    from benchmarks._side_by_side import high_water_mark
    from benchmarks._side_by_side import shown
    from embeddings_tf import metrics
    from trainers.workdirs.json_files import write_json

    made_by = {"load_average_before": os.getloadavg()[0], **provenance()}
    started = time.perf_counter()
    rng = np.random.default_rng(0)
    distance = trained_distance(rng)
    training_seconds = time.perf_counter() - started
    z, labels = classes(rng, NUM_CLASSES)
    distance.all_pairs(z[:10], z[:10])
    held = metrics.TrialHistogram()

    few, few_labels = z[:NUM_HELD], labels[:NUM_HELD]
    kept = []
    metrics.stream_trials(
        distance.all_pairs, few, few_labels, lambda *block: kept.append(block)
    )
    scores, is_target = (np.concatenate(c) for c in zip(*kept, strict=True))
    held.update(scores, is_target)
    eer, auc = by_scikit_learn(scores, is_target)
    (held_eer, _, eer_bound), (held_auc, auc_bound) = (
        held.equal_error_rate(),
        held.roc_auc(),
    )
    assert abs(held_eer - eer) <= eer_bound + 1e-12, (held_eer, eer)
    assert abs(held_auc - auc) <= auc_bound + 1e-12, (held_auc, auc)

    try:
        # Resets the high-water mark to the current resident set.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = high_water_mark()
    except OSError:
        before = None
    seconds, peak = [], None
    while len(seconds) < LEAST_ROUNDS:
        streamed = metrics.TrialHistogram()
        begin = time.perf_counter()
        num_trials = metrics.stream_trials(
            distance.all_pairs, z, labels, streamed.update
        )
        seconds.append(time.perf_counter() - begin)
        if len(seconds) == 1 and before is not None:
            peak = high_water_mark() - before
    streamed_eer, threshold, bound = streamed.equal_error_rate()
    streamed_auc, streamed_auc_bound = streamed.roc_auc()
    result = {
        "command": "python -m benchmarks.all_trials",
        "embeddings": len(z),
        "dim": DIM,
        "hidden_units": UNITS,
        "trials": num_trials,
        "equal_error_rate": streamed_eer,
        "equal_error_rate_bound": bound,
        "threshold": threshold,
        "roc_auc": streamed_auc,
        "roc_auc_bound": streamed_auc_bound,
        "streaming_seconds": seconds,
        "peak_bytes": peak,
        "aim_bytes": AIM_BYTES,
        "subset": {
            "trials": len(scores),
            "equal_error_rate": held_eer,
            "equal_error_rate_bound": eer_bound,
            "equal_error_rate_scikit_learn": eer,
            "roc_auc": held_auc,
            "roc_auc_bound": auc_bound,
            "roc_auc_scikit_learn": auc,
        },
        "training_steps": STEPS,
        "training_seconds": training_seconds,
        "seconds": time.perf_counter() - started,
        **made_by,
    }
    print(
        f"{num_trials:,} trials: EER {streamed_eer:.6f} within {bound:.1e}, "
        f"AUC {streamed_auc:.6f} within {streamed_auc_bound:.1e}; "
        f"{shown(seconds, 0)} s"
    )
    if peak is not None:
        print(f"Peak memory {peak / 2**20:.0f} MiB (aim: below 2,048)")
    print(
        f"{len(scores):,} of them: EER {held_eer:.6f} within {eer_bound:.1e}, "
        f"scikit-learn {eer:.6f}; AUC {held_auc:.6f}, scikit-learn {auc:.6f}"
    )
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    print(f"Wrote {RESULT.relative_to(RESULT.parents[2])}")
    scoring_table.main()


if __name__ == "__main__":
    main()
