"""Compares time and memory of exact recall@1 with other search libraries.

    python -m benchmarks.recall_at_k
    python -m benchmarks.recall_at_k 60000x128    # this set only

Every embedding is a query, and the gallery contains all embeddings. Contenders
take turns, each in its own process (`_side_by_side.py`). The bare products are
the matrix products of all queries with the gallery, which every exact search
needs. Peak memory is the whole process, with the embeddings and, for ours,
with TensorFlow.
"""

import functools
import importlib.util
import time

from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._benchmark import ROOT
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison

SETS, QUICK = ("60000x128", "100000x500"), ("2000x8",)
NUM_PER_CLASS = 10
PRODUCTS = "bare products"
SECONDS_OF_A_SEARCH = 300
BENCHMARK = Benchmark(
    "recall_at_k",
    minutes=21,
    comparisons=tuple(
        Comparison(OURS, who, by_time=True)
        for who in ("scikit-learn", "faiss-cpu", PRODUCTS)
    ),
    packages=("scikit-learn", "faiss-cpu"),
    page=ROOT / "docs" / "pair_and_triplet_losses.md",
    mark="recall_at_k table",
)


# The following functions run in the processes of the contenders.


@functools.lru_cache(1)
def embeddings_and_labels(name):
    import numpy as np

    num_rows, dim = map(int, name.split("x"))
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


def bare_products(embeddings, labels, block=2048):
    import numpy as np

    parts = np.split(embeddings, range(block, len(embeddings), block))
    return float(sum((part @ embeddings.T)[0, 0] for part in parts))


CONTENDERS = {
    OURS: ours,
    "scikit-learn": scikit_learn,
    "faiss-cpu": faiss_cpu,
    PRODUCTS: bare_products,
}


def prepare(who, name):
    """Runs the imports and loading of the first call."""
    if who == OURS:
        from trainers.terminal.quiet import import_tensorflow

        import_tensorflow()
    embeddings, labels = embeddings_and_labels(name)
    CONTENDERS[who](embeddings[:3000], labels[:3000])
    return {}


def turn(who, name):
    embeddings, labels = embeddings_and_labels(name)
    started = time.perf_counter()
    value = CONTENDERS[who](embeddings, labels)
    return {
        "seconds": time.perf_counter() - started,
        "peak_bytes": side_by_side.high_water_mark(),
        **({} if who == PRODUCTS else {"value": value}),
    }


def main(arguments=None) -> None:
    with BENCHMARK.run(__doc__, arguments) as run:
        for name in run.each(QUICK if run.quick else SETS):
            contenders = {
                who: (who, name)
                for who in CONTENDERS
                if who != "faiss-cpu" or importlib.util.find_spec("faiss")
            }
            # New processes for each set, because of the peak of memory.
            with run.side_by_side() as together:
                found = together.compare(
                    prepare,
                    turn,
                    contenders,
                    min(run.seconds, 60),
                    most_rounds=7,
                    limit=SECONDS_OF_A_SEARCH,
                    limit_to_start=SECONDS_OF_A_SEARCH,
                )
            side_by_side.refuse_other_values(found, OURS, CONTENDERS)
            run.add(name, found)


if __name__ == "__main__":
    main()
