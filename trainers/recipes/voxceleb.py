"""VoxCeleb: verification of unseen speakers, Monteiro et al. 2020, Table 2.

Training data are the 5,994 speakers of VoxCeleb2. The tests are the three
lists of VoxCeleb1: the original list of 40 speakers, the extended list of all
1,251 speakers (E), and the hard list, whose pairs share nationality and sex
(H). Encoder and distance of four layers are trained together, with an
additive-margin classifier or without it. Hyper-parameters are the best values
of the paper's search. Published equal error rates in per cent:

                                   original   E      H
    learned distance               2.51       2.57   4.73
    cosine                         4.97       4.77   8.61
    both fused                     2.51       2.53   4.69
    PLDA                           3.75       3.61   5.98
    learned distance, without
      the classifier               3.44       3.70   7.76

Not run on the real data. As in the paper, features come from Kaldi: 30 MFCC,
means over 3 seconds subtracted, frames without speech dropped, augmented with
noise, music, babble and reverberation. Steps 0 to 4 of egs/voxceleb/v2 make
them. `$EMBEDDINGS_TF_MANUAL/kaldi` is the folder where these steps were run:

    data/train_combined_no_sil    voxceleb2_train alone and its augmentation
    data/voxceleb1_no_sil         all of VoxCeleb1, prepared the same way
    data/voxceleb1/trials_original, trials_extended and trials_hard

The lists must contain Kaldi's names. This converts a line such as
`1 id10270/x6uYqmx31kE/00001.wav ...`:
`sed -E 's/([^ ]+)\\/([^ ]+)\\/([0-9]+)\\.wav/\\1-\\2-\\3/g'`.

Departures from the paper and its code:

- VoxCeleb1 is used for the test only.
- Utterances are drawn for each batch, instead of in groups made once an epoch,
  and the 24 speakers of a batch are different.
- All batches have 800 frames; the paper cuts some to a random length.
- `voxceleb_triplet` is ours: the paper's Table 2 has no triplet loss. Its
  triplets are those of the other recipes (`sections.TRIPLET_BASELINE`).
- The warm-up of 2,000 steps is one of the searched values; the paper does not
  state the best value.

As in the paper, the checkpoint is chosen by a random part of the extended
list, which is a test list. To avoid this, name another list and split in
`config.validation`.
"""

from trainers.recipes import sections
from trainers.recipes.learning_rates import inverse_square_root
from trainers.recipes.recipe import Recipe

# The classifier uses this dimension; distance, cosine and PLDA use 512.
PROJECTION_DIM = 256
SPLIT, TRIALS = "data/voxceleb1_no_sil", "kaldi/data/voxceleb1/trials_"


def speakers(method: dict):
    """Encoder and distance, with or without the auxiliary classifier."""
    num_epochs, steps_per_epoch = 400, 5_000
    return sections.config(
        "kaldi",
        "data/train_combined_no_sil",
        utterances={"num_frames": 800, "min_num_frames": 100},
        batches=sections.class_batches(24, 5),
        encoder={
            "name": "x_vector_encoder",
            "dim": 512,
            "num_coefficients": 30,
            "channels": (512, 512, 512, 512, 1500),
        },
        **method,
        optimizer=sections.sgd(
            inverse_square_root(1.5, warmup_steps=2_000),
            l2=1e-3,
            momentum=0.95,
            nesterov=True,
            global_clipnorm=10.0,
        ),
        steps_per_epoch=steps_per_epoch,
        num_epochs=num_epochs,
        monitor="val_accuracy_at_equal_error",
        patience=num_epochs,
        validation={
            "split": SPLIT,
            "trials": f"{TRIALS}extended",
            "num_trials": 20_000,
        },
        evaluation=sections.verification(
            plda_dims=200,
            splits=(),
            trials_split=SPLIT,
            trials={
                "original": f"{TRIALS}original",
                "extended": f"{TRIALS}extended",
                "hard": f"{TRIALS}hard",
            },
        ),
    )


RECIPES = {
    "voxceleb_learned_distance": Recipe(
        "Learned distance with an additive-margin classifier",
        speakers,
        {
            "method": sections.learned_distance(
                num_layers=4, **sections.speaker_classifier(PROJECTION_DIM)
            )
        },
    ),
    "voxceleb_learned_distance_without_auxiliary": Recipe(
        "Learned distance without the classifier",
        speakers,
        {"method": sections.learned_distance(num_layers=4)},
    ),
    "voxceleb_triplet": Recipe(
        "Triplet loss, the baseline",
        speakers,
        {"method": sections.TRIPLET_BASELINE},
    ),
}
