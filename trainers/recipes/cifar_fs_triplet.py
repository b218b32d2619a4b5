"""Triplet loss, the baseline of the learned distance, CIFAR-FS.

Not in the paper; see `cifar_fs_learned_distance`. Not run on the real set.
"""

from trainers.recipes import mini_imagenet


def get_config():
    return mini_imagenet.triplet(
        "cifar100/cifar_fs", {"name": "cifar_resnet18_encoder"}
    )
