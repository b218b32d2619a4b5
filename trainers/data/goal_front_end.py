"""The features of recordings that the recipe of a goal takes."""


def goal_front_end(sample_rate: int) -> dict:
    """Returns the section `front_end` for recordings of a rate."""
    return {
        "name": "front_end",
        "sample_rate": int(sample_rate),
        "num_coefficients": 30,
        "num_mel_bins": 30,
        "low_frequency": 20.0,
        "high_frequency": float(min(7600, sample_rate / 2 - 300)),
    }
