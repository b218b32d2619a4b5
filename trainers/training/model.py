"""Builds and compiles the model of a run."""

import contextlib
import dataclasses

import keras
import tensorflow as tf

from embeddings_tf import models
from embeddings_tf.compat import sum_gradients_first
from embeddings_tf.losses.teachable_rows import watch_teachable_rows
from embeddings_tf.models.gaussian_output import require_match
from embeddings_tf.ops.counted import counted
from trainers.config.build import build
from trainers.config.places import PLACES
from trainers.config.run import Method
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.config.signatures import signature


@contextlib.contextmanager
def dtype_policy(name: str):
    """Sets the policy of layers that the block makes or loads."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def build_model(
    run: Run,
    input_spec: tf.TensorSpec | None = None,
    num_classes: int | None = None,
) -> keras.Model:
    """Builds and compiles the model of a run; its output is the embedding.

    The model is an encoder with an objective, a loss or a decoder, as
    `run.method` says. Its layers have the dtype policy `training.precision`;
    the heads are float32. No data is read.

    Args:
        run: The typed run.
        input_spec: Shape and type of a training batch, checked against the
            encoder; None skips the check.
        num_classes: Number of classes in the training split, for a method
            with the argument `num_classes=None`.

    Raises:
        ValueError: If an argument does not fit, or the encoder takes images
            of another shape.
    """
    with dtype_policy(run.training.precision):
        model = _build_model(run, num_classes)
    if input_spec is not None:
        _require_shape(model, input_spec, run.encoder)
    return model


def untrained_model(run: Run, data, trained: keras.Model) -> keras.Model:
    """Builds a model with random weights, of the seed of the run.

    It standardises rows of features as the trained model does.

    Args:
        run: The typed run.
        data: Its data.
        trained: The trained model of the run.
    """
    keras.utils.set_random_seed(run.training.seed)
    untrained = build_model(run, num_classes=data.num_classes)
    if run.encoder.name == "features_encoder":
        encoders = (getattr(m, "encoder", m) for m in (untrained, trained))
        for layer, source in zip(*(e.layers for e in encoders), strict=True):
            if isinstance(layer, keras.layers.BatchNormalization):
                layer.moving_mean.assign(source.moving_mean)
                layer.moving_variance.assign(source.moving_variance)
    return untrained


def _build_model(run: Run, num_classes: int | None) -> keras.Model:
    piece_size = run.training.piece_size or None
    encoder = build(run.encoder, "encoder")
    _require_encoder(encoder, run.encoder.name)
    optimizer = build(run.optimizer, "optimizer")
    if run.training.freeze_encoder:
        encoder.trainable = False  # else a frozen part stays frozen
    kind = run.method.kind
    method = _with_num_classes(run.method, num_classes)
    head = None
    if run.uncertainty.name:
        head = build(run.uncertainty, "uncertainty")
    if kind == "autoencoder":
        model = build(method, "method", encoder=encoder)
        model.compile(optimizer=optimizer)
    elif kind == "objective" or piece_size or head is not None:
        objective = build(method, "method")
        model = models.EmbeddingModel(
            encoder, objective, piece_size=piece_size, uncertainty=head
        )
        model.compile(optimizer=optimizer)
    else:
        model = models.prepare_for_replicas(encoder)
        loss = build(method, "method")
        require_match(models.has_gaussian_output(model), loss)
        model.compile(optimizer=optimizer, loss=loss)
        sum_gradients_first(model.optimizer)
        if hasattr(loss, "batch_needs"):
            watch_teachable_rows(model, loss)
    if run.training.freeze_encoder and not model.trainable_weights:
        raise ValueError(
            f"config.freeze_encoder leaves nothing to train: {method.name} has "
            "no weights of its own; set config.uncertainty.name="
            "UncertaintyHead, or an objective with layers, such as "
            "LearnedDistance"
        )
    return model


def _with_num_classes(method: Method, num_classes: int | None) -> Method:
    """Adds the number of classes if the method has `num_classes=None`."""
    found = signature(PLACES[method.kind], method.name)
    argument = found and found.arguments.get("num_classes")
    if not argument or argument.default is not None:
        return method
    arguments = {"num_classes": num_classes, **method.arguments}
    return dataclasses.replace(method, arguments=arguments)


def _require_encoder(encoder, name: str) -> None:
    """Raises unless an encoder, perhaps the user's own, is fit to train."""
    if not isinstance(encoder, keras.Model):
        raise ValueError(
            f"{name} must return a Keras model; received {encoder!r}"
        )
    if not isinstance(getattr(encoder, "input_shape", None), tuple):
        raise ValueError(
            f"{name} must return a model of one input of known shape; begin it "
            "with keras.Input(SHAPE), with the shape of one example"
        )
    if not isinstance(encoder.output_shape, tuple):
        raise ValueError(
            f"{name} must return a model with one output, the embedding; its "
            f"outputs have the shapes {encoder.output_shape}"
        )


def _require_shape(
    model: keras.Model, input_spec: tf.TensorSpec, encoder: Part
) -> None:
    """Raises unless the encoder takes examples of the given shape."""
    found = tuple(input_spec.shape)[1:]
    expected = getattr(model, "encoder", model).input_shape[1:]
    known = signature(PLACES["encoder"], encoder.name)
    takes = known.arguments if known else ("num_features", "image_shape")
    if len(expected) == len(found) == 1 and found != expected:
        remedy = f"set --config.encoder.num_features={found[0]}"
        if "num_features" not in takes:
            remedy = "it takes no other; change the shape of its keras.Input"
        raise ValueError(
            f"the examples have {counted(found[0], 'feature')}, the encoder "
            f"takes {expected[0]}; {remedy}"
        )
    if len(expected) == 3 and len(found) == 1:
        raise ValueError(
            f"the examples are vectors of {counted(found[0], 'feature')}, the "
            "encoder takes images; set --config.encoder.name=features_encoder "
            f"--config.encoder.num_features={found[0]}"
        )
    if len(expected) == 1 and len(found) == 3:
        raise ValueError(
            f"the examples are images of shape {found}, the encoder takes "
            f"vectors of {counted(expected[0], 'feature')}; set "
            "--config.encoder.name=image_encoder, or a network of which the "
            "encoder takes the features, --config.backbone.network=NETWORK"
        )
    if len(expected) == len(found) == 3 and found != expected:
        height, width, channels = expected
        resize = ""
        if height == width and channels == found[2]:
            resize = (
                ", or, for images that are read when needed, "
                f"--config.images.size={height}"
            )
        remedy = f"set --config.encoder.image_shape='{found}'{resize}"
        if "image_shape" not in takes:
            remedy = (
                "it takes no other; resize them, or take another encoder, "
                "such as --config.encoder.name=image_encoder"
            )
        raise ValueError(
            f"the images have shape {found}, the encoder takes {expected}; "
            f"{remedy}"
        )
