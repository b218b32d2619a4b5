"""Export of a trained model as a SavedModel that needs only TensorFlow."""

import functools
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable
from collections.abc import Mapping

import keras
import tensorflow as tf

from embeddings_tf.export.model_card import check_facts
from embeddings_tf.export.serving_files import write_serving_files
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
    files: Mapping[str, str] | None = None,
    card: Mapping | None = None,
) -> str:
    """Exports a trained model as a SavedModel for TensorFlow Serving.

    Use it after training. The exported model runs in a process without Keras,
    TensorFlow Probability and this library. The version folder is written
    completely or not at all, and an existing version is never overwritten.

    A version also contains warm-up requests for every signature
    (`assets.extra/tf_serving_warmup_requests`), `batching_params.pbtxt` and a
    model card (`model_card.md`, `model_card.json`).

    Signatures, each for any number of rows:

    - `serving_default`: the model's input, under its name. Outputs: `embedding`
      `(batch, dim)`; for a Gaussian embedding `variance` `(batch, dim)`; with
      an `UncertaintyHead` `uncertainty` `(batch,)`.
    - `embed`: the same, without checks of the input, for converters to other
      engines.
    - `classify`: `support` inputs, `support_labels` int32 `(supports,)` (any
      ids), `query` inputs and `seed` int32 `(2,)`. Outputs: `probability`
      `(queries, classes)` and `classes` int32 `(classes,)`, sorted.
      `StochasticPrototypes` uses the naive sampler, and `HedgedInstances` the
      support that matches best. Both use the same samples for every query, so a
      result is repeatable for one seed and does not depend on the other rows.
      Other models ignore `seed`: with `SoftContrastive` the nearest support
      decides, with plain losses the nearest class mean.
    - `score_pairs`: inputs `first` and `second`, paired row by row. Outputs:
      `logit` and `probability` `(pairs,)`, the same-class probability under
      equal priors; exp(logit) is the likelihood ratio. `LearnedDistance` has
      it instead of `classify`, `SoftContrastive` in addition, and
      `HedgedInstances` in addition, with a `seed`.

    Your own objective has the signatures listed in its attribute `signatures`,
    `("classify",)` by default. Its signature `score_pairs` has an input `seed`
    if its method `score_pairs` has one.

    If `preprocessing` has several inputs, such as waveforms and their lengths,
    they become inputs of every signature: `waveform` and `length` of
    `serving_default`, `first`, `first_length`, `second` and `second_length` of
    `score_pairs`, `support_length` and `query_length` of `classify`.

    All signatures except `embed` check their inputs. An `InvalidArgumentError`
    reports NaN or infinity, inputs so large that their embedding is not finite,
    `classify` without supports, and different lengths of `first` and `second`.
    If the model has a `layers.PixelRange`, like the
    published encoders of images, images of floats in [0, 1] cause a warning on
    stderr, or an error with `unit_range="refuse"`.

    Args:
        model: A built `EmbeddingModel`, or any Keras model from one input to
            embeddings.
        directory: The model's base path; versions are folders in it.
        version: Positive integer. None: the highest existing version plus one.
        preprocessing: Function or Keras layer from raw inputs to the model's
            inputs, exported in front of the model. It has the model's input
            signature, unless it is a built layer or model with its own inputs
            or a `tf.function` with an `input_signature`. Such a signature has
            one or several named inputs, with the batch as the first axis. A
            function must not have variables.
        num_samples: Samples per compared input. None: 200 per query with
            `StochasticPrototypes`; as many as in training with
            `HedgedInstances`.
        unit_range: The action of exported `layers.PixelRange` for images of
            floats in [0, 1]: `"warn"`, `"refuse"` or `"accept"`. A layer that
            refuses also refuses in the export.
        files: Texts by file name, written to the folder `assets.extra` of the
            version, for example the names of classes.
        card: Facts for the model card that the export cannot know: `data`,
            `recipe` and `metrics` are mappings, `licence` is a text, and
            all values can be written as JSON.

    Returns:
        Path of the version folder, `directory/version`.

    Raises:
        ValueError: If the model is not built or has several inputs, if
            `version` is not a positive integer of 64 bits, or if `unit_range`
            is not one of the values above. Also if the `input_signature` of
            `preprocessing` is not as described, or if its result does not fit
            the model.
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

    From recordings to the score of a pair; `speech` stands for
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
    files, facts = _checked_files(files), check_facts(card)
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
    concrete = {}
    for name, (function, signature) in signatures.items():
        concrete[name] = _traced(function, signature)
        archive.add_endpoint(
            name,
            functools.partial(_call, concrete[name]),
            input_signature=signature,
        )

    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(
        tempfile.mkdtemp(prefix=".export-", dir=target.parent)
    )
    try:
        archive.write_out(str(temporary / "model"), verbose=False)
        for name, text in files.items():
            file = temporary / "model" / "assets.extra" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        write_serving_files(
            temporary / "model", target, model, specs, concrete, facts
        )
        rename_new(temporary / "model", target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return str(target)


def _traced(function: Callable, signature: list[tf.TensorSpec]) -> Callable:
    """Traces a function once; saving traces what it is given twice."""
    graph = tf.function(function, autograph=False)
    return graph.get_concrete_function(*signature)


def _call(concrete: Callable, *inputs):
    """Calls it with the inputs in the order of its signature."""
    return concrete(*inputs)


def _checked_files(files) -> dict[str, str]:
    """Returns the additional files; ValueError for other types or paths."""
    if files is None:
        return {}
    if not isinstance(files, Mapping):
        raise ValueError(
            f"files must be texts by file name; received {files!r}."
        )
    for name, text in files.items():
        is_name = isinstance(name, str) and name not in ("", ".", "..")
        is_name = is_name and name == pathlib.Path(name).name
        if not is_name or not isinstance(text, str) or "\0" in name:
            raise ValueError(
                "files must be texts by file name, without folders; received "
                f"{name!r}: {text!r}."
            )
    return dict(files)
