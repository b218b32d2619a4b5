"""Sends 100,000 predict requests to a process with only TensorFlow.

    python -m benchmarks.serving_load --engines-python PYTHON

Every signature of every method is called through the messages of TensorFlow
Serving, over gRPC on localhost, with 1 to 32 rows and from several threads. The
answers are compared with the first answer to the same request. PYTHON is an
interpreter with TensorFlow and OpenVINO (`pip install embeddings_tf[engines]`;
default: this one). Writes benchmarks/results/serving_load.json,
docs/figures/serving_memory.png and the tables of docs/deploying.md.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import threading
import time

from benchmarks import _served_models as served_models
from benchmarks._in_engine import in_engine
from benchmarks._predict_client import deviation
from benchmarks._predict_client import memory_bytes
from benchmarks._predict_client import messages
from benchmarks._predict_client import server
from benchmarks._predict_client import stub
from benchmarks._predict_client import values
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
COMPARED, COMPARED_ROWS, COMPARED_CALLS = "class_means", (1, 8, 32), 300


def first_requests(folder, requests) -> dict:
    """Seconds of the first request of each signature, and of later ones."""
    found = {}
    for name, flags in (("cold", ["--no-warm-up"]), ("warm", [])):
        with server(folder, *flags) as (_, ready):
            predict = stub(ready["port"]).Predict
            found[f"{name}_seconds_to_ready"] = ready["seconds"]
            for (model, signature, rows), request in requests.items():
                if rows > 1:
                    continue
                seconds = []
                for _ in range(11):
                    started = time.perf_counter()
                    predict(request, timeout=60)
                    seconds.append(time.perf_counter() - started)
                row = found.setdefault(f"{model}/{signature}", {})
                row[f"{name}_first"] = seconds[0]
                row[f"{name}_later"] = sorted(seconds[1:])[5]
    return found


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


def timed(function) -> list:
    """Seconds of calls one after the other; ten calls before do not count."""
    found = []
    for number in range(COMPARED_CALLS + 10):
        started = time.perf_counter()
        function()
        if number >= 10:
            found.append(time.perf_counter() - started)
    return found


def beside(folder, exported, requests, engines_python) -> dict:
    """Embeds the same rows by request, by `predict` and in OpenVINO."""
    model, path = exported[COMPARED]
    found = {}
    with server(folder) as (_, ready):
        predict = stub(ready["port"]).Predict
        for rows in COMPARED_ROWS:
            request = requests[COMPARED, "serving_default", rows]
            found[f"gRPC request/{rows}"] = percentiles(
                timed(lambda request=request: predict(request, timeout=60))
            )
    for rows in COMPARED_ROWS:
        inputs = served_models.calls(path)["embed", rows]
        (x,) = inputs.values()
        found[f"`predict`/{rows}"] = percentiles(
            timed(lambda x=x: model.predict(x, verbose=0))
        )
        for engine in ("TensorFlow", "OpenVINO, float32"):
            done = in_engine(engines_python, engine, path, {"embed": inputs})
            done = done["embed"]
            if "error" in done:
                raise RuntimeError(f"{engine}: {done['error']}")
            found[f"{engine}/{rows}"] = {
                name: 1000 * done[key]
                for name, key in (
                    ("p50_milliseconds", "median_seconds"),
                    ("p99_milliseconds", "p99_seconds"),
                )
            }
    return found


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
    from trainers.workdirs.provenance import provenance

    import_tensorflow()
    with tempfile.TemporaryDirectory() as folder:
        folder = arguments.models or pathlib.Path(folder)
        exported = served_models.export(folder)
        requests = messages(exported)
        print(f"{len(requests)} different requests", flush=True)
        measured = load(folder, requests, arguments.requests, arguments.minutes)
        print(json.dumps({**measured, "memory": measured["memory"][-1]}))
        first = first_requests(folder, requests)
        print("first requests measured", flush=True)
        compared = beside(folder, exported, requests, arguments.engines_python)
    found = provenance()
    del found["load"]
    result = {
        "command": "python -m benchmarks.serving_load",
        "models": len(exported),
        # While requests were sent, not at the end.
        "load_average": measured.pop("load_average"),
        "load": measured,
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
