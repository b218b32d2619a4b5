"""Batching parameters of TensorFlow Serving for one version."""

FILE = "batching_params.pbtxt"

# Rows that are computed at once, and batches that may wait.
LARGEST_BATCH, _WAITING = 64, 100
# Rows of a request to a model without a limit: the server needs a number.
_UNLIMITED = 2**20


def batching_parameters(max_rows: int | None, pad: bool = False) -> str:
    """Returns `BatchingParameters` in text format.

    A server reads the file with `--enable_batching` and
    `--enable_per_model_batching_parameters`. It computes at most 64 rows at
    once: small requests are joined, and larger ones are split. The sizes of
    batches are powers of two, so a batch is padded to at most twice its rows.
    The thread pool belongs to the server, not to the model.

    Args:
        max_rows: Most rows of a request; the server refuses more. None:
            2**20.
        pad: Whether to pad requests of different sizes along inner axes, such
            as waveforms with their lengths, so that they can be joined.
    """
    max_rows = max_rows or _UNLIMITED
    largest = min(LARGEST_BATCH, max_rows)
    sizes = [2**power for power in range((largest - 1).bit_length())]
    sizes = [size for size in sizes if size < largest] + [largest]
    # The queue must have space for the parts of the largest request.
    waiting = max(_WAITING, 2 * -(-max_rows // largest))
    lines = [
        f"max_batch_size {{ value: {max_rows} }}",
        "enable_large_batch_splitting { value: true }",
        f"max_execution_batch_size {{ value: {largest} }}",
        "batch_timeout_micros { value: 2000 }",
        f"max_enqueued_batches {{ value: {waiting} }}",
        *(f"allowed_batch_sizes: {size}" for size in sizes),
    ]
    if pad:
        lines.append("pad_variable_length_inputs: true")
    return "\n".join(lines) + "\n"
