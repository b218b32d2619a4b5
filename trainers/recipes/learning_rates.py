"""Learning rates as config sections, for `trainers.training.model`."""


def cosine_decay(learning_rate: float, num_steps: int) -> dict:
    """From `learning_rate` to zero along half a cosine."""
    return {
        "name": "CosineDecay",
        "initial_learning_rate": learning_rate,
        "decay_steps": num_steps,
    }


def halving(learning_rate: float, every: int) -> dict:
    """Halved every `every` steps."""
    return steps(learning_rate, every, 0.5)


def inverse_square_root(scale: float, warmup_steps: int) -> dict:
    """Linear warm-up, then `scale / sqrt(step)`."""
    return {
        "name": "InverseSquareRootDecay",
        "scale": scale,
        "warmup_steps": warmup_steps,
    }


def steps(learning_rate: float, every: int, factor: float) -> dict:
    """Multiplied by `factor` every `every` steps."""
    return {
        "name": "ExponentialDecay",
        "initial_learning_rate": learning_rate,
        "decay_steps": every,
        "decay_rate": factor,
        "staircase": True,
    }
