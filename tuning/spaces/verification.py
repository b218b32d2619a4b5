"""Verification: one search for every method, by the equal error rate.

For `omniglot_verification_*`, `tiny_images_*`, `spoken_digit_*`, `an4_*` and
their like, also their triplet baselines. Every method gets the learning rate,
the dimensions of encoders that leave them open and are trained, and the
constants of the method (`tuning/methods.py`); batches stay as they are. A
learned distance with an `encoder_loss` gets the constants of both, except for
the distance's own fields where the recipe is scored by the cosine
(`validation.score`) of an encoder that the distance does not train. Choose by
`val_accuracy_at_equal_error`, which is 1 - EER of this score, on fold 0.
"""

from tuning.fields import choose
from tuning.methods import choose_constants


def space(hyperparameters, config):
    if "dim" in config.encoder and not config.freeze_encoder:
        choose(hyperparameters, config, {"encoder.dim": (32, 64, 128)})
    choose_constants(hyperparameters, config)
