"""Sends 100,000 predict requests to a process with only TensorFlow.

    python -m benchmarks.serving_load --engines-python PYTHON

Every signature of every method is called through the messages of TensorFlow
Serving, over gRPC on localhost, with 1 to 32 rows and from several threads. The
answers are compared with the first answer to the same request. Five more runs
of a tenth of the requests, each of a new server, show how times vary. PYTHON is
an interpreter with TensorFlow and OpenVINO (`pip install
embeddings_tf[engines]`; default: this one). Writes
benchmarks/results/serving_load.json, docs/figures/serving_memory.png and the
tables of docs/deploying.md.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

from benchmarks import _served_models as served_models
from benchmarks import _side_by_side as side_by_side
from benchmarks._in_engine import InEngine
from benchmarks._predict_client import deviation
from benchmarks._predict_client import memory_bytes
from benchmarks._predict_client import messages
from benchmarks._predict_client import server
from benchmarks._predict_client import stub
from benchmarks._predict_client import values
from benchmarks._provenance import provenance
from benchmarks._serving_report import draw
from benchmarks._serving_report import percentiles
from benchmarks._serving_report import text
from tools.generated_text import ROOT
from tools.generated_text import write_between

RESULT = pathlib.Path(__file__).parent / "results" / "serving_load.json"
PAGE = ROOT / "docs" / "deploying.md"
BEGIN, END = "<!-- serving_load -->", "<!-- /serving_load -->"
NUM_REQUESTS, NUM_THREADS = 100_000, 4
# Requests between two readings of the server's memory: 200 in all.
READINGS = 200
TOLERANCE = 1e-4
# Runs that show how times vary, and their share of the requests.
RUNS, SHARE = side_by_side.LEAST_ROUNDS, 10
COMPARED, COMPARED_ROWS = "class_means", (1, 8, 32)
# Calls of a turn, and most seconds of them.
COMPARED_CALLS, COMPARED_SECONDS = 60, 10.0


def first_requests(folder, requests) -> dict:
    """Seconds of the first request of each signature, of every run."""
    found, ready_after = collections.defaultdict(dict), {}
    for _ in range(RUNS):
        for name, flags in (("cold", ["--no-warm-up"]), ("warm", [])):
            with server(folder, *flags) as (_, ready):
                predict = stub(ready["port"]).Predict
                ready_after.setdefault(name, []).append(ready["seconds"])
                for (model, signature, rows), request in requests.items():
                    if rows > 1:
                        continue
                    started = time.perf_counter()
                    predict(request, timeout=60)
                    seconds = time.perf_counter() - started
                    of_signature = found[f"{model}/{signature}"]
                    of_signature.setdefault(name, []).append(seconds)
    return {"seconds_to_ready": ready_after, "first_seconds": dict(found)}


def load(folder, requests, num_requests, minutes) -> dict:
    """Sends requests from several threads; returns what was measured.

    After some minutes no more requests are sent.
    """
    import grpc
    import numpy as np

    keys = list(requests)
    endpoints = sorted({key[:2] for key in keys})
    rows_of = {
        size: served_models.ROWS.count(size) for size in served_models.ROWS
    }
    rng = np.random.default_rng(0)
    sizes, weights = zip(*rows_of.items(), strict=True)
    drawn = rng.choice(sizes, num_requests, p=np.divide(weights, sum(weights)))
    # Every signature in turn, with a random number of rows.
    order = [
        (*endpoints[i % len(endpoints)], int(rows))
        for i, rows in enumerate(drawn)
    ]
    seconds, errors, memory = [0.0] * num_requests, [], []
    sent = [False] * num_requests
    worst, lock = [0.0], threading.Lock()

    with server(folder) as (process, ready):
        predict = stub(ready["port"]).Predict
        first = {key: predict(requests[key], timeout=60) for key in keys}
        expected = {key: values(first[key]) for key in keys}
        same = {
            key: answer.SerializeToString(deterministic=True)
            for key, answer in first.items()
        }
        every = max(1, num_requests // READINGS)
        started = time.perf_counter()

        def send(number):
            if time.perf_counter() - started > 60 * minutes:
                return
            key = order[number]
            sent[number] = True
            if number % every == 0:
                memory.append((number, memory_bytes(process)))
            before = time.perf_counter()
            try:
                answer = predict(requests[key], timeout=60)
            except grpc.RpcError as error:
                errors.append(f"{key}: {error.details()}")
                return
            seconds[number] = time.perf_counter() - before
            if answer.SerializeToString(deterministic=True) != same[key]:
                found = deviation(values(answer), expected[key])
                with lock:
                    worst[0] = max(worst[0], found)

        with concurrent.futures.ThreadPoolExecutor(NUM_THREADS) as pool:
            for _ in pool.map(send, range(num_requests)):
                pass
        wall = time.perf_counter() - started
        reached = sum(sent)
        memory.append((reached, memory_bytes(process)))
    accepted = np.concatenate(
        [
            answer["accepted"]
            for answer in expected.values()
            if "accepted" in answer
        ]
    )
    by_endpoint = collections.defaultdict(list)
    seconds, order, drawn = (
        [x for x, is_sent in zip(found, sent, strict=True) if is_sent]
        for found in (seconds, order, drawn)
    )
    for key, spent in zip(order, seconds, strict=True):
        by_endpoint["/".join(key[:2])].append(spent)
    return {
        "requests": reached,
        "threads": NUM_THREADS,
        "rows": int(sum(drawn)),
        "endpoints": len(endpoints),
        "imported": ready["imported"],
        "errors": len(errors),
        "first_errors": errors[:5],
        "largest_deviation": worst[0],
        "share_unknown": float(1 - accepted.mean()),
        "wall_seconds": wall,
        "requests_per_second": reached / wall,
        "load_average": os.getloadavg()[0],
        "memory": sorted(memory),
        "all": percentiles(seconds),
        "by_signature": {
            name: {"requests": len(spent), **percentiles(spent)}
            for name, spent in sorted(by_endpoint.items())
        },
    }


def short_runs(folder, requests, num_requests) -> dict:
    """Requests per second, and median milliseconds, of each run."""
    per_second, medians = [], collections.defaultdict(list)
    for _ in range(RUNS):
        measured = load(folder, requests, num_requests, float("inf"))
        if measured["errors"] or measured["largest_deviation"] > TOLERANCE:
            raise RuntimeError(
                f"requests failed: {measured['first_errors']}, or answers "
                f"differ by {measured['largest_deviation']:.1g}"
            )
        per_second.append(measured["requests_per_second"])
        for name, row in measured["by_signature"].items():
            medians[name].append(row["p50_milliseconds"])
        print(f"{per_second[-1]:,.0f} requests per second", flush=True)
    return {
        "requests": num_requests,
        "requests_per_second": per_second,
        "median_milliseconds": dict(medians),
    }


def timed(function) -> list:
    """Seconds of each call of a turn; one call at a time."""
    found = []
    for _ in range(COMPARED_CALLS):
        started = time.perf_counter()
        function()
        found.append(time.perf_counter() - started)
    return found


def beside(folder, exported, requests, engines_python) -> dict:
    """Embeds the same rows by request, by `predict` and in OpenVINO.

    The ways take turns, after one that does not count.
    """
    model, path = exported[COMPARED]
    ways = {}
    with contextlib.ExitStack() as stack:
        _, ready = stack.enter_context(server(folder))
        predict = stub(ready["port"]).Predict
        for rows in COMPARED_ROWS:
            request = requests[COMPARED, "serving_default", rows]
            inputs = served_models.calls(path)["embed", rows]
            (x,) = inputs.values()
            ways[f"gRPC request/{rows}"] = functools.partial(
                timed, functools.partial(predict, request, timeout=60)
            )
            ways[f"`predict`/{rows}"] = functools.partial(
                timed, functools.partial(model.predict, x, verbose=0)
            )
            for engine in ("TensorFlow", "OpenVINO, float32"):
                process = stack.enter_context(
                    InEngine(engines_python, engine, path, {"embed": inputs})
                )
                ways[f"{engine}/{rows}"] = functools.partial(_turn, process)
        rounds = {way: [] for way in ways}
        for round_ in range(RUNS + 1):
            for way in list(ways)[:: -1 if round_ % 2 else 1]:
                seconds = ways[way]()
                if round_:
                    rounds[way].append(seconds)
    return {
        way: {
            **percentiles(sum(of_way, [])),
            "median_milliseconds": [
                1000 * statistics.median(seconds) for seconds in of_way
            ],
        }
        for way, of_way in rounds.items()
    }


def _turn(process) -> list:
    turn = process.turn(COMPARED_CALLS, COMPARED_SECONDS)
    if "embed" not in turn:
        raise RuntimeError(process.found["embed"]["error"])
    return turn["embed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=NUM_REQUESTS)
    parser.add_argument(
        "--minutes",
        type=float,
        default=float("inf"),
        help="stop sending after so many minutes; the result has the number "
        "of requests",
    )
    parser.add_argument(
        "--models",
        type=pathlib.Path,
        help="folder of the exported models, which is kept and used again; "
        "default: a temporary folder",
    )
    parser.add_argument(
        "--engines-python",
        default=sys.executable,
        help="interpreter with TensorFlow and OpenVINO; default: this one",
    )
    arguments = parser.parse_args()

    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json

    import_tensorflow()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        folder = arguments.models or pathlib.Path(folder)
        exported = served_models.export(folder)
        requests = messages(exported)
        print(f"{len(requests)} different requests", flush=True)
        measured = load(folder, requests, arguments.requests, arguments.minutes)
        print(json.dumps({**measured, "memory": measured["memory"][-1]}))
        runs = short_runs(folder, requests, arguments.requests // SHARE)
        first = first_requests(folder, requests)
        print("first requests measured", flush=True)
        compared = beside(folder, exported, requests, arguments.engines_python)
    found = provenance()
    del found["load"]
    result = {
        "command": "python -m benchmarks.serving_load",
        "models": len(exported),
        "load_average_before": load_before,
        # While requests were sent, not at the end.
        "load_average": measured.pop("load_average"),
        "load": measured,
        "short_runs": runs,
        "first_requests": first,
        "beside": compared,
        **found,
    }
    if measured["errors"] or measured["largest_deviation"] > TOLERANCE:
        sys.exit("error: some requests failed, or answers differ")
    if arguments.requests < NUM_REQUESTS:
        print(text(result))
        return  # A short run is not a result.
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    draw(result)
    write_between(PAGE, BEGIN, END, text(result))


if __name__ == "__main__":
    main()
