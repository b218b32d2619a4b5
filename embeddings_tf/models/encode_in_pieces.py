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
        inputs: A dense or sparse tensor, or a structure of tensors, rows first.
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
    pieces = _Pieces(encoder, inputs, piece_size)
    embeddings, penalty = pieces.first_pass()

    @tf.custom_gradient
    def connected(*weights):  # the gradient of `second_pass` goes to them
        return (
            tf.identity(embeddings),
            tf.identity(penalty),
        ), pieces.second_pass

    if pieces.weights:
        embeddings, penalty = connected(*pieces.weights)
    return embeddings, penalty if pieces.has_penalty else None


class _Pieces:
    """The pieces of a batch, for a first pass and then a second pass.

    weights: Values of `trainable`, the trainable variables.
    changing: Other variables that a pass changes; `before` are their values
        before the first pass.
    """

    def __init__(self, encoder, inputs, size: int):
        self.encoder, self.inputs, self.size = encoder, inputs, size
        self.trainable = encoder.trainable_variables
        self.weights = _values(self.trainable)
        self.num_rows = tf.shape(keras.tree.flatten(inputs)[0])[0]
        self.num_pieces = tf.maximum(1, (self.num_rows + size - 1) // size)
        self.changing: list[keras.Variable] = []
        self.before: list[tf.Tensor] = []
        self.has_penalty = False

    def rows(self, tensor, number):
        first = number * self.size
        if isinstance(tensor, tf.SparseTensor):
            return _sparse_rows(tensor, first, self.size)
        return tensor[first : first + self.size]

    def encode(self, number, state=()):
        """Returns embeddings and losses of a piece, and its state changes."""
        piece = keras.tree.map_structure(
            lambda x: self.rows(x, number), self.inputs
        )
        scope = keras.StatelessScope(
            [
                *zip(self.trainable, self.weights, strict=True),
                *zip(self.changing, state, strict=True),
            ],
            collect_losses=True,
            initialize_variables=False,
        )
        with scope:
            embeddings = self.encoder(piece, training=True)
        penalty = tf.zeros(())
        if scope.losses:
            penalty = tf.add_n(
                [tf.cast(tf.reduce_sum(x), tf.float32) for x in scope.losses]
            )
            share = tf.shape(embeddings)[0] / tf.maximum(1, self.num_rows)
            penalty *= tf.cast(share, tf.float32)
        return embeddings, penalty, scope

    def state(self, scope) -> list[tf.Tensor]:
        return [scope.get_current_value(v) for v in self.changing]

    def first_pass(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns embeddings and losses, and updates the state of layers."""
        # The first piece shows which variables change.
        first, penalty, scope = self.encode(0)
        self.changing = _changed(self.encoder, scope)
        self.before = _values(self.changing)
        self.has_penalty = bool(scope.losses)
        pieces = tf.TensorArray(
            first.dtype,
            self.num_pieces,
            element_shape=[None, *first.shape[1:]],
            infer_shape=False,
        )

        def add_piece(number, pieces, penalty, *state):
            piece, more, scope = self.encode(number, state)
            pieces = pieces.write(number, piece)
            return number + 1, pieces, penalty + more, *self.state(scope)

        _, pieces, penalty, *after = self.loop(
            add_piece, 1, pieces.write(0, first), penalty, *self.state(scope)
        )
        # Not in the loop, where tf.distribute cannot reduce over replicas.
        for variable, value in zip(self.changing, after, strict=True):
            variable.assign(value)
        embeddings = tf.ensure_shape(
            tf.stop_gradient(pieces.concat()),
            [keras.tree.flatten(self.inputs)[0].shape[0], *first.shape[1:]],
        )
        return embeddings, tf.stop_gradient(penalty)

    def second_pass(self, of_embeddings, of_penalty) -> list[tf.Tensor]:
        """Returns the gradients in the weights."""
        num_changing = len(self.changing)

        def add_gradient(number, *loop):
            state, totals = loop[:num_changing], loop[num_changing:]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self.weights)
                piece, more, scope = self.encode(number, state)
            gradients = tape.gradient(
                [piece, more],
                self.weights,
                output_gradients=[self.rows(of_embeddings, number), of_penalty],
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            gradients = map(tf.convert_to_tensor, gradients)
            totals = map(tf.add, totals, gradients)
            return number + 1, *self.state(scope), *totals

        zeros = map(tf.zeros_like, self.weights)
        _, *loop = self.loop(add_gradient, 0, *self.before, *zeros)
        return loop[num_changing:]

    def loop(self, body, number: int, *values) -> list:
        return tf.while_loop(
            lambda number, *_: number < self.num_pieces,
            body,
            (tf.constant(number), *values),
            parallel_iterations=1,
        )


def _sparse_rows(tensor, first, size: int) -> tf.SparseTensor:
    shape = tensor.dense_shape
    start = tf.cast(first, tf.int64)[tf.newaxis]
    start = tf.concat([start, tf.zeros_like(shape[1:])], axis=0)
    # A slice ends with the last row.
    size = tf.concat([[size], shape[1:]], axis=0)
    piece = tf.sparse.slice(tensor, start, size)
    piece.set_shape([None, *tensor.shape[1:]])
    return piece


def _values(variables) -> list[tf.Tensor]:
    return [tf.convert_to_tensor(stored_value(v)) for v in variables]


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
