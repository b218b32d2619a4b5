"""CMU AN4: verification of speakers, the method of Monteiro et al. 2020.

The paper trains on thousands of speakers of VoxCeleb; AN4 has 84. There are
five ways of training:

- encoder and learned distance together, with an additive-margin classifier of
  the training speakers (the paper's main model);
- the same without the classifier (the paper's ablation);
- the encoder alone with a triplet loss, scored by cosine and PLDA;
- the triplet loss and the classifier (the paper's baseline). A learned distance
  of these embeddings is trained beside them and does not change them;
- the learned distance and the lifted structure loss together, without a
  classifier (not in the paper).

The default is five folds by speaker over all 84 speakers. To use the data
set's own split, 74 speakers for training (a fifth of them for validation) and
10 for the test:

    --config.folds.split=train --config.folds.test_split=test

As in the paper and its code: batches of 24 speakers with 5 utterances each,
label smoothing, dropout and gradient clipping; whole utterances at test,
repeated until they have at least 100 frames.

Departures from the paper:

- Features are 13 coefficients at 100 frames a second, as published with the
  set: no mean normalisation, voice activity detection or augmentation.
- The network has fewer channels, and embeddings have 64 dimensions instead of
  512. The distance has three hidden layers instead of four.
- Crops have 100 frames instead of 800, and the same length in all batches.
- Adam with cosine decay replaces momentum, weight decay and warm-up.
- The baseline's triplets differ (`sections.TRIPLET_BASELINE`).
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe


def speakers(method: dict, score: str = ""):
    """Verification of speakers who are not in the training data."""
    config = sections.config(
        "an4",
        folds=sections.folds("all", test_split=""),
        utterances={"num_frames": 100, "min_num_frames": 100},
        batches=sections.class_batches(24, 5),
        **sections.x_vectors(13, num_epochs=30, steps_per_epoch=20),
        **method,
        patience=15,
        evaluation=sections.verification(plda_dims=32, num_resamples=1000),
    )
    if score:
        config.validation.score = score
    return config


RECIPES = {
    "an4_learned_distance": Recipe(
        "Learned distance with an additive-margin classifier",
        speakers,
        {
            "method": sections.learned_distance(
                **sections.speaker_classifier(sections.X_VECTOR_DIM)
            )
        },
    ),
    "an4_learned_distance_without_auxiliary": Recipe(
        "Learned distance without the classifier",
        speakers,
        {"method": sections.learned_distance()},
    ),
    "an4_triplet_classifier": Recipe(
        "Triplet loss with a classifier, the paper's baseline",
        speakers,
        {
            "method": sections.learned_distance(
                encoder_loss=sections.TRIPLET_BASELINE["loss"],
                train_encoder=False,
                **sections.speaker_classifier(sections.X_VECTOR_DIM),
            ),
            "score": "cosine",
        },
    ),
    "an4_lifted_structure_joint": Recipe(
        "Learned distance of joint embeddings: LiftedStructureLoss",
        speakers,
        {
            "method": sections.learned_distance(
                encoder_loss={"name": "LiftedStructureLoss"}
            )
        },
    ),
    "an4_triplet": Recipe(
        "Triplet loss, the baseline",
        speakers,
        {"method": sections.TRIPLET_BASELINE},
    ),
}
