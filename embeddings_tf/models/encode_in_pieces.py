"""Encodes batches whose activations do not fit into memory at once."""

import keras
import tensorflow as tf

from embeddings_tf.compat import every_layer
from embeddings_tf.compat import stored_value
from embeddings_tf.layers import DimensionDropout


def encode_in_pieces(
    encoder, inputs, piece_size: int
) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Encodes a training batch piece by piece, twice for the gradient.

    The first pass keeps only the embeddings. The second pass encodes each piece
    again and backpropagates its rows of the gradient in the embeddings into the
    weights. When compiled, memory is the activations of one piece, all
    embeddings, and two copies of the weights' gradient. In eager mode,
    TensorFlow keeps the activations of the first pass.

    The second pass starts from the same state as the first, for instance the
    same seeds of dropout. Only the first pass updates the state of layers
    (batch statistics), once per piece.

    Args:
        encoder: A built Keras model or layer from inputs to embeddings.
        inputs: A tensor, or a structure of tensors, rows first.
        piece_size: Rows per piece; the last piece may have fewer.

    Returns:
        Embeddings `(batch, width)`, and the sum of the values that layers
        passed to `add_loss`, a mean over pieces weighted by rows, or None
        without such values. Gradients flow into the encoder's weights, not
        into `inputs`.

    Raises:
        ValueError: If the encoder changes variables of other objects, or
            normalises batches over several replicas, or drops dimensions of
            whole batches (`layers.DimensionDropout`).
    """
    _require_no_synchronized(encoder)
    _require_no_dimension_dropout(encoder)
    trainable = encoder.trainable_variables
    weights = [tf.convert_to_tensor(stored_value(v)) for v in trainable]
    num_rows = tf.shape(keras.tree.flatten(inputs)[0])[0]
    num_pieces = tf.maximum(1, (num_rows + piece_size - 1) // piece_size)

    def rows(tensor, number):
        return tensor[number * piece_size : (number + 1) * piece_size]

    def encode(number, changing=(), state=()):
        """Returns embeddings and losses of a piece, and its state changes."""
        piece = keras.tree.map_structure(lambda x: rows(x, number), inputs)
        scope = keras.StatelessScope(
            [
                *zip(trainable, weights, strict=True),
                *zip(changing, state, strict=True),
            ],
            collect_losses=True,
            initialize_variables=False,
        )
        with scope:
            embeddings = encoder(piece, training=True)
        penalty = tf.zeros(())
        if scope.losses:
            penalty = tf.add_n(
                [tf.cast(tf.reduce_sum(x), tf.float32) for x in scope.losses]
            )
            share = tf.shape(embeddings)[0] / tf.maximum(1, num_rows)
            penalty *= tf.cast(share, tf.float32)
        return embeddings, penalty, scope

    # The first piece shows which variables change.
    first, penalty, scope = encode(0)
    changing = _changed(encoder, scope)
    before = [tf.convert_to_tensor(stored_value(v)) for v in changing]
    has_penalty = bool(scope.losses)

    def add_piece(number, pieces, penalty, *state):
        piece, more, scope = encode(number, changing, state)
        state = [scope.get_current_value(v) for v in changing]
        return number + 1, pieces.write(number, piece), penalty + more, *state

    pieces = tf.TensorArray(
        first.dtype,
        num_pieces,
        element_shape=[None, *first.shape[1:]],
        infer_shape=False,
    )
    _, pieces, penalty, *after = tf.while_loop(
        lambda number, *_: number < num_pieces,
        add_piece,
        (
            tf.constant(1),
            pieces.write(0, first),
            penalty,
            *(scope.get_current_value(v) for v in changing),
        ),
        parallel_iterations=1,
    )
    # Not in the loop, where tf.distribute cannot reduce over replicas.
    for variable, value in zip(changing, after, strict=True):
        variable.assign(value)
    embeddings = tf.ensure_shape(
        tf.stop_gradient(pieces.concat()),
        [keras.tree.flatten(inputs)[0].shape[0], *first.shape[1:]],
    )
    penalty = tf.stop_gradient(penalty)

    @tf.custom_gradient
    def connected(*weights_):
        def gradient(of_embeddings, of_penalty):
            def add_gradient(number, *loop):
                state, totals = loop[: len(changing)], loop[len(changing) :]
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(weights)
                    piece, more, scope = encode(number, changing, state)
                gradients = tape.gradient(
                    [piece, more],
                    weights,
                    output_gradients=[rows(of_embeddings, number), of_penalty],
                    unconnected_gradients=tf.UnconnectedGradients.ZERO,
                )
                return (
                    number + 1,
                    *(scope.get_current_value(v) for v in changing),
                    *map(tf.add, totals, map(tf.convert_to_tensor, gradients)),
                )

            _, *loop = tf.while_loop(
                lambda number, *_: number < num_pieces,
                add_gradient,
                (tf.constant(0), *before, *map(tf.zeros_like, weights)),
                parallel_iterations=1,
            )
            return loop[len(changing) :]

        return (tf.identity(embeddings), tf.identity(penalty)), gradient

    if weights:
        embeddings, penalty = connected(*weights)
    return embeddings, penalty if has_penalty else None


def _require_no_synchronized(encoder) -> None:
    """Replicas with different numbers of pieces would wait forever."""
    if tf.distribute.get_strategy().num_replicas_in_sync == 1:
        return
    for layer in every_layer(encoder):
        if getattr(layer, "synchronized", False):
            raise ValueError(
                f"The encoder's layer {layer.name!r} normalises the batch of "
                "all replicas, but `piece_size` encodes the batch of each "
                "replica in pieces. Train without `piece_size`, or with a "
                "normalisation that does not look at the batch, such as "
                "keras.layers.GroupNormalization."
            )


def _require_no_dimension_dropout(encoder) -> None:
    """Each piece would drop other dimensions."""
    for layer in every_layer(encoder):
        if isinstance(layer, DimensionDropout) and layer.rate > 0:
            raise ValueError(
                f"The encoder's layer {layer.name!r} drops the same "
                "dimensions in a whole batch, but `piece_size` encodes "
                "it in pieces, each with its own draw. Train without "
                "`piece_size`, or with the rate 0."
            )


def _changed(encoder, scope: keras.StatelessScope) -> list[keras.Variable]:
    """Returns the changed variables; ValueError for other objects'."""
    own = [*encoder.variables, *encoder.metrics_variables]
    strangers = set(scope.state_mapping) - {id(v) for v in own}
    if strangers:
        raise ValueError(
            f"The encoder {encoder.name!r} changes {len(strangers)} "
            "variable(s) that are not its own, which could not be repeated in "
            "the second pass of `piece_size`: most often random numbers "
            "without a seed of the layer. Give the layer a "
            "keras.random.SeedGenerator as an attribute, and draw from it."
        )
    trainable = {id(v) for v in encoder.trainable_variables}
    return [
        v
        for v in own
        if id(v) in scope.state_mapping and id(v) not in trainable
    ]
