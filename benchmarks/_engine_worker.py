"""Runs signatures of an export in another engine, with TensorFlow alone.

    python benchmarks/_engine_worker.py ENGINE VERSION CALLS

CALLS is a folder with one `<signature>.npz` of inputs for each signature, and
for int8 `calibration/<signature>.npz`. The script writes `result.json` into it:
by signature the outputs' largest difference from TensorFlow, or the error of
the conversion. The outputs are in `outputs`. Then it times calls: for each line
of its input, `CALLS SECONDS`, it calls each signature so often, or for so long,
and writes the seconds of every call to `turn_N.json`. It ends with its input.
"""

import json
import pathlib
import re
import sys
import time

import numpy as np


def tensorflow(function, inputs):
    """The signature itself: the reference."""
    import tensorflow as tf

    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    return lambda: {k: v.numpy() for k, v in function(**tensors).items()}


def openvino(function, inputs, hint="f32"):
    """OpenVINO, of the concrete function; `hint` is the inference precision.

    Without a hint it computes in bfloat16 where the processor can.
    """
    import openvino as ov

    model = ov.convert_model(function)
    options = {"INFERENCE_PRECISION_HINT": hint} if hint else {}
    compiled = ov.Core().compile_model(model, "CPU", options)
    values = {
        next(p for p in compiled.inputs if name in map(_stem, p.names)): value
        for name, value in inputs.items()
    }
    # The outputs of a function are in the order of their names.
    outputs = sorted(function.structured_outputs)

    def run():
        result = compiled(values)
        ports = zip(outputs, compiled.outputs, strict=True)
        return {name: result[port] for name, port in ports}

    return run


def openvino_default(function, inputs):
    """OpenVINO at the precision that it chooses."""
    return openvino(function, inputs, hint=None)


def onnx_runtime(function, inputs):
    """ONNX Runtime, converted by tf2onnx."""
    import onnxruntime
    import tensorflow as tf
    import tf2onnx

    specs = [
        tf.TensorSpec(spec.shape, spec.dtype, name=name)
        for name, spec in function.structured_input_signature[1].items()
    ]
    wrapped = tf.function(
        lambda *values: function(
            **{s.name: v for s, v in zip(specs, values, strict=True)}
        ),
        input_signature=specs,
    )
    model, _ = tf2onnx.convert.from_function(
        wrapped, input_signature=specs, opset=18
    )
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    names = [found.name for found in session.get_inputs()]
    values = {
        next(n for n in names if _stem(n) == name): value
        for name, value in inputs.items()
    }
    outputs = sorted(function.structured_outputs)
    return lambda: dict(zip(outputs, session.run(None, values), strict=True))


def litert(function, inputs, calibration=None):
    """LiteRT; with inputs for calibration, weights and activations in int8."""
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    if calibration is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: (
            [calibration[name][row : row + 1] for name in sorted(calibration)]
            for row in range(len(next(iter(calibration.values()))))
        )
        converter.target_spec.supported_ops = [
            tf.lite.OpsSet.TFLITE_BUILTINS_INT8
        ]
    interpreter = Interpreter(model_content=converter.convert())
    for found in interpreter.get_input_details():
        name = _stem(found["name"])
        interpreter.resize_tensor_input(found["index"], inputs[name].shape)
    interpreter.allocate_tensors()
    outputs = sorted(function.structured_outputs)
    details = sorted(
        interpreter.get_output_details(), key=lambda found: found["name"]
    )

    def run():
        for found in interpreter.get_input_details():
            name = _stem(found["name"])
            interpreter.set_tensor(found["index"], inputs[name])
        interpreter.invoke()
        return {
            name: interpreter.get_tensor(found["index"])
            for name, found in zip(outputs, details, strict=True)
        }

    return run


def _stem(name: str) -> str:
    """`image` of `image:0`."""
    return name.partition(":")[0]


ENGINES = {
    "TensorFlow": tensorflow,
    "OpenVINO, float32": openvino,
    "OpenVINO, default": openvino_default,
    "ONNX Runtime": onnx_runtime,
    "LiteRT": litert,
    "LiteRT, int8": litert,
}


def largest_difference(outputs, expected) -> float:
    """Largest difference from the expected outputs.

    Raises:
        ValueError: If integers, texts or decisions differ.
    """
    difference = 0.0
    for name, value in expected.items():
        if value.dtype.kind == "f":
            apart = np.abs(outputs[name].astype(float) - value)
            difference = max(difference, float(np.max(apart, initial=0)))
        elif (outputs[name] != value).any():
            raise ValueError(f"other values of {name}")
    return difference


def turn(run, calls: int, seconds: float) -> list[float]:
    """Seconds of so many calls, or of the calls within so many seconds."""
    found, end = [], time.perf_counter() + seconds
    while len(found) < calls and time.perf_counter() < end:
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return found


def main() -> None:
    engine, version, calls = sys.argv[1:]
    import tensorflow as tf

    calls = pathlib.Path(calls)
    (calls / "outputs").mkdir()
    loaded = tf.saved_model.load(version)
    measured, runs = {}, {}
    for file in sorted(calls.glob("*.npz")):
        function = loaded.signatures[file.stem]
        inputs = _arrays(file)
        more = {}
        if engine == "LiteRT, int8":
            more["calibration"] = _arrays(calls / "calibration" / file.name)
        expected = tensorflow(function, inputs)()
        try:
            run = ENGINES[engine](function, inputs, **more)
            outputs = {k: np.asarray(v) for k, v in run().items()}
            difference = largest_difference(outputs, expected)
            # Texts are compared here; as objects they could not be loaded.
            numbers = {k: v for k, v in outputs.items() if v.dtype != object}
            np.savez(calls / "outputs" / file.name, **numbers)
            measured[file.stem] = {"difference": difference}
            runs[file.stem] = run
        except Exception as error:  # Engines raise errors of many kinds.
            measured[file.stem] = {"error": _short(error)}
    _write(calls / "result.json", measured)
    for number, line in enumerate(sys.stdin):
        most, seconds = line.split()
        _write(
            calls / f"turn_{number}.json",
            {
                n: turn(run, int(most), float(seconds))
                for n, run in runs.items()
            },
        )


def _write(path, content) -> None:
    """Writes a file that a waiting process never sees in part."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.replace(path)


def _arrays(file) -> dict:
    with np.load(file) as arrays:
        return dict(arrays)


def _short(error) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    # Folders of the machine do not belong into a result.
    text = re.sub(r"/\S*/", "", " ".join(lines))
    return f"{type(error).__name__}: {text}"[:1000]


if __name__ == "__main__":
    main()
