"""Triplet loss, the baseline of the learned distance, mini-ImageNet."""

from trainers.recipes import mini_imagenet


def get_config():
    return mini_imagenet.triplet(
        "mini_imagenet", {"name": "mini_imagenet_resnet18_encoder"}
    )
