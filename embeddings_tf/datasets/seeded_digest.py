"""Orders names by chance, the same way in every process."""

import hashlib


def seeded_digest(name: str, seed: int) -> bytes:
    """Returns the SHA-256 of `"seed/name"`."""
    text = f"{seed}/{name}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
