"""Runs exports in OpenVINO, ONNX Runtime and LiteRT.

    python -m benchmarks.engines --engines-python PYTHON

Every signature without strings of all models is converted to each engine
and compared with TensorFlow. The engines of a model take turns, in five rounds.
The trained demo is also converted to int8, and its recall is measured. With
`--names`, these models are measured again, and the rest of the result file is
kept. PYTHON is an interpreter with TensorFlow and the engines (`pip install
embeddings_tf[engines]`; default: this one). Writes
benchmarks/results/engines.json and the tables of docs/deploying.md.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile

from benchmarks import _served_models as served_models
from benchmarks import _side_by_side as side_by_side
from benchmarks._in_engine import InEngine
from benchmarks._provenance import provenance
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULT = pathlib.Path(__file__).parent / "results" / "engines.json"
PAGE = ROOT / "docs" / "deploying.md"
BEGIN, END = "<!-- engines -->", "<!-- /engines -->"
DEMO = ROOT / "saved_models" / "demo"
ENGINES = (
    "TensorFlow",
    "OpenVINO, float32",
    "OpenVINO, default",
    "ONNX Runtime",
    "LiteRT",
)
INT8 = "LiteRT, int8"
ROWS, NUM_CALIBRATION, NUM_QUERIES = 32, 200, 1000
# Calls of a signature in a turn, at most, and their seconds, at most.
CALLS, SECONDS = 40, 0.4
# Where the errors of converters name the operations that they do not know.
UNKNOWN = (
    r"No conversion rule found for operations: ([\w, ]+?)(?: To facilitate|$)",
    r"TF Select ops: ([\w, ]+?)(?: Details|$)",
    r"'tf\.(\w+)' op is neither a custom op nor a flex op",
    r"'tf\.(\w+)' op requires element_shape to be static",
    r"No Op registered for (\w+)",
    r"Unrecognized attribute.*? for operator (\w+)",
)


def without_strings(calls: dict) -> dict:
    """Inputs by signature, of `ROWS` rows, where all inputs are numbers."""
    return {
        signature: inputs
        for (signature, rows), inputs in calls.items()
        if rows == ROWS and all(x.dtype.kind in "fiu" for x in inputs.values())
    }


def methods(python, models, names) -> tuple[dict, dict]:
    """Differences and seconds by model, signature and engine.

    Also returns `single_precision` by model. `models` is the folder of the
    exports, or None; `names` are the models to measure.
    """
    found, single = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        folder = models or pathlib.Path(folder)
        for model, (_, path) in served_models.export(folder).items():
            if model not in names:
                continue
            calls = without_strings(served_models.calls(path))
            found[model] = {signature: {} for signature in calls}
            options = {engine: (path, calls) for engine in ENGINES}
            for engine, rows in in_turns(python, options).items():
                for signature, row in rows.items():
                    row.pop("outputs", None)
                    found[model][signature][engine] = row
                    print(model, signature, engine, _cell(row), flush=True)
            inputs = calls["identify_unchecked"]
            single[model] = single_precision(path, inputs)
    return found, single


def in_turns(python, options: dict) -> dict:
    """Runs engines, which take turns, with the options of each by its name.

    Returns:
        By engine and signature `error`, or `difference`, `outputs`, the median
        `seconds` of a call of each turn, and the number of `calls`.
    """
    with contextlib.ExitStack() as stack:
        # LiteRT converts for minutes, on one core.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            engines = dict(
                zip(
                    options,
                    pool.map(
                        lambda item: _started(stack, python, *item),
                        options.items(),
                    ),
                    strict=True,
                )
            )
        for round_ in range(side_by_side.LEAST_ROUNDS):
            for engine in list(engines)[:: -1 if round_ % 2 else 1]:
                rows = engines[engine].found
                turn = engines[engine].turn(CALLS, SECONDS)
                for signature, seconds in turn.items():
                    row = rows[signature]
                    row["calls"] = row.get("calls", 0) + len(seconds)
                    middle = statistics.median(seconds)
                    row.setdefault("seconds", []).append(middle)
        return {engine: of.found for engine, of in engines.items()}


def _started(stack, python, engine, options):
    process = InEngine(python, engine, *options)
    stack.push(process)  # before another engine's start can fail
    return process


def single_precision(path, inputs) -> dict:
    """How far `identify_unchecked` is from `identify`, in TensorFlow."""
    import numpy as np
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    expected, found = (
        {
            name: value.numpy().astype(float)
            for name, value in loaded.signatures[signature](
                **{name: tf.constant(value) for name, value in inputs.items()}
            ).items()
            if name in ("probability", "score", "accepted")
        }
        for signature in ("identify", "identify_unchecked")
    )
    found["probability"] = found["probability"].max(axis=1)
    apart = {name: np.abs(found[name] - expected[name]) for name in expected}
    size = np.maximum(1, np.abs(expected["score"]))
    return {
        "rows": len(size),
        "probability_difference": float(apart["probability"].max()),
        "score_difference": float((apart["score"] / size).max()),
        "decisions_that_differ": int(apart["accepted"].sum()),
    }


def demo(python) -> dict:
    """Recall at 1 of the trained demo, by engine."""
    import numpy as np

    from embeddings_tf import metrics
    from trainers.config import load_recipe
    from trainers.data.data import Data

    version = max(int(p.name) for p in DEMO.iterdir() if p.name.isdigit())
    data = Data(load_recipe("demo"))
    x, labels = data.split("test_unseen")
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(x))[:NUM_QUERIES])
    queries = np.asarray(x[rows], "float32")
    training, _ = data.split(data.run.data.split)
    some = np.sort(rng.permutation(len(training))[:NUM_CALIBRATION])
    calibration = np.asarray(training[some], "float32")
    found = {"version": version, "queries": len(queries), "engines": {}}
    options = (
        DEMO / str(version),
        {"embed": {"image": queries}},
        {"embed": {"image": calibration}},
    )
    every = dict.fromkeys((*ENGINES, INT8), options)
    for engine, by_signature in in_turns(python, every).items():
        row = by_signature["embed"]
        if "error" not in row:
            embedding = row.pop("outputs")["embedding"]
            recall = metrics.recall_at_k(embedding, np.asarray(labels)[rows])
            row["recall_at_1"] = recall[1]
        found["engines"][engine] = row
        print("demo", engine, row, flush=True)
    return found


def reason(error: str) -> str:
    """The operations that an engine lacks, or the start of its error."""
    for pattern in UNKNOWN:
        operations = re.findall(pattern, error)
        if operations:
            names = {n.split()[0] for o in operations for n in o.split(", ")}
            return "no: " + ", ".join(f"`{n}`" for n in sorted(names))
    # The signatures of a model share a process.
    ended = re.match(r"the process ended with -?\d+", error)
    if ended:
        return f"no: {ended[0]}"
    return f"no: {error[:100]}".replace("|", "\\|")


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        f"Largest difference from TensorFlow and milliseconds for {ROWS} rows "
        f"(median of {side_by_side.LEAST_ROUNDS} rounds, in which the engines "
        "of a model take turns, with the quartiles), on "
        f"{hardware([result])}, load before {result['load_before']:.1f} "
        f"(`{result['command']}`). Networks are small, with random weights."
        + _measured_again(result),
        "",
        f"| signature | {' | '.join(ENGINES)} |",
        "|---" * (1 + len(ENGINES)) + "|",
    ]
    for model, signatures in result["methods"].items():
        for signature, engines in signatures.items():
            cells = [_cell(engines[engine]) for engine in ENGINES]
            lines.append(f"| `{model}/{signature}` | {' | '.join(cells)} |")
    lines += [
        "",
        "The difference of `identify_unchecked`, in float32, from `identify`, "
        f"in TensorFlow, for {ROWS} rows; differences of scores above 1 are "
        "relative:",
        "",
        "| model | probability | score | decisions that differ |",
        "|---|---|---|---|",
    ]
    for model, row in result["single_precision"].items():
        lines.append(
            f"| `{model}` | {row['probability_difference']:.0e} | "
            f"{row['score_difference']:.0e} | {row['decisions_that_differ']} |"
        )
    found = result["demo"]
    is_here = (DEMO / str(found["version"])).is_dir()
    lines += [
        "",
        f"The trained demo, version {found['version']} of `saved_models/demo`"
        f"{'' if is_here else ', which the repository no longer has'}, "
        f"on {found['queries']:,} images of numbers that it "
        "was not trained on; int8 is calibrated with "
        f"{NUM_CALIBRATION} training images:",
        "",
        "| engine | recall at 1 | change | largest difference | "
        f"ms for {found['queries']:,} rows |",
        "|---|---|---|---|---|",
    ]
    base = found["engines"]["TensorFlow"]["recall_at_1"]
    for engine, row in found["engines"].items():
        if "error" in row:
            lines.append(f"| {engine} | {reason(row['error'])} | | | |")
            continue
        lines.append(
            f"| {engine} | {row['recall_at_1']:.3f} | "
            f"{row['recall_at_1'] - base:+.3f} | {row['difference']:.1g} | "
            f"{_milliseconds(row, 1)} |"
        )
    return "\n".join(lines)


def _measured_again(result: dict) -> str:
    again = result.get("again", {})
    if not again:
        return ""
    names = ", ".join(f"`{name}`" for name in again)
    load = max(made["load_before"] for made in again.values())
    return f" Measured again, load before {load:.1f}: {names}."


def _cell(row: dict) -> str:
    if "error" in row:
        return reason(row["error"])
    return f"{row['difference']:.0e}, {_milliseconds(row, 2)} ms"


def _milliseconds(row: dict, digits: int) -> str:
    return side_by_side.shown((1000 * s for s in row["seconds"]), digits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--models",
        type=pathlib.Path,
        help="folder of the exported models, which is kept and used again; "
        "default: a temporary folder",
    )
    parser.add_argument(
        "--engines-python",
        default=sys.executable,
        help="interpreter with TensorFlow and the engines; default: this one",
    )
    parser.add_argument(
        "--names",
        nargs="+",
        action="extend",
        help="models to measure again; default: all models and the demo",
    )
    arguments = parser.parse_args()
    python, names = arguments.engines_python, arguments.names

    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json

    import_tensorflow()
    every = list(served_models.models())
    if unknown := set(names or ()) - set(every):
        parser.error(
            f"there is no model {', '.join(sorted(unknown))}; there are: "
            f"{', '.join(every)}"
        )
    before = {"load_before": os.getloadavg()[0], **provenance()}
    of_demo = None if names else demo(python)
    measured, single = methods(python, arguments.models, names or every)
    if names:
        result = json.loads(RESULT.read_text())
        result["methods"] |= measured
        result["single_precision"] |= single
        again = dict.fromkeys(names, before)
        result["again"] = result.get("again", {}) | again
    else:
        result = {
            "command": "python -m benchmarks.engines",
            "versions": versions(python),
            "methods": measured,
            "single_precision": single,
            "demo": of_demo,
            **before,
        }
    RESULT.parent.mkdir(exist_ok=True)
    write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, text(result))
    print(text(result))


def versions(python) -> dict:
    """Versions of the engines' packages."""
    import subprocess

    names = ("openvino", "onnxruntime", "tf2onnx", "ai-edge-litert")
    code = (
        "import importlib.metadata as m, json; "
        f"print(json.dumps({{n: m.version(n) for n in {names}}}))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"error: {python} lacks an engine; install "
            f"`embeddings_tf[engines]` in it. {done.stderr.splitlines()[-1]}"
        )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
