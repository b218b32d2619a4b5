"""SavedModels that need TensorFlow alone."""

import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable

import keras

from embeddings_tf.export.signatures import endpoints
from embeddings_tf.export.signatures import input_specs
from embeddings_tf.export.version_folder import rename_new
from embeddings_tf.export.version_folder import version_folder
from embeddings_tf.layers.pixel_range import CHOICES
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import path


def export_saved_model(
    model: keras.Model,
    directory: str | os.PathLike,
    version: int | None = None,
    preprocessing: Callable | None = None,
    *,
    num_samples: int | None = None,
    unit_range: str = "warn",
) -> str:
    """Writes a trained model for TensorFlow Serving and TensorFlow users.

    Use it after training. What it writes runs in a process that has neither
    Keras nor TFP nor this library. The version folder appears whole or not
    at all, and an existing one is never touched.

    Signatures, each with any number of rows:

    - `serving_default`: the model's input by its name, to `embedding`
      `(batch, dim)` and, for a Gaussian embedding, `variance` `(batch, dim)`.
    - `embed`: the same without checks of the input, for converters to other
      engines.
    - `classify`: `support` inputs, `support_labels` int32 `(supports,)` (any
      ids), `query` inputs and `seed` int32 `(2,)`, to `probability`
      `(queries, classes)` and `classes` int32 `(classes,)`, sorted. With
      `StochasticPrototypes` by the naive sampler and with `HedgedInstances`
      by the support that matches best, repeatable for one seed: the samples
      are the same for every query, so that an answer does not depend on the
      other rows. Otherwise `seed` changes nothing: with `SoftContrastive` the
      nearest support decides, with plain losses the nearest class mean.
    - `score_pairs`: inputs `first` and `second`, paired row by row, to `logit`
      and `probability` `(pairs,)`, the same-class probability under equal
      priors; exp(logit) is the likelihood ratio. `LearnedDistance` has it
      instead of `classify`, `SoftContrastive` beside it, and
      `HedgedInstances` beside it with a `seed`.

    An objective of your own has the signatures that its attribute `signatures`
    names, `("classify",)` by default; its `score_pairs` takes a `seed` if the
    method of that name does.

    A `preprocessing` of several inputs, such as waveforms and their lengths,
    makes them inputs of every signature: `waveform` and `length` of
    `serving_default`, `first`, `first_length`, `second` and `second_length` of
    `score_pairs`, `support_length` and `query_length` of `classify`.

    All signatures except `embed` raise an `InvalidArgumentError` for inputs
    with NaN or infinity, inputs so large that their embedding is not finite, a
    `classify` without supports, and `first` and `second` of unequal lengths.
    Where the model has a `layers.PixelRange`, as the published encoders of
    images have, images of floats in [0, 1] are warned about on stderr, or
    refused with `unit_range="refuse"`.

    Args:
        model: A built `EmbeddingModel`, or any Keras model from one input to
            embeddings.
        directory: The model's base path; versions are folders in it.
        version: Positive integer. None: one above the highest there.
        preprocessing: Function or Keras layer from raw inputs to the model's
            inputs, exported in front of the model; it has the model's input
            signature unless it is a built layer or model with its own, or a
            `tf.function` with an `input_signature`: of one or several inputs,
            all named, with the batch first. A function has no variables.
        num_samples: Samples per compared input. None: 200 per query with
            `StochasticPrototypes`, the number of training with
            `HedgedInstances`.
        unit_range: The action of exported `layers.PixelRange` for images of
            floats in [0, 1]: `"warn"`, `"refuse"` or `"accept"`. A layer that
            refuses also refuses in the export.

    Returns:
        Path of the version folder, `directory/version`.

    Raises:
        ValueError: If the model is not built, has several inputs, the
            `input_signature` of `preprocessing` is not as described, or what
            it returns does not fit the model,
            `version` is not a positive integer of 64 bits, or `unit_range` is
            not one of these.
        FileExistsError: If the version exists.

    Reference:
        - [TensorFlow Serving](https://www.tensorflow.org/tfx/guide/serving)
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702)
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469)
        - [Oh et al., 2019](https://arxiv.org/abs/1810.00319)

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2)
    >>> folder = tempfile.mkdtemp()
    >>> path = embeddings_tf.export.export_saved_model(encoder, folder)
    >>> served = tf.saved_model.load(path)
    >>> images = tf.zeros((3, 28, 56, 1))
    >>> served.signatures["serving_default"](image=images)["variance"].shape
    TensorShape([3, 2])

    From recordings to the score of a pair, with `speech` for
    `embeddings_tf.datasets.speech`::

        @tf.function(
            input_signature=[
                tf.TensorSpec((None, None), tf.float32, "waveform"),
                tf.TensorSpec((None,), tf.int32, "length"),
            ]
        )
        def preprocessing(waveform, length):
            return speech.front_end(waveform, length)[0]

        path = export_saved_model(model, folder, preprocessing=preprocessing)
        tf.saved_model.load(path).signatures["score_pairs"](
            first=first, first_length=first_length,
            second=second, second_length=second_length,
        )["probability"]
    """
    if not keras_layer("model", model).built:
        raise ValueError(
            "Only a built model can be exported; call it on a batch, or fit "
            "it, first."
        )
    one_of("unit_range", unit_range, CHOICES)
    target = version_folder(path("directory", directory), version)
    if preprocessing is not None:
        arguments.function("preprocessing", preprocessing, "raw inputs")
    specs = input_specs(model, preprocessing)
    signatures = endpoints(model, specs, preprocessing, num_samples, unit_range)

    archive = keras.export.ExportArchive()
    archive.track(model)
    if isinstance(preprocessing, keras.layers.Layer):
        if not preprocessing.built:
            (spec,) = specs
            preprocessing(keras.KerasTensor(spec.shape, spec.dtype.name))
        archive.track(preprocessing)
    for name, (function, input_signature) in signatures.items():
        archive.add_endpoint(name, function, input_signature=input_signature)

    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(
        tempfile.mkdtemp(prefix=".export-", dir=target.parent)
    )
    try:
        archive.write_out(str(temporary / "model"), verbose=False)
        rename_new(temporary / "model", target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return str(target)
