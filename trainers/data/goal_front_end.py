"""The features of recordings that the recipe of a goal takes."""

# At lower rates, one of the mel bins contains no frequency of the spectrum.
LEAST_RATE = 1320


def goal_front_end(sample_rate: int) -> dict:
    """Returns the section `front_end` for recordings of a rate.

    Raises:
        ValueError: If the rate is too low for the features.
    """
    if sample_rate < LEAST_RATE:
        raise ValueError(
            f"the recordings have {sample_rate} samples per second; a goal "
            f"takes recordings of at least {LEAST_RATE}. Resample them, or "
            "write a recipe of your own, docs/training.md"
        )
    return {
        "name": "front_end",
        "sample_rate": int(sample_rate),
        "num_coefficients": 30,
        "num_mel_bins": 30,
        "low_frequency": 20.0,
        "high_frequency": float(min(7600, sample_rate / 2 - 300)),
    }
