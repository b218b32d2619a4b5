"""Natural images of 32 x 32 pixels: pairs of classes never trained on.

The setting of mini-ImageNet in Monteiro et al. 2020, in small. `image_folder`
is any folder of such images with a subfolder per class, in
`--config.dataset=image_folder:PATH`. Ours is Tiny ImageNet at 32 x 32: 120
classes for training, 40 for validation and 40 for the test, by division of the
classes (`config.division.seed`). The network is ResNet-18 at a quarter of its
width, and every method has the same number of batches. The trials are all pairs
of 50 images of each test class, two million, and claims with five enrolled
images.

The triplet loss of hard triplets does not train here without a classifier, so
`tiny_images_triplet_all` takes all triplets. The mining was not searched.

Departures from the recipes of mini-ImageNet: Adam with cosine decay, fewer
images (spread over each class in validation), 1,500 batches of 120 images.
"""

from trainers.recipes import omniglot_verification
from trainers.recipes import sections
from trainers.recipes.recipe import Recipe


def verification(method: dict, score: str = "", **training):
    """Batches of 24 classes; pairs and claims of held-out classes."""
    return sections.config(
        "image_folder:photos",
        images={"cache_gib": 1.0},
        preprocess={"name": "shift_and_mirror", "padding": 4},
        batches=sections.class_batches(24, 5),
        encoder={
            "name": "cifar_resnet18_encoder",
            "image_shape": (32, 32, 3),
            "width": 16,
        },
        **method,
        **training,
        **sections.pairs_of_new_classes(
            1e-3,
            1_500,
            num_per_class=25,
            plda_dims=100,
            score=score,
            num_tested=50,
            global_clipnorm=10.0,
        ),
    )


def _same_method(recipe: str) -> Recipe:
    """The method of a recipe of `omniglot_verification`, on these images."""
    other = omniglot_verification.RECIPES[recipe]
    return Recipe(other.about, verification, other.values)


RECIPES = {
    "tiny_images_learned_distance": _same_method(
        "omniglot_verification_learned_distance"
    ),
    "tiny_images_without_classifier": _same_method(
        "omniglot_verification_without_classifier"
    ),
    "tiny_images_triplet": _same_method("omniglot_verification_triplet"),
    "tiny_images_triplet_all": Recipe(
        "Triplet loss over all triplets, scored by the cosine",
        verification,
        {
            "method": sections.loss(
                "TripletLoss", margin=0.3, mining="all", distance="cosine"
            )
        },
    ),
    "tiny_images_triplet_classifier": _same_method(
        "omniglot_verification_triplet_classifier"
    ),
    "tiny_images_lifted_structure_beside": _same_method(
        "omniglot_verification_lifted_structure_beside"
    ),
    "tiny_images_lifted_structure_frozen": Recipe(
        "Learned distance on the fixed encoder of LiftedStructureLoss",
        verification,
        {
            "method": sections.learned_distance(),
            "initial_weights": "runs/tiny_images_lifted_structure_beside",
            "freeze_encoder": True,
        },
    ),
    "tiny_images_lifted_structure_joint": _same_method(
        "omniglot_verification_lifted_structure_joint"
    ),
}
