"""Answers predict requests of TensorFlow Serving with TensorFlow alone.

    python -m benchmarks._predict_server FOLDER [--no-warm-up]

FOLDER contains `<model>/<version>/`. The process prints its port and the
seconds until then as JSON. It serves gRPC on localhost until stdin ends.
Imports of Keras, TensorFlow Probability and embeddings_tf fail in it; the
messages of requests are from tensorflow-serving-api.
"""

import argparse
import concurrent.futures
import json
import pathlib
import sys
import time

BLOCKED = ("keras", "tf_keras", "tensorflow_probability", "embeddings_tf")
WARM_UP = "assets.extra/tf_serving_warmup_requests"
NUM_THREADS = 8


def serve(folder: pathlib.Path, warm_up: bool) -> None:
    """Loads the versions of the folder and answers until stdin ends."""
    started = time.perf_counter()
    sys.modules.update(dict.fromkeys(BLOCKED))  # None makes an import fail.
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis import prediction_log_pb2
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    models = {
        path.parent.parent.name: tf.saved_model.load(str(path.parent))
        for path in sorted(folder.glob("*/*/saved_model.pb"))
    }

    def predict(request):
        model = models[request.model_spec.name]
        outputs = model.signatures[request.model_spec.signature_name](
            **{
                name: tf.constant(tf.make_ndarray(tensor))
                for name, tensor in request.inputs.items()
            }
        )
        response = predict_pb2.PredictResponse(model_spec=request.model_spec)
        for name, value in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
        return response

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):  # noqa: N802
            try:
                return predict(request)
            except tf.errors.InvalidArgumentError as error:
                code = grpc.StatusCode.INVALID_ARGUMENT
                context.abort(code, error.message)

    if warm_up:
        for file in sorted(folder.glob(f"*/*/{WARM_UP}")):
            records = tf.data.TFRecordDataset(str(file))
            for record in records.as_numpy_iterator():
                log = prediction_log_pb2.PredictionLog.FromString(record)
                predict(log.predict_log.request)
    pool = concurrent.futures.ThreadPoolExecutor(NUM_THREADS)
    server = grpc.server(
        pool, options=[("grpc.max_receive_message_length", -1)]
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Service(), server
    )
    port = server.add_insecure_port("localhost:0")
    server.start()
    ready = {
        "port": port,
        "seconds": time.perf_counter() - started,
        "imported": [name for name in BLOCKED if sys.modules[name]],
    }
    print(json.dumps(ready), flush=True)
    sys.stdin.read()
    server.stop(grace=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--no-warm-up", action="store_true")
    arguments = parser.parse_args()
    serve(arguments.folder, not arguments.no_warm_up)


if __name__ == "__main__":
    main()
