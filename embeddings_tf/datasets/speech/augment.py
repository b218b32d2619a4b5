"""Makes noisy and reverberant copies of recordings."""

import numpy as np

from embeddings_tf.datasets.speech.add_noise import add_noise
from embeddings_tf.datasets.speech.reverberate import reverberate
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import sequence


def augment(
    x: Utterances,
    noise: Utterances | None = None,
    room_responses: Utterances | None = None,
    *,
    snr: tuple[float, float] = (5.0, 15.0),
    num_sources: tuple[int, int] = (1, 1),
    seed: int = 0,
) -> Utterances:
    """Copies recordings with random noise and room reverberation.

    Use it on training data, and train on the recordings and their copies: one
    copy with noise, one with music, one with babble, one with reverberation.
    Babble is several speakers at once, and `x` itself may be its source. For
    each recording, the function draws uniformly a room, the number of sources,
    the sources, and the signal-to-noise ratio of each source. `reverberate` and
    `add_noise` apply them. The published ratios are 5 to 15 dB for music, and
    10 to 20 dB for babble of three to seven speakers.

    The copy takes no memory: a recording is computed when you index it, with
    the same result each time. `copy.map(...)` computes each recording once.

    Args:
        x: Recordings with one sample per frame.
        noise: Recordings with the sample rate of `x`. Each is repeated or
            cropped to the length of the recording in `x`. If `noise` is `x`, a
            recording is never its own noise.
        room_responses: Impulse responses of rooms.
        snr: Smallest and largest signal-to-noise ratio in dB.
        num_sources: Smallest and largest number of different sources.
        seed: Integer, at least 0.

    Returns:
        `Utterances` of `float32` samples, with the number and lengths of `x`.

    Raises:
        ValueError: If neither noise nor room responses are given, a range is
            not as described, there are too few sources, or sample rates differ;
            when you index a recording, if it contains NaN, or its copy
            exceeds float32.

    References:

    - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375)
    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section 4.2

    Example:

    >>> x = embeddings_tf.datasets.Utterances(np.ones(10), lengths=[6, 4])
    >>> babble = embeddings_tf.datasets.speech.augment(x, x, snr=(0.0, 0.0))
    >>> babble.lengths, babble[1]
    (array([6, 4]), array([2., 2., 2., 2.], dtype=float32))
    """
    if noise is None and room_responses is None:
        raise ValueError("Pass `noise`, `room_responses`, or both.")
    for name, recordings in (
        ("x", x),
        ("noise", noise),
        ("room_responses", room_responses),
    ):
        if not isinstance(recordings, Utterances | None) or x is None:
            raise ValueError(
                f"`{name}` must be recordings, `datasets.Utterances`; received "
                f"{type(recordings).__name__}."
            )
    quietest, loudest = (
        finite_number("snr", ratio) for ratio in sequence("snr", snr, 2)
    )
    if quietest > loudest:
        raise ValueError(
            f"`snr` must be the least and the largest in dB; received {snr!r}."
        )
    fewest, most = (
        positive_integer("num_sources", number)
        for number in sequence("num_sources", num_sources, 2)
    )
    seed = random_seed("seed", seed)
    for name, others in (("noise", noise), ("room_responses", room_responses)):
        if others is None:
            continue
        if len(others) < 1:
            raise ValueError(f"`{name}` has no recordings; pass at least one.")
        if None not in (x.sample_rate, others.sample_rate) and (
            x.sample_rate != others.sample_rate
        ):
            raise ValueError(
                f"`{name}` has {others.sample_rate} samples per second, the "
                f"recordings {x.sample_rate}; resample one of them."
            )
    if noise is not None and not (
        fewest <= most <= len(noise) - (1 if noise is x else 0)
    ):
        raise ValueError(
            "`num_sources` must be the smallest and the largest number, at "
            f"most the other recordings of noise; received {num_sources!r} for "
            f"{len(noise)} recordings."
        )

    def read(number):
        rng = np.random.default_rng([seed, number])
        waveform = x[number]
        if room_responses is not None:
            room = rng.integers(len(room_responses))
            waveform = reverberate(waveform, room_responses[room])
        if noise is not None:
            sources = rng.integers(fewest, most, endpoint=True)
            rows = rng.permutation(len(noise))
            if noise is x:
                rows = rows[rows != number]
            # Of another place for each recording.
            place = int(rng.integers(2**31))
            crops = noise.with_num_frames(len(waveform), place)
            ratios = rng.uniform(quietest, loudest, size=sources)
            waveform = add_noise(waveform, crops[rows[:sources]], ratios)
        return waveform.numpy()

    return Utterances(read, x.lengths, sample_rate=x.sample_rate, names=x.names)
