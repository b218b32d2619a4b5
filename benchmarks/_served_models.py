"""Exports of every method, for the benchmarks of serving."""

import pathlib

IMAGE = (8, 16, 1)
SAMPLE_RATE = 8000
# Rows of requests. A server sees more small requests than large ones.
ROWS = (1, 1, 1, 2, 4, 8, 16, 32)


def models() -> dict:
    """Returns a small network with random weights for each method, by name."""
    import keras

    from embeddings_tf import models
    from embeddings_tf import objectives
    from embeddings_tf.layers import PairDistance

    keras.utils.set_random_seed(0)
    gaussian = models.n_digit_encoder(2, image_shape=IMAGE)
    points = models.n_digit_encoder(3, image_shape=IMAGE, gaussian=False)
    frames = models.x_vector_encoder(8, channels=(8, 8, 8, 8, 16))
    return {
        "stochastic_prototypes": models.EmbeddingModel(
            gaussian, objectives.StochasticPrototypes(3)
        ),
        "hedged_instances": models.EmbeddingModel(
            gaussian, objectives.HedgedInstances(4)
        ),
        "learned_distance": models.EmbeddingModel(
            points, objectives.LearnedDistance(PairDistance((16, 16)))
        ),
        "soft_contrastive": models.EmbeddingModel(
            points, objectives.SoftContrastive()
        ),
        "class_means": points,
        "words": models.EmbeddingModel(
            frames, objectives.LearnedDistance(PairDistance((16, 16)))
        ),
    }


def front_end():
    """Returns the preprocessing of waveforms of 8 kHz for `words`."""
    import tensorflow as tf

    from embeddings_tf.datasets import speech

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.float32, "waveform"),
            tf.TensorSpec((None,), tf.int32, "length"),
        ]
    )
    def front_end(waveform, length):
        return speech.front_end(
            waveform,
            length,
            sample_rate=SAMPLE_RATE,
            high_frequency=3700.0,
            min_num_frames=30,
        )[0]

    return front_end


def gallery(model, preprocessing):
    """Returns a gallery of 20 classes with 5 examples each, and a threshold."""
    import numpy as np

    from embeddings_tf.scoring import Gallery

    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 5)
    if preprocessing is None:
        x = rng.integers(0, 256, (len(labels), *IMAGE)).astype("float32")
    else:
        waveform = rng.normal(scale=1000, size=(len(labels), 8000))
        length = np.full(len(labels), 8000, "int32")
        x = preprocessing(waveform.astype("float32"), length)
    return Gallery(model).enroll(x, labels)


def export(folder: pathlib.Path) -> dict:
    """Exports every model; returns models and version folders by name."""
    from embeddings_tf.export import WaveDecoder
    from embeddings_tf.export import export_saved_model

    found = {}
    for name, model in models().items():
        is_speech = name == "words"
        preprocessing = front_end() if is_speech else None
        path = export_saved_model(
            model,
            folder / name,
            preprocessing=preprocessing,
            decoder=WaveDecoder(SAMPLE_RATE) if is_speech else None,
            gallery=gallery(model, preprocessing),
        )
        found[name] = (model, path)
    return found


def calls(path: str) -> dict:
    """Returns requests of each signature, by (signature, rows)."""
    import tensorflow as tf

    from embeddings_tf.export import signature_table
    from embeddings_tf.export.example_inputs import example_inputs

    found = {}
    for row in signature_table(path):
        specs = [
            tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
            for tensor in row.inputs
        ]
        encoded = SAMPLE_RATE if "/words/" in path else "png"
        for rows in sorted(set(ROWS)):
            found[row.name, rows] = example_inputs(specs, rows, encoded)
    return found
