"""Learning rates as config sections, built by `keras.optimizers.schedules`."""


def cosine_decay(learning_rate: float, num_steps: int) -> dict:
    """From `learning_rate` to zero along half a cosine."""
    return {
        "name": "CosineDecay",
        "initial_learning_rate": learning_rate,
        "decay_steps": num_steps,
    }


def halving(learning_rate: float, every: int) -> dict:
    """Halved every `every` steps: the paper's schedule."""
    return {
        "name": "ExponentialDecay",
        "initial_learning_rate": learning_rate,
        "decay_steps": every,
        "decay_rate": 0.5,
        "staircase": True,
    }
