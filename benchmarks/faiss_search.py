"""Measures recall and time of the approximate search by FAISS.

    python -m benchmarks.faiss_search

Needs `pip install faiss-cpu`. Searches the five nearest of 100,000 rows of 64
dimensions, made as embeddings look: 2,000 classes of 50 rows around a mean.
1,000 queries are further rows of these classes. Recall is the share of the five
exact neighbours that FAISS finds. Both searches take turns, five times. Writes
`benchmarks/results/faiss_search.json` and the line of docs/use.md.
"""

import json
import pathlib
import statistics
import time

from benchmarks._side_by_side import shown
from tools.generated_text import NOT_RUN
from tools.generated_text import hardware
from tools.generated_text import write_between

NUM_CLASSES, NUM_PER_CLASS, DIM = 2_000, 50, 64
NUM_QUERIES, NUM_NEIGHBORS = 1_000, 5
ROUNDS = 5
ROOT = pathlib.Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "faiss_search.json"
PAGE = ROOT / "docs" / "use.md"
MARKS = "<!-- faiss: begin -->", "<!-- faiss: end -->"


def rows() -> tuple:
    """Returns the gallery and the queries, `(n, DIM)`."""
    import numpy as np

    rng = np.random.default_rng(0)
    means = rng.normal(size=(NUM_CLASSES, DIM))
    classes = np.arange(NUM_CLASSES).repeat(NUM_PER_CLASS)
    asked = rng.integers(NUM_CLASSES, size=NUM_QUERIES)
    return tuple(
        (means[of] + 0.5 * rng.normal(size=(len(of), DIM))).astype("float32")
        for of in (classes, asked)
    )


def measure() -> dict:
    """Searches by both ways; returns the seconds of each round, and recall."""
    import keras
    import numpy as np

    from embeddings_tf import scoring

    gallery, queries = rows()
    model = keras.Sequential([keras.Input((DIM,)), keras.layers.Identity()])
    found, rounds = {}, []
    for _ in range(ROUNDS):
        rounds.append({})
        for kind in ("exact", "faiss"):
            search = scoring.NearestNeighbors(
                model, num_neighbors=NUM_NEIGHBORS, search=kind, embedded=True
            )
            started = time.perf_counter()
            search.fit(gallery)
            fitted = time.perf_counter()
            _, found[kind] = search.kneighbors(queries)
            rounds[-1][kind] = {
                "seconds_to_fit": fitted - started,
                "seconds_to_search": time.perf_counter() - fitted,
            }
    shared = [
        len({*one} & {*other})
        for one, other in zip(found["exact"], found["faiss"], strict=True)
    ]
    return {
        "recall": float(np.mean(shared)) / NUM_NEIGHBORS,
        "rounds": rounds,
    }


def seconds(result: dict, kind: str, name: str) -> list[float]:
    """Returns the seconds of each round."""
    return [each[kind][f"seconds_to_{name}"] for each in result["rounds"]]


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    queries = break_even(result)
    both = ""
    if queries is not None:
        both = f" Both take equally long at about {queries:,} queries"
    return (
        f"Of {result['rows']:,} rows of {result['dim']} dimensions, FAISS "
        f"finds {100 * result['recall']:.1f} % of the "
        f"{result['num_neighbors']} nearest for {result['queries']:,} queries "
        f"in {shown(seconds(result, 'faiss', 'search'), 3)} seconds, after "
        f"{shown(seconds(result, 'faiss', 'fit'), 1)} seconds for its graph; "
        "the exact search takes "
        f"{shown(seconds(result, 'exact', 'search'), 2)} seconds.{both} "
        f"(median and quartiles of {len(result['rounds'])} rounds; "
        f"{hardware([result])}, load {result['load']:.1f}, "
        f"`{result['command']}`)."
    )


def break_even(result: dict) -> int | None:
    """Queries whose exact search takes as long as a graph and its search.

    By medians, rounded to hundreds; None if the search of the graph is not
    faster.
    """
    exact, faiss, fit = (
        statistics.median(seconds(result, *what))
        for what in (("exact", "search"), ("faiss", "search"), ("faiss", "fit"))
    )
    saved = exact - faiss
    if saved <= 0:
        return None
    return 100 * round(result["queries"] * fit / saved / 100)


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(json.loads(RESULT.read_text())) if RESULT.exists() else NOT_RUN


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    import_tensorflow()
    result = {
        "command": "python -m benchmarks.faiss_search",
        "rows": NUM_CLASSES * NUM_PER_CLASS,
        "dim": DIM,
        "queries": NUM_QUERIES,
        "num_neighbors": NUM_NEIGHBORS,
        **measure(),
        **provenance(),
    }
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, page_text())
    print(page_text())


if __name__ == "__main__":
    main()
