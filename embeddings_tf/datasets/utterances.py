"""Sequences of different lengths, as examples for `batches`."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.datasets.row_numbers import row_numbers
from embeddings_tf.datasets.row_numbers import taken_rows
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import function as checked_function
from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import result


class Utterances:
    """Sequences of different lengths: one by one, or as batches of one length.

    Use it for recordings and their features. `load` returns `Utterances` for
    data sets of speech. `x[3]` is one whole utterance. For training, pass
    `x.with_num_frames(...)` to `datasets.batches`: `x[indices]` crops longer
    utterances and repeats shorter ones from their first frame on.

    The values stay in one array, which may be memory-mapped, or in files that
    a function reads. Only the requested utterances are copied.

    Args:
        values: Array of shape `(frames, ...)`: all utterances, concatenated. A
            frame is a vector of features or one sample. Or a function from the
            index of an utterance to its array of shape `(frames, ...)`; several
            threads may call it.
        lengths: Integers of shape `(utterances,)`: number of frames of each
            utterance, at least 1.
        num_frames: Frames of each example of a batch. None: no batches, only
            single utterances.
        seed: Integer, at least 0. If given, crops are at random places, as a
            pure function of the seed and the whole index vector `indices`.
            Crops of an utterance differ between batches, and a resumed run sees
            the same crops. If None, crops are in the middle.
        sample_rate: Samples per second, if each frame is one sample and the
            rate is known.
        names: Names of the utterances in error messages, for example their
            files.

    Attributes:
        lengths: As above, read-only.
        num_frames: As above.
        sample_rate: As above.
        names: As above.

    Raises:
        ValueError: If an argument is not as described, lengths do not sum to
            the number of frames or differ from the arrays that the function
            returns, `x[indices]` is called without `num_frames`, or a
            requested utterance contains NaN or infinity.
        IndexError: If an index is out of range.
        TypeError: If an index is neither an integer nor an integer vector.

    Example:

    >>> x = embeddings_tf.datasets.Utterances(
    ...     np.arange(7.0).reshape(7, 1), lengths=[2, 5]
    ... )
    >>> x[0].shape, x[1].shape
    ((2, 1), (5, 1))
    >>> x.with_num_frames(3)[np.array([0, 1])][..., 0]
    array([[0., 1., 0.],
           [3., 4., 5.]])
    """

    def __init__(
        self,
        values: np.ndarray | Callable[[int], np.ndarray],
        lengths,
        num_frames: int | None = None,
        seed: int | None = None,
        *,
        sample_rate: int | None = None,
        names: Sequence[str] | None = None,
    ):
        if hasattr(values, "numpy"):
            values = values.numpy()  # values are a tensor
        if not callable(values) and not _reads_frames(values):
            values = array("values", values)
        if not callable(values) and np.dtype(values.dtype).kind not in "biuf":
            raise ValueError(
                "values must be numbers, or a function that reads an "
                f"utterance; received dtype {values.dtype}."
            )
        self._values = values
        lengths = np.array(array("lengths", lengths))
        if lengths.ndim != 1 or (
            lengths.size and lengths.dtype.kind not in "iu"
        ):
            raise ValueError(
                "lengths must be integers of shape (utterances,); "
                "received shape "
                f"{lengths.shape} and dtype {lengths.dtype}."
            )
        lengths = lengths.astype(np.int64)
        if names is not None and num_rows("names", names) != len(lengths):
            raise ValueError(
                f"names must be one for each of {len(lengths)} utterances; "
                f"received {len(names)}."
            )
        if lengths.min(initial=1) < 1:
            raise ValueError(
                "Every utterance must have a frame, but utterance "
                f"{np.argmin(lengths)} has {lengths.min()}; remove it."
            )
        if not callable(values) and (
            len(values.shape) == 0 or lengths.sum() != len(values)
        ):
            raise ValueError(
                "lengths must sum to the number of frames; received "
                f"{lengths.sum()} and values of shape {values.shape}."
            )
        if sample_rate is not None:
            sample_rate = positive_integer("sample_rate", sample_rate)
        if num_frames is not None:
            num_frames = positive_integer("num_frames", num_frames)
        if seed is not None:
            seed = random_seed("seed", seed)
        lengths.flags.writeable = False
        self.lengths = lengths
        self.num_frames = num_frames
        self.sample_rate = sample_rate
        self.names = None if names is None else list(names)
        self._seed = seed
        self._starts = np.concatenate([[0], np.cumsum(lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index) -> np.ndarray:
        """Returns one utterance for an integer, a batch for a vector."""
        index = row_numbers(index, len(self), slices=False)
        if index.ndim == 0:
            return np.array(self._utterance(index))
        if self.num_frames is None:
            raise ValueError(
                "Utterances differ in length, so one array cannot contain "
                "several; call x.with_num_frames(...), which crops and repeats."
            )
        excess = np.maximum(self.lengths[index] - self.num_frames, 0)
        if self._seed is None:
            first = excess // 2
        else:
            rng = np.random.default_rng([int(self._seed), *index.tolist()])
            first = rng.integers(0, excess, endpoint=True)
        # One utterance at a time, because recordings may be long.
        example = self._example(index)
        batch = np.empty(
            (len(index), self.num_frames, *example.shape[1:]), example.dtype
        )
        for row, number in enumerate(index):
            utterance = self._utterance(number) if row else example
            of_frame = utterance.dtype, utterance.shape[1:]
            if of_frame != (example.dtype, example.shape[1:]):
                raise ValueError(
                    "utterances must have one dtype and one shape of a frame; "
                    f"{self._called(number)} has {of_frame[0]} and "
                    f"{of_frame[1]}, {self._called(index[0])} has "
                    f"{example.dtype} and {example.shape[1:]}. Convert them."
                )
            if excess[row]:
                utterance = utterance[first[row] :][: self.num_frames]
                batch[row] = utterance
            else:
                frames = np.arange(self.num_frames) % len(utterance)
                batch[row] = utterance[frames]
        return batch

    def with_num_frames(
        self, num_frames: int, seed: int | None = None
    ) -> "Utterances":
        """Returns the same utterances, as batches of another length."""
        return Utterances(
            self._values,
            self.lengths,
            num_frames,
            seed,
            sample_rate=self.sample_rate,
            names=self.names,
        )

    def take(self, indices) -> "Utterances":
        """Returns some of the utterances, in the order of `indices`.

        Utterances of an array are copied. Utterances that a function reads
        stay where they are.
        """
        indices = taken_rows(indices, len(self), "utterances")
        names = self.names
        values: Any
        if callable(self._values):
            read = self._values

            def read_taken(number):
                return read(int(indices[number]))

            values = read_taken
        else:
            parts = [self._utterance(number) for number in indices]
            values = np.concatenate(parts) if parts else self._values[:0]
        return Utterances(
            values,
            self.lengths[indices],
            self.num_frames,
            self._seed,
            sample_rate=self.sample_rate,
            names=None if names is None else [names[i] for i in indices],
        )

    def map(self, function: Callable) -> "Utterances":
        """Applies `function` to each utterance, for instance to get features.

        The function is called eagerly, once per utterance. It returns an array
        or a tensor with at least one frame. Results may differ only in the
        number of frames. A ValueError of the function is raised again with the
        index and the name of the utterance.
        """
        checked_function("function", function, "an utterance")
        parts = []
        for number in range(len(self)):
            try:
                parts.append(result("function", function(self[number])))
            except ValueError as error:
                called = self._called(number)
                raise ValueError(f"{called}: {error}") from error
        if not parts:
            raise ValueError("There are no utterances to map.")
        shapes = {part.shape[1:] for part in parts if part.ndim}
        if len(shapes) != 1 or not all(part.ndim for part in parts):
            raise ValueError(
                "function must return frames of one shape for all utterances; "
                f"received shapes {sorted({part.shape for part in parts})[:3]}."
            )
        return Utterances(
            np.concatenate(parts),
            [len(part) for part in parts],
            self.num_frames,
            self._seed,
            names=self.names,
        )

    def _example(self, index):
        """Returns the first utterance of a batch, for dtype and shape."""
        if len(self):  # an empty batch reads one
            return self._utterance(index[0] if len(index) else 0)
        if callable(self._values):
            raise ValueError(
                "A batch needs the shape of a frame, but there are no "
                "utterances to read it from."
            )
        return self._values[:0]

    def _utterance(self, number):
        if not callable(self._values):
            first, last = self._starts[number : number + 2]
            return self._finite(number, self._values[first:last])
        utterance = result("values", self._values(int(number)))
        if utterance.shape[:1] != (self.lengths[number],):
            raise ValueError(
                f"{self._called(number)} must have {self.lengths[number]} "
                "frames by lengths, but the function that reads it returned "
                f"shape {utterance.shape}."
            )
        return self._finite(number, utterance)

    def _finite(self, number, utterance):
        if utterance.dtype.kind == "f" and not np.isfinite(utterance).all():
            raise ValueError(
                f"{self._called(number)} contains NaN or infinity; remove or "
                "repair it."
            )
        return utterance

    def _called(self, number):
        if self.names is None:
            return f"Utterance {number}"
        return f"Utterance {number} ({self.names[number]})"


def _reads_frames(values) -> bool:
    """Whether `values[a:b]` are frames, as of NumPy and of files.

    Pandas selects by label, and masks would be ignored.
    """
    is_other = isinstance(values, np.ma.MaskedArray) or hasattr(values, "iloc")
    return hasattr(values, "shape") and not is_other
