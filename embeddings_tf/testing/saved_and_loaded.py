"""Saves a model and loads it again in this process."""

import tempfile
from pathlib import Path

import keras


def saved_and_loaded(entry) -> tuple[dict, dict]:
    """Returns an entry's results before saving and after loading.

    Args:
        entry: A `Loss`, `Objective` or `Layer` of `embeddings_tf.testing`.

    Returns:
        Two dictionaries with "output" and, for losses and objectives, "loss".
        The second has "error" if the model could not be loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        expected = entry.saved(Path(folder))
        inputs = expected["inputs"]
        x = inputs[0] if len(inputs) == 1 else tuple(inputs)
        try:
            model = keras.saving.load_model(Path(folder) / "model.keras")
            model.run_eagerly = True  # tracing would take most of the time
            found = {"output": model.predict(x, verbose=0)}
            if "labels" in expected:
                y = expected["labels"]
                found["loss"] = model.evaluate(x, y, verbose=0)
        except Exception as error:
            found = {"error": repr(error)}
    return expected, found
