"""Features of images by a frozen network: computed once, kept on disk."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf import models
from embeddings_tf.compat import every_layer
from embeddings_tf.ops.listed import listed
from embeddings_tf.ops.own_code import split_name
from trainers.config.run import Backbone
from trainers.config.run import DataFields
from trainers.data.feature_store import FeatureStore
from trainers.terminal.progress import Progress
from trainers.workdirs.json_files import read_json
from trainers.workdirs.json_files import write_json
from trainers.workdirs.other_data_error import OtherDataError

CACHE_VARIABLE = "EMBEDDINGS_TF_CACHE"
BACKBONE_FILE = "backbone.json"
_BLOCK = 64
# Features are written after this many images, so a killed run keeps them.
_NUM_PER_FILE = 8192


@functools.lru_cache(maxsize=1)
def network(fields: Backbone) -> keras.Model:
    """Returns the frozen network of a run: images to features."""
    return models.backbone(**dataclasses.asdict(fields))


@functools.lru_cache(maxsize=1)
def digest(fields: Backbone) -> str:
    """Returns a hash of what the network computes: layers and weights.

    It covers the file with the function of a network of the user's own.
    """
    model = network(fields)
    found = hashlib.sha256(_code(fields.network))
    for part in (fields.network, fields.image_shape, keras.__version__):
        found.update(repr(part).encode())
    found.update(_layers(model).encode())
    for weight in model.weights:
        values = np.ascontiguousarray(weight.numpy())
        found.update(f"{values.shape} {values.dtype}".encode())
        found.update(values)
    return found.hexdigest()


def _code(name: str) -> bytes:
    """Returns the content of the user's file of a network, if it has one."""
    place, _ = split_name(name) or ("", "")
    if place and not place.endswith(".py"):
        place = getattr(sys.modules[place], "__file__", None) or ""
    return (
        pathlib.Path(os.path.expanduser(place)).read_bytes() if place else b""
    )


def _layers(model: keras.Model) -> str:
    """Returns the configuration of a model, the same in every process.

    Keras numbers automatic names anew, so names become positions.
    """
    try:
        config = json.loads(model.to_json())
    except NotImplementedError:
        return ""  # layers of the user's own: `_code` covers them
    names: dict[str, str] = {}
    for layer in every_layer(model):
        names.setdefault(layer.name, f"layer {len(names)}")
    return json.dumps(_without_names(config, names))


def _without_names(value, names: dict[str, str]):
    if isinstance(value, list):
        return [_without_names(part, names) for part in value]
    if isinstance(value, str):
        return names.get(value, value)
    if not isinstance(value, dict):
        return value
    if value.get("class_name") == "__lambda__":
        return "lambda"  # its bytes differ between processes; `_code` has it
    return {
        key: _without_names(part, names)
        for key, part in value.items()
        if key != "shared_object_id"  # an address in memory
    }


def require_same_backbone(path: pathlib.Path, fields: DataFields) -> None:
    """Checks that the network is the one with which a run was trained.

    Raises:
        OtherDataError: If it has other layers, weights or code.
    """
    file = path / BACKBONE_FILE
    if not fields.backbone.network or not file.exists():
        return
    found = read_json(file, "start the run again in another --workdir")
    if found.get("digest") != digest(fields.backbone):
        raise OtherDataError(
            f"the layers or weights of {fields.backbone.network} are not those "
            f"with which {path} was trained ({file}); put the files of "
            "config.backbone.network and config.backbone.weights back, or "
            "train again"
        )


def write_backbone(path: pathlib.Path, fields: DataFields) -> None:
    """Records the network's hash in a fresh workdir."""
    if fields.backbone.network:
        found = {"digest": digest(fields.backbone)}
        write_json(
            path / BACKBONE_FILE, {"network": fields.backbone.network, **found}
        )


def backbone_features(x, fields: DataFields) -> np.ndarray:
    """Returns the features of all images, `(images, features)`.

    Features are kept by the content of the image and of the network, in
    `cache_dir`. An image that was seen before is neither decoded nor computed
    again.

    Args:
        x: `Images` or an array of images.
        fields: The data of the run.

    Raises:
        ValueError: If the images have another shape than the network takes.
        OSError: If a file or the cache cannot be read or written.
    """
    model = network(fields.backbone)
    x, crop = _of_shape(x, fields)
    store = FeatureStore(
        _cache_dir(fields) / f"{digest(fields.backbone)[:16]}{crop}",
        model.output_shape[1],
    )
    keys = _keys(x)
    missing = store.missing(keys)
    if len(missing):
        print(
            f"Computing features of {len(missing)} of {len(x)} images with "
            f"{fields.backbone.network}; they are kept in {store.folder}.",
            flush=True,
        )
        _compute(model, x, keys, missing, store)
    return store.read(keys)


def _cache_dir(fields: DataFields) -> pathlib.Path:
    folder = fields.cache_dir or os.environ.get(CACHE_VARIABLE)
    folder = folder or "~/.cache/embeddings_tf"
    return pathlib.Path(os.path.expanduser(folder)) / "features"


def _of_shape(x, fields: DataFields):
    """Returns images of the network's size, and how they were made."""
    height, width, _ = shape = tuple(fields.backbone.image_shape)
    size, crop = fields.images.size, fields.images.crop
    if size not in (0, height):
        raise ValueError(
            f"config.images.size={size}, but the backbone takes images of "
            f"{shape}; leave it at 0, or set config.backbone.image_shape"
        )
    is_read_later = isinstance(x, datasets.Images)
    if is_read_later and height == width:
        x = x.with_size(height, crop=crop)
    example = np.asarray(x[:1] if len(x) else np.empty((1, *shape)))
    if example.shape[1:] != shape:
        raise ValueError(
            f"the images have shape {example.shape[1:]}, the backbone takes "
            f"{shape}; set --config.backbone.image_shape='{example.shape[1:]}'"
        )
    return x, "" if crop or not is_read_later else "_whole"


def _keys(x) -> np.ndarray:
    """Returns a hash of the content of every image, `(images,)`."""

    def key(number):
        if isinstance(x, datasets.Images):
            content = x.content(number)
        else:
            example = np.ascontiguousarray(x[number])
            content = f"{example.shape} {example.dtype}".encode()
            content += example.tobytes()
        return hashlib.blake2b(content, digest_size=16).digest()

    progress, found = Progress(len(x), "hashed image"), []
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for one in threads.map(key, range(len(x))):
            found.append(one)
            progress.advance()
    return np.array(found, "V16")


def _compute(model, x, keys, missing, store: FeatureStore) -> None:
    """Computes and stores the features of some images."""

    # Traced once for blocks of all lengths.
    @tf.function(
        input_signature=[
            tf.TensorSpec(model.input_shape, np.asarray(x[:1]).dtype)
        ],
        autograph=False,
    )
    def forward(images):
        return model(images, training=False)

    progress = Progress(len(missing), "image")
    blocks = np.split(missing, range(_BLOCK, len(missing), _BLOCK))
    waiting: list = []
    done: list = []
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        reading = [threads.submit(x.__getitem__, b) for b in blocks[:4]]
        next_block = len(reading)
        for block in blocks:
            images = reading.pop(0).result()
            if next_block < len(blocks):
                reading.append(
                    threads.submit(x.__getitem__, blocks[next_block])
                )
                next_block += 1
            features = forward(images).numpy()
            bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
            if len(bad):
                names = getattr(x, "names", None) or range(len(x))
                raise ValueError(
                    "the backbone's features are not finite for "
                    f"{listed([str(names[row]) for row in block[bad]])}; look "
                    "at these images and at config.backbone.weights"
                )
            waiting.append(features)
            done.append(block)
            progress.advance(len(block))
            if sum(map(len, done)) >= _NUM_PER_FILE or block is blocks[-1]:
                rows = np.concatenate(done)
                store.add(keys[rows], np.concatenate(waiting))
                waiting, done = [], []
