"""Memory and time of exact recall@k among 100,000 embeddings of 500 floats.

    python -m benchmarks.recall_at_k

Every embedding is a query and the gallery is all of them: 10^10 distances.
Peak memory is what the process holds in all, the embeddings included.
"""

import time

from benchmarks import _side_by_side as side_by_side

NUM_ROWS, DIM, NUM_PER_CLASS, K = 100_000, 500, 10, (1, 10)
AIM = 4 * 2**30


def main() -> None:
    import numpy as np

    from embeddings_tf import metrics
    from trainers.provenance import provenance
    from trainers.quiet import import_tensorflow
    from trainers.workdir import write_json

    import_tensorflow()
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(NUM_ROWS // NUM_PER_CLASS), NUM_PER_CLASS)
    centres = rng.standard_normal((labels.max() + 1, DIM), np.float32)
    embeddings = centres[labels]
    for block in np.split(embeddings, 100):
        block += 2 * rng.standard_normal(block.shape, np.float32)
    del centres, block
    started = time.perf_counter()
    recall = metrics.recall_at_k(embeddings, labels, K)
    seconds = time.perf_counter() - started
    peak = side_by_side.high_water_mark()
    print(
        f"{NUM_ROWS:,} x {DIM}: "
        + ", ".join(f"recall@{k} {value:.4f}" for k, value in recall.items())
        + f"; {seconds:.0f} s, peak memory {peak / 2**30:.2f} GiB "
        f"(aim: {AIM / 2**30:.0f})"
    )
    path = side_by_side.RESULTS / "recall_at_k.json"
    write_json(
        path,
        {
            "command": "python -m benchmarks.recall_at_k",
            "rows": NUM_ROWS,
            "dim": DIM,
            "recall": {str(k): value for k, value in recall.items()},
            "seconds": seconds,
            "peak_bytes": peak,
            **provenance(),
        },
    )
    print(f"Wrote {path.relative_to(side_by_side.RESULTS.parents[1])}")


if __name__ == "__main__":
    main()
