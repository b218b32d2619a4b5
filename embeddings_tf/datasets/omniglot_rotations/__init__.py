"""Omniglot in four rotations: the TFDS builder and its lists of characters."""
