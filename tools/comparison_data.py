"""Writes the tables of features that methods are compared on.

    python -m tools.comparison_data

Reads Omniglot from `$EMBEDDINGS_TF_DATA`, and the recordings of the Free Spoken
Digit Dataset from the folder `words` (docs/goals.md). Writes `omniglot.npz`
(drawings of 28 x 28 pixels of every character), `characters.npz` (300
characters as rows of pixels) and `recordings.csv` (150 features of each
recording) into the current folder.
"""

import csv

import numpy as np

NUM_CHARACTERS, BLOCK = 300, 500
NUM_PARTS, NUM_COEFFICIENTS = 10, 15


def drawings(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns drawings `(n, 28, 28, 1)` of a split, and their characters."""
    import tensorflow as tf

    from embeddings_tf import datasets

    x, names = datasets.load("omniglot", split, label="class")
    small = [
        np.rint(tf.image.resize(x[rows][..., :1], (28, 28), "area"))
        for rows in np.split(np.arange(len(x)), range(BLOCK, len(x), BLOCK))
    ]
    return np.concatenate(small).astype("uint8"), names


def features(samples: np.ndarray) -> np.ndarray:
    """Returns the coefficients of a recording, means over ten parts of it."""
    import tensorflow as tf

    from embeddings_tf.datasets import speech

    frames = speech.mfcc(
        samples,
        sample_rate=8000,
        num_coefficients=NUM_COEFFICIENTS,
        num_mel_bins=30,
        high_frequency=3700.0,
    )
    shape = NUM_PARTS, NUM_COEFFICIENTS
    return tf.image.resize(frames[..., None], shape, "area").numpy().ravel()


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf import datasets

    images, names = map(
        np.concatenate, zip(*map(drawings, ("train", "test")), strict=True)
    )
    np.savez("omniglot.npz", x=images, labels=names)
    chosen = np.isin(names, np.unique(names)[:NUM_CHARACTERS])
    pixels = images[chosen].reshape(chosen.sum(), -1).astype("float32")
    np.savez("characters.npz", x=pixels, labels=names[chosen])

    recordings, paths = datasets.load("audio_folder:words", "all", label="name")
    with open("recordings.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        count = NUM_PARTS * NUM_COEFFICIENTS
        table.writerow(["label", *(f"mfcc_{n}" for n in range(count))])
        for number, path in enumerate(paths):
            # 7/7_theo_1.wav is the word 7, said by theo.
            label = path.rpartition("/")[2].rpartition("_")[0]
            row = np.round(features(recordings[number]), 3)
            table.writerow([label, *row])


if __name__ == "__main__":
    main()
