"""Classifies with an exported model in a process with only TensorFlow.

    python saved_model_client.py SAVED_MODEL EXAMPLES.npz

EXAMPLES.npz contains `support`, `support_labels`, `query` and, to count hits,
`query_labels`. The script blocks imports of Keras, TFP and embeddings_tf, to
show that an exported model does not need them.
"""

import argparse
import os
import pathlib
import sys

import numpy as np

BLOCKED = ("keras", "tf_keras", "tensorflow_probability", "embeddings_tf")


def classify(saved_model: str, examples: str) -> dict[str, np.ndarray]:
    """Calls both signatures of the exported model on the examples."""
    import tensorflow as tf

    data = np.load(examples)
    # Keeps `model` alive, because its functions refer to its variables.
    model = tf.saved_model.load(saved_model)
    embed = model.signatures["serving_default"]
    (input_name,) = embed.structured_input_signature[1]
    query = tf.constant(data["query"], tf.float32)
    results = embed(**{input_name: query})
    results |= model.signatures["classify"](
        support=tf.constant(data["support"], tf.float32),
        support_labels=tf.constant(data["support_labels"], tf.int32),
        query=query,
        seed=tf.constant([0, 0]),
    )
    return {name: value.numpy() for name, value in results.items()}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python saved_model_client.py",
        description="Classify with an exported model in a process that has "
        f"only TensorFlow: imports of {', '.join(BLOCKED)} fail.",
    )
    result.add_argument("saved_model", help="version folder of the model")
    result.add_argument(
        "examples",
        help="npz file with the arrays support, support_labels, query and, to "
        "count hits, query_labels",
    )
    return result


def main() -> None:
    arguments = parser().parse_args()
    saved_model, examples = arguments.saved_model, arguments.examples
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # None in sys.modules makes imports fail.
    sys.modules.update(dict.fromkeys(BLOCKED))
    results = classify(saved_model, examples)
    print(f"used without {', '.join(BLOCKED)}")
    data = np.load(examples)
    predicted = results["classes"][results["probability"].argmax(-1)]
    for row in range(min(5, len(predicted))):
        variance = results.get("variance", np.zeros_like(results["embedding"]))
        print(
            f"  query {row}: {predicted[row]} with probability "
            f"{results['probability'][row].max():.2f}, standard deviation "
            f"{np.sqrt(variance[row].sum()):.3f}"
        )
    if "query_labels" in data:
        hits = (predicted == data["query_labels"]).sum()
        print(f"{hits} of {len(predicted)} queries right")
    output = pathlib.Path(examples).with_name("served.npz")
    np.savez(output, **results)


if __name__ == "__main__":
    main()
