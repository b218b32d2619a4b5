"""Writes small fabricated data sets where `datasets.load` finds them."""

import itertools
import pathlib

import numpy as np

SPEAKERS = ("ada", "bob", "cy", "di", "eva")
SAMPLE_RATE = 8000


def write_data_sets(data_dir: pathlib.Path) -> None:
    """Writes tiny versions of Sprites, Omniglot and Free Spoken Digit.

    The files have the format of the real builders, so every command reads
    them like the real data sets, without a network.
    """
    # Imported here because it is slow.
    import tensorflow_datasets as tfds

    from embeddings_tf.datasets.sprites import sprites_dataset_builder

    tfds.disable_progress_bar()
    parts = {
        sprites_dataset_builder.Builder(
            config="all_frames", data_dir=data_dir
        ): {"train": sprites()},
        tfds.builder("omniglot", data_dir=data_dir): {
            "train": characters(0, 12),
            "test": characters(12, 20),
        },
        tfds.builder("spoken_digit", data_dir=data_dir): {
            "train": spoken_digits()
        },
    }
    for builder, splits in parts.items():
        builder._split_generators = lambda *_, splits=splits: splits
        builder.download_and_prepare()


def sprites():
    """Makes 60 x 60 images of a square of varying place, size, brightness."""
    random = np.random.default_rng(0)
    values = itertools.product(range(2), range(2), range(5))
    for character, (row, column, brightness) in enumerate(values):
        for frame in range(8):
            image = random.integers(0, 40, (60, 60, 3), dtype=np.uint8)
            square = image[30 * row : 30 * row + 20, 30 * column :][:, :20]
            square += np.uint8(20 + 40 * brightness)
            factors = [row, column, brightness] * 2 + [row ^ column]
            yield (
                8 * character + frame,
                {
                    "image": image,
                    "factors": np.array(factors, np.int32),
                    "character": character,
                    "animation": 0,
                    "frame": frame,
                },
            )


def characters(first: int, last: int):
    """Makes black strokes on white, slightly displaced in each drawing."""
    for character in range(first, last):
        shape = np.random.default_rng(character)
        strokes = shape.integers(10, 75, (4, 2))
        for drawing in range(8):
            image = np.full((105, 105, 3), 255, np.uint8)
            moves = shape.integers(0, 10, strokes.shape)
            for stroke, (row, column) in enumerate(strokes + moves):
                height, width = (20, 5) if stroke % 2 else (5, 20)
                image[row : row + height, column : column + width] = 0
            yield (
                f"{character}_{drawing}",
                {
                    "image": image,
                    "alphabet": 0,
                    "alphabet_char_id": character,
                    "label": character,
                },
            )


def spoken_digits():
    """Makes noisy tones: the pitch is the word, the loudness the speaker."""
    random = np.random.default_rng(0)
    every = itertools.product(range(5), range(10), range(3))
    for speaker, word, number in every:
        time = np.arange(random.integers(2400, 4800)) / SAMPLE_RATE
        waveform = np.sin(2 * np.pi * (300 + 250 * word) * time)
        waveform += random.normal(size=time.size)
        name = f"{word}_{SPEAKERS[speaker]}_{number}.wav"
        yield (
            name,
            {
                "audio": (1000 * (1 + speaker) * waveform).astype(np.int64),
                "audio/filename": name,
                "label": word,
            },
        )
