"""Models, encoders and the few-shot classifier."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from tests.hostile.entries.data import X
from tests.hostile.entries.data import Y
from tests.hostile.entries.data import folder
from tests.hostile.entries.data import rows
from tests.hostile.judging import Entry
from tests.hostile.values import Expected
from tests.hostile.values import anything
from tests.hostile.values import choice
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import either
from tests.hostile.values import floats
from tests.hostile.values import labels
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import same
from tests.hostile.values import seed
from tests.models.networks import write_networks


def encoder(gaussian=True, dim=2, inputs=4):
    last = (
        layers.GaussianEmbedding(dim) if gaussian else keras.layers.Dense(dim)
    )
    return keras.Sequential([keras.Input((inputs,)), last])


def trained(**arguments):
    """Returns the model's embeddings, and its loss on one batch."""
    model = models.EmbeddingModel(**arguments)
    model.compile("adam")
    before = model.predict_on_batch(X)
    return before, model.train_on_batch(X, Y)


def made_encoder(kind):
    return encoder() if isinstance(kind, str) and kind == "valid" else kind


NO_MODELS = [
    refused("None", None),
    refused("text", "hostile"),
    refused("a number", 3),
    refused("an array", X),
]


def embedding_model(encoder, objective, piece_size, gaussian, uncertainty):
    keras.utils.set_random_seed(0)
    return trained(
        encoder=made_encoder(encoder),
        objective=(
            objectives.StochasticPrototypes(2)
            if objective == "valid"
            else objective
        ),
        piece_size=piece_size,
        gaussian=gaussian,
        uncertainty=uncertainty,
    )


def batch_of(x, y):
    keras.utils.set_random_seed(0)
    model = models.EmbeddingModel(encoder(False), losses.TripletLoss())
    model.compile("sgd")
    return model.test_on_batch(x, y)


def vae(images, **arguments):
    """A small version of the published model; returns its likelihood."""
    keras.utils.set_random_seed(0)
    small = keras.Sequential(
        [
            keras.Input((2, 2, 1)),
            keras.layers.Flatten(),
            layers.GaussianEmbedding(2),
        ]
    )
    decoder = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(4),
            keras.layers.Reshape((2, 2, 1)),
        ]
    )
    arguments = {"encoder": small, "decoder": decoder, **arguments}
    model = models.BetaVAE(**arguments)
    model.compile("sgd")
    return model.test_on_batch(images)


def vae_method(name):
    """A method of a small BetaVAE of images 2 x 2 x 1 and codes of 2."""
    keras.utils.set_random_seed(0)
    decoder = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(4),
            keras.layers.Reshape((2, 2, 1)),
        ]
    )
    small = keras.Sequential(
        [
            keras.Input((2, 2, 1)),
            keras.layers.Flatten(),
            layers.GaussianEmbedding(2),
        ]
    )
    return getattr(models.BetaVAE(small, decoder), name)


CODES = X[:3, :2].copy()
BAD_CODES = [
    *(
        h
        for h in floats(CODES, nan=Expected.POISON)
        if h.name
        in (
            "a tensor",
            "float64",
            "complex",
            "strings",
            "text",
            "None",
            "a ragged list",
            "one axis less",
            "a scalar",
            "times 1e19",
        )
    ),
    refused("wider", X[:3, :3]),
]
FEW = models.EmbeddingModel(encoder(False), losses.PrototypicalLoss(2))
GAUSSIAN = models.EmbeddingModel(encoder(), objectives.StochasticPrototypes(2))
GAUSSIAN(X)
HEADED = models.EmbeddingModel(
    encoder(False),
    losses.PrototypicalLoss(2),
    uncertainty=layers.UncertaintyHead((4,)),
)


FITTED = models.FewShotClassifier(GAUSSIAN, num_samples=4, seed=1).fit(X, Y)
FOLDER = folder()


def classify(support, labels, query, model=GAUSSIAN, **arguments):
    fitted = models.FewShotClassifier(model, **arguments).fit(support, labels)
    return fitted.predict_proba(query)


def encoding(make):
    """Returns the size of an encoder with the given arguments."""

    def call(**arguments):
        keras.utils.set_random_seed(0)
        model = make(**arguments)
        return [model.count_params(), model.output_shape[-1]]

    return call


DIM = {"dim": chosen(count(3), "huge", "beyond int64", "True", "int32")}
TRUTH = [refused("text", "no"), refused("None", None), refused("0.5", 0.5)]


def shapes(good):
    return [
        same("a list", list(good), good),
        refused("a number", 32),
        refused("two numbers", good[:2]),
        refused("zero", (0, *good[1:])),
        refused("negative", (-3, *good[1:])),
        refused("fractions", (good[0] + 0.5, *good[1:])),
        refused("None", None),
        refused("text", "abc"),
        anything("no size", (None, *good[1:])),
    ]


IMAGES = np.random.default_rng(1).integers(0, 256, (3, 2, 2, 1)).astype("f4")

NETWORK = f"{write_networks(folder())}:network"
NETWORKS = [
    refused("unknown", "hostile"),
    refused("None", None),
    refused("a number", 3),
    refused("no such function", NETWORK.replace(":network", ":nothing")),
    refused("no such file", "nothing.py:network"),
    refused("returns a number", NETWORK.replace(":network", ":no_model")),
]
WEIGHTS = [
    refused("missing", "/nothing/here.weights.h5"),
    refused("imagenet", "imagenet"),
    refused("a number", 3),
]
COMPILED = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
COMPILED.compile("sgd", loss="mse")

ENTRIES = {
    "models.BetaVAE": Entry(
        vae,
        {"images": IMAGES, "beta": 2.0, "likelihood": "bernoulli", "seed": 1},
        {
            "images": [
                refused("one axis less", IMAGES[..., 0]),
                refused("another size", IMAGES[:, :1]),
                refused("text", "hostile"),
                refused("None", None),
                refused("complex", IMAGES + 1j),
                anything("black", IMAGES * 0),
            ],
            "beta": number(2.0, low=0),
            "likelihood": choice("bernoulli"),
            "seed": seed(1, optional=True),
            "encoder": [*NO_MODELS, refused("without variances", FEW.encoder)],
            "decoder": [*NO_MODELS, refused("of other codes", encoder())],
        },
    ),
    "models.BetaVAE.decode": Entry(
        vae_method("decode"), {"code": CODES}, {"code": BAD_CODES}
    ),
    "models.BetaVAE.log_likelihood": Entry(
        vae_method("log_likelihood"),
        {"images": IMAGES, "code": CODES},
        {
            "images": [
                refused("one axis less", IMAGES[..., 0]),
                refused("another size", IMAGES[:, :1]),
                refused("fewer", IMAGES[:2]),
                refused("text", "hostile"),
                refused("None", None),
                refused("complex", IMAGES + 1j),
                anything("black", IMAGES * 0),
            ],
            "code": BAD_CODES,
        },
    ),
    "models.EmbeddingModel": Entry(
        embedding_model,
        {
            "encoder": "valid",
            "objective": "valid",
            "piece_size": None,
            "gaussian": None,
            "uncertainty": None,
        },
        {
            "uncertainty": [
                refused("text", "hostile"),
                refused("True", True),
                refused("a class", layers.UncertaintyHead),
                refused("another layer", keras.layers.Dense(1)),
            ],
            "encoder": [
                refused("None", None),
                refused("a number", 3),
                refused("an array", X),
                refused("points", FEW.encoder),
                refused("a class", keras.layers.Dense),
            ],
            "objective": [
                *NO_MODELS,
                refused("a class", objectives.HedgedInstances),
                refused("of Keras by name", "mse"),
                refused("for points", losses.TripletLoss()),
                refused("a function", losses.triplet_loss),
                refused("an optimiser", keras.optimizers.SGD()),
            ],
            "gaussian": [
                refused("text", "no"),
                refused("fraction", 0.5),
            ],
            "piece_size": chosen(
                count(5, optional=True), "beyond int64", "True"
            ),
        },
    ),
    "models.EmbeddingModel.predict_uncertainty": Entry(
        HEADED.predict_uncertainty,
        {"x": X, "batch_size": 5},
        {
            "x": [
                refused("None", None),
                refused("text", "hostile"),
                refused("a number", 3),
                refused("narrower", X[:, :3]),
                same("float64", X.astype("f8"), X),
            ],
            "batch_size": chosen(count(5), "True", "huge", "beyond int64"),
        },
    ),
    "models.EmbeddingModel.batch": Entry(
        batch_of,
        {"x": X, "y": Y},
        {
            "x": [
                refused("narrower", X[:, :3]),
                refused("one axis less", X[0]),
                refused("None", None),
                refused("text", "hostile"),
                anything("zeros", X * 0),
            ],
            "y": [
                refused("None", None),
                refused("fractions", Y * 0.3),
                refused("fewer", Y[:5]),
                refused("two columns", np.stack([Y, Y], 1)),
                same("from 2^24 + 1", Y + 2**24 + 1, Y),
                either("from 2^53 + 1", Y.astype(np.int64) + 2**53 + 1, Y),
                refused("NaN", Y * np.nan),
            ],
        },
        # Values of float labels are only known when the step runs.
        raises=(tf.errors.InvalidArgumentError,),
        tolerance=1e-4,
    ),
    "models.FewShotClassifier": Entry(
        classify,
        {
            "support": X,
            "labels": Y,
            "query": X[:5],
            "num_samples": 4,
            "seed": 1,
            "batch_size": 3,
        },
        {
            "support": [
                *chosen(
                    floats(X),
                    "one axis less",
                    "a list",
                    "complex without imaginary part",
                    "long double",
                    "another byte order",
                    "Python objects",
                    "strings",
                    "times 1e38",
                    "int64 beyond 2^53",
                ),
                refused("narrower", X[:, :3]),
            ],
            # Labels are names, so 0.0 and 0.3 are as valid as 0 and 1.
            "labels": [
                *chosen(
                    labels(Y, strict=False), "strings", "one class", "fractions"
                ),
                same("fractions", Y * 0.3, Y),
            ],
            "query": [
                refused("narrower", X[:, :3]),
                refused("None", None),
                refused("NaN", X * np.nan),
                # Without queries the result is empty, as in scikit-learn.
                anything("no rows", X[:0]),
                refused("text", "hostile"),
                refused("one row", X[0]),
                anything("times 1e19", X * np.float32(1e19)),
            ],
            "num_samples": chosen(
                count(4, optional=True), "huge", "beyond int64"
            ),
            "seed": chosen(seed(1)),
            "batch_size": chosen(count(3), "beyond int64"),
            "model": [
                *NO_MODELS,
                refused("a Keras model without its layers", keras.Model()),
            ],
        },
        rows(X, Y, ("support", "labels")),
        # The error of Keras says that the model has no `call`.
        raises=(NotImplementedError,),
        tolerance=1e-4,
    ),
    **{
        f"models.FewShotClassifier.{name}": Entry(
            lambda query, name=name: getattr(FITTED, name)(query),
            {"query": X[:5]},
            {
                "query": [
                    refused("narrower", X[:, :3]),
                    refused("None", None),
                    refused("NaN", X * np.nan),
                    anything("no rows", X[:0]),
                    refused("text", "hostile"),
                    refused("one row", X[0]),
                    refused("complex", X + 1j),
                    same("float64", X[:5].astype(float), X[:5]),
                    anything("times 1e19", X * np.float32(1e19)),
                ]
            },
            tolerance=1e-4,
        )
        for name in (
            "predict",
            "predict_log_evidence",
            "predict_log_proba",
            "predict_proba",
        )
    },
    "models.FewShotClassifier.save": Entry(
        FITTED.save,
        {"path": FOLDER / "saved.keras"},
        {
            "path": [
                refused("another ending", FOLDER / "saved.npz"),
                refused("a folder", FOLDER),
                refused("no such folder", FOLDER / "a" / "b.keras"),
                refused("None", None),
                refused("a number", 3),
                refused("empty", ""),
                anything("text", str(FOLDER / "again.keras")),
            ]
        },
        raises=(OSError,),
    ),
    "models.backbone": Entry(
        lambda **k: models.backbone(**k)(np.zeros((2, 9, 9, 3), "u1")),
        {
            "network": NETWORK,
            "weights": None,
            "image_shape": (9, 9, 3),
            "seed": 3,
        },
        {
            "network": [*NETWORKS, refused("ImageNet's", "MobileNetV2")],
            "weights": WEIGHTS,
            "image_shape": [
                h for h in shapes((9, 9, 3)) if h.expected is Expected.REFUSED
            ],
            "seed": [refused("-1", -1), refused("text", "no")],
        },
        raises=(OSError,),
    ),
    "models.backbone_encoder": Entry(
        encoding(models.backbone_encoder),
        {
            "dim": 3,
            "backbone": NETWORK,
            "weights": None,
            "image_shape": (9, 9, 3),
            "learning_rate_factor": 0.1,
            "hidden_units": (4,),
            "gaussian": True,
        },
        {
            "dim": [h for h in DIM["dim"] if h.expected is Expected.REFUSED],
            "backbone": NETWORKS,
            "weights": WEIGHTS,
            "learning_rate_factor": [
                refused("-1", -1),
                refused("2", 2),
                refused("nan", np.nan),
                refused("text", "no"),
            ],
            "hidden_units": [refused("zero", (0,)), refused("a number", 4)],
            "gaussian": TRUTH,
        },
        raises=(OSError,),
    ),
    "models.lower_rates": Entry(
        lambda model: models.lower_rates(model).count_params(),
        {"model": COMPILED},
        {
            "model": [
                refused("None", None),
                refused("text", "hostile"),
                refused("not compiled", GAUSSIAN),
            ]
        },
    ),
    "models.bird_features_encoder": Entry(
        encoding(models.bird_features_encoder), {"dim": 3}, DIM
    ),
    "models.cifar_resnet18_encoder": Entry(
        encoding(models.cifar_resnet18_encoder),
        {"image_shape": (8, 8, 3), "width": 4},
        {
            "image_shape": chosen(shapes((8, 8, 3)), "a list"),
            "width": count(4),
        },
    ),
    "models.features_encoder": Entry(
        encoding(models.features_encoder),
        {
            "dim": 3,
            "num_features": 5,
            "hidden_units": (4,),
            "gaussian": True,
            "initial_variance": 0.1,
        },
        {
            **DIM,
            "num_features": chosen(
                count(5), "huge", "beyond int64", "True", "int32"
            ),
            "hidden_units": [
                refused("zero", (0,)),
                refused("a number", 4),
                refused("text", "4"),
                refused("None", None),
            ],
            "gaussian": TRUTH,
            "initial_variance": number(
                0.1, low=0, includes_low=False, optional=True
            ),
        },
    ),
    "models.has_gaussian_output": Entry(
        models.has_gaussian_output,
        {"model": GAUSSIAN},
        {
            "model": [
                *NO_MODELS,
                anything("points", FEW),
                refused("a class", keras.Model),
            ]
        },
    ),
    "models.mini_imagenet_resnet18_encoder": Entry(
        encoding(models.mini_imagenet_resnet18_encoder),
        {"image_shape": (16, 16, 3), "pooling": "global"},
        {
            "image_shape": chosen(shapes((16, 16, 3)), "a list"),
            "pooling": choice("global"),
        },
    ),
    "models.mnist_encoder": Entry(
        encoding(models.mnist_encoder),
        {"dim": 3, "image_shape": (16, 16, 1)},
        {
            **DIM,
            "image_shape": [
                *shapes((16, 16, 1)),
                refused("too small", (1, 1, 1)),
            ],
        },
    ),
    "models.image_encoder": Entry(
        encoding(models.image_encoder),
        {
            "dim": 3,
            "image_shape": (16, 16, 1),
            "num_filters": 4,
            "gaussian": True,
            "initial_variance": 0.1,
        },
        {
            **DIM,
            "image_shape": shapes((16, 16, 1)),
            "num_filters": chosen(
                count(4), "huge", "beyond int64", "True", "int32"
            ),
            "gaussian": TRUTH,
            "initial_variance": number(
                0.1, low=0, includes_low=False, optional=True
            ),
        },
    ),
    "models.n_digit_encoder": Entry(
        encoding(models.n_digit_encoder),
        {
            "dim": 3,
            "gaussian": True,
            "image_shape": (16, 16, 1),
            "initial_variance": 0.1,
        },
        {
            **DIM,
            "image_shape": shapes((16, 16, 1)),
            "gaussian": TRUTH,
            "initial_variance": number(
                0.1, low=0, includes_low=False, optional=True
            ),
        },
    ),
    "models.omniglot_encoder": Entry(
        encoding(models.omniglot_encoder),
        {
            "dim": 3,
            "gaussian": True,
            "image_shape": (32, 32, 1),
            "dark_ink": True,
            "uniform_biases": True,
            "fused": True,
        },
        {
            **DIM,
            "gaussian": TRUTH,
            "image_shape": shapes((32, 32, 1)),
            "dark_ink": TRUTH,
            "uniform_biases": TRUTH,
            "fused": TRUTH,
        },
    ),
    "models.colour_orientation_encoder": Entry(
        encoding(models.colour_orientation_encoder),
        {"dim": 3, "gaussian": True},
        {**DIM, "gaussian": TRUTH},
    ),
    "models.person_re_identification_encoder": Entry(
        encoding(models.person_re_identification_encoder),
        {"dim": 3, "image_shape": (32, 16, 3)},
        {
            **DIM,
            "image_shape": [
                *shapes((32, 16, 3)),
                refused("two rows", (2, 16, 3)),
            ],
        },
    ),
    "models.prepare_for_replicas": Entry(
        lambda model: models.prepare_for_replicas(model).count_params(),
        {"model": GAUSSIAN},
        {"model": [*NO_MODELS, refused("a class", keras.Model)]},
    ),
    "models.resnet50_encoder": Entry(
        lambda **k: models.resnet50_encoder(**k),
        {"dim": 3, "weights": None, "image_shape": (32, 32, 3)},
        {
            "dim": [h for h in DIM["dim"] if h.expected is Expected.REFUSED],
            "weights": [
                refused("unknown", "hostile"),
                refused("0", 0),
                refused("missing", "/nothing/here.weights.h5"),
            ],
            "image_shape": [
                h for h in shapes((32, 32, 3)) if h.expected is Expected.REFUSED
            ],
        },
        raises=(OSError,),
    ),
    "models.small_norb_encoder": Entry(
        encoding(models.small_norb_encoder), {"dim": 3}, DIM
    ),
    "models.sprites_decoder": Entry(
        encoding(models.sprites_decoder),
        {"dim": 3, "width": 8},
        {
            **DIM,
            "width": chosen(count(8), "huge", "beyond int64", "True", "int32"),
        },
    ),
    "models.sprites_encoder": Entry(
        encoding(models.sprites_encoder),
        {
            "dim": 3,
            "gaussian": False,
            "image_shape": (16, 16, 3),
            "width": 8,
            "initial_variance": None,
            "dimension_dropout": 0.0,
        },
        {
            **DIM,
            "gaussian": TRUTH,
            "image_shape": shapes((16, 16, 3)),
            "width": chosen(count(8), "huge", "beyond int64", "True", "int32"),
            "dimension_dropout": chosen(number(0.0, low=0, high=1), "1e-40"),
        },
    ),
    "models.x_vector_encoder": Entry(
        encoding(models.x_vector_encoder),
        {
            "dim": 3,
            "num_coefficients": 5,
            "dilated": True,
            "channels": (4, 4, 4, 4, 6),
            "gaussian": False,
            "initial_variance": None,
        },
        {
            **DIM,
            "num_coefficients": chosen(
                count(5), "huge", "beyond int64", "True", "int32"
            ),
            "dilated": TRUTH,
            "gaussian": TRUTH,
            "channels": [
                refused("four", (4, 4, 4, 4)),
                refused("zero", (4, 4, 4, 4, 0)),
                refused("a number", 4),
                refused("text", "44444"),
                refused("None", None),
                refused("fractions", (4.5, 4, 4, 4, 4)),
                same("a list", [4, 4, 4, 4, 6], (4, 4, 4, 4, 6)),
            ],
        },
    ),
    "models.x_vector_projection": Entry(
        lambda dim: models.x_vector_projection(dim)(X), {"dim": 3}, DIM
    ),
}
