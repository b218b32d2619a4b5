"""Checks the gallery of an export."""

from embeddings_tf.scoring.fingerprint import fingerprint
from embeddings_tf.scoring.gallery import Gallery
from embeddings_tf.scoring.open_set import checked_typicality


def require_gallery(gallery, model) -> None:
    """Raises ValueError unless it is a filled gallery of this model."""
    if not isinstance(gallery, Gallery):
        raise ValueError(
            "`gallery` must be a scoring.Gallery or None; received "
            f"{gallery!r}. Read a file with scoring.Gallery.load(path, model)."
        )
    checked_typicality(gallery.typicality)
    gallery.examples_  # noqa: B018  refuses an empty gallery
    found, expected = fingerprint(gallery.model), fingerprint(model)
    if found != expected:
        raise ValueError(
            f"`gallery` contains embeddings of another model (fingerprint "
            f"{found}; the exported model has {expected}). Enroll again with "
            "this model."
        )
