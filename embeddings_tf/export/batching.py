"""Batching parameters of TensorFlow Serving for one version."""

FILE = "batching_params.pbtxt"


def batching_parameters(max_rows: int = 64) -> str:
    """Returns `BatchingParameters` in text format.

    A server reads the file with `--enable_batching` and
    `--enable_per_model_batching_parameters`. The sizes are powers of two, so a
    request is padded to at most twice its rows. The thread pool belongs to the
    server, not to the model.

    Args:
        max_rows: Most rows in a batch, at least 1.
    """
    sizes = [2**power for power in range((max_rows - 1).bit_length())]
    sizes = [size for size in sizes if size < max_rows] + [max_rows]
    lines = [
        f"max_batch_size {{ value: {max_rows} }}",
        "batch_timeout_micros { value: 2000 }",
        "max_enqueued_batches { value: 100 }",
        *(f"allowed_batch_sizes: {size}" for size in sizes),
    ]
    return "\n".join(lines) + "\n"
