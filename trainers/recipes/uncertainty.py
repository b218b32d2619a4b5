"""Trains an `UncertaintyHead` beside an embedding; tests it on damaged images.

The test images are of held-out classes. Batches contain varied damage
(`degrade_randomly`) without blur and noise. The test also has blur and noise,
which the head does not know.

`uncertainty_image_folder_*` needs a folder of images of one size, in
`--config.dataset=image_folder:PATH`: a network of four blocks for 32 x 32
pixels (`--config.encoder.image_shape`). Our results are on Tiny ImageNet at
32 x 32, 200 classes: 120 for training, 40 for validation, 40 for the test.
`uncertainty_omniglot_*` are the 28 x 28 characters in four rotations of
Scott et al. 2019.

Nothing here is from a paper. 1,000 episodes are a screening, which takes ten
minutes on one core; docs/results/uncertainty.md has its results.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay
from trainers.recipes.recipe import Recipe

STEPS_PER_EPOCH, NUM_EPOCHS = 100, 10
HEAD = {"name": "UncertaintyHead"}
DAMAGE = {"name": "degrade_randomly"}
IMAGE_FOLDER = {
    "dataset": "image_folder:photos",
    "encoder": {"name": "image_encoder", "image_shape": (32, 32, 3)},
    "images": {"cache_gib": 1.0},
}
OMNIGLOT = {
    "dataset": "omniglot_rotations",
    "encoder": {
        "name": "omniglot_encoder",
        "image_shape": (28, 28, 1),
        "dark_ink": False,
        "uniform_biases": True,
        "fused": True,
    },
    # Every fifth drawing: the test has 1,692 classes of 20.
    "num_per_class": 4,
}


def uncertainty(
    dataset: str,
    encoder: dict,
    dim: int,
    method: dict,
    gaussian: bool,
    num_per_class: int = 100,
    **more,
):
    """Episodes of 20 classes, 5 supports and 5 queries, for 1,000 steps."""
    num_steps = STEPS_PER_EPOCH * NUM_EPOCHS
    few = num_per_class < 5 + 15
    return sections.config(
        dataset,
        preprocess=DAMAGE,
        batches=sections.episodes(20, num_support=5),
        encoder={**encoder, "dim": dim, "gaussian": gaussian},
        **method,
        uncertainty=HEAD,
        optimizer=sections.adam(
            cosine_decay(1e-3, num_steps), global_clipnorm=10.0
        ),
        steps_per_epoch=STEPS_PER_EPOCH,
        num_epochs=NUM_EPOCHS,
        monitor="val_recall_at_1",
        patience=NUM_EPOCHS,
        validation={
            "split": "validation",
            "num_per_class": 2 if few else 25,
        },
        evaluation={
            "name": "uncertainty",
            "splits": ("test",),
            "num_per_class": num_per_class,
            "num_support": 1 if few else 5,
            "num_query": 3 if few else 15,
        },
        **more,
    )


# Data and dimensions of the embedding.
PROTOTYPICAL = {
    "uncertainty_image_folder_dim_2_prototypical": (IMAGE_FOLDER, 2),
    "uncertainty_image_folder_dim_16_prototypical": (IMAGE_FOLDER, 16),
    "uncertainty_image_folder_dim_64_prototypical": (IMAGE_FOLDER, 64),
    "uncertainty_omniglot_dim_2_prototypical": (OMNIGLOT, 2),
    "uncertainty_omniglot_dim_16_prototypical": (OMNIGLOT, 16),
    "uncertainty_omniglot_dim_64_prototypical": (OMNIGLOT, 64),
}
STOCHASTIC_PROTOTYPES = {
    "uncertainty_image_folder_dim_2_stochastic_prototypes": (IMAGE_FOLDER, 2),
    "uncertainty_image_folder_dim_16_stochastic_prototypes": (IMAGE_FOLDER, 16),
    "uncertainty_image_folder_dim_64_stochastic_prototypes": (IMAGE_FOLDER, 64),
    "uncertainty_omniglot_dim_2_stochastic_prototypes": (OMNIGLOT, 2),
    "uncertainty_omniglot_dim_16_stochastic_prototypes": (OMNIGLOT, 16),
    "uncertainty_omniglot_dim_64_stochastic_prototypes": (OMNIGLOT, 64),
}
RECIPES = {
    name: Recipe(
        f"Prototypical networks with an uncertainty head, {dim} dimensions",
        uncertainty,
        {
            **data,
            "dim": dim,
            "method": sections.loss("PrototypicalLoss", num_support=5),
            "gaussian": False,
        },
    )
    for name, (data, dim) in PROTOTYPICAL.items()
} | {
    name: Recipe(
        f"Stochastic prototypes with an uncertainty head, {dim} dimensions",
        uncertainty,
        {
            **data,
            "dim": dim,
            "method": sections.stochastic_prototypes(num_support=5),
            "gaussian": True,
        },
    )
    for name, (data, dim) in STOCHASTIC_PROTOTYPES.items()
}
