"""Compares metrics of 50 million verification trials with scikit-learn.

    python -m benchmarks.error_rates

The scores are float32, one trial in a thousand is a target. scikit-learn has
neither the equal error rate nor Cllr: the first follows from its ROC curve, the
second from its log loss with weights that balance targets and nontargets.
Contenders take turns, each in its own process (`_side_by_side.py`).

`TrialHistogram` counts 1.2 billion trials block by block, which scikit-learn
cannot store; its time per trial is compared with `equal_error_rate` on 50
million. Needs 4 GiB of memory.
"""

import functools
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

NUM_TRIALS, QUICK, TARGET_SHARE = 50_000_000, 100_000, 1e-3
NUM_STREAMED, STREAM_BLOCK, QUICK_BLOCK = 1_200_000_000, 2**22, 2**14
THEIRS = "scikit-learn"
METRICS = ("equal_error_rate", "roc_auc", "cllr")
STREAMED = "streamed"
# Values differ by rounding: scikit-learn sums 50 million terms.
TOLERANCES = {"equal_error_rate": 1e-9, "roc_auc": 1e-9, "cllr": 1e-6}
BENCHMARK = Benchmark(
    "error_rates",
    minutes=7,
    comparisons=(Comparison(OURS, THEIRS),),
    packages=("scikit-learn",),
    note=f"{NUM_TRIALS:,} trials. Streamed: five rounds of {NUM_STREAMED:,} "
    f"trials, in blocks of {STREAM_BLOCK:,}; scikit-learn cannot store them.",
)


# The following functions run in the processes of the contenders.


@functools.lru_cache(1)
def trials(num_trials):
    import numpy as np

    rng = np.random.default_rng(0)
    is_target = rng.random(num_trials, np.float32) < TARGET_SHARE
    scores = rng.standard_normal(num_trials, np.float32) - 2
    scores += 4 * is_target
    return scores, is_target


def our_metric(name, num_trials):
    from embeddings_tf import metrics

    found = getattr(metrics, name)(*trials(num_trials))
    return found[0] if name == "equal_error_rate" else found


def their_metric(name, num_trials):
    import numpy as np
    from sklearn import metrics

    scores, is_target = trials(num_trials)
    if name == "roc_auc":
        return float(metrics.roc_auc_score(is_target, scores))
    if name == "cllr":
        share = np.mean(is_target)
        probability = 1 / (1 + np.exp(-scores.astype(np.float64)))
        weight = np.where(is_target, 0.5 / share, 0.5 / (1 - share))
        loss = metrics.log_loss(is_target, probability, sample_weight=weight)
        return float(loss / np.log(2))
    false_alarm, hit, _ = metrics.roc_curve(
        is_target, scores, drop_intermediate=False
    )
    miss = 1 - hit
    after = int(np.argmax(false_alarm >= miss))
    gap = miss - false_alarm
    share = gap[after - 1] / (gap[after - 1] - gap[after])
    return float(miss[after - 1] + share * (miss[after] - miss[after - 1]))


def streamed(num_trials, block):
    """Counts all trials; returns seconds, metrics and the peak of memory."""
    import_tensorflow()
    from embeddings_tf.metrics import TrialHistogram

    scores, is_target = trials(block)
    histogram = TrialHistogram()
    started = time.perf_counter()
    for _ in range(num_trials // block):
        histogram.update(scores, is_target)
    counting = time.perf_counter() - started
    rate, _, bound = histogram.equal_error_rate()
    cost, cost_bound = histogram.cllr()
    return {
        "trials": num_trials // block * block,
        "seconds": counting,
        "metric_seconds": time.perf_counter() - started - counting,
        "value": rate,
        "bound": bound,
        "cllr": cost,
        "cllr_bound": cost_bound,
        "peak_bytes": side_by_side.high_water_mark(),
    }


METRIC_OF = {OURS: our_metric, THEIRS: their_metric}


def prepare(who, name, num_trials):
    if who == OURS:
        import_tensorflow()
    METRIC_OF[who](name, 10_000)  # imports
    trials(num_trials)
    return {}


def turn(who, name, num_trials):
    trials(num_trials)
    started = time.perf_counter()
    value = METRIC_OF[who](name, num_trials)
    return {"seconds": time.perf_counter() - started, "value": value}


def stream(run, together):
    """Adds the case of streamed trials, beside the metric of all at once."""
    block = QUICK_BLOCK if run.quick else STREAM_BLOCK
    total = 40 * block if run.quick else NUM_STREAMED
    try:
        rounds = [
            together.call(STREAMED, streamed, total, block, seconds=300)
            for _ in range(side_by_side.LEAST_ROUNDS)
        ]
    except side_by_side.Stopped as error:
        run.add(STREAMED, {"TrialHistogram": {"stopped": str(error)}})
        return
    last = rounds[-1]
    seconds = [one["seconds"] for one in rounds]
    metrics = [one["metric_seconds"] for one in rounds]
    rows = [
        of_trial([s / last["trials"] for s in seconds], "of TrialHistogram"),
        {"what": "metrics", "unit": "s", **side_by_side.spread(metrics)},
        {"what": "bound of the EER", "unit": "", "median": last["bound"]},
        {"what": "bound of Cllr", "unit": "", "median": last["cllr_bound"]},
    ]
    at_once = run.all_cases().get(METRICS[0], {}).get(OURS, {})
    if "seconds" in at_once:
        size = QUICK if run.quick else NUM_TRIALS
        each = [s / size for s in at_once["seconds"]]
        rows.append(of_trial(each, f"of {METRICS[0]}"))
    entry = {"seconds": seconds, "peak_bytes": last["peak_bytes"]}
    run.add(STREAMED, {"TrialHistogram": entry | {"last": last}}, rows)


def of_trial(seconds, whose):
    found = side_by_side.spread(seconds)
    return {"what": f"time of a trial {whose}", "unit": "s", **found}


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        num_trials = QUICK if run.quick else NUM_TRIALS
        for name in run.each([*METRICS, STREAMED]):
            if name == STREAMED:
                stream(run, together)
                continue
            found = together.compare(
                prepare,
                turn,
                {who: (who, name, num_trials) for who in METRIC_OF},
                min(run.seconds, 60),
                limit=180,
                limit_to_start=180,
            )
            side_by_side.refuse_other_values(
                found, OURS, [THEIRS], TOLERANCES[name]
            )
            run.add(name, found)


if __name__ == "__main__":
    main()
