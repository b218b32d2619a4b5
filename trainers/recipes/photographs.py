"""Shared by the recipes of photographs: Monteiro et al. 2020, Section 4.4, C.

A ResNet-50 that has seen ImageNet before, embeddings of 128 dimensions, groups
of five images of a class, random crops of 224 x 224 pixels, mirrored half of
the time; at test the square in the middle.

`imagenet` is the study of the distance's depth: hidden layers of 256 units, one
to five of them, five here,

    --config.objective.distance.hidden_units='(256,)'

measured over all 1.25 billion pairs of the 50,000 validation images. The paper
shows a figure without numbers: a depth of 1 on par with the triplet baseline,
more than 1 better.

`retrieval` is of classes never trained on: CUB-200-2011 and Cars196, the second
half of the classes, and Stanford Online Products, the official split. A fifth
of the training classes is withheld for validation, of which the paper does not
speak. Recall@k is a figure in the paper, too. Published normalised mutual
information of k-means, and with clusters assigned by the distance, in per cent:
CUB-200-2011 60.5 (64.1), Cars196 59.9 (63.5), products 89.2 (92.9).

Not run on the real sets. Where the recipes depart from the paper and its code:
24 groups of five in a batch, the code's default being 64; in `imagenet`, 5,000
training images are withheld for validation; momentum, weight decay, dropout and
smoothing of `imagenet`, and all of the optimiser's settings in `retrieval`, are
not published, only searched, and are ours; `retrieval` has neither rotation nor
perspective, grey or noise; the triplet baseline is that of `cifar10`, without a
classifier. It starts from the run `initial_weights`; set to
nothing, `--config.initial_weights=`, from ImageNet's weights.
"""

import ml_collections

from trainers.recipes.learning_rates import inverse_square_root
from trainers.recipes.learning_rates import steps

DIM, SIZE = 128, 224
NUM_CLASSES, NUM_PER_CLASS = 24, 5


def learned_distance(auxiliary: bool = True) -> dict:
    """The distance of five layers, with or without an auxiliary softmax."""
    objective = {
        "name": "LearnedDistance",
        "distance": {
            "name": "PairDistance",
            "hidden_units": (256,) * 5,
            "dropout": 0.1,
        },
        "label_smoothing": 0.1,
    }
    if auxiliary:
        # Its classes are those of the training split.
        objective["auxiliary"] = "softmax"
    return {"objective": objective}


def triplet() -> dict:
    """The baseline, scored by cosines."""
    return {
        "loss": {
            "name": "TripletLoss",
            "margin": 0.3,
            "mining": "hard",
            "distance": "cosine",
        }
    }


def imagenet(method: dict):
    """1,000 classes, the same in training and test; 50 epochs."""
    num_images = 1_281_167 - 5_000
    steps_per_epoch = num_images // (NUM_CLASSES * NUM_PER_CLASS)
    return _config(
        dataset="imagenet2012",
        method=method,
        learning_rate=steps(1e-3, every=10 * steps_per_epoch, factor=0.1),
        steps_per_epoch=steps_per_epoch,
        num_epochs=50,
        split=f"train[:{num_images}]",
        monitor="val_accuracy_at_equal_error",
        validation={"split": f"train[{num_images}:]"},
        evaluation={
            "name": "verification",
            "splits": ("validation",),
            "plda": {"num_dims": DIM},
            "num_resamples": 0,
        },
    )


def retrieval(
    dataset: str, num_images: int, auxiliary: bool, allow_fewer: bool = False
):
    """New classes; `num_images` are in all training classes."""
    num_epochs = 60
    # A fifth is withheld.
    steps_per_epoch = num_images * 4 // 5 // (NUM_CLASSES * NUM_PER_CLASS)
    config = _config(
        dataset=dataset,
        method=learned_distance(auxiliary),
        # At most 0.01.
        learning_rate=inverse_square_root(0.3, warmup_steps=1_000),
        steps_per_epoch=steps_per_epoch,
        num_epochs=num_epochs,
        split="train",
        monitor="val_recall_at_1",
        validation={"split": "validation"},
        evaluation={
            "name": "retrieval",
            "splits": ("test",),
            "distance": "cosine",
            "k": (1, 2, 4, 8),
            "cluster": True,
        },
    )
    config.folds = {
        "split": "train",
        "test_split": "test",
        "num_folds": 5,
        "fold": 0,
        "num_per_class": 0,  # all
    }
    config.initial_weights = "runs/imagenet_learned_distance"
    config.batches.allow_fewer = allow_fewer
    return config


def _config(
    dataset,
    method,
    learning_rate,
    steps_per_epoch,
    num_epochs,
    split,
    monitor,
    validation,
    evaluation,
):
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": dataset,
            "split": split,
            # Of each split; images beyond that are decoded in every epoch.
            "images": {"size": SIZE, "cache_gib": 2.0},
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": NUM_CLASSES,
                "num_per_class": NUM_PER_CLASS,
            },
            "encoder": {
                "name": "resnet50_encoder",
                "dim": DIM,
                "weights": "imagenet",
                "image_shape": (SIZE, SIZE, 3),
            },
            **method,
            "optimizer": {
                "name": "SGDWithL2",
                "learning_rate": learning_rate,
                "momentum": 0.9,
                "l2": 1e-4,
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": steps_per_epoch,
            "num_epochs": num_epochs,
            "monitor": monitor,
            "patience": num_epochs,
            "validation": validation,
            "evaluation": evaluation,
        }
    )
