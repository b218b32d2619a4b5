"""Photographs: Monteiro et al. 2020, Section 4.4 and Appendix C.

A ResNet-50 pretrained on ImageNet, with embeddings of 128 dimensions. Batches
contain five images of each class: random crops of 224 x 224 pixels, half of
them mirrored. The test uses the central square.

`imagenet_*` study the depth of the distance: one to five hidden layers of 256
units, five by default,

    --config.objective.distance.hidden_units='(256,)'

evaluated over all 1.25 billion pairs of the 50,000 validation images. The
paper shows a figure without numbers: a depth of 1 equals the triplet baseline,
larger depths are better.

The other recipes are retrieval of held-out classes:
CUB-200-2011 and Cars196 (the second half of the classes) and Stanford Online
Products (the official split). They start from the run in `initial_weights`;
with `--config.initial_weights=` they start from the weights of ImageNet.
Recall@k is also only a figure in the paper. Published normalised mutual
information of k-means, and in brackets of clusters assigned by the distance, in
per cent:
CUB-200-2011 60.5 (64.1), Cars196 59.9 (63.5), products 89.2 (92.9).

Not run on the real data. Departures from the paper and its code:

- 24 classes in a batch; the default of the authors' code is 64.
- Validation data are 5,000 training images of ImageNet, or a fifth of the
  training classes in retrieval; the paper does not state them.
- The paper searches, but does not publish, momentum, weight decay, dropout and
  label smoothing on ImageNet and all settings of the optimiser in retrieval.
  The values here are ours.
- Pixels are centred by the mean of ImageNet; the paper's code uses mean and
  deviation of each retrieval set.
- Retrieval has no rotation, perspective, grey or noise augmentation.
- The triplet loss is trained without a classifier, and its triplets differ
  (`sections.TRIPLET_BASELINE`).
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import inverse_square_root
from trainers.recipes.learning_rates import steps
from trainers.recipes.recipe import Recipe

DIM, SIZE = 128, 224
NUM_CLASSES, NUM_PER_CLASS = 24, 5


def imagenet(method: dict):
    """1,000 classes, the same in training and test."""
    num_images = 1_281_167 - 5_000
    steps_per_epoch = num_images // (NUM_CLASSES * NUM_PER_CLASS)
    return _common(
        "imagenet2012",
        split=f"train[:{num_images}]",
        learning_rate=steps(1e-3, every=10 * steps_per_epoch, factor=0.1),
        steps_per_epoch=steps_per_epoch,
        num_epochs=50,
        monitor="val_accuracy_at_equal_error",
        validation={"split": f"train[{num_images}:]"},
        evaluation=sections.verification(DIM, splits=("validation",)),
        **method,
    )


def retrieval(
    dataset: str, num_images: int, method: dict, allow_fewer: bool = False
):
    """New classes; `num_images` are in all training classes."""
    # A fifth of the classes is validation data.
    num_training = num_images * 4 // 5
    return _common(
        dataset,
        folds=sections.folds("train", test_split="test"),
        initial_weights="runs/imagenet_learned_distance",
        # At most 0.01.
        learning_rate=inverse_square_root(0.3, warmup_steps=1_000),
        steps_per_epoch=num_training // (NUM_CLASSES * NUM_PER_CLASS),
        num_epochs=60,
        monitor="val_recall_at_1",
        validation={"split": "validation"},
        evaluation=sections.retrieval("cosine", k=(1, 2, 4, 8), cluster=True),
        batches={"allow_fewer": allow_fewer},
        nesterov=True,  # as in the authors' code for retrieval
        **method,
    )


def _common(
    dataset, learning_rate, num_epochs, batches=(), nesterov=False, **more
):
    return sections.config(
        dataset,
        # Memory per split; other images are decoded in every epoch.
        images={"size": SIZE, "cache_gib": 2.0},
        batches=sections.class_batches(
            NUM_CLASSES, NUM_PER_CLASS, **dict(batches)
        ),
        encoder={
            "name": "resnet50_encoder",
            "dim": DIM,
            "weights": "imagenet",
            "image_shape": (SIZE, SIZE, 3),
        },
        optimizer=sections.sgd(
            learning_rate, l2=1e-4, nesterov=nesterov, global_clipnorm=10.0
        ),
        num_epochs=num_epochs,
        patience=num_epochs,
        **more,
    )


WITHOUT_CLASSIFIER = sections.learned_distance(num_layers=5)
WITH_CLASSIFIER = sections.learned_distance(num_layers=5, auxiliary="softmax")
CUB200 = {
    "dataset": "caltech_birds2011/disjoint_classes",
    "num_images": 5_864,
}
CARS196 = {"dataset": "cars196/disjoint_classes", "num_images": 8_054}
PRODUCTS = {
    "dataset": "stanford_online_products",
    "num_images": 59_551,
    "allow_fewer": True,  # 2 to 12 images a class
}
WITH = "Learned distance with a softmax classifier, new classes"
WITHOUT = "Learned distance without the classifier, new classes"
RECIPES = {
    "imagenet_learned_distance": Recipe(
        "Learned distance with a softmax classifier",
        imagenet,
        {"method": WITH_CLASSIFIER},
    ),
    "imagenet_triplet": Recipe(
        "Triplet loss, the baseline",
        imagenet,
        {"method": sections.TRIPLET_BASELINE},
    ),
    "cub200_learned_distance": Recipe(
        WITH, retrieval, {**CUB200, "method": WITH_CLASSIFIER}
    ),
    "cub200_learned_distance_without_auxiliary": Recipe(
        WITHOUT, retrieval, {**CUB200, "method": WITHOUT_CLASSIFIER}
    ),
    "cars196_learned_distance": Recipe(
        WITH, retrieval, {**CARS196, "method": WITH_CLASSIFIER}
    ),
    "cars196_learned_distance_without_auxiliary": Recipe(
        WITHOUT, retrieval, {**CARS196, "method": WITHOUT_CLASSIFIER}
    ),
    "products_learned_distance": Recipe(
        WITH, retrieval, {**PRODUCTS, "method": WITH_CLASSIFIER}
    ),
    "products_learned_distance_without_auxiliary": Recipe(
        WITHOUT, retrieval, {**PRODUCTS, "method": WITHOUT_CLASSIFIER}
    ),
}
