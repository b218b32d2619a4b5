"""CIFAR-10 and mini-ImageNet: verification, Monteiro et al. 2020, Table 1.

Encoder and learned distance are trained together with an additive-margin
classifier of the training classes, or the encoder alone with a triplet loss.
`*_triplet_classifier` is the paper's baseline: the triplet loss and the same
classifier (a distance that does not change the encoder is trained beside).
All hyper-parameters are the best values of the paper's search over 100 runs.

CIFAR-10: the trials are all 49,995,000 unordered pairs of the test images. The
ten test classes are the training classes. mini-ImageNet: the test classes are
held out. The checkpoint is chosen on the 16 validation classes. The test is all
72 million pairs of the 20 test classes, and claims of test images to be in a
class enrolled with five other images. Published equal error rate / 1 - AUC, %:

    CIFAR-10                triplet, cosine  3.80 /  0.98
                            learned distance 3.43 /  0.60
                            cosine           3.56 /  1.03
                            both fused       3.42 /  0.80
    mini-ImageNet           triplet, cosine 28.91 / 21.58
      validation            learned distance 28.64 / 21.01
                            cosine          30.66 / 23.70
                            both fused      28.49 / 20.90
      test                  triplet, cosine 29.68 / 22.56
                            learned distance 29.26 / 22.04
                            cosine          32.97 / 27.34
                            both fused      29.32 / 22.24

`cifar_fs_*` are not in the paper. They are its few-shot setting on images of
32 x 32 pixels: the settings of mini-ImageNet with the encoder of CIFAR-10, on
the 64, 16 and 20 classes of Bertinetto et al. 2019, arXiv:1805.08136.

None of these recipes was run in full: 600 epochs of ResNet-18 need a GPU.

Departures from the paper and its code:

- CIFAR-10: the last 2,000 training images are the validation data; the
  authors' code uses the test data. Batches of 64 are 8 images of 8 classes
  instead of random. Positive and negative pairs have equal weight in the loss,
  instead of weights by triplets.
- mini-ImageNet: batches are 2 images of 64 classes instead of 128 random
  images; pooling is over the whole image; validation is the error over all
  pairs instead of the pairs within batches; label smoothing is over the 64
  training classes instead of 100.
- The learning rate is halved after more than 10 epochs without a better
  validation error of the learned distance (of the cosine if there is no
  distance). The paper uses the lower error of both, and counts only relative
  improvements of at least 1e-4.
- The margin of the triplet loss is assumed, and its triplets differ
  (`sections.TRIPLET_BASELINE`). `*_triplet` has no classifier.
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe


def cifar10(method: dict, l2: float, score: str = ""):
    """Pairs of test images; the classes are the training classes."""
    return _common(
        "cifar10",
        split="train[:48000]",
        validation="train[48000:]",
        batches=sections.class_batches(8, 8),
        steps_per_epoch=750,
        encoder={"name": "cifar_resnet18_encoder"},
        optimizer=sections.sgd(0.01, l2),
        evaluation=sections.verification(plda_dims=9),
        score=score,
        **method,
    )


def few_shot(
    dataset: str,
    encoder: str,
    method: dict,
    learning_rate: float,
    l2: float,
    score: str = "",
):
    """Pairs and claims of held-out classes."""
    return _common(
        dataset,
        split="train",
        validation="validation",
        batches=sections.class_batches(64, 2),
        steps_per_epoch=300,  # 600 images a class
        encoder={"name": encoder},
        optimizer=sections.sgd(learning_rate, l2),
        evaluation=sections.verification(
            plda_dims=63, splits=("validation", "test"), num_enrolled=5
        ),
        score=score,
        **method,
    )


def _common(dataset, validation, score, **more):
    num_epochs = 600
    return sections.config(
        dataset,
        preprocess={"name": "shift_and_mirror", "padding": 4},
        plateau={"factor": 0.5, "patience": 10, "min_learning_rate": 1e-7},
        num_epochs=num_epochs,
        monitor="val_accuracy_at_equal_error",
        patience=num_epochs,
        validation={"split": validation, "score": score},
        **more,
    )


MINI_IMAGENET = {
    "dataset": "mini_imagenet",
    "encoder": "mini_imagenet_resnet18_encoder",
}
CIFAR_FS = {
    "dataset": "cifar100/cifar_fs",
    "encoder": "cifar_resnet18_encoder",
}
FEW_SHOT_DISTANCE = {
    "method": sections.learned_distance(
        num_units=350, auxiliary="additive_margin"
    ),
    "learning_rate": 0.01,
    "l2": 1e-3,
}
FEW_SHOT_TRIPLET = {
    "method": sections.TRIPLET_BASELINE,
    "learning_rate": 0.1,
    "l2": 1e-4,
}
# The distance does not change the encoder, so the cosine is of this loss alone.
BASELINE = {
    "method": sections.learned_distance(
        encoder_loss=sections.TRIPLET_BASELINE["loss"],
        train_encoder=False,
        auxiliary="additive_margin",
        label_smoothing=0.2,
    ),
    "score": "cosine",
}
LEARNED_DISTANCE = "Learned distance with an additive-margin classifier"
TRIPLET = "Triplet loss, the baseline"
CLASSIFIER = "Triplet loss with a classifier, the paper's baseline"
RECIPES = {
    "cifar10_learned_distance": Recipe(
        LEARNED_DISTANCE,
        cifar10,
        {
            "method": sections.learned_distance(
                num_units=350,
                dropout=0.2,
                label_smoothing=0.2,
                auxiliary="additive_margin",
            ),
            "l2": 1e-3,
        },
    ),
    "cifar10_triplet": Recipe(
        TRIPLET, cifar10, {"method": sections.TRIPLET_BASELINE, "l2": 1e-4}
    ),
    "cifar10_triplet_classifier": Recipe(
        CLASSIFIER, cifar10, {**BASELINE, "l2": 1e-4}
    ),
    "mini_imagenet_learned_distance": Recipe(
        LEARNED_DISTANCE, few_shot, {**MINI_IMAGENET, **FEW_SHOT_DISTANCE}
    ),
    "mini_imagenet_triplet": Recipe(
        TRIPLET, few_shot, {**MINI_IMAGENET, **FEW_SHOT_TRIPLET}
    ),
    "mini_imagenet_triplet_classifier": Recipe(
        CLASSIFIER, few_shot, {**MINI_IMAGENET, **FEW_SHOT_TRIPLET, **BASELINE}
    ),
    "cifar_fs_learned_distance": Recipe(
        LEARNED_DISTANCE, few_shot, {**CIFAR_FS, **FEW_SHOT_DISTANCE}
    ),
    "cifar_fs_triplet": Recipe(
        TRIPLET, few_shot, {**CIFAR_FS, **FEW_SHOT_TRIPLET}
    ),
    "cifar_fs_triplet_classifier": Recipe(
        CLASSIFIER, few_shot, {**CIFAR_FS, **FEW_SHOT_TRIPLET, **BASELINE}
    ),
}
