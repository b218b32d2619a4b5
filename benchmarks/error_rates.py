"""Compares metrics of 50 million verification trials with scikit-learn.

    python -m benchmarks.error_rates
    python -m benchmarks.error_rates --trials 1000000    # prints only

The scores are float32, one trial in a thousand is a target. scikit-learn has
neither the equal error rate nor Cllr: the first follows from its ROC curve, the
second from its log loss with weights that balance targets and nontargets.
Contenders take turns, each in its own process, so that all see the same load
of the machine. A ratio is the median over rounds of their time to ours.

`TrialHistogram` counts 1.2 billion trials block by block, which scikit-learn
cannot hold; its time per trial is compared with `equal_error_rate`. Needs 4 GiB
of memory. Writes `benchmarks/results/error_rates.json` and the table of
`docs/results/speed.md`.
"""

import argparse
import contextlib
import functools
import os
import pathlib
import statistics
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks import _spread as spread
from tools.generated_text import hardware

NUM_TRIALS, TARGET_SHARE, ROUNDS = 50_000_000, 1e-3, 5
NUM_STREAMED, STREAM_BLOCK = 1_200_000_000, 2**22
OURS, THEIRS = "embeddings_tf", "scikit-learn"
METRICS = ("equal_error_rate", "roc_auc", "cllr")
AIMS = {"equal_error_rate": 10}
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "results" / "speed.md"
BEGIN, END = "<!-- error rates: begin -->", "<!-- error rates: end -->"


# The following functions run in the processes of the contenders.


@functools.cache
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


def streamed(num_trials):
    """Seconds of counting, of the metrics, and the equal error rate."""
    from embeddings_tf.metrics import TrialHistogram

    scores, is_target = trials(STREAM_BLOCK)
    histogram = TrialHistogram()
    started = time.perf_counter()
    for _ in range(num_trials // STREAM_BLOCK):
        histogram.update(scores, is_target)
    counting = time.perf_counter() - started
    rate, _, bound = histogram.equal_error_rate()
    return {
        "trials": num_trials // STREAM_BLOCK * STREAM_BLOCK,
        "counting_seconds": counting,
        "metric_seconds": time.perf_counter() - started - counting,
        "value": rate,
        "bound": bound,
        "peak_bytes": side_by_side.high_water_mark(),
    }


def turn(function, *arguments):
    trials(arguments[-1])
    started = time.perf_counter()
    value = function(*arguments)
    return time.perf_counter() - started, value


# The following functions run in the comparing process.


def compare(num_trials):
    """Returns seconds of each contender in each round, and ratios."""
    contenders = {OURS: our_metric, THEIRS: their_metric}
    measured = {
        name: {who: {"seconds": []} for who in contenders} for name in METRICS
    }
    with contextlib.ExitStack() as stack:
        processes = {
            who: stack.enter_context(side_by_side.process())
            for who in contenders
        }

        def call(who, name, size):
            arguments = contenders[who], name, size
            return processes[who].submit(turn, *arguments).result()

        for name in METRICS:
            for who in contenders:
                call(who, name, 10_000)  # imports
            for _ in range(ROUNDS):
                for who in contenders:
                    seconds, value = call(who, name, num_trials)
                    measured[name][who]["seconds"].append(seconds)
                    measured[name][who]["value"] = value
                    print(".", end="", flush=True)
    print()
    for name, entry in measured.items():
        values = [entry[who]["value"] for who in contenders]
        assert abs(values[0] - values[1]) < 1e-6, entry
        pairs = zip(
            entry[THEIRS]["seconds"], entry[OURS]["seconds"], strict=True
        )
        entry["faster_by"] = sorted(theirs / ours for theirs, ours in pairs)
        entry["aim"] = AIMS.get(name)
    return measured


def table(result: dict) -> str:
    """Returns the measurements in Markdown."""
    lines = [
        "| metric | s | scikit-learn, s | faster by | range | aim |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, entry in result["metrics"].items():
        ours = spread.cell(entry[OURS]["seconds"], 1, 2)
        theirs = spread.cell(entry[THEIRS]["seconds"], 1, 1)
        ratios = entry["faster_by"]
        lines.append(
            f"| `{name}` | {ours} | {theirs} "
            f"| {statistics.median(ratios):.1f} "
            f"| {ratios[0]:.1f} to {ratios[-1]:.1f} | {entry['aim'] or ''} |"
        )
    return "\n".join(lines)


def text(result: dict) -> str:
    """Returns the Markdown between the marks: table, machine, streaming."""
    stream = result["streamed"]
    return (
        f"{table(result)}\n\n{result['trials']:,} trials, medians and "
        f"quartiles of {ROUNDS} rounds in turns; commit "
        f"{result['commit'][:7]}, {hardware([result])}, "
        f"{spread.load_of(result)}. "
        f"`TrialHistogram` counted {stream['trials']:,} trials in "
        f"{stream['counting_seconds']:.0f} s and gave the EER in "
        f"{stream['metric_seconds']:.1f} s, within {stream['bound']:.0e}; peak "
        f"memory of the process: {stream['peak_bytes'] / 2**20:.0f} MiB."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Times error rates.")
    parser.add_argument("--trials", type=int, default=NUM_TRIALS)
    num_trials = parser.parse_args().trials
    load_average, started = os.getloadavg()[0], time.perf_counter()
    measured = compare(num_trials)
    with side_by_side.process() as fresh:
        share = NUM_STREAMED * num_trials // NUM_TRIALS
        stream = fresh.submit(streamed, max(share, STREAM_BLOCK)).result()
    result = {
        "command": "python -m benchmarks.error_rates",
        "trials": num_trials,
        "target_share": TARGET_SHARE,
        "metrics": measured,
        "streamed": stream,
        "load_average_before": load_average,
        "seconds": time.perf_counter() - started,
    }
    print(table(result))
    if num_trials != NUM_TRIALS:
        return
    from trainers.provenance import provenance
    from trainers.quiet import import_tensorflow
    from trainers.workdir import write_json

    import_tensorflow()
    result |= provenance()
    path = side_by_side.RESULTS / "error_rates.json"
    write_json(path, result)
    print(f"Wrote {path.relative_to(side_by_side.RESULTS.parents[1])}")
    side_by_side.write_page(PAGE, BEGIN, END, text(result))


if __name__ == "__main__":
    main()
