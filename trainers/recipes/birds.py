"""Shared by the recipes of birds: Ridgeway & Mozer 2018, Section 4.1.

Retrieval of species never trained on, from frozen features of Inception v3,
with the settings of the released configurations: where these differ from the
paper (F-statistic: 4 instead of up to 10 images, 3e-4 instead of 2e-4), they
hold. Batches are those of the published epoch. Not run on the real set so far.
"""

from trainers.recipes import class_retrieval


def cub200(loss, num_per_class, learning_rate, distance, patience):
    """200 species pooled; an epoch is about 100 batches."""
    return class_retrieval.config(
        dataset="caltech_birds2011_inception_features",
        split="train+test",
        encoder={"name": "bird_features_encoder", "dim": 500},
        loss=loss,
        num_per_class=num_per_class,
        learning_rate=learning_rate,
        distance=distance,
        patience=patience,
        steps_per_epoch=100,
    )
