"""Free Spoken Digit: verification of words, the method of Monteiro et al. 2020.

Five speakers say each digit 50 times. The task is verification of the word,
from the recording to the score, for a speaker who is not in the training data.
Each fold has one test speaker, one validation speaker and three training
speakers. The classes are the digits, and a batch contains recordings of all
training speakers. With one class per digit and speaker, the distance would
learn to separate the same word of two speakers.

`spoken_digit_speakers` is the reverse task: verification of the speaker, on
held-out words. All five speakers are in the training data, so it only shows
that the method runs.

As in the paper: 30 MFCC of 25 ms every 10 ms, frames without speech dropped,
means over 3 seconds subtracted; encoder and learned distance trained together
with an additive-margin classifier (or without it, or a triplet loss alone);
label smoothing, dropout and gradient clipping; whole utterances at test.

Departures from the paper:

- No augmentation, except in `spoken_digit_learned_distance_babble`, where the
  babble is made of the training recordings.
- Recordings have 8 kHz, which leaves frequencies up to 3700 Hz.
- Crops have 60 frames, almost a whole word.
- The network has fewer channels, and embeddings have 64 dimensions instead of
  512. The distance has three hidden layers instead of four.
- Adam with cosine decay replaces momentum, weight decay and warm-up.
- The baseline's triplets differ (`sections.TRIPLET_BASELINE`).
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe

# Parts of a name such as "7_jackson_32.wav".
DIGIT = {"feature": "audio/filename", "pattern": r"^(\d)_"}
SPEAKER = {"feature": "audio/filename", "pattern": r"^\d_(.+)_"}
BABBLE = {
    "babble": {"noise": "babble", "snr": (10.0, 20.0), "num_sources": (3, 7)}
}


def words(method: dict, **more):
    """Digits are the classes; speakers are held out."""
    return _common(DIGIT, SPEAKER, (10, 8), plda_dims=9, **method, **more)


def speakers(method: dict):
    """Speakers are the classes; digits are held out."""
    return _common(SPEAKER, DIGIT, (5, 16), plda_dims=4, **method)


def _common(label, group, batch, plda_dims, **more):
    return sections.config(
        "spoken_digit",
        label=label,
        folds=sections.folds("train", test_split="", group=group),
        front_end={
            "name": "front_end",
            "sample_rate": 8000,
            "num_coefficients": 30,
            "num_mel_bins": 30,
            "low_frequency": 20.0,
            "high_frequency": 3700.0,
        },
        utterances={"num_frames": 60, "min_num_frames": 60},
        batches=sections.class_batches(*batch),
        **sections.x_vectors(30, num_epochs=20, steps_per_epoch=30),
        **more,
        patience=10,
        evaluation=sections.verification(plda_dims, num_resamples=1000),
    )


WITHOUT_CLASSIFIER = sections.learned_distance(num_units=128)
WITH_CLASSIFIER = sections.learned_distance(
    num_units=128, **sections.speaker_classifier(sections.X_VECTOR_DIM)
)
RECIPES = {
    "spoken_digit_learned_distance": Recipe(
        "Learned distance with an additive-margin classifier",
        words,
        {"method": WITH_CLASSIFIER},
    ),
    "spoken_digit_learned_distance_babble": Recipe(
        "Learned distance with a classifier, also on copies with babble",
        words,
        {"method": WITH_CLASSIFIER, "augmentation": BABBLE},
    ),
    "spoken_digit_learned_distance_without_auxiliary": Recipe(
        "Learned distance without the classifier",
        words,
        {"method": WITHOUT_CLASSIFIER},
    ),
    "spoken_digit_triplet": Recipe(
        "Triplet loss, the baseline",
        words,
        {"method": sections.TRIPLET_BASELINE},
    ),
    "spoken_digit_speakers": Recipe(
        "Learned distance between speakers, held-out words",
        speakers,
        {"method": WITH_CLASSIFIER},
    ),
}
