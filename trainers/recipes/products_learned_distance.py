"""Learned distance with a softmax, retrieval of new classes, products."""

from trainers.recipes import photographs


def get_config():
    return photographs.retrieval(
        "stanford_online_products",
        num_images=59_551,
        auxiliary=True,
        # Classes have 2 to 12 images.
        allow_fewer=True,
    )
