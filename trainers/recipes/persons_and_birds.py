"""Retrieval of persons and birds: Ridgeway & Mozer 2018, Section 4.1.

CUHK03 (the labeled set) and Market-1501 (both parts pooled) contain images of
persons. CUB-200-2011 (both parts pooled) contains birds, as frozen features of
Inception v3. The test classes are not in training.

The settings are from the released configurations. They differ from the
paper's text: the F-statistic loss takes 5 images of a person and 4 images of a
bird instead of up to 10; its learning rate is 1e-4 instead of 2e-4 on CUHK03
and 3e-4 instead of 2e-4 on CUB-200-2011. As in the paper, batches follow an
epoch without replacement. Not run on the real data.

Departure from the paper: `steps_per_epoch` is the same for all losses of a data
set. A pass of the F-statistic loss, which takes fewer images of a class, has
more batches: about twice as many for persons and 165 for birds, where losses
of 10 images have about 66. So early stopping, in epochs, waits for half as many
batches as in the paper for persons, and for birds for 61 % (F-statistic) and
152 % (losses of 10 images).
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe


def retrieval(
    dataset: str,
    split: str,
    encoder: dict,
    steps_per_epoch: int,
    loss: dict,
    distance: str,
    num_per_class: int = 10,
    learning_rate: float = 1e-4,
    patience: int = 20,
):
    """12 classes a batch, early stopping by mean recall@1 to recall@20."""
    return sections.config(
        dataset,
        folds=sections.folds(split, test_split=""),
        batches=sections.class_batches(12, num_per_class, allow_fewer=True),
        encoder=encoder,
        **loss,
        optimizer=sections.adam(learning_rate, epsilon=1e-8),
        steps_per_epoch=steps_per_epoch,
        num_epochs=1000,
        monitor="val_mean_recall",
        patience=patience,
        validation={"split": "validation", "max_k": 20},
        evaluation=sections.retrieval(distance, k=tuple(range(1, 21))),
    )


def _persons(image_shape: tuple[int, ...]) -> dict:
    return {
        "name": "person_re_identification_encoder",
        "dim": 500,
        "image_shape": image_shape,
    }


AUTHORS = {"form": "authors"}
# `steps_per_epoch`: about the batches of an epoch of losses of 10 images.
CUHK03 = {
    "dataset": "cuhk03/labeled",
    "split": "train",
    "encoder": _persons((160, 60, 3)),
    "steps_per_epoch": 80,
}
CUHK03_LOSSES = sections.retrieval_losses(70, AUTHORS, AUTHORS)
CUHK03_LOSSES["f_statistic"] |= {"num_per_class": 5, "patience": 50}
MARKET = {
    "dataset": "market1501/identity",
    "split": "train+test",
    "encoder": _persons((128, 64, 3)),
    "steps_per_epoch": 200,
}
MARKET_LOSSES = sections.retrieval_losses(63, AUTHORS, AUTHORS)
MARKET_LOSSES["f_statistic"] |= {
    "num_per_class": 5,
    "learning_rate": 2e-4,
    "patience": 50,
}
CUB200 = {
    "dataset": "caltech_birds2011_inception_features",
    "split": "train+test",
    "encoder": {"name": "bird_features_encoder", "dim": 500},
    "steps_per_epoch": 100,
}
CUB200_LOSSES = sections.retrieval_losses(
    3, {**AUTHORS, "negative_cost": 25.0}, AUTHORS
)
CUB200_LOSSES["f_statistic"] |= {"num_per_class": 4, "learning_rate": 3e-4}
# The arguments of `retrieval`.
VALUES = {
    "cuhk03_binomial_deviance": CUHK03 | CUHK03_LOSSES["binomial_deviance"],
    "cuhk03_f_statistic": CUHK03 | CUHK03_LOSSES["f_statistic"],
    "cuhk03_histogram": CUHK03 | CUHK03_LOSSES["histogram"],
    "cuhk03_lifted_structure": CUHK03 | CUHK03_LOSSES["lifted_structure"],
    "cuhk03_triplet": CUHK03 | CUHK03_LOSSES["triplet"],
    "market1501_binomial_deviance": MARKET | MARKET_LOSSES["binomial_deviance"],
    "market1501_f_statistic": MARKET | MARKET_LOSSES["f_statistic"],
    "market1501_histogram": MARKET | MARKET_LOSSES["histogram"],
    "market1501_lifted_structure": MARKET | MARKET_LOSSES["lifted_structure"],
    "market1501_triplet": MARKET | MARKET_LOSSES["triplet"],
    "cub200_binomial_deviance": CUB200 | CUB200_LOSSES["binomial_deviance"],
    "cub200_f_statistic": CUB200 | CUB200_LOSSES["f_statistic"],
    "cub200_histogram": CUB200 | CUB200_LOSSES["histogram"],
    "cub200_lifted_structure": CUB200 | CUB200_LOSSES["lifted_structure"],
    "cub200_triplet": CUB200 | CUB200_LOSSES["triplet"],
}
RECIPES = {
    name: Recipe(
        "Retrieval of held-out classes, the released settings",
        retrieval,
        values,
    )
    for name, values in VALUES.items()
}
