"""Decodes recordings inside an exported graph."""

import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.ops import arguments

# 1 GiB in float32.
MAX_SAMPLES = 2**28
# Bytes of the header that starts a file, and of the one that starts a chunk.
_HEADER, _CHUNK = 12, 8
# Values of the bytes of a number, the lowest first.
_PLACES = (1, 2**8, 2**16, 2**24)


class WaveDecoder:
    """Turns WAV files into padded waveforms and lengths, inside a graph.

    Use it as the `decoder` of `export.export_saved_model` for a `preprocessing`
    of waveforms and lengths, such as `datasets.speech.front_end`, so that
    clients send files instead of samples. Samples are in the range of 16-bit
    integers.

    Args:
        sample_rate: Samples per second of every file; files of another rate
            are refused, not resampled.
        max_samples: Largest number of files times samples of the longest file,
            because shorter recordings are padded. The headers of the files are
            checked before any file is decoded.

    Call arguments:
        name: Name of the input, for errors.
        contents: Contents of WAV files of one channel and 16 bits, strings
            `(n,)`.

    Returns:
        Waveforms, float32 `(n, samples)`, padded with 0, and lengths, int32
        `(n,)`.

    Raises:
        ValueError: If an argument is not a positive integer.
        tf.errors.InvalidArgumentError: In the graph, if a file is empty,
            truncated, of another rate or format, or has several channels, or
            if all files together are too long.

    Example:

    >>> decoder = embeddings_tf.export.WaveDecoder(8000)
    >>> file = tf.audio.encode_wav([[0.5], [-0.5]], sample_rate=8000)
    >>> waveform, length = decoder("waveform_bytes", tf.stack([file]))
    >>> waveform.numpy().round(-2), length.numpy()
    (array([[ 16400., -16400.]], dtype=float32), array([2], dtype=int32))
    """

    def __init__(self, sample_rate: int, *, max_samples: int = MAX_SAMPLES):
        self.sample_rate = arguments.positive_integer(
            "sample_rate", sample_rate
        )
        self.max_samples = arguments.positive_integer(
            "max_samples", max_samples
        )
        self.about = (
            "contents of WAV files: one channel, 16 bits, "
            f"{self.sample_rate} samples per second"
        )

    def __call__(self, name: str, contents: tf.Tensor) -> tuple[tf.Tensor, ...]:
        announced = tf.map_fn(
            _num_samples, contents, fn_output_signature=tf.int64
        )
        with tf.control_dependencies([self._small(name, announced)]):
            contents = tf.identity(contents)

        def decode(entry):
            content, row = entry
            # TensorFlow's own error would quote the bytes, which is no text.
            first = tf.strings.substr(content, 0, 16)
            first = tf.strings.join([first, 16 * "."])  # if it is shorter
            is_wave = tf.equal(tf.strings.substr(first, 0, 4), b"RIFF")
            format_chunk = tf.strings.substr(first, 8, 8)
            is_wave &= tf.equal(format_chunk, b"WAVEfmt ")
            starts = checks.require(
                is_wave,
                f"`{name}` must have the contents of WAV files, which start "
                'with a RIFF header and the chunk "fmt "; with REST as '
                '{"b64": "..."}. Received something else in row:',
                row,
            )
            with tf.control_dependencies([starts]):
                content = tf.identity(content)
            # TensorFlow puts the name of the operation into its errors.
            with tf.name_scope(f"{name}_has_a_damaged_or_foreign_WAV_file"):
                samples, rate = tf.audio.decode_wav(content)
            right = [
                checks.require(
                    tf.equal(rate, self.sample_rate),
                    f"`{name}` must have {self.sample_rate} samples per "
                    "second; resample it. Received row and rate:",
                    row,
                    rate,
                ),
                checks.require(
                    tf.equal(tf.shape(samples)[1], 1),
                    f"`{name}` must have one channel. Received row and "
                    "channels:",
                    row,
                    tf.shape(samples)[1],
                ),
            ]
            with tf.control_dependencies(right):
                return samples[:, 0]

        waveforms = tf.map_fn(
            decode,
            (contents, tf.range(tf.size(contents))),
            parallel_iterations=4,
            fn_output_signature=tf.RaggedTensorSpec(
                (None,), tf.float32, ragged_rank=0
            ),
        )
        lengths = tf.cast(waveforms.row_lengths(), tf.int32)
        return 32768 * waveforms.to_tensor(), lengths

    def _small(self, name: str, lengths: tf.Tensor) -> tf.Operation:
        """Fails if the padded waveforms would be too large."""
        longest = tf.reduce_max(tf.pad(lengths, [[0, 1]]))
        padded = tf.size(lengths, tf.int64) * longest
        return checks.require(
            padded <= self.max_samples,
            f"`{name}` must have at most {self.max_samples} padded samples in "
            "all: files times samples of the longest file, because shorter "
            "files are padded. Send fewer or shorter files. Received padded "
            "samples, files and samples of the longest file:",
            padded,
            tf.size(lengths),
            longest,
        )


def _num_samples(content: tf.Tensor) -> tf.Tensor:
    """Samples of a WAV file of 16 bits, from its headers.

    At most the samples that fit into the file. 0 without a chunk of samples;
    such a file cannot be decoded.
    """
    size = tf.cast(tf.strings.length(content), tf.int64)

    def is_before_samples(start):
        has_chunk = start + _CHUNK <= size
        at = tf.where(has_chunk, start, 0)
        return has_chunk & (tf.strings.substr(content, at, 4) != b"data")

    def bytes_of_chunk(start):
        number = tf.strings.substr(content, start + 4, 4)
        number = tf.io.decode_raw(number, tf.uint8)
        return tf.reduce_sum(tf.cast(number, tf.int64) * _PLACES)

    (start,) = tf.while_loop(
        is_before_samples,
        lambda start: (start + _CHUNK + bytes_of_chunk(start),),
        (tf.constant(_HEADER, tf.int64),),
    )
    found = tf.cond(
        start + _CHUNK <= size,
        lambda: tf.minimum(bytes_of_chunk(start), size - start - _CHUNK),
        lambda: tf.zeros((), tf.int64),
    )
    return found // 2
