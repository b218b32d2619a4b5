"""Omniglot: are two drawings of one character, never trained on?

These recipes are not in a paper. They ask the question of Monteiro et al. 2020
where there are many classes: about 1,040 training characters of 1,623, in five
folds by character, with the network, batches and length of
`omniglot_retrieval_*`. The trials are all pairs of the test characters, and
claims of drawings to be of a character that five drawings enrol.

| recipe `omniglot_verification_*` | the encoder learns from |
|---|---|
| `learned_distance` | the distance and a classifier, the paper's main model |
| `without_classifier` | the distance alone |
| `alternating` | as the first; encoder and distance train in turns |
| `symmetric` | as the first; the distance averages (a, b) and (b, a) |
| `triplet` | the triplet loss |
| `triplet_classifier` | the triplet loss and a classifier, as in the paper |
| `LOSS_frozen` | another loss; the distance learns to score its embeddings |
| `LOSS_joint` | another loss and the distance |

In `triplet_classifier` and `LOSS_frozen` the distance does not change the
encoder (`train_encoder=False`), so cosine and Euclidean distance score the
embeddings of that loss alone. The checkpoint has the best validation error of
the score that the row reports: the distance, or the cosine in `triplet` and
`triplet_classifier`. The classifier is an additive-margin softmax, without a
projection. It raises the error here (docs/results/verification.md). Validation
uses five drawings of each of the validation characters.
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe

TRIPLET = sections.TRIPLET_BASELINE["loss"]
CLASSIFIER = {"auxiliary": "additive_margin"}
LOSSES = {
    "lifted_structure": {"name": "LiftedStructureLoss"},
    "binomial_deviance": {"name": "BinomialDevianceLoss"},
    "histogram": {"name": "HistogramLoss"},
    "triplet": TRIPLET,
}


def verification(method: dict, score: str = ""):
    """Batches of 12 characters; pairs and claims of held-out characters."""
    return sections.config(
        "omniglot",
        folds=sections.folds("train+test"),
        batches=sections.class_batches(12, 5),
        encoder={"name": "omniglot_encoder", "dim": 64},
        **method,
        **sections.pairs_of_new_classes(
            1e-3, 1_200, num_per_class=5, plda_dims=32, score=score
        ),
    )


def symmetric() -> dict:
    method = sections.learned_distance(**CLASSIFIER)
    method["objective"]["distance"]["symmetric"] = True
    return method


def on_top(loss: dict, train_encoder: bool, **classifier) -> dict:
    """A distance of embeddings that another loss trains."""
    return sections.learned_distance(
        encoder_loss=loss, train_encoder=train_encoder, **classifier
    )


# A description and the arguments of `verification`.
METHODS = {
    "learned_distance": (
        "Learned distance with an additive-margin classifier",
        {"method": sections.learned_distance(**CLASSIFIER)},
    ),
    "without_classifier": (
        "Learned distance without the classifier",
        {"method": sections.learned_distance()},
    ),
    "alternating": (
        "Learned distance and encoder in turns, classifier",
        {
            "method": sections.learned_distance(
                updates="alternating", **CLASSIFIER
            )
        },
    ),
    "symmetric": (
        "Symmetric learned distance, classifier",
        {"method": symmetric()},
    ),
    "triplet": (
        "Triplet loss, scored by the cosine",
        {"method": sections.TRIPLET_BASELINE},
    ),
    "triplet_classifier": (
        "Triplet loss with a classifier, the paper's baseline",
        {
            "method": on_top(TRIPLET, train_encoder=False, **CLASSIFIER),
            "score": "cosine",
        },
    ),
    **{
        f"{name}_{kind}": (
            f"Learned distance of {kind} embeddings: {loss['name']}",
            {"method": on_top(loss, train_encoder=kind == "joint")},
        )
        for name, loss in LOSSES.items()
        for kind in ("frozen", "joint")
    },
}
RECIPES = {
    f"omniglot_verification_{name}": Recipe(about, verification, arguments)
    for name, (about, arguments) in METHODS.items()
}
