"""Omniglot: are two drawings of one character, never trained on?

These recipes are not in a paper. They ask the question of Monteiro et al. 2020
where there are many classes: about 1,040 training characters of 1,623, in five
folds by character, with the network, batches and length of
`omniglot_retrieval_*`. The trials are all pairs of the test characters, and
claims of drawings to be of a character that five drawings enroll.

| recipe `omniglot_verification_*` | the encoder learns from |
|---|---|
| `learned_distance` | the distance and a classifier, the paper's main model |
| `without_classifier` | the distance alone |
| `alternating` | as the first; encoder and distance train in turns |
| `symmetric` | as the first; the distance averages (a, b) and (b, a) |
| `triplet` | the triplet loss |
| `triplet_classifier` | the triplet loss and a classifier, as in the paper |
| `LOSS_beside` | another loss; the distance learns beside it |
| `LOSS_frozen` | nothing: the distance learns on the encoder of `LOSS_beside` |
| `LOSS_joint` | another loss and the distance |

In `triplet_classifier` and `LOSS_beside` the distance does not change the
encoder (`train_encoder=False`), so cosine and Euclidean distance score the
embeddings of that loss alone. The embeddings still change while this distance
learns. In `LOSS_frozen` they are fixed: the encoder is trained first, for as
many batches as the distance then has. The checkpoint has the best validation
error of the score that the row reports: the distance, or the cosine in
`triplet` and `triplet_classifier`. The classifier is an additive-margin
softmax, without a projection. It raises the error here
(docs/results/verification.md). Validation uses five drawings of each of the
validation characters.
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe

TRIPLET = sections.TRIPLET_BASELINE["loss"]
CLASSIFIER = {"auxiliary": "additive_margin"}
LIFTED_STRUCTURE = {"name": "LiftedStructureLoss"}
BINOMIAL_DEVIANCE = {"name": "BinomialDevianceLoss"}
HISTOGRAM = {"name": "HistogramLoss"}
# Where the encoders of `LOSS_frozen` are trained, by the name of the loss.
ENCODERS = {
    "LiftedStructureLoss": "runs/omniglot_verification_lifted_structure_beside",
    "BinomialDevianceLoss": (
        "runs/omniglot_verification_binomial_deviance_beside"
    ),
    "HistogramLoss": "runs/omniglot_verification_histogram_beside",
    "TripletLoss": "runs/omniglot_verification_triplet_beside",
}


def verification(method: dict, score: str = "", **training):
    """Batches of 12 characters; pairs and claims of held-out characters."""
    return sections.config(
        "omniglot",
        folds=sections.folds("train+test"),
        batches=sections.class_batches(12, 5),
        encoder={"name": "omniglot_encoder", "dim": 64},
        **method,
        **training,
        **sections.pairs_of_new_classes(
            1e-3, 1_200, num_per_class=5, plda_dims=32, score=score
        ),
    )


def symmetric() -> dict:
    method = sections.learned_distance(**CLASSIFIER)
    method["objective"]["distance"]["symmetric"] = True
    return method


def beside(loss: dict) -> Recipe:
    """A distance of embeddings that another loss trains at the same time."""
    return Recipe(
        f"Learned distance beside {loss['name']}, which trains the encoder",
        verification,
        {
            "method": sections.learned_distance(
                encoder_loss=loss, train_encoder=False
            )
        },
    )


def frozen(loss: dict) -> Recipe:
    """A distance of the embeddings of an encoder that is trained already."""
    return Recipe(
        f"Learned distance on the fixed encoder of {loss['name']}",
        verification,
        {
            "method": sections.learned_distance(),
            "initial_weights": ENCODERS[loss["name"]],
            "freeze_encoder": True,
        },
    )


def joint(loss: dict) -> Recipe:
    """A distance that trains the embeddings together with another loss."""
    return Recipe(
        f"Learned distance of joint embeddings: {loss['name']}",
        verification,
        {
            "method": sections.learned_distance(
                encoder_loss=loss, train_encoder=True
            )
        },
    )


RECIPES = {
    "omniglot_verification_learned_distance": Recipe(
        "Learned distance with an additive-margin classifier",
        verification,
        {"method": sections.learned_distance(**CLASSIFIER)},
    ),
    "omniglot_verification_without_classifier": Recipe(
        "Learned distance without the classifier",
        verification,
        {"method": sections.learned_distance()},
    ),
    "omniglot_verification_alternating": Recipe(
        "Learned distance and encoder in turns, classifier",
        verification,
        {
            "method": sections.learned_distance(
                updates="alternating", **CLASSIFIER
            )
        },
    ),
    "omniglot_verification_symmetric": Recipe(
        "Symmetric learned distance, classifier",
        verification,
        {"method": symmetric()},
    ),
    "omniglot_verification_triplet": Recipe(
        "Triplet loss, scored by the cosine",
        verification,
        {"method": sections.TRIPLET_BASELINE},
    ),
    "omniglot_verification_triplet_classifier": Recipe(
        "Triplet loss with a classifier, the paper's baseline",
        verification,
        {
            "method": sections.learned_distance(
                encoder_loss=TRIPLET, train_encoder=False, **CLASSIFIER
            ),
            "score": "cosine",
        },
    ),
    "omniglot_verification_lifted_structure_beside": beside(LIFTED_STRUCTURE),
    "omniglot_verification_lifted_structure_frozen": frozen(LIFTED_STRUCTURE),
    "omniglot_verification_lifted_structure_joint": joint(LIFTED_STRUCTURE),
    "omniglot_verification_binomial_deviance_beside": beside(BINOMIAL_DEVIANCE),
    "omniglot_verification_binomial_deviance_frozen": frozen(BINOMIAL_DEVIANCE),
    "omniglot_verification_binomial_deviance_joint": joint(BINOMIAL_DEVIANCE),
    "omniglot_verification_histogram_beside": beside(HISTOGRAM),
    "omniglot_verification_histogram_frozen": frozen(HISTOGRAM),
    "omniglot_verification_histogram_joint": joint(HISTOGRAM),
    "omniglot_verification_triplet_beside": beside(TRIPLET),
    "omniglot_verification_triplet_frozen": frozen(TRIPLET),
    "omniglot_verification_triplet_joint": joint(TRIPLET),
}
