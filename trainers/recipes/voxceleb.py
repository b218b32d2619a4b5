"""Shared by the VoxCeleb recipes: Monteiro et al. 2020, Table 2.

Verification of speakers never heard, trained on the 5,994 speakers of
VoxCeleb2, tested on the three lists of VoxCeleb1: the original one of 40
speakers, the extended one of all 1,251 (E), and the hard one, of the same
nationality and sex (H). Encoder and distance of four layers trained at once
with an additive-margin classifier, or without it, by the winners of the
paper's search. Published equal error rates, in per cent:

                                   original   E      H
    learned distance               2.51       2.57   4.73
    cosine                         4.97       4.77   8.61
    both fused                     2.51       2.53   4.69
    PLDA                           3.75       3.61   5.98
    learned distance, without
      the classifier               3.44       3.70   7.76

Not run on the real set. Features are those of Kaldi, as in the paper: 30 MFCC,
means over 3 seconds subtracted, frames without speech dropped, augmented with
noise, music, babble and reverberation, by steps 0 to 4 of egs/voxceleb/v2.
`$EMBEDDINGS_TF_MANUAL/kaldi` is the folder from which they were run, with

    data/train_combined_no_sil    voxceleb2_train alone, with what augments it
    data/voxceleb1_no_sil         all of VoxCeleb1, prepared the same way
    data/voxceleb1/trials_original, trials_extended and trials_hard

where a line of a list, `1 id10270/x6uYqmx31kE/00001.wav ...`, is written with
Kaldi's names: `sed -E 's/([^ ]+)\\/([^ ]+)\\/([0-9]+)\\.wav/\\1-\\2-\\3/g'`.

Where the recipes depart from the paper and its code: VoxCeleb1 is for the test
alone; utterances are drawn anew for each batch instead of in groups made once
an epoch, and 24 speakers of a batch are different; all batches have 800 frames,
none is cut to a random length. The warm-up of 2,000 steps is one of those that
were searched; which one won is not published. As in the paper, a run is chosen
by a random part of the extended list, which is a test list: to choose
without it, name another list and split in `validation`.
"""

import ml_collections

from trainers.recipes.learning_rates import inverse_square_root

# What the classifier reads; the distance, the cosine and PLDA read 512.
PROJECTION_DIM = 256


def learned_distance(auxiliary: bool):
    """Encoder and distance, with or without the auxiliary classifier."""
    num_epochs, steps_per_epoch = 400, 5_000
    config = ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "kaldi",
            "split": "data/train_combined_no_sil",
            "utterances": {"num_frames": 800, "min_num_frames": 100},
            "batches": {
                "name": "class_balanced_batches",
                "num_classes": 24,
                "num_per_class": 5,
            },
            "encoder": {
                "name": "x_vector_encoder",
                "dim": 512,
                "num_coefficients": 30,
                "channels": (512, 512, 512, 512, 1500),
            },
            "objective": {
                "name": "LearnedDistance",
                "distance": {
                    "name": "PairDistance",
                    "hidden_units": (256, 256, 256, 256),
                    "dropout": 0.1,
                },
                "label_smoothing": 0.1,
            },
            "optimizer": {
                "name": "SGDWithL2",
                "learning_rate": inverse_square_root(1.5, warmup_steps=2_000),
                "momentum": 0.95,
                "nesterov": True,
                "l2": 1e-3,
                "global_clipnorm": 10.0,
            },
            "steps_per_epoch": steps_per_epoch,
            "num_epochs": num_epochs,
            "monitor": "val_accuracy_at_equal_error",
            "patience": num_epochs,
            # As in the paper, a random part of the extended list.
            "validation": {
                "split": "data/voxceleb1_no_sil",
                "trials": "kaldi/data/voxceleb1/trials_extended",
                "num_trials": 20_000,
            },
            "evaluation": {
                "name": "verification",
                "splits": (),
                "trials_split": "data/voxceleb1_no_sil",
                "trials": {
                    "original": "kaldi/data/voxceleb1/trials_original",
                    "extended": "kaldi/data/voxceleb1/trials_extended",
                    "hard": "kaldi/data/voxceleb1/trials_hard",
                },
                "plda": {"num_dims": 200},
                "num_resamples": 0,
            },
        }
    )
    if auxiliary:
        # Its classes are those of the training split.
        config.objective.auxiliary = "additive_margin"
        config.objective.projection = {
            "name": "x_vector_projection",
            "dim": PROJECTION_DIM,
        }
    return config
