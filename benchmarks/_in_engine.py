"""Runs signatures in another engine, in a process of an own environment."""

import json
import pathlib
import subprocess
import tempfile


def in_engine(python, engine, version, calls, calibration=None) -> dict:
    """Runs `_engine_worker`; returns its results by signature.

    Args:
        python: Interpreter with TensorFlow and the engine.
        engine: Name of the engine in `_engine_worker.ENGINES`.
        version: Version folder of an export.
        calls: Inputs by signature.
        calibration: Inputs by signature, for int8.

    Returns:
        By signature `error`, or `difference`, `median_seconds`, `p99_seconds`
        and `outputs`, arrays by name.
    """
    import numpy as np

    worker = pathlib.Path(__file__).with_name("_engine_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "calibration").mkdir()
        for place, inputs_of in (
            (folder, calls),
            (folder / "calibration", calibration or {}),
        ):
            for signature, inputs in inputs_of.items():
                np.savez(place / f"{signature}.npz", **inputs)
        done = subprocess.run(
            [python, worker, engine, version, folder],
            capture_output=True,
            text=True,
        )
        result = folder / "result.json"
        if not result.exists() and len(calls) > 1:
            # A crash of the process must not hide other signatures.
            return {
                signature: in_engine(
                    python, engine, version, {signature: inputs}, calibration
                )[signature]
                for signature, inputs in calls.items()
            }
        if not result.exists():
            last = (done.stderr.strip() or "no message").splitlines()[-1]
            error = f"the process ended with {done.returncode}: {last}"
            return {signature: {"error": error} for signature in calls}
        found = json.loads(result.read_text())
        for signature, row in found.items():
            if "error" not in row:
                with np.load(
                    folder / "outputs" / f"{signature}.npz"
                ) as outputs:
                    row["outputs"] = dict(outputs)
        return found
