"""SavedModels that need TensorFlow alone."""

import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.layers.pixel_range import CHOICES
from embeddings_tf.layers.pixel_range import exported_checks
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.method import Method
from embeddings_tf.ops import arguments
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.labelled_batch import real_numbers

_LARGEST_VERSION = 2**63 - 1


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
    target = _version_folder(path("directory", directory), version)
    if preprocessing is not None:
        arguments.function("preprocessing", preprocessing, "raw inputs")
    specs = _input_specs(model, preprocessing)
    signatures = _signatures(
        model, specs, preprocessing, num_samples, unit_range
    )

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
        _rename_new(temporary / "model", target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return str(target)


def _version_folder(directory: pathlib.Path, version) -> pathlib.Path:
    if version is None:
        taken = [
            int(path.name)
            for path in (directory.iterdir() if directory.is_dir() else ())
            if _is_version(path.name)
        ]
        version = max(taken, default=0) + 1
    if isinstance(version, np.integer):
        version = int(version)
    if (
        isinstance(version, bool)
        or not isinstance(version, int)
        or not 1 <= version <= _LARGEST_VERSION
    ):
        raise ValueError(
            "`version` must be None or an integer from 1 to 2^63 - 1, as "
            f"TensorFlow Serving reads folder names; received {version!r}."
        )
    target = directory / str(version)
    if target.exists():
        raise FileExistsError(
            f"{target} exists; a version is never overwritten. Leave "
            "`version` out for the next one."
        )
    return target


def _is_version(name: str) -> bool:
    """Whether TensorFlow Serving reads a folder of this name as a version."""
    is_number = name.isascii() and name.isdigit()  # "²" is a digit, too
    return is_number and int(name) <= _LARGEST_VERSION


def _rename_new(source: pathlib.Path, target: pathlib.Path) -> None:
    """Renames a folder; fails if somebody made the target meanwhile."""
    try:
        os.rename(source, target)
    except OSError as error:
        if target.exists():
            raise FileExistsError(
                f"{target} appeared while it was being written; a version is "
                "never overwritten. Export again for the next one."
            ) from error
        raise


def _input_specs(model, preprocessing) -> list[tf.TensorSpec]:
    """The inputs, of any batch size, under the names they were given."""
    own = getattr(preprocessing, "input_signature", None)
    if own is not None:
        _check_input_signature(own)
        return list(own)
    source = model
    if getattr(preprocessing, "input_shape", None) is not None:
        source = preprocessing
    elif hasattr(model, "encoder"):
        source = model.encoder
    inputs = getattr(source, "inputs", None) or []
    if len(inputs) != 1:
        raise ValueError(
            "The exported model takes one input tensor; received a model with "
            f"{len(inputs)} declared inputs. Use a functional or Sequential "
            "encoder that starts with keras.Input."
        )
    (tensor,) = inputs
    return [
        tf.TensorSpec((None, *tensor.shape[1:]), tensor.dtype, name=tensor.name)
    ]


def _check_input_signature(signature) -> None:
    is_good = signature and all(
        isinstance(spec, tf.TensorSpec)
        and spec.name
        and spec.shape.rank
        and spec.shape[0] is None
        for spec in signature
    )
    if not is_good:
        raise ValueError(
            "The `input_signature` of `preprocessing` must have named tensors "
            "with the batch as their first axis, for instance "
            'tf.TensorSpec((None, None), tf.float32, "waveform"); received '
            f"{signature!r}."
        )


def _signatures(model, specs, preprocessing, num_samples, unit_range) -> dict:
    method = Method(model)

    def encode(inputs, specs):
        inputs = [
            tf.debugging.assert_all_finite(
                x, f"`{spec.name}` holds NaN or infinity"
            )
            if x.dtype.is_floating
            else x
            for x, spec in zip(inputs, specs, strict=True)
        ]
        with exported_checks(unit_range):
            embedding = encode_unchecked(inputs)
        return tf.debugging.assert_all_finite(
            embedding,
            f"The embedding of `{specs[0].name}` is not finite: its values "
            "are too large for the model",
        )

    def encode_unchecked(inputs):
        x = inputs[0]
        if preprocessing is not None:
            x = real_numbers(
                "What `preprocessing` returns", preprocessing(*inputs)
            )
            require_input_shape("preprocessing(...)", x, model)
        # TensorFlow's convolutions on an empty batch give the wrong shape
        # (oneDNN): such a batch passes as one row, which is dropped.
        rows, shape = tf.shape(x)[0], x.shape
        one_if_empty = tf.cast(tf.equal(rows, 0), tf.int32)
        x = tf.pad(x, [[0, one_if_empty]] + [[0, 0]] * (shape.rank - 1))
        x = tf.ensure_shape(x, [None, *shape[1:]])
        return model(x, training=False)[:rows]

    def named(name):
        """The specs of one input among others: `name`, `name_length`."""
        first, *others = specs
        renamed = [(first, name)]
        renamed += [(spec, f"{name}_{spec.name}") for spec in others]
        return [
            tf.TensorSpec(spec.shape, spec.dtype, name=new)
            for spec, new in renamed
        ]

    num_inputs = len(specs)
    first, second = named("first"), named("second")
    support, query = named("support"), named("query")

    def serving_default(*inputs):
        return unpacked(encode(inputs, specs))

    def embed(*inputs):
        with exported_checks("accept"):
            return unpacked(encode_unchecked(inputs))

    def unpacked(embedding):
        if not method.is_gaussian:
            return {"embedding": embedding}
        mean, variance = gaussian.unpack(embedding)
        return {"embedding": mean, "variance": variance}

    def classify(*inputs):
        supports, labels = inputs[:num_inputs], inputs[num_inputs]
        queries, seed = inputs[num_inputs + 1 : -1], inputs[-1]
        some = tf.debugging.assert_positive(
            tf.size(labels),
            "`classify` needs at least one support",
        )
        same = tf.debugging.assert_equal(
            tf.shape(supports[0])[0],
            tf.size(labels),
            "`support` and `support_labels` differ in length",
        )
        with tf.control_dependencies([some, same]):
            classes = tf.sort(tf.unique(labels).y)
        class_ids = tf.searchsorted(classes, labels)
        represented = method.represent(
            encode(supports, support), class_ids, tf.size(classes)
        )
        log_prob = method.log_prob(
            encode(queries, query), represented, num_samples, seed
        )
        return {"probability": tf.exp(log_prob), "classes": classes}

    def encode_pairs(inputs):
        firsts, seconds = inputs[:num_inputs], inputs[num_inputs:]
        same = tf.debugging.assert_equal(
            tf.shape(firsts[0])[0],
            tf.shape(seconds[0])[0],
            "`first` and `second` differ in length",
        )
        with tf.control_dependencies([same]):
            return encode(firsts, first), encode(seconds, second)

    def score_pairs(*inputs):
        pairs, seed = inputs[: 2 * num_inputs], inputs[2 * num_inputs :]
        logit = method.score_pairs(*encode_pairs(pairs), num_samples, *seed)
        return {"logit": logit, "probability": tf.sigmoid(logit)}

    labels_spec = tf.TensorSpec((None,), tf.int32, name="support_labels")
    seed_spec = tf.TensorSpec((2,), tf.int32, name="seed")
    classify_signature = [*support, labels_spec, *query, seed_spec]
    pair_signature = [*first, *second]
    signatures = {
        "serving_default": (serving_default, specs),
        "embed": (embed, specs),
    }
    if "classify" in method.signatures:
        signatures["classify"] = (classify, classify_signature)
    if "score_pairs" in method.signatures:
        if method.pairs_take_seed:
            pair_signature += [seed_spec]
        signatures["score_pairs"] = (score_pairs, pair_signature)
    return signatures
