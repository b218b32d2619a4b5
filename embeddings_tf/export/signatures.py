"""Signatures of an exported model, as functions of tensors."""

import tensorflow as tf

from embeddings_tf.layers.pixel_range import exported_checks
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.method import Method
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.labelled_batch import real_numbers


def input_specs(model, preprocessing) -> list[tf.TensorSpec]:
    """Returns the input specs, with any batch size, under their names."""
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
            "The exported model needs one input tensor; received a model with "
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


def endpoints(model, specs, preprocessing, num_samples, unit_range) -> dict:
    """Returns functions of tensors and their specs, by name of signature.

    Arguments are as in `export_saved_model`; `specs` are from
    `input_specs`.
    """
    method = Method(model)
    has_uncertainty = getattr(model, "uncertainty", None) is not None

    def embed_only(x):
        return model(x, training=False)

    def encode(inputs, specs, run=embed_only):
        inputs = [
            tf.debugging.assert_all_finite(
                x, f"`{spec.name}` contains NaN or infinity"
            )
            if x.dtype.is_floating
            else x
            for x, spec in zip(inputs, specs, strict=True)
        ]
        with exported_checks(unit_range):
            embedding = run_unchecked(inputs, run)
        return tf.nest.map_structure(
            lambda found: tf.debugging.assert_all_finite(
                found,
                f"The embedding of `{specs[0].name}` is not finite: its values "
                "are too large for the model",
            ),
            embedding,
        )

    def run_unchecked(inputs, run):
        x = inputs[0]
        if preprocessing is not None:
            x = real_numbers(
                "The result of `preprocessing`", preprocessing(*inputs)
            )
            require_input_shape("preprocessing(...)", x, model)
        # TensorFlow's convolutions on an empty batch return the wrong shape
        # (oneDNN), so one row is added here and removed from the result.
        rows, shape = tf.shape(x)[0], x.shape
        one_if_empty = tf.cast(tf.equal(rows, 0), tf.int32)
        x = tf.pad(x, [[0, one_if_empty]] + [[0, 0]] * (shape.rank - 1))
        x = tf.ensure_shape(x, [None, *shape[1:]])
        return tf.nest.map_structure(lambda found: found[:rows], run(x))

    def named(name):
        """Specs of one input among several: `name`, `name_length`."""
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
        return named_outputs(encode(inputs, specs, with_uncertainty))

    def embed(*inputs):
        with exported_checks("accept"):
            return named_outputs(run_unchecked(inputs, with_uncertainty))

    def with_uncertainty(x):
        if has_uncertainty:
            return model.embed_with_uncertainty(x)
        return (embed_only(x),)

    def named_outputs(outputs):
        embedding, *uncertainty = outputs
        found = {"embedding": embedding}
        if method.is_gaussian:
            mean, variance = gaussian.unpack(embedding)
            found = {"embedding": mean, "variance": variance}
        if has_uncertainty:
            (found["uncertainty"],) = uncertainty
        return found

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
            "`support` and `support_labels` must have the same length",
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
            "`first` and `second` must have the same length",
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
