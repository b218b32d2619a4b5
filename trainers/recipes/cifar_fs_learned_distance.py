"""Learned distance with an additive-margin classifier, CIFAR-FS.

Not in the paper, but its few-shot setting on images of 32x32 pixels: the
settings of mini-ImageNet with the encoder of CIFAR-10, on the 64, 16 and 20
classes of Bertinetto et al. 2019, arXiv:1805.08136. Not run on the real set.
"""

from trainers.recipes import mini_imagenet


def get_config():
    return mini_imagenet.learned_distance(
        "cifar100/cifar_fs", {"name": "cifar_resnet18_encoder"}
    )
