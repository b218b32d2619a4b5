"""A sum over all pairs of rows of a batch, with its gradient, in blocks."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops import distances
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.global_batch import own_rows
from embeddings_tf.ops.global_batch import sum_over_replicas
from embeddings_tf.ops.numerics import finite_or_nan

# Distances in a block: 8 MB of float64. Smaller blocks are slower.
BLOCK_SIZE = 2**20


def sum_over_pairs(
    z: tf.Tensor,
    distance: str,
    terms: Callable,
    *,
    of_row: Callable | None = None,
    num_sums: int = 1,
    is_symmetric: bool = False,
    copies: int | tf.Tensor = 1,
    most_copies: int | None = None,
) -> tf.Tensor:
    """Sums a function of the distances among the rows of `z`.

    The gradient is computed with the sum, so no tensor of all pairs is kept for
    a backward pass. Large batches are computed in blocks of rows, which bounds
    the memory; XLA and second derivatives compute any batch at once.

    Replicas of `tf.distribute` share the work: each computes the pairs of its
    block of rows with all columns. The sums are added over replicas, and the
    gradients are added where `gather_global_batch` sends them back.

    Args:
        z: Embeddings `(batch, dim)`, the same on every replica, from
            `gather_global_batch`.
        distance: A key of `distances.WITHIN`.
        terms: Function of the distances `(rows, columns)` between some rows and
            all rows, and of the indices of both. Returns the sums `(num_sums,)`
            over these pairs, and the derivative of the first sum in each
            distance. The other sums have no gradient.
        of_row: Function of the distances and the indices of rows; returns
            numbers of each row, `(rows, n)`. `terms` then receives the numbers
            of all rows, `(batch, n)`, as a last argument, and the distances are
            kept: float32 of all pairs.
        num_sums: Number of sums.
        is_symmetric: Whether `terms` of a pair are the same in both orders.
            Columns are then some rows, too, and large batches take half the
            time.
        copies: By how much to divide the size of a block.
        most_copies: Upper bound of `copies`, if it is a tensor. Where blocks
            are not needed even with it, a graph does not contain them, and
            is made and compiled in half the time.

    Returns:
        `(num_sums,)`.
    """
    summed = _Summed(terms, of_row, num_sums, is_symmetric)
    if distance == "cosine":
        z = distances.unit_rows(z)

    @tf.custom_gradient
    def total(watched):
        # An outer tape must not differentiate the blocks.
        z = tf.stop_gradient(watched)
        num_rows = z.shape[0]
        if num_rows is None:
            num_rows = tf.shape(z)[0]
        own = own_rows(num_rows)
        block = _block_of_rows(num_rows, copies)
        is_small = block >= num_rows
        if isinstance(num_rows, int) and most_copies:
            smallest = _block_of_rows(num_rows, most_copies)
            is_small = smallest >= num_rows or is_small

        def at_once(z=z):
            return _at_once(_space(z, distance), summed, own)

        def in_blocks():
            return _in_blocks(_space(z, distance), summed, block, own)

        # XLA needs the size of a block before it runs the graph.
        if own:
            sums, gradient = in_blocks()
            sums = sum_over_replicas(sums)
        elif compat.is_traced_for_xla() or is_small is True:
            sums, gradient = at_once()
        elif tf.is_tensor(is_small):
            sums, gradient = tf.cond(is_small, at_once, in_blocks)
        else:
            sums, gradient = in_blocks()

        @tf.custom_gradient
        def first_order(z):
            def second_order(upstream):
                with tf.GradientTape() as tape:
                    tape.watch(z)
                    _, again = at_once(z)
                return tape.gradient(again, z, output_gradients=upstream)

            return gradient, second_order

        def backward(upstream):
            upstream = upstream[0]
            if own:
                # Replicas may weight the sum differently, but each has only
                # the gradient of its own rows.
                upstream = sum_over_replicas(upstream)
            return upstream * first_order(watched)

        return sums, backward

    return total(z)


def _block_of_rows(num_rows, copies):
    """Returns the rows of a block, an integer if both arguments are."""
    if isinstance(num_rows, int) and isinstance(copies, int):
        return max(1, BLOCK_SIZE // max(1, num_rows * copies))
    return tf.maximum(1, BLOCK_SIZE // tf.maximum(1, num_rows * copies))


class _Summed(NamedTuple):
    """What is summed, the arguments of `sum_over_pairs`."""

    terms: Callable
    of_row: Callable | None
    num_sums: int
    is_symmetric: bool


def _at_once(space, summed: _Summed, own=None):
    """Returns the sums, and the gradient of the first in the rows of `space`.

    With `own`, the first of some rows and the row after them, the pairs of
    these rows with all columns.
    """
    origin = here = space.origin
    d = space.within()
    rows = everything = tf.range(tf.shape(origin)[0])
    of_rows = [summed.of_row(d, rows)] if summed.of_row else []
    if own:
        rows = tf.range(*own)
        d, here = tf.gather(d, rows), tf.gather(origin, rows)
    sums, slope = summed.terms(d, rows, everything, *of_rows)
    if not own:
        slope = slope + (slope if summed.is_symmetric else tf.transpose(slope))
        slope = space.in_products(slope, d)
        return sums, space.to_rows(slope, origin, origin)
    slope = space.in_products(slope, d)
    to_rows = space.to_rows(slope, here, origin)
    to_rows = tf.scatter_nd(rows[:, None], to_rows, tf.shape(origin))
    if summed.is_symmetric:
        return sums, 2 * to_rows
    return sums, to_rows + space.to_columns(slope, origin, here)


def _in_blocks(space, summed: _Summed, block, own):
    """Returns the same as `_at_once`, from blocks of rows."""
    terms, of_row, num_sums, is_symmetric = summed
    origin, between = space.origin, space.between()
    num_rows = tf.shape(origin)[0]
    begin, end = own or (tf.zeros_like(num_rows), num_rows)
    everything = tf.range(num_rows)

    def loop(add_block, *totals):
        def step(start, *totals):
            rows = tf.range(start, tf.minimum(start + block, end))
            return start + block, *add_block(rows, *totals)

        return tf.while_loop(
            lambda start, *_: start < end,
            step,
            (begin, *totals),
            parallel_iterations=1,
        )[1:]

    def add_of_row(rows, kept, found):
        d, place = between(rows, everything), (rows[0] - begin) // block
        return kept.write(place, d), found.write(place, of_row(d, rows))

    def add_terms(rows, sums, gradient):
        if of_row:
            # An array of blocks of different sizes forgets their shape.
            d = kept.read((rows[0] - begin) // block)
            d = tf.ensure_shape(d, [None, None])
        else:
            d = between(rows, everything)
        added, slope = terms(d, rows, everything, *of_rows)
        slope = space.in_products(slope, d)
        here = tf.gather(origin, rows)
        to_rows = space.to_rows(slope, here, origin)
        if is_symmetric:
            to_rows *= 2
        else:
            gradient += space.to_columns(slope, origin, here)
            # Of unknown rows, the sum has no static number of rows.
            gradient = tf.ensure_shape(gradient, origin.shape)
        gradient = tf.tensor_scatter_nd_add(gradient, rows[:, None], to_rows)
        return sums + added, gradient

    def add_symmetric(rows, sums, gradient):
        """Uses the columns of these rows, and the columns after them."""
        here = tf.gather(origin, rows)
        later = tf.range(rows[-1] + 1, num_rows)
        for columns, factor in ((rows, 1), (later, 2)):
            d = between(rows, columns)
            added, slope = terms(d, rows, columns)
            sums += factor * added
            slope = space.in_products(slope, d)
            there = tf.gather(origin, columns)
            to_here = space.to_rows(slope, here, there)
            gradient = tf.tensor_scatter_nd_add(
                gradient, rows[:, None], 2 * to_here
            )
        to_there = 2 * space.to_columns(slope, there, here)
        gradient = tf.tensor_scatter_nd_add(gradient, later[:, None], to_there)
        return sums, gradient

    of_rows = []
    if of_row:
        num_blocks = (end - begin - 1) // block + 1
        array = functools.partial(
            tf.TensorArray, origin.dtype, infer_shape=False
        )
        kept, found = loop(add_of_row, array(num_blocks), array(num_blocks + 1))
        # A replica without rows still needs the width; an empty block gives it.
        none = tf.range(0)
        of_none = of_row(between(none, everything), none)
        found = found.write(num_blocks, of_none)
        of_rows = tf.ensure_shape(found.concat(), [None, None])
        if own:
            (of_rows,) = gather_global_batch(of_rows)
        of_rows = [of_rows]
    sums = tf.zeros([num_sums], origin.dtype)
    add = add_symmetric if is_symmetric and not own else add_terms
    return loop(add, sums, tf.zeros_like(origin))


def _space(z, distance: str):
    """Returns the distances among the rows of `z`, and their gradients."""
    if distance == "cosine":
        return _Cosine(z)
    return _Euclidean(z, distance == "l2")


class _Cosine:
    """Cosine distances of `unit_rows`.

    origin: Rows whose products are the distances, `(batch, dim)`.
    """

    def __init__(self, z):
        self.origin = z

    def within(self) -> tf.Tensor:
        """Distances `(batch, batch)`, differentiable."""
        return 1 - distances.cosines_of_units(self.origin, self.origin)

    def between(self) -> Callable:
        """Returns a function from rows and columns to `(rows, columns)`."""
        return lambda rows, columns: (
            1
            - distances.cosines_of_units(
                tf.gather(self.origin, rows), tf.gather(self.origin, columns)
            )
        )

    def in_products(self, slope, d) -> tf.Tensor:
        """Converts derivatives in distances to derivatives in products."""
        return slope

    def to_rows(self, slope, a, b) -> tf.Tensor:
        """Backpropagates from the products of the rows `a` and `b` to `a`."""
        return -tf.matmul(slope, b)

    def to_columns(self, slope, a, b) -> tf.Tensor:
        """Backpropagates from the products of the rows `b` and `a` to `a`."""
        return -tf.matmul(slope, b, transpose_a=True)


class _Euclidean:
    """Euclidean distances, or squares; it has the methods of `_Cosine`.

    origin: Rows whose differences are the distances, `(batch, dim)`.
    """

    def __init__(self, z, is_root: bool):
        self.z, self.is_root = z, is_root
        # The centred rows have smaller rounding errors.
        self.origin = z - distances.middle_row(z)

    def within(self) -> tf.Tensor:
        square = distances.squared_l2_within(self.z)
        return distances.square_root(square) if self.is_root else square

    def between(self) -> Callable:
        exact = tf.cast(finite_or_nan(self.z), tf.float64)
        norms = tf.reduce_sum(tf.square(exact), axis=1)

        def between(rows, columns):
            products = tf.matmul(
                tf.gather(exact, rows),
                tf.gather(exact, columns),
                transpose_b=True,
            )
            square = distances.square_of_products(
                products,
                tf.gather(norms, rows),
                tf.gather(norms, columns),
                self.z.dtype,
            )
            return tf.sqrt(square) if self.is_root else square

        return between

    def in_products(self, slope, d) -> tf.Tensor:
        return tf.math.divide_no_nan(slope, d) if self.is_root else 2 * slope

    def to_rows(self, slope, a, b) -> tf.Tensor:
        total = tf.reduce_sum(slope, axis=1)
        return total[:, None] * a - tf.matmul(slope, b)

    def to_columns(self, slope, a, b) -> tf.Tensor:
        # A transposed slope would be one more tensor of all pairs.
        total = tf.reduce_sum(slope, axis=0)
        return total[:, None] * a - tf.matmul(slope, b, transpose_a=True)
