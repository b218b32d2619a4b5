"""Same speaker or different speakers? On recordings made in this script.

    python examples/speaker_verification.py

A synthetic speaker has a pitch, a length of the vocal tract and a spectral
tilt; a recording is a random sequence of vowels with pauses and noise. The
script trains an encoder and a distance on 100 speakers, and verifies 20 other
speakers. It needs no data and takes about a minute on two cores.
"""

import argparse

import keras
import numpy as np
from scipy.signal import lfilter

from embeddings_tf import datasets, layers, metrics, models, objectives
from embeddings_tf import sampling, viz
from embeddings_tf.datasets import speech

RATE = 8000
# Frequencies of the first three formants of five vowels, in Hz.
VOWELS = [
    (730, 1090, 2440),
    (270, 2290, 3010),
    (300, 870, 2240),
    (530, 1840, 2480),
    (570, 840, 2410),
]
BANDWIDTHS = (80, 100, 140)


def random_speaker(rng) -> dict:
    """Properties common to all recordings of a speaker."""
    return {
        "pitch": rng.uniform(90, 250),
        "tract": rng.uniform(0.75, 1.3),
        "tilt": rng.uniform(0.75, 0.97),
        "breath": rng.uniform(0.0, 0.3),
    }


def random_vowel(rng, speaker) -> np.ndarray:
    """0.15 to 0.35 seconds: pulses of the voice through three resonances."""
    num_samples = int(rng.uniform(0.15, 0.35) * RATE)
    pitch = speaker["pitch"] * rng.uniform(0.85, 1.15)
    cycles = np.floor(np.arange(num_samples) * pitch / RATE)
    sound = np.diff(cycles, prepend=-1.0)  # 1 where a cycle starts
    sound += speaker["breath"] * 0.1 * rng.normal(size=num_samples)
    sound = lfilter([1.0], [1.0, -speaker["tilt"]], sound)
    for formant, width in zip(
        VOWELS[rng.integers(len(VOWELS))], BANDWIDTHS, strict=True
    ):
        frequency = formant * speaker["tract"] * rng.uniform(0.98, 1.02)
        radius = np.exp(-np.pi * width / RATE)
        angle = 2 * np.pi * frequency / RATE
        poles = [1.0, -2 * radius * np.cos(angle), radius**2]
        sound = lfilter([sum(poles)], poles, sound)
    return sound / np.sqrt(np.mean(sound**2)) * np.hanning(num_samples)


def record(rng, speaker) -> np.ndarray:
    """One to two seconds, in the range of 16-bit integers."""
    parts, num_samples = [], rng.uniform(1.0, 1.6) * RATE
    while sum(map(len, parts)) < num_samples:
        parts += [random_vowel(rng, speaker), np.zeros(RATE // 20)]
    sound = np.concatenate(parts)
    noise = rng.normal(size=len(sound)) * rng.uniform(0.02, 0.1)
    return 1000 * rng.uniform(0.5, 2.0) * (sound + noise)


def make_recordings(num_speakers: int, num_each: int, seed: int):
    """Features `(recordings, frames, 24)`, padded with 0, and the speakers."""
    rng = np.random.default_rng(seed)
    speakers = [random_speaker(rng) for _ in range(num_speakers)]
    labels = np.repeat(np.arange(num_speakers), num_each)
    recordings = [record(rng, speakers[label]) for label in labels]
    lengths = [len(recording) for recording in recordings]
    padded = np.zeros((len(recordings), max(lengths)), "float32")
    for row, recording in zip(padded, recordings, strict=True):
        row[: len(recording)] = recording
    frames, _ = speech.front_end(
        padded,
        lengths,
        sample_rate=RATE,
        num_coefficients=24,
        high_frequency=3700.0,
    )
    return frames.numpy(), labels


def train(x, labels, epochs: int, steps: int) -> models.EmbeddingModel:
    distance = layers.PairDistance(hidden_units=(64, 64))
    objective = objectives.LearnedDistance(distance)
    encoder = models.x_vector_encoder(
        32, num_coefficients=x.shape[-1], channels=(32, 32, 32, 32, 96)
    )
    model = models.EmbeddingModel(encoder, objective)
    model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=10.0))
    batches = datasets.batches(
        x,
        labels,
        sampling.class_balanced_batches(
            labels, num_classes=16, num_per_class=5, seed=0
        ),
    )
    model.fit(
        batches, steps_per_epoch=steps, epochs=epochs, shuffle=False, verbose=2
    )
    return model


def main() -> dict[str, float]:
    """Returns the equal error rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", default="speaker_verification.png")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100, help="per epoch")
    arguments = parser.parse_args()

    keras.utils.set_random_seed(0)
    x, labels = make_recordings(num_speakers=100, num_each=8, seed=0)
    model = train(x, labels, arguments.epochs, arguments.steps)

    # Every pair of two recordings of speakers who were not in training.
    x, labels = make_recordings(num_speakers=20, num_each=10, seed=1)
    embeddings = model.predict(x, verbose=0)
    first, second = np.triu_indices(len(x), k=1)
    is_target = labels[first] == labels[second]
    distance = model.objective.distance
    scores = {
        "learned distance": np.asarray(
            distance.all_pairs(embeddings, embeddings)
        )[first, second],
        "cosine": metrics.cosine_scores(embeddings, embeddings)[first, second],
    }
    rates = {}
    for name, score in scores.items():
        rates[name], threshold = metrics.equal_error_rate(score, is_target)
        print(
            f"{name}: equal error rate {100 * rates[name]:.1f} % "
            f"at the threshold {threshold:.2f}"
        )

    # A log-likelihood ratio above 0 means "same speaker". It is calibrated on
    # speakers of the training, and less so on other speakers.
    accepted = scores["learned distance"] > 0
    print(
        f"accepted at 0: {100 * accepted[is_target].mean():.1f} % of the pairs "
        f"of one speaker, {100 * accepted[~is_target].mean():.1f} % of the "
        "pairs of two speakers"
    )
    curves = {
        name: metrics.det_curve(score, is_target)
        for name, score in scores.items()
    }
    figure = viz.det_figure(curves, title="Speakers who were not in training")
    print(viz.save_figure(figure, arguments.figure))
    return rates


if __name__ == "__main__":
    main()
