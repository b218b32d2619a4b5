"""Exports of every method, for the benchmarks of serving."""

import json
import pathlib

IMAGE = (8, 16, 1)
SAMPLE_RATE = 8000
# Promised share of accepted inputs of classes that are not enrolled.
FALSE_ACCEPT_RATE = 0.5
# Rows of requests. A server sees more small requests than large ones.
ROWS = (1, 1, 1, 2, 4, 8, 16, 32)


def models() -> dict:
    """Returns a small network with random weights for each method, by name."""
    import keras

    from embeddings_tf import losses
    from embeddings_tf import models
    from embeddings_tf import objectives
    from embeddings_tf.layers import PairDistance
    from embeddings_tf.layers import UncertaintyHead

    keras.utils.set_random_seed(0)
    gaussian = models.n_digit_encoder(2, image_shape=IMAGE)
    points = models.n_digit_encoder(3, image_shape=IMAGE, gaussian=False)
    plane = models.n_digit_encoder(5, image_shape=IMAGE, gaussian=False)
    angles = models.n_digit_encoder(3, image_shape=IMAGE, gaussian=False)
    angles.compile(loss=losses.TripletLoss(distance="cosine"))
    uncertain = models.EmbeddingModel(
        models.n_digit_encoder(3, image_shape=IMAGE, gaussian=False),
        losses.PrototypicalLoss(num_support=5),
        uncertainty=UncertaintyHead((16,)),
    )
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
        "full_covariance_prototypes": models.EmbeddingModel(
            plane, objectives.FullCovariancePrototypes(3)
        ),
        "class_means": points,
        "cosine": angles,
        "uncertainty": uncertain,
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
    """Returns a calibrated gallery of 20 classes with 5 examples each.

    40 classes that are not enrolled calibrate the threshold.
    """
    import numpy as np

    from embeddings_tf.scoring import Gallery

    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 5)
    if preprocessing is None:
        x = rng.integers(0, 256, (len(labels), *IMAGE)).astype("float32")
    else:
        waveform = rng.normal(scale=1000, size=(len(labels), SAMPLE_RATE))
        length = rng.integers(SAMPLE_RATE // 4, SAMPLE_RATE + 1, len(labels))
        x = preprocessing(
            waveform.astype("float32"), length.astype("int32")
        ).numpy()
    is_enrolled = labels < 20
    found = Gallery(model).enroll(x[is_enrolled], labels[is_enrolled])
    return found.calibrate(
        x[~is_enrolled], labels[~is_enrolled], FALSE_ACCEPT_RATE
    )


def export(folder: pathlib.Path) -> dict:
    """Exports models; returns models and version folders by name.

    Args:
        folder: Where to. Versions that an earlier call has written there are
            used again, if their weights are those of the model.
    """
    from embeddings_tf.export import WaveDecoder
    from embeddings_tf.export import export_saved_model

    found = {}
    for name, model in models().items():
        is_speech = name == "words"
        preprocessing = front_end() if is_speech else None
        path = folder / name / "1"
        if path.is_dir():
            _require_same_weights(path, model)
        else:
            export_saved_model(
                model,
                folder / name,
                preprocessing=preprocessing,
                decoder=WaveDecoder(SAMPLE_RATE) if is_speech else None,
                gallery=gallery(model, preprocessing),
            )
        found[name] = (model, str(path))
    return found


def _require_same_weights(path: pathlib.Path, model) -> None:
    from embeddings_tf.scoring.fingerprint import fingerprint

    card = json.loads((path / "model_card.json").read_text())
    if card["fingerprint"] != fingerprint(model):
        raise ValueError(
            f"{path} has other weights than the model of the benchmark; name "
            "an empty folder."
        )


def calls(path: str) -> dict:
    """Returns requests of each signature, by (signature, rows).

    Waveforms, and recordings in files, have different numbers of samples.
    """
    import numpy as np
    import tensorflow as tf

    from embeddings_tf.export import signature_table
    from embeddings_tf.export.example_inputs import example_inputs

    found = {}
    for row in signature_table(path):
        specs = [
            tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
            for tensor in row.inputs
        ]
        is_speech = "/words/" in path
        encoded = SAMPLE_RATE if is_speech else "png"
        rng = np.random.default_rng(0)
        for rows in sorted(set(ROWS)):
            inputs = example_inputs(specs, rows, encoded)
            if is_speech:
                for name in inputs:
                    _vary_samples(inputs, name, rng)
            found[row.name, rows] = inputs
    return found


def _vary_samples(inputs: dict, name: str, rng) -> None:
    """Draws lengths of the rows of an input, from a quarter to two seconds."""
    import tensorflow as tf

    x = inputs[name]
    lengths = rng.integers(SAMPLE_RATE // 4, 2 * SAMPLE_RATE + 1, len(x))
    if name.endswith("_bytes"):
        for row, length in enumerate(lengths):
            samples = rng.uniform(-0.5, 0.5, (length, 1)).astype("float32")
            x[row] = tf.audio.encode_wav(samples, SAMPLE_RATE).numpy()
    elif x.ndim == 2:
        # The longest row has no padding.
        waveform = rng.normal(scale=1000, size=(len(x), lengths.max()))
        inputs[name] = waveform.astype("float32")
        length = "length" if name == "waveform" else f"{name}_length"
        inputs[length] = lengths.astype("int32")
