"""Drawings of a coloured L."""

import numpy as np

SIZE = 64
LEG = 30.0
THICKNESS = 8.0


def draw_l_shapes(
    orientation: np.ndarray,
    hue: np.ndarray,
    leg: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Draws a coloured L on black for each orientation.

    The square around the L is centred in the image. Value and saturation of the
    colour are 1; edges are antialiased.

    Args:
        orientation: Counterclockwise rotation in degrees, `(n,)`.
        hue: Hue in degrees, `(n,)`, or `(n, 64, 64)` for a hue per pixel.
        leg: Length of the legs in units of 30 pixels; a number or `(n,)`.

    Returns:
        `uint8` of shape `(n, 64, 64, 3)`.
    """
    orientation = np.asarray(orientation, np.float32)[:, None, None]
    side = np.broadcast_to(np.asarray(leg, np.float32) * LEG, len(orientation))[
        :, None, None
    ]
    place = np.arange(SIZE, dtype=np.float32) - (SIZE - 1) / 2
    right, up = place[None, None, :], -place[None, :, None]
    cosine, sine = (f(np.deg2rad(orientation)) for f in (np.cos, np.sin))
    # Distances from the corner of the L, along its two legs.
    along = side / 2 + cosine * right + sine * up
    across = side / 2 - sine * right + cosine * up
    thickness = np.minimum(THICKNESS, side)
    ink = np.maximum(
        _inside(along, side, across, thickness),
        _inside(along, thickness, across, side),
    )
    hue = np.asarray(hue, np.float32)
    if hue.ndim == 1:
        hue = hue[:, None, None]
    # Colours are computed where there is ink, in a tenth of the pixels.
    is_ink = ink > 0
    colours = _rgb(np.broadcast_to(hue, ink.shape)[is_ink])
    images = np.zeros((*ink.shape, 3), np.uint8)
    images[is_ink] = np.rint(255 * ink[is_ink][:, None] * colours)
    return images


def _inside(along, length, across, width):
    """Share of each pixel in a rectangle, from the distance to its edges."""
    edge = np.minimum(
        np.minimum(along, length - along), np.minimum(across, width - across)
    )
    return np.clip(edge + 0.5, 0, 1)


def _rgb(hue):
    """Red, green and blue of full value and saturation, on a last axis."""
    shifted = (np.array([5, 3, 1], np.float32) + hue[..., None] / 60) % 6
    return 1 - np.clip(np.minimum(shifted, 4 - shifted), 0, 1)
