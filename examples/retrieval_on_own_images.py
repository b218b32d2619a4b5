"""Find images of the same class, in a folder of your own images.

    python examples/retrieval_on_own_images.py
    python examples/retrieval_on_own_images.py --folder photos

Without a folder, the script writes one: scikit-learn's handwritten digits as
PNG files, each at a random place of a larger picture with noise. It trains an
encoder on seven of the ten digits, and searches among the other three. It
downloads nothing and takes about a minute on two cores.

Your own folder has one subfolder per class, or such subfolders within `train`
and `test`; docs/own_data.md has the details.
"""

import argparse
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from embeddings_tf import callbacks, datasets, layers, losses, metrics
from embeddings_tf import sampling, viz

SIZE = 24


def write_digits(folder: pathlib.Path, seed: int = 0) -> None:
    """Writes `train/0` to `train/6` and `test/7` to `test/9`."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    digits = load_digits()
    for number, (image, label) in enumerate(
        zip(digits.images, digits.target, strict=True)
    ):
        picture = rng.uniform(0, 60, (16, 16))
        top, left = rng.integers(0, 9, 2)
        picture[top : top + 8, left : left + 8] += image * rng.uniform(6, 12)
        pixels = np.clip(picture, 0, 255)[..., np.newaxis].astype("uint8")
        name = "train" if label < 7 else "test"
        path = folder / name / str(label) / f"{number:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tf.io.encode_png(pixels).numpy())


def load_images(folder: pathlib.Path, split: str):
    """Loads all images of a split `(images, SIZE, SIZE, 3)`, and labels.

    For a folder larger than memory, pass `images.with_size(SIZE)` to
    `datasets.batches`.
    """
    images, labels = datasets.load(f"image_folder:{folder}", split)
    images = images.with_size(SIZE, crop=False)
    return images[np.arange(len(labels))], labels


def make_encoder() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 3)),
            layers.PixelRange(),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(96, 3, padding="same", activation="relu"),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(64),
            keras.layers.UnitNormalization(),
        ]
    )


def neighbours_figure(images, labels, embeddings, queries, num: int = 8):
    """A row per query: the query, then its nearest neighbours."""
    figure = Figure(figsize=(num + 1, len(queries)), layout="constrained")
    panels = figure.subplots(len(queries), num + 1, squeeze=False)
    for row, query in zip(panels, queries, strict=True):
        distance = np.linalg.norm(embeddings - embeddings[query], axis=-1)
        distance[query] = -1  # the query comes first
        for panel, index in zip(row, np.argsort(distance), strict=False):
            panel.imshow(images[index])
            panel.set_xticks([])
            panel.set_yticks([])
            same = labels[index] == labels[query]
            colour = "black" if index == query else "green" if same else "red"
            panel.spines[:].set(color=colour, linewidth=3)
    panels[0, 0].set_title("query")
    panels[0, 1].set_title("nearest")
    return figure


def main() -> dict[str, dict[int, float]]:
    """Returns recall at 1 and 5 of pixels and of embeddings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, help="of your images")
    parser.add_argument("--figure", default="retrieval_on_own_images.png")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=25, help="per epoch")
    arguments = parser.parse_args()

    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        if arguments.folder is None:
            write_digits(folder)
        x, labels = load_images(folder, "train")
        test_x, test_labels = load_images(folder, "test")
    print(f"{len(x)} images for training, {len(test_x)} of other classes")

    encoder = make_encoder()
    encoder.compile(
        keras.optimizers.Adam(2e-3),
        loss=losses.TripletLoss(margin=0.2),
    )
    # Every batch has as many images of each of its classes.
    counts = np.unique(labels, return_counts=True)[1]
    indices = sampling.class_balanced_batches(
        labels, min(8, len(counts)), min(12, int(counts.min())), seed=0
    )
    # Recall of classes that are not trained on, after each epoch.
    held_out = callbacks.EmbeddingEvaluation(test_x, test_labels)
    encoder.fit(
        datasets.batches(x, labels, indices),
        steps_per_epoch=arguments.steps,
        epochs=arguments.epochs,
        shuffle=False,
        verbose=2,
        callbacks=[held_out],
    )

    embeddings = {
        "pixels": test_x.reshape(len(test_x), -1).astype("float32"),
        "trained": encoder.predict(test_x, verbose=0),
    }
    recall = {}
    for name, rows in embeddings.items():
        recall[name] = metrics.recall_at_k(rows, test_labels, k=(1, 5))
        precision = metrics.mean_average_precision(rows, test_labels)
        print(
            f"{name}: recall@1 {recall[name][1]:.2f}, recall@5 "
            f"{recall[name][5]:.2f}, mean average precision {precision:.2f}"
        )

    classes = np.unique(test_labels)[:6]
    queries = [np.flatnonzero(test_labels == c)[0] for c in classes]
    figure = neighbours_figure(
        test_x, test_labels, embeddings["trained"], queries
    )
    print(viz.save_figure(figure, arguments.figure))
    return recall


if __name__ == "__main__":
    main()
