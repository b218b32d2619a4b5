"""The enrolled examples of a gallery, and its calibration."""

import dataclasses

from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings


@dataclasses.dataclass(frozen=True, eq=False)
class GalleryState:
    """The enrolled examples of a gallery, and its calibration.

    examples: The enrolled examples; None in a new gallery.
    held_out: Examples of the last `calibrate`; None without a threshold.
    false_accept_rate: The rate given to `calibrate`; None: by the classes.
    threshold: The smallest accepted score.
    calibration: How the threshold was obtained.
    """

    examples: LabelledEmbeddings | None = None
    held_out: LabelledEmbeddings | None = None
    false_accept_rate: float | None = None
    threshold: float | None = None
    calibration: dict | None = None
