"""Small fabricated files in the real formats of MNIST and n-digit MNIST."""

import gzip
import struct

import numpy as np

NUMBERS = {
    "train": (3, 42, 97),
    "test_seen": (3, 97),
    "test_unseen": (10, 65),
    "test": (3, 42, 97),
}
PER_NUMBER = {"train": 23, "test_seen": 4, "test_unseen": 5, "test": 6}


def write_idx(path, array):
    """Writes the idx format: magic number, shape, bytes."""
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim)
    header += struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


def write_files(folder, num_digits=2):
    """Writes `mnist/*.gz` and `n_digit_mnist/*.npz`.

    Returns:
        Images and labels of MNIST by half, and index arrays by part, as
        written: `{"train": (images, labels), "test": ...}` and
        `{"train": (numbers, image_ids), ...}`.
    """
    random = np.random.default_rng(0)
    (folder / "mnist").mkdir(parents=True)
    (folder / "n_digit_mnist").mkdir()
    mnist = {}
    for half, prefix in (("train", "train"), ("test", "t10k")):
        labels = random.permutation(np.repeat(np.arange(10), 30))
        labels = labels.astype(np.uint8)
        images = random.integers(0, 256, (300, 28, 28), dtype=np.uint8)
        write_idx(folder / f"mnist/{prefix}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"mnist/{prefix}-labels-idx1-ubyte.gz", labels)
        mnist[half] = images, labels
    index = {}
    for gap, parts in {
        "number": ("train", "test_seen", "test_unseen"),
        "instance": ("train", "test"),
    }.items():
        for part in parts:
            _, labels = mnist["train" if part == "train" else "test"]
            image_ids = np.array(
                [
                    [
                        random.permutation(np.flatnonzero(labels == int(d)))
                        for d in str(number).zfill(num_digits)
                    ]
                    for number in NUMBERS[part]
                ]
            ).transpose(0, 2, 1)[:, : PER_NUMBER[part]]
            numbers = np.array(NUMBERS[part])
            np.savez(
                folder
                / "n_digit_mnist"
                / f"dataset_mnist_{num_digits}_{gap}_{part}.npz",
                sample_per_number=PER_NUMBER[part],
                chosen_numbers=numbers,
                image_ids=image_ids,
            )
            index[gap, part] = numbers, image_ids
    return mnist, index


def expected_images(mnist, index, gap, part):
    """Concatenates digits image by image: the definition of the data set."""
    images, _ = mnist["train" if part == "train" else "test"]
    numbers, image_ids = index[gap, part]
    x = [
        [
            np.concatenate([images[i] for i in ids], axis=1)[..., np.newaxis]
            for ids in of_number
        ]
        for of_number in image_ids
    ]
    labels = [[number] * image_ids.shape[1] for number in numbers]
    return np.array(x), np.array(labels)
