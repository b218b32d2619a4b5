"""Compares time and memory of exact recall@1 with other search libraries.

    python -m benchmarks.recall_at_k
    python -m benchmarks.recall_at_k 60000x128    # this set only

Every embedding is a query, and the gallery contains all embeddings. Each
contender has its own process for each set. The contenders take turns, and a
ratio is the median over rounds of our time to theirs. faiss takes part if
`faiss-cpu` is installed. Peak memory is the whole process, with TensorFlow and
the embeddings.
"""

import argparse
import contextlib
import functools
import importlib.metadata
import importlib.util
import pathlib
import statistics
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks import _spread as spread

# Number of rows, dimensions, rounds.
SETS = {"60000x128": (60_000, 128, 5), "100000x500": (100_000, 500, 3)}
NUM_PER_CLASS = 10
OURS = "embeddings_tf"
# Our search may take this many times as long, and this many bytes.
AIMS = {"scikit-learn": 1.1}
AIM = 4 * 2**30
PAGE = pathlib.Path(__file__).parents[1] / "docs/pair_and_triplet_losses.md"
BEGIN = "<!-- recall_at_k table: begin -->"
END = "<!-- recall_at_k table: end -->"


# The following functions run in the processes of the contenders.


@functools.cache
def embeddings_and_labels(name):
    import numpy as np

    num_rows, dim, _ = SETS[name]
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(num_rows // NUM_PER_CLASS), NUM_PER_CLASS)
    embeddings = rng.standard_normal((labels.max() + 1, dim), np.float32)
    embeddings = embeddings[labels]
    for block in np.split(embeddings, 100):
        block += 2 * rng.standard_normal(block.shape, np.float32)
    return embeddings, labels


def ours(embeddings, labels):
    from embeddings_tf import metrics

    return metrics.recall_at_k(embeddings, labels)[1]


def scikit_learn(embeddings, labels):
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(embeddings)
    return recall(index.kneighbors(embeddings, return_distance=False), labels)


def faiss_cpu(embeddings, labels):
    import faiss

    index = faiss.IndexFlatL2(embeddings.shape[1])
    index.add(embeddings)
    return recall(index.search(embeddings, 2)[1], labels)


def recall(neighbours, labels):
    """Recall of the first of two neighbours that is not the query itself."""
    import numpy as np

    first, second = neighbours.T
    other = np.where(first == np.arange(len(labels)), second, first)
    return float(np.mean(labels[other] == labels))


def warm_up(contender):
    """Runs the imports and loading of the first call."""
    embeddings, labels = embeddings_and_labels("60000x128")
    contender(embeddings[:3000], labels[:3000])
    embeddings_and_labels.cache_clear()


def turn(contender, name):
    embeddings, labels = embeddings_and_labels(name)
    started = time.perf_counter()
    value = contender(embeddings, labels)
    return {
        "seconds": time.perf_counter() - started,
        "recall_at_1": value,
        "peak_bytes": side_by_side.high_water_mark(),
    }


# The following functions run in the comparing process.


def compare(name, contenders):
    """Returns seconds of each contender in each round, and ratios."""
    measured = {
        who: {"seconds": []}
        | ({} if who == OURS else {"version": importlib.metadata.version(who)})
        for who in contenders
    }
    with contextlib.ExitStack() as stack:
        processes = {
            who: stack.enter_context(side_by_side.process())
            for who in contenders
        }
        for who, contender in contenders.items():
            processes[who].submit(warm_up, contender).result()
        for _ in range(SETS[name][2]):
            for who, contender in contenders.items():
                found = processes[who].submit(turn, contender, name).result()
                measured[who]["seconds"].append(found.pop("seconds"))
                measured[who] |= found
                print(".", end="", flush=True)
    print()
    for who, entry in measured.items():
        entry["median_seconds"] = statistics.median(entry["seconds"])
        assert abs(entry["recall_at_1"] - measured[OURS]["recall_at_1"]) < 1e-4
        if who != OURS:
            pairs = zip(
                measured[OURS]["seconds"], entry["seconds"], strict=True
            )
            ratios = [mine / theirs for mine, theirs in pairs]
            entry["ours_to_theirs"] = statistics.median(ratios)
    return measured


def table(sets: dict) -> str:
    """Returns the measurements in Markdown."""
    lines = [
        "| embeddings | search | s | peak GiB | ours to theirs | aim |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for found in sets.values():
        for who, entry in found["contenders"].items():
            ratio = entry.get("ours_to_theirs")
            cells = [
                f"{found['rows']:,} x {found['dim']}",
                f"`{OURS}`" if who == OURS else f"{who} {entry['version']}",
                spread.cell(entry["seconds"], 1, 1),
                f"{entry['peak_bytes'] / 2**30:.2f}",
                f"{ratio:.2f}" if ratio else "",
                f"at most {AIMS[who]}" if who in AIMS else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def text(sets: dict) -> str:
    """Returns the Markdown between the marks: table, versions, machine."""
    if not sets:
        return ""
    notes = dict.fromkeys(
        side_by_side.made_with(found).replace("steps", "searches")
        for found in sets.values()
    )
    return "\n\n".join([table(sets), *notes])


def main() -> None:
    parser = argparse.ArgumentParser(description="Times recall@1.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    names = parser.parse_args().sets or list(SETS)
    contenders = {OURS: ours, "scikit-learn": scikit_learn}
    if importlib.util.find_spec("faiss"):
        contenders["faiss-cpu"] = faiss_cpu
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    from trainers.provenance import provenance
    from trainers.workdir import write_json

    path = side_by_side.RESULTS / "recall_at_k.json"
    sets = side_by_side.load("recall_at_k").get("sets", {})
    made_with = provenance()
    for name in names:
        num_rows, dim, _ = SETS[name]
        started = time.perf_counter()
        found = compare(name, contenders)
        sets[name] = {
            "command": f"python -m benchmarks.recall_at_k {name}",
            "rows": num_rows,
            "dim": dim,
            "contenders": found,
            "seconds": time.perf_counter() - started,
            **made_with,
        }
        # In the order of `SETS`, not in the order of measurement.
        sets = {name: sets[name] for name in SETS if name in sets}
        write_json(path, {"sets": sets})
        print(f"Wrote {path.relative_to(side_by_side.RESULTS.parents[1])}")
    print(table(sets))
    side_by_side.write_page(PAGE, BEGIN, END, text(sets))


if __name__ == "__main__":
    main()
