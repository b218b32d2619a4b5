"""Learned distance with an additive-margin classifier, mini-ImageNet."""

from trainers.recipes import mini_imagenet


def get_config():
    return mini_imagenet.learned_distance(
        "mini_imagenet", {"name": "mini_imagenet_resnet18_encoder"}
    )
