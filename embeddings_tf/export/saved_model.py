"""Export of a trained model as a SavedModel that needs only TensorFlow."""

import functools
import json
import os
from collections.abc import Callable
from collections.abc import Mapping

import keras
import tensorflow as tf

from embeddings_tf.export import gallery_signatures
from embeddings_tf.export import signature_table
from embeddings_tf.export.embedder import Embedder
from embeddings_tf.export.extra_files import checked_files
from embeddings_tf.export.inputs import default_decoder
from embeddings_tf.export.inputs import input_ranges
from embeddings_tf.export.inputs import input_specs
from embeddings_tf.export.limits import MAX_VALUES
from embeddings_tf.export.limits import Limits
from embeddings_tf.export.model_card import check_facts
from embeddings_tf.export.require_gallery import require_gallery
from embeddings_tf.export.require_no_python import require_no_python
from embeddings_tf.export.serving_files import write_serving_files
from embeddings_tf.export.signatures import Endpoint
from embeddings_tf.export.signatures import endpoints
from embeddings_tf.export.version_folder import new_folder
from embeddings_tf.export.version_folder import version_folder
from embeddings_tf.layers.pixel_range import CHOICES
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import path
from embeddings_tf.scoring.gallery import Gallery


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
    gallery: Gallery | None = None,
    num_neighbors: int = 5,
    decoder: Callable | None = None,
    max_rows: int | None = 4096,
    max_values: int | None = MAX_VALUES,
    unchecked: bool = True,
) -> str:
    """Exports a trained model as a SavedModel for TensorFlow Serving.

    Use it after training. The exported model runs in a process without Keras,
    TensorFlow Probability and this library. The version folder is written
    completely or not at all, and an existing version is never overwritten.

    A version also contains warm-up requests for every signature that a server
    can batch (`assets.extra/tf_serving_warmup_requests`),
    `batching_params.pbtxt` and a model card (`model_card.md`,
    `model_card.json`).

    Signatures, each with the batch as first axis; `signature_table` reads
    their inputs and outputs:

    - `serving_default`: the model's input, under its name. Outputs: `embedding`
      `(batch, dim)`; for a Gaussian embedding `variance` `(batch, dim)`
      (without the correlation of `FullCovariancePrototypes`); with an
      `UncertaintyHead` `uncertainty` `(batch,)`.
    - `embed`: the same, without checks of the input, for converters to other
      engines.
    - `classify`: `support` inputs, `support_labels` int32 `(supports,)` (any
      ids), `query` inputs and `seed` int32 `(2,)`. Outputs: `probability`
      `(queries, classes)` and `classes` int32 `(classes,)`, sorted.
      `StochasticPrototypes` uses the naive sampler, and `HedgedInstances` the
      support that matches best. Both use the same samples for every query, so a
      result is repeatable for one seed and does not depend on other queries.
      Other models ignore `seed`: with `SoftContrastive` the nearest support
      decides, with plain losses the nearest class mean.
    - `score_pairs`: inputs `first` and `second`, paired row by row. Outputs:
      `logit` and `probability` `(pairs,)`, the same-class probability under
      equal priors; exp(logit) is the likelihood ratio. `LearnedDistance` has
      it instead of `classify`, `SoftContrastive` in addition, and
      `HedgedInstances` in addition, with a `seed`.
    - `classify_without_seed` and, if `score_pairs` has a seed,
      `score_pairs_without_seed`: the same with the seed (0, 0). The samples
      are constants in the graph.
    - `embed_bytes`, `classify_bytes`, `score_pairs_bytes`, with a `decoder`:
      the same from contents of files, with the seed (0, 0). Inputs are strings
      `(batch,)` whose names end in `_bytes`: `image_bytes` or
      `waveform_bytes`, `support_bytes`, `query_bytes`, `first_bytes`,
      `second_bytes`.

    With a `gallery`, whose embeddings are stored in the export:

    - `identify` and `identify_bytes`: the input of `serving_default` or
      `embed_bytes`. Outputs `(batch,)` as `Gallery.identify`: `answer`,
      `class`, `probability`, `score`, `accepted` and, if the gallery checks
      its inputs, `typical`. Labels are strings, or int64 if the gallery has
      integers.
    - `nearest` and `nearest_bytes`: `label` and `name` `(batch, k)` of the most
      similar enrolled examples, with their `distance`, or for methods with
      `score_pairs` their `logit` and `probability`, as `NearestNeighbors`.
    - `identify_unchecked`: `probability` `(batch, classes)`, `score`,
      `accepted` and, if the gallery checks its inputs, `typical` `(batch,)`,
      in float32 and without checks, strings and random operations, for
      converters. An objective of your own that draws samples
      in the graph has none. `assets.extra/gallery.json` has the classes in
      order, and the threshold.

    Your own objective has the signatures listed in its attribute `signatures`,
    `("classify",)` by default. Its signature `score_pairs` has an input `seed`
    if its method `score_pairs` has one.

    If `preprocessing` has several inputs, such as waveforms and their lengths,
    they become inputs of every signature: `waveform` and `length` of
    `serving_default`, `first`, `first_length`, `second` and `second_length` of
    `score_pairs`, `support_length` and `query_length` of `classify`.

    All signatures except `embed` and `identify_unchecked` check their inputs.
    An `InvalidArgumentError` names the input and reports a wrong shape, no
    rows, more than `max_rows` rows or `max_values` values, NaN or infinity,
    inputs whose embedding is not finite, files that cannot be decoded, numbers
    of rows that differ, and lengths (integers under a name that ends in
    `length`) that are not in 1..(size of axis 1 of the first input).

    If the model has a `layers.PixelRange`, like the published encoders of
    images, images of floats in [0, 1] cause a warning on stderr, or an error
    with `unit_range="refuse"`. Results are float32, whatever the precision of
    the model.

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
        num_samples: Samples per compared input, for objectives that sample.
            None: 200 per query with `StochasticPrototypes`; as many as in
            training with `HedgedInstances`.
        unit_range: The action of exported `layers.PixelRange` for images of
            floats in [0, 1]: `"warn"`, `"refuse"` or `"accept"`. A layer that
            refuses also refuses in the export.
        files: Texts by file name, written to the folder `assets.extra` of the
            version, for example the names of classes.
        card: Facts for the model card that the export cannot know: `data`,
            `recipe` and `metrics` are mappings, `licence` is a text, and
            all values can be written as JSON.
        gallery: A calibrated or uncalibrated `scoring.Gallery` of this model.
            Without a threshold, no answer of `identify` is "unknown".
        num_neighbors: Number of neighbours in `nearest`; at most all examples
            of the gallery.
        decoder: Function from the name of an input and contents of files,
            strings `(n,)`, to a tuple of the raw inputs, such as
            `ImageDecoder` and `WaveDecoder`. None: for models of images with
            a `PixelRange`, an `ImageDecoder` that resizes whole images to the
            model's size; other models have no signatures of files.
        max_rows: Largest number of rows of each input of a request, or None.
        max_values: Largest number of values of an input, 1 GiB in float32, or
            None. It lowers `max_rows` for large images. A row of open size,
            such as a waveform, is refused if the model needs more values for
            it at once. Rows are embedded in blocks of 256 MiB.
        unchecked: Whether the export has `embed` and `identify_unchecked`. A
            server offers every signature of an export, and these two have no
            checks and limits; False: requests cannot avoid the limits.

    Returns:
        Path of the version folder, `directory/version`.

    Raises:
        ValueError: If the model is not built or has several inputs, if
            `version` is not a positive integer of 64 bits, or if `unit_range`
            is not one of the values above. If `directory` contains `[ ]` or a
            backslash, or is in a version. If `gallery` is empty or of another
            model. Also if the `input_signature` of `preprocessing` is not as
            described, or if its result does not fit the model. If inputs have
            names that TensorFlow refuses, if a signature calls Python
            (`tf.py_function`), or if a row has more than `max_values` values.
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
    unchecked = arguments.truth("unchecked", unchecked)
    target = version_folder(path("directory", directory), version)
    files, facts = checked_files(files), check_facts(card)
    if preprocessing is not None:
        arguments.function("preprocessing", preprocessing, "raw inputs")
    if num_samples is not None:
        num_samples = arguments.positive_integer("num_samples", num_samples)
    num_neighbors = arguments.positive_integer("num_neighbors", num_neighbors)
    if max_rows is not None:
        max_rows = arguments.positive_integer("max_rows", max_rows)
    if max_values is not None:
        max_values = arguments.positive_integer("max_values", max_values)
    specs = input_specs(model, preprocessing)
    limits = Limits.of_model(specs, max_rows, max_values)
    if decoder is None:
        decoder = default_decoder(model, preprocessing, specs)
    else:
        arguments.function("decoder", decoder, "a name and contents of files")
    embedder = Embedder(model, preprocessing, specs, unit_range)
    signatures = endpoints(embedder, limits, decoder, num_samples)
    archive = keras.export.ExportArchive()
    archive.track(model)
    if gallery is not None:
        require_gallery(gallery, model)
        answers = gallery_signatures.GallerySignatures(
            embedder, gallery, num_neighbors
        )
        archive.track(answers)
        signatures |= answers.endpoints(limits, decoder)
        files[gallery_signatures.FILE] = json.dumps(answers.file(gallery))
    if not unchecked:
        for name in signature_table.UNCHECKED:
            signatures.pop(name, None)
    if isinstance(preprocessing, keras.layers.Layer):
        if not preprocessing.built:
            (spec,) = specs
            preprocessing(keras.KerasTensor(spec.shape, spec.dtype.name))
        archive.track(preprocessing)
    ranges = input_ranges(embedder, decoder)
    table, concrete = _add_endpoints(
        archive, signatures, ranges, limits.max_rows
    )
    files[signature_table.FILE] = signature_table.table_text(table)

    with new_folder(target) as folder:
        archive.write_out(str(folder), verbose=False)
        for name, text in files.items():
            file = folder / "assets.extra" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        write_serving_files(
            folder, target, model, table, concrete, decoder, facts
        )
    return str(target)


def _add_endpoints(
    archive: keras.export.ExportArchive,
    signatures: Mapping[str, Endpoint],
    ranges: dict[str, str],
    max_rows: int | None,
) -> tuple[list[signature_table.SignatureRow], dict[str, Callable]]:
    """Traces the signatures of an export; returns their table and functions."""
    table, concrete = [], {}
    for name, endpoint in signatures.items():
        concrete[name] = traced = _traced(endpoint.function, endpoint.specs)
        require_no_python(name, traced)
        outputs = traced.structured_outputs
        table.append(
            signature_table.table_row(name, endpoint, outputs, ranges, max_rows)
        )
        archive.add_endpoint(
            name,
            functools.partial(_call, traced),
            input_signature=endpoint.specs,
        )
    return table, concrete


def _traced(function: Callable, signature: list[tf.TensorSpec]):
    """Traces a function once; saving traces what it is given twice."""
    graph = tf.function(lambda *inputs: function(*inputs), autograph=False)
    return graph.get_concrete_function(*signature)


def _call(concrete: Callable, *inputs):
    """Calls it with the inputs in the order of its signature."""
    return concrete(*inputs)
