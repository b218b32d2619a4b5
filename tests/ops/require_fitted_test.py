"""Objects that are used before their fit refuse with one sentence."""

import re

import keras
import numpy as np
import pytest

from embeddings_tf import models
from embeddings_tf import scoring
from embeddings_tf.ops.require_fitted import require_fitted

X = np.eye(3, dtype="float32")
ENCODER = keras.Sequential([keras.Input((3,)), keras.layers.Identity()])
FIT = "fit(x, labels)"


def test_returns_the_fitted_value():
    assert require_fitted(0.0, "The verifier", "fit(x)") == 0.0


@pytest.mark.parametrize(
    ("use", "name", "call"),
    [
        (
            lambda: models.PLDA().score(X, X),
            "The PLDA model",
            "fit(embeddings, labels) or PLDA.load(path)",
        ),
        (
            lambda: models.FewShotClassifier(ENCODER).predict(X),
            "The classifier",
            "fit(support, labels)",
        ),
        (
            lambda: scoring.Gallery(ENCODER).predict(X),
            "The gallery",
            "enroll(x, labels)",
        ),
        (
            lambda: scoring.NearestNeighbors(ENCODER).kneighbors(X),
            "The gallery",
            FIT,
        ),
        (
            lambda: scoring.Typicality().score_samples(X),
            "The typicality",
            FIT,
        ),
        (
            lambda: scoring.Verifier(ENCODER).predict(X, X),
            "The verifier",
            "fit(x, labels, false_accept_rate)",
        ),
        (
            lambda: scoring.LogisticCalibration().transform(0.0),
            "The calibration",
            "fit(scores, is_target)",
        ),
        (
            lambda: scoring.IsotonicCalibration().to_dict(),
            "The calibration",
            "fit(scores, is_target)",
        ),
    ],
)
def test_one_sentence(use, name, call):
    sentence = f"{name} is not fitted yet: call {call} first."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        use()
