"""A process with only TensorFlow uses the exported models."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.datasets import speech
from embeddings_tf.export import export_saved_model
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.models import x_vector_encoder
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import SoftContrastive
from embeddings_tf.objectives import StochasticPrototypes

# The exported models are shared by all tests of this file. The tests of
# tests/export, which are not slow, export and load models, too.
pytestmark = pytest.mark.slow

SHAPE = (8, 16, 1)
SIZES = (1, 257)
# Unsorted labels, not from 0, with different counts.
SUPPORT_LABELS = [2_000_000_000, -7, 5, -7, 2_000_000_000, 5, -7]
CLASSES = [-7, 5, 2_000_000_000]

CLIENT = """
import json
import sys

BLOCKED = ("keras", "tf_keras", "tensorflow_probability", "embeddings_tf")
# None makes an import fail, and still lets TensorFlow ask whether it would.
sys.modules.update(dict.fromkeys(BLOCKED))

import numpy as np
import tensorflow as tf

folder = sys.argv[1]
models, results, errors = {}, {}, {}
with open(f"{folder}/calls.json") as file:
    calls = json.load(file)
arrays = np.load(f"{folder}/arrays.npz")
for call, (path, signature, names) in calls.items():
    if path not in models:
        models[path] = tf.saved_model.load(path)
    inputs = {n: tf.constant(arrays[f"{call}/{n}"]) for n in names}
    try:
        outputs = models[path].signatures[signature](**inputs)
    except tf.errors.InvalidArgumentError as error:
        errors[call] = str(error)
    else:
        for name, value in outputs.items():
            results[f"{call}/{name}"] = value.numpy()
np.savez(f"{folder}/results.npz", **results)
with open(f"{folder}/done.json", "w") as file:
    imported = [name for name in BLOCKED if sys.modules[name]]
    json.dump({"errors": errors, "imported": imported}, file)
"""


def images(rows, seed=0, shape=SHAPE):
    """Noise with a brightness that differs between images."""
    rng = np.random.default_rng(seed)
    brightness = rng.uniform(20, 255, size=(rows, *[1] * len(shape)))
    noise = rng.uniform(size=(rows, *shape))
    return (brightness * noise).astype("float32")


def spread_out(encoder, factor):
    """Random weights give close embeddings; this spreads them."""
    head = encoder.layers[-1]
    head.kernel.assign(factor * head.kernel)
    return encoder


def recordings(rows, seed=0):
    """Padded waveforms and lengths: noise of different colours."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(800, 5001, size=rows).astype("int32")
    waveforms = np.zeros((rows, 5000), "float32")
    for row, length in enumerate(lengths):
        colour = rng.normal(size=rng.integers(1, 20))
        noise = rng.normal(size=length + len(colour) - 1)
        waveforms[row, :length] = 1000 * np.convolve(noise, colour, "valid")
    return waveforms, lengths


def front_end(waveform, length=None):
    """100 frames per second, at least 30, and their number."""
    return speech.front_end(
        waveform,
        length,
        sample_rate=8000,
        high_frequency=3700.0,
        min_num_frames=30,
    )


@tf.function(
    input_signature=[
        tf.TensorSpec((None, None), tf.float32, "waveform"),
        tf.TensorSpec((None,), tf.int32, "length"),
    ]
)
def front_end_of_batches(waveform, length):
    return front_end(waveform, length)[0]


def encode_recordings(encoder, waveforms, lengths):
    """Encodes one by one, without padding."""
    rows = [
        encoder(front_end(waveform[:length])[0][tf.newaxis])[0]
        for waveform, length in zip(waveforms, lengths, strict=True)
    ]
    return np.reshape(rows, (len(rows), 8))


def encode(model, x):
    return model(x).numpy()


def invert(x):
    return 255 - x


class Served:
    """Exports models, collects calls, and answers them in one process."""

    def __init__(self, folder):
        self.folder = folder
        self.calls, self.arrays = {}, {}
        keras.utils.set_random_seed(0)
        encoder = n_digit_encoder(2, image_shape=SHAPE, initial_variance=0.05)
        self.spe = EmbeddingModel(
            spread_out(encoder, 5),
            StochasticPrototypes(3, initial_noise_variance=0.1),
        )
        self.pn = spread_out(
            n_digit_encoder(3, image_shape=SHAPE, gaussian=False), 20
        )
        self.pairs = EmbeddingModel(
            self.pn, LearnedDistance(PairDistance((16, 16), seed=1))
        )
        self.hedged = EmbeddingModel(self.spe.encoder, HedgedInstances(4))
        self.soft = EmbeddingModel(self.pn, SoftContrastive())
        self.soft.objective.offset.assign(3.0)
        normalization = keras.layers.Normalization(
            mean=100.0, variance=4.0, axis=None
        )
        self.small_images = keras.Sequential(
            [
                keras.Input((4, 8, 1), name="small_image"),
                keras.layers.UpSampling2D(2),
                normalization,
            ]
        )
        words = x_vector_encoder(8, channels=(8, 8, 8, 8, 16))
        for layer in words.layers:
            if hasattr(layer, "kernel"):
                layer.kernel.assign(2.5 * layer.kernel)
        self.words = EmbeddingModel(
            words, LearnedDistance(PairDistance((16, 16), seed=2))
        )
        self.exports = {
            "spe": (self.spe, None),
            "pn": (self.pn, None),
            "pairs": (self.pairs, None),
            "hedged": (self.hedged, None),
            "soft": (self.soft, None),
            "function": (self.pn, invert),
            "layer": (self.pn, keras.layers.Rescaling(0.5, offset=3)),
            "model": (self.spe, self.small_images),
            "words": (self.words, front_end_of_batches),
            "encoder of words": (words, front_end_of_batches),
        }
        self.paths = {
            name: export_saved_model(
                model, folder / name, preprocessing=preprocessing
            )
            for name, (model, preprocessing) in self.exports.items()
        }

    def add(self, call, model, signature, **inputs):
        self.calls[call] = [self.paths[model], signature, list(inputs)]
        for name, value in inputs.items():
            self.arrays[f"{call}/{name}"] = value

    def classify(self, call, model, **changes):
        """A valid call with some changes."""
        inputs = {
            "support": images(7, seed=1),
            "support_labels": np.array(SUPPORT_LABELS, "int32"),
            "query": images(5, seed=2),
            "seed": np.array([3, 4], "int32"),
        }
        self.add(call, model, "classify", **{**inputs, **changes})

    def score_pairs(self, call, first, second, model="pairs"):
        self.add(call, model, "score_pairs", first=first, second=second)

    def score_recordings(self, call, first, second):
        names = ("first", "first_length", "second", "second_length")
        inputs = dict(zip(names, (*first, *second), strict=True))
        self.add(call, "words", "score_pairs", **inputs)

    def run(self):
        with open(self.folder / "calls.json", "w") as file:
            json.dump(self.calls, file)
        np.savez(self.folder / "arrays.npz", **self.arrays)
        script = self.folder / "client.py"
        script.write_text(CLIENT)
        subprocess.run(
            [sys.executable, str(script), str(self.folder)],
            check=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            timeout=300,
        )
        with open(self.folder / "done.json") as file:
            done = json.load(file)
        self.errors, self.imported = done["errors"], done["imported"]
        with np.load(self.folder / "results.npz") as results:
            self.results = dict(results)

    def outputs(self, call):
        assert call not in self.errors, self.errors[call]
        return {
            key.partition("/")[2]: value
            for key, value in self.results.items()
            if key.partition("/")[0] == call
        }


def bad_inputs():
    """Signature, defect of the call, and words of the error."""
    holed = images(5)
    holed[3, 2, 5] = np.nan
    endless = images(7)
    endless[0, 0, 0] = np.inf
    unlabelled = np.array(SUPPORT_LABELS[:-1], "int32")
    none = {"support": images(0), "support_labels": unlabelled[:0]}
    return {
        "image nan": (
            {"image": holed},
            "`image` contains NaN or infinity",
        ),
        "image inf": (
            {"image": endless},
            "`image` contains NaN or infinity",
        ),
        "query nan": ({"query": holed}, "`query` contains NaN or infinity"),
        "support inf": ({"support": endless}, "`support` contains NaN"),
        "no image": (
            {"image": images(0)},
            "`image` must have at least one row",
        ),
        "no query": (
            {"query": images(0)},
            "`query` must have at least one row",
        ),
        "no support": (none, "must have at least one row"),
        "few labels": (
            {"support_labels": unlabelled},
            "must have the same number of rows",
        ),
        "few supports": (
            {"support": images(5)},
            "`support` and `support_labels` must have the same number of rows. "
            "Received rows",
        ),
    }


def bad_pairs():
    """First and second inputs, and words of the error."""
    holed = images(5)
    holed[3, 2, 5] = np.nan
    return {
        "first nan": (holed, images(5), "`first` contains NaN or infinity"),
        "second nan": (images(5), holed, "`second` contains NaN or infinity"),
        "lengths": (images(5), images(4), "`first` and `second` must have"),
    }


def bad_recordings():
    """Second recordings of three pairs, and words of the error."""
    waveforms, lengths = recordings(3, seed=2)
    silent, holed, quiet = waveforms.copy(), waveforms.copy(), waveforms / 32768
    silent[1] = 0
    holed[2, 100] = np.nan
    none, too_long = lengths.copy(), lengths.copy()
    none[1], too_long[2] = 0, 5001
    return {
        "none": (
            (waveforms, none),
            "`second_length` must be at least 1 and at most the size of axis 1 "
            "of `second`. Received size, row and length",
        ),
        "no samples": (
            (waveforms[:, :0], 0 * lengths),
            "`second_length` must be at least 1",
        ),
        "too short": ((waveforms, 0 * lengths + 9), "too short for a frame"),
        "silence": ((silent, lengths), "no speech in it, only silence"),
        "in -1..1": ((quiet, lengths), "multiply those in -1..1 by 32768"),
        "nan": ((holed, lengths), "`second` contains NaN or infinity"),
        "too long": ((waveforms, too_long), "`second_length` must be"),
        "few": ((waveforms[:2], lengths[:2]), "`first` and `second` must"),
        "few lengths": ((waveforms, lengths[:2]), "`second_length` must have"),
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("export"))
    for model in ("spe", "pn"):
        for size in SIZES:
            for signature in ("serving_default", "embed"):
                served.add(
                    f"{model} {signature} {size}",
                    model,
                    signature,
                    image=images(size),
                )
            served.classify(
                f"{model} classify {size}", model, query=images(size)
            )
        served.classify(f"{model} again", model)
        served.classify(f"{model} once more", model)
        served.classify(
            f"{model} other seed", model, seed=np.array([3, 5], "int32")
        )
        served.classify(
            f"{model} one class",
            model,
            support=images(1),
            support_labels=np.array([-(2**31)], "int32"),
        )
        for name, (change, _) in bad_inputs().items():
            if "image" in change:
                signature = "serving_default"
                served.add(f"{model} {name}", model, signature, **change)
            else:
                served.classify(f"{model} {name}", model, **change)
    for size in SIZES:
        served.score_pairs(
            f"pairs score_pairs {size}", images(size, 1), images(size, 2)
        )
        served.add(
            f"pairs embed {size}",
            "pairs",
            "serving_default",
            image=images(size),
        )
    for name, (first, second, _) in bad_pairs().items():
        served.score_pairs(f"pairs {name}", first, second)
    for name, seed in (("", 4), (" again", 4), (" other seed", 5)):
        seed = np.array([3, seed], "int32")
        served.classify(f"hedged classify{name}", "hedged", seed=seed)
        served.add(
            f"hedged score_pairs{name}",
            "hedged",
            "score_pairs",
            first=images(5, 1),
            second=images(5, 2),
            seed=seed,
        )
    served.classify("soft classify", "soft")
    served.score_pairs("soft score_pairs", images(5, 1), images(5, 2), "soft")
    for size in (1, 5):
        served.score_recordings(
            f"words score_pairs {size}",
            recordings(size, seed=1),
            recordings(size, seed=2),
        )
        waveforms, lengths = recordings(size)
        served.add(
            f"words embed {size}",
            "words",
            "serving_default",
            waveform=waveforms,
            length=lengths,
        )
    for name, (second, _) in bad_recordings().items():
        first = recordings(3, seed=1)
        served.score_recordings(f"words {name}", first, second)
    support, support_length = recordings(7, seed=1)
    query, query_length = recordings(5, seed=2)
    served.add(
        "words classify",
        "encoder of words",
        "classify",
        support=support,
        support_length=support_length,
        support_labels=np.array(SUPPORT_LABELS, "int32"),
        query=query,
        query_length=query_length,
        seed=np.array([0, 0], "int32"),
    )
    small = (4, 8, 1)
    for model, name, shape in (
        ("function", "image", SHAPE),
        ("layer", "image", SHAPE),
        ("model", "small_image", small),
    ):
        served.add(
            f"{model} embed", model, "embed", **{name: images(6, shape=shape)}
        )
        served.classify(
            f"{model} classify",
            model,
            support=images(7, seed=1, shape=shape),
            query=images(5, seed=2, shape=shape),
        )
    served.run()
    return served


def point_probability(embed, support, query):
    """Softmax of minus the squared distance to class means, in NumPy."""
    support, query = np.asarray(embed(support)), np.asarray(embed(query))
    labels = np.array(SUPPORT_LABELS)
    means = np.stack([support[labels == c].mean(axis=0) for c in CLASSES])
    squared = ((query[:, None] - means) ** 2).sum(axis=-1)
    return special.softmax(-squared, axis=1)


def gaussian_probability(model, embed, support, query, seed=(3, 4)):
    class_ids = [CLASSES.index(label) for label in SUPPORT_LABELS]
    prototypes = model.objective.prototypes(embed(support), class_ids, 3)
    log_prob = tf.function(model.objective.log_prob, autograph=False)
    return np.exp(log_prob(embed(query), prototypes, 200, tf.constant(seed)))


class TestHedgedInstances:
    seed = np.array([3, 4], "int32")

    def test_classify(self, served):
        outputs = served.outputs("hedged classify")
        assert outputs["classes"].tolist() == CLASSES
        support, query = (
            encode(served.hedged, images(rows, seed=seed))
            for rows, seed in ((7, 1), (5, 2))
        )
        match = np.exp(
            served.hedged.objective.match_log_probability(
                query, support, seed=self.seed
            )
        )
        labels = np.array(SUPPORT_LABELS)
        best = np.stack([match[:, labels == c].max(1) for c in CLASSES], 1)
        np.testing.assert_allclose(
            outputs["probability"],
            best / best.sum(axis=1, keepdims=True),
            rtol=1e-4,
        )

    def test_score_pairs(self, served):
        outputs = served.outputs("hedged score_pairs")
        logit = served.hedged.objective.score_pairs(
            encode(served.hedged, images(5, 1)),
            encode(served.hedged, images(5, 2)),
            seed=self.seed,
        )
        np.testing.assert_allclose(outputs["logit"], logit, rtol=1e-4)
        np.testing.assert_allclose(
            outputs["probability"], special.expit(logit), rtol=1e-4
        )

    @pytest.mark.parametrize("signature", ["classify", "score_pairs"])
    def test_seed(self, served, signature):
        first, again, other = (
            served.outputs(f"hedged {signature}{name}")["probability"]
            for name in ("", " again", " other seed")
        )
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


class TestSoftContrastive:
    def test_classify(self, served):
        support, query = (
            encode(served.soft, images(rows, seed=seed))
            for rows, seed in ((7, 1), (5, 2))
        )
        distance = np.linalg.norm(query[:, None] - support, axis=-1)
        match = special.expit(3 - distance)
        labels = np.array(SUPPORT_LABELS)
        best = np.stack([match[:, labels == c].max(1) for c in CLASSES], 1)
        np.testing.assert_allclose(
            served.outputs("soft classify")["probability"],
            best / best.sum(axis=1, keepdims=True),
            rtol=1e-4,
        )

    def test_score_pairs(self, served):
        first, second = (
            encode(served.soft, images(5, seed)) for seed in (1, 2)
        )
        distance = np.linalg.norm(first - second, axis=1)
        outputs = served.outputs("soft score_pairs")
        assert set(outputs) == {"logit", "probability"}
        np.testing.assert_allclose(outputs["logit"], 3 - distance, rtol=1e-4)
        np.testing.assert_allclose(
            outputs["probability"], special.expit(3 - distance), rtol=1e-4
        )


def assert_probability(actual, expected):
    np.testing.assert_allclose(actual, expected, atol=1e-5)
    np.testing.assert_allclose(
        actual.sum(axis=1), np.ones(len(expected)), rtol=1e-5
    )
    # The values differ.
    assert len(expected) < 5 or actual.std() > 0.05


def test_client_imports_only_tensorflow(served):
    assert served.imported == []


@pytest.mark.parametrize("signature", ["serving_default", "embed"])
@pytest.mark.parametrize("size", SIZES)
class TestEmbed:
    def test_gaussian(self, served, size, signature):
        outputs = served.outputs(f"spe {signature} {size}")
        assert set(outputs) == {"embedding", "variance"}
        packed = encode(served.spe.encoder, images(size))
        for value, expected in (
            (outputs["embedding"], packed[:, :2]),
            (outputs["variance"], packed[:, 2:]),
        ):
            assert value.shape == (size, 2) and value.dtype == "float32"
            np.testing.assert_allclose(value, expected, atol=1e-5)

    def test_point(self, served, size, signature):
        outputs = served.outputs(f"pn {signature} {size}")
        assert set(outputs) == {"embedding"}
        assert outputs["embedding"].shape == (size, 3)
        np.testing.assert_allclose(
            outputs["embedding"], encode(served.pn, images(size)), atol=1e-5
        )


class TestClassify:
    @pytest.mark.parametrize("size", SIZES)
    def test_gaussian(self, served, size):
        outputs = served.outputs(f"spe classify {size}")
        assert outputs["classes"].tolist() == CLASSES
        assert outputs["classes"].dtype == "int32"
        assert_probability(
            outputs["probability"],
            gaussian_probability(
                served.spe,
                lambda x: encode(served.spe.encoder, x),
                images(7, seed=1),
                images(size),
            ),
        )

    @pytest.mark.parametrize("size", SIZES)
    def test_point(self, served, size):
        outputs = served.outputs(f"pn classify {size}")
        assert outputs["classes"].tolist() == CLASSES
        assert_probability(
            outputs["probability"],
            point_probability(
                lambda x: encode(served.pn, x), images(7, seed=1), images(size)
            ),
        )

    def test_same_seed_same_answer(self, served):
        first, second, other = (
            served.outputs(f"spe {call}")["probability"]
            for call in ("again", "once more", "other seed")
        )
        np.testing.assert_array_equal(first, second)
        assert (first != other).any()
        np.testing.assert_allclose(first, other, atol=0.3)

    def test_points_need_no_seed(self, served):
        first, other = (
            served.outputs(f"pn {call}")["probability"]
            for call in ("again", "other seed")
        )
        np.testing.assert_array_equal(first, other)

    @pytest.mark.parametrize("model", ["spe", "pn"])
    def test_one_class(self, served, model):
        outputs = served.outputs(f"{model} one class")
        assert outputs["classes"].tolist() == [-(2**31)]
        np.testing.assert_allclose(
            outputs["probability"], np.ones((5, 1)), rtol=1e-5
        )


class TestScorePairs:
    @pytest.mark.parametrize("size", SIZES)
    def test_logit_and_probability(self, served, size):
        outputs = served.outputs(f"pairs score_pairs {size}")
        assert set(outputs) == {"logit", "probability"}
        for value in outputs.values():
            assert value.shape == (size,) and value.dtype == "float32"
        first, second = (
            encode(served.pn, images(size, seed=s)) for s in (1, 2)
        )
        logit = served.pairs.objective.distance.all_pairs(first, second)
        logit = np.diagonal(logit)
        np.testing.assert_allclose(outputs["logit"], logit, atol=1e-4)
        np.testing.assert_allclose(
            outputs["probability"], 1 / (1 + np.exp(-logit)), atol=1e-5
        )
        assert size < 2 or logit.std() > 0.01  # the values differ

    @pytest.mark.parametrize("size", SIZES)
    def test_embedding(self, served, size):
        outputs = served.outputs(f"pairs embed {size}")
        np.testing.assert_allclose(
            outputs["embedding"], encode(served.pn, images(size)), atol=1e-5
        )

    @pytest.mark.parametrize("name", bad_pairs())
    def test_bad_input(self, served, name):
        message = bad_pairs()[name][-1]
        assert message in served.errors[f"pairs {name}"]

    def test_signatures(self, served):
        loaded = tf.saved_model.load(served.paths["pairs"])
        names = {"serving_default", "embed", "score_pairs"}
        names |= {"embed_bytes", "score_pairs_bytes"}
        assert set(loaded.signatures) - {"serve"} == names


class TestRecordings:
    @pytest.mark.parametrize("size", [1, 5])
    def test_score_of_pairs(self, served, size):
        outputs = served.outputs(f"words score_pairs {size}")
        assert set(outputs) == {"logit", "probability"}
        pairs = [
            encode_recordings(served.words.encoder, *recordings(size, seed))
            for seed in (1, 2)
        ]
        logit = served.words.objective.distance.all_pairs(*pairs)
        logit = np.diagonal(logit)
        np.testing.assert_allclose(outputs["logit"], logit, atol=1e-5)
        np.testing.assert_allclose(
            outputs["probability"], special.expit(logit), atol=1e-5
        )
        assert size < 2 or logit.std() > 0.01  # the values differ

    @pytest.mark.parametrize("size", [1, 5])
    def test_embedding(self, served, size):
        np.testing.assert_allclose(
            served.outputs(f"words embed {size}")["embedding"],
            encode_recordings(served.words.encoder, *recordings(size)),
            atol=1e-5,
        )

    def test_classify(self, served):
        encoder = served.exports["encoder of words"][0]
        assert_probability(
            served.outputs("words classify")["probability"],
            point_probability(
                lambda x: encode_recordings(encoder, *x),
                recordings(7, seed=1),
                recordings(5, seed=2),
            ),
        )

    @pytest.mark.parametrize("name", bad_recordings())
    def test_bad_recordings(self, served, name):
        assert bad_recordings()[name][-1] in served.errors[f"words {name}"]

    @pytest.mark.parametrize(
        "spec",
        [
            tf.TensorSpec((None, 4), tf.float32),
            tf.TensorSpec((2, 4), tf.float32, "x"),
            tf.TensorSpec((), tf.float32, "x"),
            tf.TensorSpec(None, tf.float32, "x"),
        ],
    )
    def test_bad_input_signature(self, served, spec, tmp_path):
        function = tf.function(lambda x: x, input_signature=[spec])
        with pytest.raises(ValueError, match="must have named tensors with"):
            export_saved_model(served.pn, tmp_path, preprocessing=function)
        assert not list(tmp_path.iterdir())


class TestPreprocessing:
    @pytest.mark.parametrize("name", ["function", "layer"])
    def test_in_front_of_a_point_model(self, served, name):
        preprocessing = {
            "function": lambda x: 255 - x,
            "layer": lambda x: x / 2 + 3,
        }[name]

        def embed(x):
            return served.pn(preprocessing(x))

        outputs = served.outputs(f"{name} embed")
        np.testing.assert_allclose(
            outputs["embedding"], embed(images(6)), atol=1e-5
        )
        assert_probability(
            served.outputs(f"{name} classify")["probability"],
            point_probability(embed, images(7, seed=1), images(5, seed=2)),
        )

    def test_preprocessing_model_with_another_input_shape(self, served):
        """Twice the height and width; (x - 100) / sqrt(4)."""
        small = (4, 8, 1)

        def embed(x):
            return served.spe((x.repeat(2, axis=1).repeat(2, axis=2) - 100) / 2)

        outputs = served.outputs("model embed")
        packed = embed(images(6, shape=small)).numpy()
        np.testing.assert_allclose(
            outputs["embedding"], packed[:, :2], atol=1e-5
        )
        np.testing.assert_allclose(
            outputs["variance"], packed[:, 2:], atol=1e-5
        )
        np.testing.assert_allclose(
            served.outputs("model classify")["probability"],
            gaussian_probability(
                served.spe,
                embed,
                images(7, seed=1, shape=small),
                images(5, seed=2, shape=small),
            ),
            atol=1e-5,
        )


@pytest.mark.parametrize("model", ["spe", "pn"])
@pytest.mark.parametrize("name", bad_inputs())
def test_bad_input(served, model, name):
    _, message = bad_inputs()[name]
    assert message in served.errors[f"{model} {name}"]


def tiny_model():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])


def replace_write_out(monkeypatch, write_out):
    # ExportArchive is a factory.
    archive_class = type(keras.export.ExportArchive())
    monkeypatch.setattr(archive_class, "write_out", write_out)


@pytest.fixture
def quick(monkeypatch):
    """Writes a small file instead of a SavedModel."""

    def write_out(archive, folder, **options):
        os.mkdir(folder)
        with open(os.path.join(folder, "saved_model.pb"), "w") as file:
            file.write("new")

    replace_write_out(monkeypatch, write_out)
    return write_out


class TestVersions:
    def test_numbering(self, quick, tmp_path):
        model, base = tiny_model(), tmp_path / "not" / "yet"
        paths = [export_saved_model(model, base) for _ in range(2)]
        assert paths == [str(base / "1"), str(base / "2")]
        assert export_saved_model(model, str(base), 10) == str(base / "10")
        # A gap can be filled; other files there are ignored.
        (base / "notes.txt").write_text("keep")
        (base / "latest").mkdir()
        assert export_saved_model(model, base, version=4) == str(base / "4")
        assert export_saved_model(model, base) == str(base / "11")
        assert sorted(os.listdir(base)) == sorted(
            ["1", "2", "4", "10", "11", "notes.txt", "latest"]
        )

    def test_is_never_overwritten(self, quick, tmp_path):
        (tmp_path / "3").mkdir()
        (tmp_path / "3" / "saved_model.pb").write_text("old")
        with pytest.raises(FileExistsError, match="never overwritten"):
            export_saved_model(tiny_model(), tmp_path, version=3)
        assert (tmp_path / "3" / "saved_model.pb").read_text() == "old"
        assert os.listdir(tmp_path) == ["3"]

    @pytest.mark.parametrize("place", ["3", "3/variables"])
    def test_contains_no_other_model(self, quick, place, tmp_path):
        (tmp_path / "3").mkdir()
        (tmp_path / "3" / "saved_model.pb").write_text("old")
        message = "in the version .*3. Pass .* or a folder outside it"
        with pytest.raises(ValueError, match=message):
            export_saved_model(tiny_model(), tmp_path / place)
        assert os.listdir(tmp_path / "3") == ["saved_model.pb"]

    def test_is_not_overwritten_where_two_export_at_once(
        self, quick, monkeypatch, tmp_path
    ):
        def write_out(archive, folder, **options):
            quick(archive, folder)
            (tmp_path / "1").mkdir()
            (tmp_path / "1" / "saved_model.pb").write_text("theirs")

        replace_write_out(monkeypatch, write_out)
        with pytest.raises(FileExistsError, match="by another process"):
            export_saved_model(tiny_model(), tmp_path)
        assert (tmp_path / "1" / "saved_model.pb").read_text() == "theirs"
        assert os.listdir(tmp_path) == ["1"]

    def test_an_empty_folder_of_another_process_is_kept(
        self, quick, monkeypatch, tmp_path
    ):
        """POSIX would replace it."""

        def write_out(archive, folder, **options):
            quick(archive, folder)
            (tmp_path / "1").mkdir()

        replace_write_out(monkeypatch, write_out)
        with pytest.raises(FileExistsError, match="by another process"):
            export_saved_model(tiny_model(), tmp_path)
        assert os.listdir(tmp_path / "1") == []

    @pytest.mark.parametrize("version", [0, -1, True, "2", 1.0])
    def test_bad_values(self, version, tmp_path):
        with pytest.raises(ValueError, match="`version` must be None or an"):
            export_saved_model(tiny_model(), tmp_path, version=version)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("version", [None, 5])
    def test_a_failing_write_leaves_nothing(
        self, quick, monkeypatch, tmp_path, version
    ):
        def write_out(archive, folder, **options):
            quick(archive, folder)
            raise OSError(28, "No space left on device")

        replace_write_out(monkeypatch, write_out)
        (tmp_path / "1").mkdir()
        with pytest.raises(OSError, match="No space left"):
            export_saved_model(tiny_model(), tmp_path, version)
        assert os.listdir(tmp_path) == ["1"]

    def test_other_users_can_read_the_export(self, quick, tmp_path):
        """A server often runs as another user, so the folder is not private."""
        umask = os.umask(0o022)
        try:
            path = export_saved_model(tiny_model(), tmp_path)
        finally:
            os.umask(umask)
        assert os.stat(path).st_mode & 0o777 == 0o755


class TestModels:
    def test_unbuilt(self, tmp_path):
        model = EmbeddingModel(
            keras.Sequential([GaussianEmbedding(2)]), StochasticPrototypes(1)
        )
        with pytest.raises(ValueError, match="Only a built model"):
            export_saved_model(model, tmp_path / "base")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        "model", [None, "text", keras.Model, np.ones(3)], ids=repr
    )
    def test_no_model(self, model, tmp_path):
        with pytest.raises(ValueError, match="`model` must be a Keras model"):
            export_saved_model(model, tmp_path)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        ("preprocessing", "message"),
        [
            (3, "`preprocessing` must be a function"),
            (lambda x: None, "result of `preprocessing` must be .*NoneType"),
            (lambda x: x[:, :3], r"\(None, 8, 16, 1\); received .*3, 16, 1\)"),
        ],
        ids=["a number", "nothing", "another shape"],
    )
    def test_preprocessing_that_does_not_fit(
        self, preprocessing, message, tmp_path
    ):
        encoder = n_digit_encoder(2, image_shape=SHAPE)
        with pytest.raises(ValueError, match=message):
            export_saved_model(encoder, tmp_path, preprocessing=preprocessing)
        assert os.listdir(tmp_path) == []

    def test_several_inputs(self, tmp_path):
        inputs = [keras.Input((2,)), keras.Input((2,))]
        model = keras.Model(inputs, keras.layers.Add()(inputs))
        with pytest.raises(ValueError, match="with 2 declared inputs"):
            export_saved_model(model, tmp_path)

    def test_no_declared_input(self, tmp_path):
        class Wrapper(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)

            def call(self, inputs):
                return self.dense(inputs)

        wrapper = Wrapper()
        wrapper(np.ones((1, 3), "float32"))
        with pytest.raises(ValueError, match="starts with keras.Input"):
            export_saved_model(wrapper, tmp_path)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        ("outputs", "received"),
        [
            (lambda x: x[:, None] * x[..., None], r"shape \(None, 3, 3\)"),
            (lambda x: keras.ops.sum(x, axis=-1), r"shape \(None,\)"),
            (lambda x: [x, x + 1], "list of 2"),
        ],
        ids=["rank 3", "rank 1", "two"],
    )
    def test_outputs_that_are_no_embeddings(self, outputs, received, tmp_path):
        x = keras.Input((3,))
        message = f"one tensor, the embeddings .*; received .*{received}"
        with pytest.raises(ValueError, match=message):
            export_saved_model(keras.Model(x, outputs(x)), tmp_path)
        assert os.listdir(tmp_path) == []

    def test_inputs_declared_by_the_preprocessing(self, tmp_path):
        """A model without declared inputs and outputs: 2 x + 2 x."""

        class Twice(keras.Model):
            def call(self, inputs):
                return 2 * inputs

        twice = Twice()
        twice(np.ones((1, 3), "float32"))
        spec = tf.TensorSpec((None, 3), tf.float32, "x")
        path = export_saved_model(
            twice,
            tmp_path,
            preprocessing=tf.function(lambda x: x + x, input_signature=[spec]),
        )
        found = tf.saved_model.load(path).signatures["serving_default"]
        np.testing.assert_array_equal(
            found(x=tf.ones((2, 3)))["embedding"], np.full((2, 3), 4.0)
        )
        card = json.loads((pathlib.Path(path) / "model_card.json").read_text())
        assert card["dim"] == 3

    def test_rows_that_are_left_out(self, tmp_path):
        """Answers of the other rows would belong to wrong inputs."""
        inputs = keras.Input((3,), name="x")
        path = export_saved_model(
            keras.Model(inputs, 2 * inputs),
            tmp_path,
            preprocessing=lambda x: tf.boolean_mask(x, x[:, 0] > 0),
            decoder=lambda name, files: (
                tf.ones((tf.shape(tf.unique(files).y)[0], 3)),
            ),
        )
        signatures = tf.saved_model.load(path).signatures
        x = np.array([[1, 2, 3], [4, 5, 6], [-1, 0, 0]], "float32")
        good = signatures["serving_default"](x=tf.constant(x[:2]))
        np.testing.assert_array_equal(good["embedding"], 2 * x[:2])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"one row for each row.*3.*2"
        ):
            signatures["serving_default"](x=tf.constant(x))
        embed = signatures["embed_bytes"]
        assert embed(x_bytes=tf.constant(["a", "b"]))["embedding"].shape == (
            2,
            3,
        )
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"`x_bytes` and .*2.*1"
        ):
            embed(x_bytes=tf.constant(["a", "a"]))

    def test_the_model_can_be_trained_on(self, served):
        """An export does not change the model."""
        model = served.spe
        model.compile(optimizer="sgd", run_eagerly=True)
        before = model.encoder.layers[-1].kernel.numpy()
        model.train_on_batch(images(8), np.arange(8) // 4)
        assert (model.encoder.layers[-1].kernel.numpy() != before).any()


@pytest.fixture(scope="module")
def of_pixels(tmp_path_factory):
    """From arguments to the loaded export of the same model, made once."""

    @functools.cache
    def exported(**arguments):
        keras.utils.set_random_seed(0)
        encoder = n_digit_encoder(2, image_shape=SHAPE)
        model = EmbeddingModel(encoder, StochasticPrototypes(2))
        folder = tmp_path_factory.mktemp("pixels")
        return tf.saved_model.load(
            export_saved_model(model, folder, **arguments)
        )

    return exported


class TestPixels:
    """Images of 0 to 1 in a model for images of 0 to 255."""

    def calls(self, signatures, scale):
        """Names of inputs times `scale`, and calls with them."""
        x = tf.constant(images(4) * np.float32(scale))
        labels = tf.constant([0, 1, 0, 1])
        yield "image", lambda: signatures["serving_default"](image=x)
        for name in ("query", "support"):
            inputs = {"query": images(4), "support": images(4), name: x}
            inputs = {key: tf.constant(value) for key, value in inputs.items()}
            yield (
                name,
                lambda inputs=inputs: signatures["classify"](
                    **inputs, support_labels=labels, seed=tf.constant([0, 0])
                ),
            )

    def test_warns_on_stderr(self, of_pixels, capfd):
        loaded = of_pixels()
        for name, call in self.calls(loaded.signatures, 1 / 255):
            call()
            printed = capfd.readouterr().err
            assert printed.count("Multiply them by 255") == 1
            assert f"warning: `{name}`: Pixels are 0 to 255" in printed
        for _, call in self.calls(loaded.signatures, 1):
            call()
            assert "Multiply" not in capfd.readouterr().err

    def test_refuses(self, of_pixels):
        loaded = of_pixels(unit_range="refuse")
        for name, call in self.calls(loaded.signatures, 1 / 255):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"`{name}`: Pixels are"
            ):
                call()
        for _, call in self.calls(loaded.signatures, 1):
            call()

    def test_a_layer_that_refuses(self, tmp_path):
        encoder = n_digit_encoder(2, image_shape=SHAPE)
        encoder.get_layer("pixel_range").unit_range = "refuse"
        loaded = tf.saved_model.load(export_saved_model(encoder, tmp_path))
        with pytest.raises(tf.errors.InvalidArgumentError, match="by 255"):
            loaded.signatures["serving_default"](
                image=tf.constant(images(2) / 255)
            )

    def test_accept(self, of_pixels, capfd):
        loaded = of_pixels(unit_range="accept")
        for _, call in self.calls(loaded.signatures, 1 / 255):
            call()
        assert "Multiply" not in capfd.readouterr().err

    def test_unknown_choice(self, of_pixels):
        with pytest.raises(ValueError, match="`unit_range` must be one of"):
            of_pixels(unit_range="no")

    def test_embed_is_without_checks(self, of_pixels):
        """Converters to other engines do not know these operations."""
        loaded = of_pixels(unit_range="refuse")
        checks = {"Assert", "CheckNumerics", "PrintV2", "If", "StatelessIf"}
        checks |= {"EagerPyFunc", "PyFunc"}

        def operations(name):
            graph = loaded.signatures[name].graph.as_graph_def()
            nodes = [node.op for node in graph.node]
            for function in graph.library.function:
                nodes += [node.op for node in function.node_def]
            return set(nodes)

        assert not checks & operations("embed")
        assert checks & operations("serving_default")
        x = tf.constant(images(3))
        for name, value in loaded.signatures["embed"](image=x).items():
            np.testing.assert_array_equal(
                value, loaded.signatures["serving_default"](image=x)[name]
            )


@pytest.fixture(scope="module", params=[StochasticPrototypes, HedgedInstances])
def classified_rows(request, tmp_path_factory):
    """Supports, and the function from queries to what `classify` says."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((2,), name="x")
    model = EmbeddingModel(
        keras.Model(inputs, GaussianEmbedding(2)(inputs)), request.param(3)
    )
    folder = tmp_path_factory.mktemp("rows")
    loaded = tf.saved_model.load(export_saved_model(model, folder))
    x = np.random.default_rng(0).normal(size=(6, 2)).astype("float32")

    def probability(query):
        return loaded.signatures["classify"](
            support=tf.constant(x),
            support_labels=tf.constant([0, 1, 2, 0, 1, 2]),
            query=tf.constant(query),
            seed=tf.constant([3, 4]),
        )["probability"].numpy()

    return x, probability


class TestClassifyRows:
    """The result of `classify` for a row does not depend on other rows."""

    def test_position(self, classified_rows):
        x, probability = classified_rows
        together = probability(x)
        np.testing.assert_allclose(probability(x[::-1])[::-1], together, 1e-4)
        for row in range(6):
            np.testing.assert_allclose(
                probability(x[row : row + 1])[0], together[row], rtol=1e-4
            )

    @pytest.mark.parametrize("scale", [1e19, 1e30])
    def test_huge_inputs(self, classified_rows, scale):
        x, probability = classified_rows
        found = probability(x * np.float32(scale))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)

    def test_too_large_for_the_model(self, classified_rows):
        x, probability = classified_rows
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="embedding of `query` is not finite",
        ):
            probability(np.copysign(np.float32(3.4e38), x))


def test_an_empty_directory_is_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="`directory` must be the path"):
        export_saved_model(model, "")
