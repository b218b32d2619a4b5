"""Shared by the recipes of persons: Ridgeway & Mozer 2018, Section 4.1.

Retrieval of persons never trained on, with the settings of the released
configurations: where these differ from the paper (F-statistic: 5 instead of up
to 10 images of a person; 1e-4 instead of 2e-4 on CUHK03), they hold. Batches
are those of the published epoch, without replacement. Not run on the real
sets so far.
"""

from trainers.recipes import class_retrieval


def cuhk03(loss, num_per_class, learning_rate, distance, patience):
    """The labeled set, 160 x 60 pixels; an epoch is about 80 batches."""
    return class_retrieval.config(
        dataset="cuhk03/labeled",
        split="train",
        encoder=_encoder((160, 60, 3)),
        loss=loss,
        num_per_class=num_per_class,
        learning_rate=learning_rate,
        distance=distance,
        patience=patience,
        steps_per_epoch=80,
    )


def market1501(loss, num_per_class, learning_rate, distance, patience):
    """Both parts pooled, 128 x 64 pixels; an epoch is about 200 batches."""
    return class_retrieval.config(
        dataset="market1501/identity",
        split="train+test",
        encoder=_encoder((128, 64, 3)),
        loss=loss,
        num_per_class=num_per_class,
        learning_rate=learning_rate,
        distance=distance,
        patience=patience,
        steps_per_epoch=200,
    )


def _encoder(image_shape):
    return {
        "name": "person_re_identification_encoder",
        "dim": 500,
        "image_shape": image_shape,
    }
