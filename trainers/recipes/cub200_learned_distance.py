"""Learned distance with a softmax, retrieval of new classes, CUB-200-2011."""

from trainers.recipes import photographs


def get_config():
    return photographs.retrieval(
        "caltech_birds2011/disjoint_classes",
        num_images=5_864,
        auxiliary=True,
    )
