"""Data: arrays, images, utterances, corruption, loading."""

import numpy as np
import tensorflow as tf

from embeddings_tf import datasets
from tests.hostile.entries.data import FRAMES
from tests.hostile.entries.data import IMAGES
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.entries.speech import FILES
from tests.hostile.judging import Entry
from tests.hostile.values import HUGE
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import either
from tests.hostile.values import floats
from tests.hostile.values import function
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import returning
from tests.hostile.values import same
from tests.hostile.values import seed
from tests.hostile.values import seed_pair


def stream(rows):
    return tf.data.Dataset.from_tensors(rows)


def first_batch(**arguments):
    return next(iter(datasets.batches(**arguments)))


def photographs(read, num_images, size, seed, index, **more):
    return datasets.Images(read, num_images, size, seed, **more)[index]


def photographs_of(path, split, label):
    """All images of a folder, and their labels, if they are numbers."""
    x, labels = datasets.load(f"image_folder:{path}", split, label=label)
    return x[np.arange(len(x))], labels


def photo_folders():
    """Folders of images: a good one, and one for each way to be bad."""
    made = folder()
    image = tf.io.encode_png(IMAGES[0][:, :8]).numpy()

    def write(path, content=image):
        path = made / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    for name in ("good", "empty_class", "loose", "mixed", "deep"):
        for file in ("a/0.png", "b/0.png"):
            write(f"{name}/{file}")
    for name in ("damaged", "nothing"):
        write(f"{name}/a/0.png")
    (made / "empty").mkdir()
    (made / "empty_class" / "c").mkdir()
    write("loose/0.png")
    write("mixed/train/a/0.png")
    write("deep/a/inner/0.png")
    write("damaged/b/0.png", image[:-20])
    write("nothing/b/0.png", b"")
    write("names/a $\n%s{}/'0'.PNG")
    write("names/\u00fc\U0001f600/ .png")
    return made


PHOTOS = photo_folders()
FOLDER = [IMAGES[0], np.repeat(IMAGES[1], 2, axis=0)]
TRUTH = [refused("text", "no"), refused("None", None), refused("0.5", 0.5)]
NOT_IMAGES = [
    refused("returns floats", lambda i: IMAGES[0].astype(float)),
    refused("returns no pixels", lambda i: IMAGES[0][:0]),
    refused("returns a matrix", lambda i: IMAGES[0][..., 0]),
]
INDEX = np.array([1, 0])


def indices(good, size):
    return [
        same("int64", good.astype(np.int64), good),
        same("negative", good - size, good),
        either("uint64", good.astype(np.uint64), good),
        either("a list", good.tolist(), good),
        refused("beyond", good + size),
        refused("far below", good - 2 * size),
        refused("floats", good.astype(float)),
        refused("a matrix", good[np.newaxis]),
        refused("text", "hostile"),
        refused("None", None),
        refused("2^32", good + 2**32),
        anything("empty", good[:0]),
    ]


def sequences(values, lengths, num_frames, seed, index, **more):
    return datasets.Utterances(values, lengths, num_frames, seed, **more)[index]


PIXELS = [
    *(
        h
        for h in floats(IMAGES.astype("f4"))
        if h.name
        in (
            "a tensor",
            "float64",
            "Fortran order",
            "strings",
            "text",
            "None",
            "a ragged list",
            "a scalar",
            "one axis less",
            "a dictionary",
            "every second row of an array",
        )
    ),
    refused("not as wide as digits", IMAGES[:, :, :15]),
    refused("complex", IMAGES + 1j),
]

ENTRIES = {
    "datasets.ColourOrientation": Entry(
        lambda index, **arguments: datasets.ColourOrientation(**arguments)[
            index
        ],
        {
            "num_images": 2,
            "seed": 3,
            "noisy": 0.5,
            "largest_hue_noise": 20.0,
            "index": INDEX,
        },
        {
            "num_images": chosen(count(2), "huge", "beyond int64"),
            "seed": chosen(seed(3), "-1") + [refused("-1", -1)],
            "noisy": number(0.5, low=0, high=1),
            "largest_hue_noise": number(20.0, low=0),
            "index": indices(INDEX, 2),
        },
        raises=(TypeError, IndexError),
    ),
    "datasets.ColourOrientation.distorted": Entry(
        lambda **arguments: datasets.ColourOrientation(2, 0).distorted(
            **arguments
        )[:],
        {"hue_noise": 20.0, "leg": 0.5, "centred": True},
        {
            "hue_noise": number(20.0, low=0),
            "leg": number(0.5, low=0),
            "centred": TRUTH,
        },
    ),
    "datasets.Images": Entry(
        photographs,
        {
            "read": FOLDER.__getitem__,
            "num_images": 2,
            "size": 4,
            "seed": 3,
            "index": INDEX,
            "names": None,
            "crop": True,
        },
        {
            "read": [*function(), *returning((2, 2, 1)), *NOT_IMAGES],
            "num_images": [
                refused("-1", -1),
                refused("fraction", 1.5),
                refused("text", "2"),
                refused("None", None),
                refused("True", True),
                anything("int64", np.int64(2)),
            ],
            "size": [
                *chosen(count(4, optional=True), "huge", "beyond int64"),
                refused("None", None),
            ],
            "seed": chosen(seed(3, optional=True), "-1") + [refused("-1", -1)],
            "names": [
                refused("one", ["a"]),
                refused("a number", 3),
                same("two", ["a", "b"], None),
            ],
            "crop": TRUTH,
            "index": indices(INDEX, 2),
        },
        raises=(TypeError, IndexError),
    ),
    "datasets.Images.content": Entry(
        lambda number: datasets.Images(FOLDER.__getitem__, 2).content(number),
        {"number": 1},
        {
            "number": [
                refused("beyond", 2),
                refused("text", "hostile"),
                refused("None", None),
                refused("a half", 0.5),
            ]
        },
        raises=(IndexError, TypeError),
    ),
    "datasets.Images.take": Entry(
        lambda index: len(datasets.Images(FOLDER.__getitem__, 2).take(index)),
        {"index": INDEX},
        {"index": indices(INDEX, 2)},
        raises=(IndexError,),
    ),
    "datasets.Images.with_size": Entry(
        lambda size, seed, crop: datasets.Images(
            FOLDER.__getitem__, 2
        ).with_size(size, seed, crop=crop)[INDEX],
        {"size": 4, "seed": 3, "crop": True},
        {
            "size": [
                *chosen(count(4, optional=True), "huge", "beyond int64"),
                refused("None", None),
            ],
            "seed": chosen(seed(3, optional=True), "-1") + [refused("-1", -1)],
            "crop": TRUTH,
        },
    ),
    "datasets.Utterances.with_num_frames": Entry(
        lambda num_frames, seed: datasets.Utterances(
            FRAMES, np.array([4, 5])
        ).with_num_frames(num_frames, seed)[INDEX],
        {"num_frames": 3, "seed": 3},
        {
            "num_frames": chosen(
                count(3, optional=True), "huge", "beyond int64"
            ),
            "seed": chosen(seed(3, optional=True), "-1") + [refused("-1", -1)],
        },
    ),
    "datasets.Images.cached": Entry(
        lambda num_bytes: datasets.Images(FOLDER.__getitem__, 2).cached(
            num_bytes
        )[0],
        {"num_bytes": 10},
        {"num_bytes": chosen(number(10.0, low=0), "1e-40")},
    ),
    "datasets.Utterances": Entry(
        sequences,
        {
            "values": FRAMES,
            "lengths": np.array([4, 5]),
            "num_frames": 3,
            "seed": 3,
            "sample_rate": 8000,
            "names": None,
            "index": INDEX,
        },
        {
            "values": [
                *(
                    h
                    for h in floats(FRAMES)
                    if h.name
                    in (
                        "a list",
                        "float64",
                        "Fortran order",
                        "NaN",
                        "infinity",
                        "a scalar",
                        "no rows",
                        "None",
                        "text",
                        "a ragged list",
                        "a dictionary",
                        "strings",
                    )
                ),
                *returning((4, 3)),
            ],
            "lengths": [
                same("a list", [4, 5], np.array([4, 5])),
                same("uint8", np.array([4, 5], np.uint8), np.array([4, 5])),
                refused("floats", np.array([4.0, 5.0])),
                refused("zero", np.array([9, 0])),
                refused("negative", np.array([10, -1])),
                refused("other sums", np.array([4, 4])),
                refused("a matrix", np.array([[4, 5]])),
                refused(
                    "uint64 that wraps", np.array([2**64 - 1, 10], np.uint64)
                ),
                refused("huge", np.array([HUGE, 9])),
                refused("None", None),
                refused("text", "45"),
            ],
            "num_frames": [
                *chosen(count(3, optional=True), "huge", "beyond int64"),
                refused("None", None),
            ],
            "seed": chosen(seed(3, optional=True), "-1") + [refused("-1", -1)],
            "sample_rate": chosen(
                count(8000, optional=True), "huge", "beyond int64"
            ),
            "names": [
                refused("one", ["a"]),
                refused("a number", 3),
                same("two", ["a", "b"], None),
            ],
            "index": indices(INDEX, 2),
        },
        raises=(TypeError, IndexError),
    ),
    "datasets.Utterances.take": Entry(
        lambda index: len(datasets.Utterances(FRAMES, [4, 5]).take(index)),
        {"index": INDEX},
        {"index": indices(INDEX, 2)},
        raises=(IndexError,),
    ),
    "datasets.Utterances.map": Entry(
        lambda function: datasets.Utterances(FRAMES, [4, 5]).map(function)[0],
        {"function": np.abs},
        {
            "function": [
                *(h for h in function() if h.name != "an array"),
                refused("returns a scalar", lambda x: 1.0),
                refused("returns None", lambda x: None),
                refused("returns NaN", lambda x: x * np.nan),
                refused("returns nothing", lambda x: x[:0]),
                refused("of two shapes", lambda x: x[:, : 3 - len(x) % 2]),
            ]
        },
    ),
    "datasets.batches": Entry(
        first_batch,
        {
            "x": X,
            "labels": Y,
            "indices": stream(np.array([3, 5, 1])),
            "preprocess": tf.abs,
            "seed": None,
            "start": 0,
        },
        {
            "x": [
                *(
                    h
                    for h in floats(X)
                    if h.name
                    in (
                        "a tensor",
                        "Fortran order",
                        "read-only",
                        "NaN",
                        "infinity",
                        "a scalar",
                        "no rows",
                        "None",
                        "text",
                        "a dictionary",
                        "a ragged list",
                        "every second row of an array",
                    )
                ),
                refused("fewer rows", X[:5]),
            ],
            "labels": [
                *chosen(
                    labels(Y, arbitrary=False),
                    "two columns",
                    "one hot",
                    "a column",
                ),
                either(
                    "from 2^32",
                    Y.astype(np.int64) + 2**32,
                    Y.astype(np.int64) + 2**32,
                ),
            ],
            "indices": [
                refused("an array", np.array([1, 2])),
                refused("None", None),
                refused("floats", stream(np.array([1.0]))),
                refused("a matrix", stream(np.array([[1]]))),
                refused("scalars", tf.data.Dataset.range(3)),
                refused("text", stream(np.array(["a"]))),
                refused("beyond", stream(np.array([99]))),
                refused("negative", stream(np.array([-1]))),
                anything("int64", stream(np.array([3], np.int64))),
            ],
            "preprocess": [
                refused("text", "hostile"),
                refused("a number", 3),
                refused("an array", X),
            ],
            "seed": [refused("without use", (1, 2, 3)), refused("text", "a")],
            "start": chosen(count(2, least=0), "True", "huge", "beyond int64"),
        },
        raises=(tf.errors.InvalidArgumentError,),
    ),
    "datasets.corrupt": Entry(
        datasets.corrupt,
        {
            "images": IMAGES.astype("f4"),
            "seed": (1, 2),
            "num_digits": 2,
            "probability": 0.5,
        },
        {
            "images": PIXELS,
            "num_digits": chosen(
                count(2, optional=True), "huge", "beyond int64", "True"
            ),
            "seed": seed_pair(),
            "probability": number(0.5, low=0, high=1),
        },
    ),
    "datasets.degrade": Entry(
        datasets.degrade,
        {
            "images": IMAGES.astype("f4"),
            "kind": "occlusion",
            "strength": 0.5,
            "seed": (1, 2),
        },
        {
            "images": [
                h
                for h in PIXELS
                if h.name not in ("not as wide as digits", "complex")
            ],
            "kind": [
                refused("unknown", "rust"),
                refused("None", None),
                refused("a number", 3),
                refused("several", ("blur", "noise")),
            ],
            "strength": [
                same("one for each image", np.full(len(IMAGES), 0.5), 0.5),
                refused("above 1", 1.5),
                refused("below 0", -0.5),
                refused("NaN", np.nan),
                refused("None", None),
                refused("text", "hostile"),
                refused("too many", np.full(len(IMAGES) + 1, 0.5)),
                refused("a matrix", np.full((len(IMAGES), 1), 0.5)),
            ],
            "seed": seed_pair(),
        },
    ),
    "datasets.degrade_randomly": Entry(
        datasets.degrade_randomly,
        {
            "images": IMAGES.astype("f4"),
            "seed": (1, 2),
            "kinds": ("occlusion", "stripes"),
            "probability": 0.5,
        },
        {
            "images": [
                h
                for h in PIXELS
                if h.name not in ("not as wide as digits", "complex")
            ],
            "seed": seed_pair(),
            "kinds": [
                same(
                    "a list",
                    ["occlusion", "stripes"],
                    ("occlusion", "stripes"),
                ),
                refused("unknown", ("rust",)),
                refused("none", ()),
                refused("None", None),
                refused("text", "blur"),
                refused("a number", 3),
            ],
            "probability": number(0.5, low=0, high=1),
        },
    ),
    "datasets.load": Entry(
        lambda **k: datasets.load(**k),
        {
            "name": "n_digit/digits_2_number",
            "split": "validation",
            "label": None,
            "data_dir": FILES.folder / "tfds",
            "manual_dir": FILES.folder,
        },
        {
            "name": [
                refused("unknown", "hostile"),
                refused("empty", ""),
                refused("config unknown", "n_digit/9_number"),
                refused("a path", "../sprites"),
                refused("None", None),
                refused("a number", 3),
                refused("a newline", "sprites\n"),
            ],
            "split": [
                refused("unknown", "hostile"),
                refused("empty", ""),
                refused("a number", 3),
                refused("None", None),
            ],
            "label": [refused("unknown", "hostile"), refused("a number", 3)],
        },
    ),
    "datasets.load.image_folder": Entry(
        lambda path, split, label: photographs_of(path, split, label),
        {"path": PHOTOS / "good", "split": "all", "label": None},
        {
            "path": [
                refused("missing", PHOTOS / "missing"),
                refused("a file", PHOTOS / "good" / "a" / "0.png"),
                refused("no path", ""),
                refused("a NUL", "a\0b"),
                refused("a newline", f"{PHOTOS / 'good'}\n"),
                refused("longer than any path", "a/" * 5000),
                refused("no classes", PHOTOS / "good" / "a"),
                refused("an empty class", PHOTOS / "empty_class"),
                refused("empty", PHOTOS / "empty"),
                refused("images beside classes", PHOTOS / "loose"),
                refused("splits beside classes", PHOTOS / "mixed"),
                refused("folders in classes", PHOTOS / "deep"),
                refused("an image cut short", PHOTOS / "damaged"),
                refused("an empty image", PHOTOS / "nothing"),
                same("with an end", f"{PHOTOS / 'good'}/", PHOTOS / "good"),
                same("unusual names", PHOTOS / "names", PHOTOS / "good"),
            ],
            "split": [
                refused("unknown", "hostile"),
                refused("empty", ""),
                refused("a slice", "all[:1]"),
                refused("a number", 3),
                refused("None", None),
                refused("of two classes", "train"),
            ],
            "label": [
                refused("unknown", "hostile"),
                refused("empty", ""),
                refused("a number", 3),
            ],
        },
        raises=(OSError,),
    ),
    "datasets.n_digit_from_scikit_learn": Entry(
        lambda **k: datasets.n_digit_from_scikit_learn(**k)[1],
        {"num_digits": 2, "gap": "number", "split": "test_seen"},
        {
            "num_digits": [
                refused("one", 1),
                refused("four", 4),
                refused("text", "2"),
                refused("None", None),
                refused("fraction", 2.5),
                refused("huge", HUGE),
                refused("True", True),
                refused("NaN", np.nan),
                refused("a list", [2]),
                same("int64", np.int64(2), 2),
            ],
            "gap": choice("number"),
            "split": choice("test_seen"),
        },
    ),
    "datasets.occlusion_mask": Entry(
        datasets.occlusion_mask,
        {
            "batch": 3,
            "size": 8,
            "num_digits": 2,
            "seed": (1, 2),
            "probability": 0.5,
        },
        {
            "batch": chosen(
                count(3, least=0),
                "an array of one",
                "huge",
                "beyond int64",
                "True",
            ),
            "size": chosen(count(8), "huge", "beyond int64"),
            "num_digits": chosen(count(2), "huge", "beyond int64"),
            "seed": seed_pair(),
            "probability": number(0.5, low=0, high=1),
        },
    ),
    "datasets.shift_and_mirror": Entry(
        datasets.shift_and_mirror,
        {"images": IMAGES.astype("f4"), "seed": (1, 2), "padding": 2},
        {
            "images": [
                h
                for h in PIXELS
                if h.name not in ("not as wide as digits", "complex")
            ],
            "seed": seed_pair(),
            "padding": chosen(
                count(2, least=0), "True", "huge", "beyond int64"
            ),
        },
    ),
}
