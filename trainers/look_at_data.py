"""Looks at data of the user's own, to choose an encoder and batches."""

import numpy as np

# Images with a longer side are resized to squares of this side.
LARGEST_SIDE, RESIZED_SIDE = 96, 64
IMAGES_LOOKED_AT = 100


def look_at_data(dataset: str, split: str, seed: int) -> dict:
    """Looks at a data set, for the recipe of a goal.

    Args:
        dataset: Name of the data set.
        split: `classes` or `examples`: how data without splits is divided.
        seed: Random seed of the division.

    Returns:
        `train`, `validation` and `test`: the numbers of examples per class;
        `num_factors`, `about`, and the sections `encoder` and `sections` of a
        recipe for such examples.

    Raises:
        ValueError: If a split has fewer than two classes, a class fewer than
            two examples, or there is no encoder for the examples.
    """
    from trainers.data import Data
    from trainers.folds import class_ids
    from trainers.run import DataFields
    from trainers.run import Division
    from trainers.run import Run

    fields = DataFields(dataset=dataset, division=Division(split, seed))
    data = Data(Run(data=fields))
    found = {}
    for name in ("train", "validation", "test"):
        x, labels = data.unprocessed(name)
        counts = np.unique(class_ids(labels), return_counts=True)[1]
        if len(counts) < 2 or counts.min() < 2:
            smallest = counts.min() if len(counts) else 0
            raise ValueError(
                f"the split {name!r} of {dataset} has {len(counts)} classes, "
                f"the smallest with {smallest} examples; a goal "
                "needs two classes, and two examples of each. Add examples, "
                "leave small classes out, or take --split examples"
            )
        found[name] = counts
        if name == "train":
            found["num_factors"] = labels.shape[1] if labels.ndim == 2 else 1
            found |= _kind(x, dataset)
    return found


def _kind(x, dataset: str) -> dict:
    """What the examples are, their sections of the recipe, and an encoder."""
    from embeddings_tf.datasets import Images
    from embeddings_tf.datasets import Utterances

    if isinstance(x, Utterances) and x.sample_rate:
        return _recordings(x)
    if isinstance(x, Images):
        rows = np.linspace(0, len(x) - 1, min(len(x), IMAGES_LOOKED_AT))
        shapes = {x[int(row)].shape for row in np.unique(rows.astype(int))}
        shape = shapes.pop()
        if shapes or max(shape[:2]) > LARGEST_SIDE:
            shape = RESIZED_SIDE, RESIZED_SIDE, shape[2]
            sections_ = {"images": {"size": RESIZED_SIDE}}
            return _images(shape, sections_, "images, cropped and resized to")
        return _images(shape, {}, "images of")
    ndim = getattr(x, "ndim", None)
    if ndim == 4:
        return _images(x.shape[1:], {}, "images of")
    if ndim == 2:
        encoder = {"name": "features_encoder", "num_features": x.shape[1]}
        about = f"rows of {x.shape[1]} features"
        return {"about": about, "sections": {}, "encoder": encoder}
    raise ValueError(
        f"{dataset} has examples of shape {x[0].shape}; a goal takes images "
        "(height, width, channels), rows of features, and recordings. Write a "
        "recipe of your own, docs/training.md"
    )


def _images(shape, sections_, about: str) -> dict:
    shape = tuple(int(side) for side in shape)
    return {
        "about": f"{about} {' x '.join(map(str, shape))}",
        "sections": sections_,
        "encoder": {"name": "image_encoder", "image_shape": shape},
    }


def _recordings(x) -> dict:
    rate = x.sample_rate
    frames = np.asarray(x.lengths) / rate * 100  # every 10 ms
    num_frames = int(np.clip(np.median(frames) * 0.7, 40, 300))
    return {
        "about": f"recordings at {rate} samples per second",
        "sections": {
            "front_end": {
                "name": "front_end",
                "sample_rate": int(rate),
                "num_coefficients": 30,
                "num_mel_bins": 30,
                "low_frequency": 20.0,
                "high_frequency": float(min(7600, rate / 2 - 300)),
            },
            "utterances": {
                "num_frames": num_frames,
                "min_num_frames": num_frames,
            },
        },
        "encoder": {
            "name": "x_vector_encoder",
            "num_coefficients": 30,
            "channels": (96, 96, 96, 96, 288),
        },
    }
