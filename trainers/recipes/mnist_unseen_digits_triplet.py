"""Triplet loss, the baseline, digits of MNIST never trained on."""

from trainers.recipes import mnist


def get_config():
    config = mnist.unseen_digits()
    config.loss = {
        "name": "TripletLoss",
        "margin": 0.3,
        "mining": "hard",
        "distance": "cosine",
    }
    return config
