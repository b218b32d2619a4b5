"""Warns of images whose axes look like (channels, height, width)."""

import warnings


def warn_of_channels_first(shape: tuple[int, ...]) -> None:
    """Warns if the first of three axes looks like channels, as in PyTorch.

    Training goes on, because images may have one or three rows.

    Args:
        shape: Shape of an example.
    """
    # Maps of features may have one row, one column and many channels.
    if len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 4:
        warnings.warn(
            f"examples of shape {tuple(map(int, shape))} look like channels "
            "first, and images are (height, width, channels); write "
            "x.transpose(0, 2, 3, 1)",
            stacklevel=2,
        )
