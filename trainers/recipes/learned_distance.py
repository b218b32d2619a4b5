"""The objective that recipes of the learned distance share."""

OBJECTIVE = {
    "name": "LearnedDistance",
    "distance": {
        "name": "PairDistance",
        "hidden_units": (256, 256, 256),
        "dropout": 0.1,
    },
    "label_smoothing": 0.1,
}
