import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax
from scipy.stats import spearmanr

import embeddings_tf
from embeddings_tf import datasets
from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf import sampling
from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.encoder_features import encoder_features
from embeddings_tf.models.method import Method
from embeddings_tf.models.uncertainty_loss import query_losses
from embeddings_tf.models.uncertainty_loss import uncertainty_loss

SEEDS = (np.array([0, 1], "int32"), np.array([0, 2], "int32"))


def image_encoder(gaussian=False, size=8, normalised=True):
    last = keras.layers.BatchNormalization if normalised else keras.layers.ReLU
    return keras.Sequential(
        [
            keras.Input((size, size, 1)),
            keras.layers.Conv2D(3, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(5, 3, padding="same"),
            last(),
            keras.layers.Flatten(),
            layers.GaussianEmbedding(2) if gaussian else keras.layers.Dense(2),
        ]
    )


class Pairs:
    """Two inputs of a model, whose slices are dictionaries."""

    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        return {"a": self.x[rows], "b": self.x[rows]}


def images(count=24):
    rng = np.random.default_rng(0)
    return rng.uniform(0, 255, (count, 8, 8, 1)).astype("float32")


def compiled(encoder, objective, **arguments):
    model = EmbeddingModel(encoder, objective, **arguments)
    model.compile(keras.optimizers.SGD(1e-3))
    return model


METHODS = {
    "prototypical": (False, lambda: losses.PrototypicalLoss(num_support=2)),
    "triplet": (False, losses.TripletLoss),
    "stochastic_prototypes": (
        True,
        lambda: objectives.StochasticPrototypes(num_support=2, seed=0),
    ),
    "hedged_instances": (True, lambda: objectives.HedgedInstances(4)),
    "learned_distance": (
        False,
        lambda: objectives.LearnedDistance(layers.PairDistance((8,))),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "stochastic_prototypes",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in METHODS
            if name != "stochastic_prototypes"
        ),
    ],
)
def test_trains_beside_every_method(name):
    gaussian, objective = METHODS[name]
    model = compiled(
        image_encoder(gaussian),
        objective(),
        uncertainty=UncertaintyHead((8,), num_samples=3),
    )
    before = [w.numpy() for w in model.uncertainty.trainable_weights]
    labels = np.repeat(np.arange(4), 6)
    logs = model.train_on_batch(images(), labels, return_dict=True)
    assert np.isfinite(logs["uncertainty_loss"]) and logs["uncertainty_loss"]
    after = [w.numpy() for w in model.uncertainty.trainable_weights]
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def test_target_is_the_loss_of_each_row_as_a_query():
    rng = np.random.default_rng(0)
    labels = np.array([3, 3, 1, 1, 3, 1, 1, 3, 3])
    embeddings = rng.normal(size=(9, 2)).astype("float32")
    model = EmbeddingModel(image_encoder(), losses.PrototypicalLoss(2))
    found = query_losses(Method(model), labels, embeddings, 1, SEEDS)
    # Class 3 has five rows: three represent it for two, two for three.
    halves = {3: ([0, 1, 4], [7, 8]), 1: ([2, 3], [5, 6])}
    for row, label in enumerate(labels):
        side = 1 if row in halves[label][0] else 0
        means = [embeddings[halves[c][side]].mean(axis=0) for c in (1, 3)]
        squares = [((embeddings[row] - mean) ** 2).sum() for mean in means]
        log_prob = log_softmax(-np.array(squares))[[1, 3].index(label)]
        np.testing.assert_allclose(found[row], -log_prob, rtol=1e-4)


def test_rows_without_another_row_of_their_class_are_left_out():
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(6, 2)).astype("float32")
    predicted = rng.uniform(size=6).astype("float32")
    labels = np.array([5, 0, 0, 7, 1, 1])
    model = EmbeddingModel(image_encoder(), losses.PrototypicalLoss(2))
    head = UncertaintyHead()
    rows = [1, 2, 4, 5]
    target = query_losses(
        Method(model), labels[rows], embeddings[rows], 1, SEEDS
    )
    found = uncertainty_loss(head, Method(model), labels, embeddings, predicted)
    expected = ((predicted[rows] - target) ** 2).numpy().mean()
    np.testing.assert_allclose(found, np.full(6, expected), rtol=1e-5)
    for labels in (np.arange(6), np.array([0, 0, 0, 1, 2, 3])):
        found = uncertainty_loss(
            head, Method(model), labels, embeddings, predicted
        )
        np.testing.assert_array_equal(found, np.zeros(6))


def blocks(x):
    """Ranges of blocks of 2 x 2 pixels `(rows, blocks, channels)`."""
    found = []
    for row in range(0, x.shape[1], 2):
        for column in range(0, x.shape[2], 2):
            block = x[:, row : row + 2, column : column + 2]
            found.append(block.max(axis=(1, 2)) - block.min(axis=(1, 2)))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("size", [8, 5])
def test_features_are_numbers_of_inner_layers(size):
    encoder = image_encoder(size=size)
    embed, count = encoder_features(encoder, 2)
    x = images(4)[:, :size, :size]
    embedding, features = embed(x)
    first = encoder.layers[0](x).numpy()
    # Two spatial sizes; the last layer of each counts.
    pooled = keras.layers.MaxPooling2D()(first)
    last = encoder.layers[3](encoder.layers[2](pooled)).numpy()
    points = encoder(x).numpy()
    expected = [points]
    expected += [np.log(np.linalg.norm(points, axis=1, keepdims=True))]
    for inner in (first, last):
        expected += [inner.mean(axis=(1, 2)), inner.std(axis=(1, 2))]
        expected += [inner.max(axis=(1, 2)), blocks(inner).mean(axis=1)]
    assert count == 2 + 1 + 4 * (3 + 5)
    np.testing.assert_allclose(
        features, np.concatenate(expected, 1), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(embedding, expected[0], rtol=1e-5)


def test_the_norm_of_any_finite_embedding_is_finite():
    """Squares of 1e30 are infinite, and squares of 1e-30 are 0."""
    embed, _ = encoder_features(
        keras.Sequential([keras.Input((2,)), keras.layers.Flatten()]), 2
    )
    for value in (1e30, 1.0, 1e-20):
        points = np.array([[3, -4]], "float32") * np.float32(value)
        found = embed(points)[1].numpy()[0, 2]
        assert found == pytest.approx(np.log(5) + np.log(value), rel=1e-4)
    assert np.isfinite(embed(np.zeros((1, 2), "float32"))[1]).all()


def test_blur_and_noise_change_the_difference_of_neighbours():
    """Of a layer that returns the image itself."""
    same = keras.Sequential(
        [
            keras.Input((16, 16, 1)),
            keras.layers.ReLU(),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ]
    )
    embed, count = encoder_features(same, 1)
    assert count == 1 + 1 + 4
    clean = np.random.default_rng(0).uniform(0, 255, (5, 16, 16, 1))
    clean = datasets.degrade(clean.astype("float32"), "blur", 0.3, (0, 1))
    found = {
        kind: embed(datasets.degrade(clean, kind, 0.7, (0, 2)))[1][:, -1]
        for kind in ("blur", "noise")
    }
    ours = embed(clean)[1][:, -1]
    assert (found["blur"] < ours).numpy().all()
    assert (found["noise"] > ours).numpy().all()


def test_features_of_a_sequence():
    """Layers `(batch, time, channels)`, an odd number of steps, and of one."""
    for length in (5, 1):
        encoder = keras.Sequential(
            [
                keras.Input((length, 2)),
                keras.layers.ReLU(),
                keras.layers.Flatten(),
                keras.layers.Dense(1),
            ]
        )
        embed, count = encoder_features(encoder, 1)
        x = np.arange(1.0, 2 * length + 1).reshape(1, length, 2)
        found = embed(x)[1].numpy()[0, 2:]
        assert count == 2 + len(found)
        # Steps of 2 in blocks of two rows; the last block of five has one.
        apart = {5: 2 * 2 / 3, 1: 0.0}[length]
        column = x[0, :, 0]
        np.testing.assert_allclose(
            found[::2], [column.mean(), column.std(), column.max(), apart]
        )


def test_features_of_functional_and_subclassed_encoders():
    sequential = image_encoder()
    functional = keras.Model(sequential.inputs[0], sequential.outputs[0])
    of_sequential, _ = encoder_features(sequential, 2)
    of_functional, _ = encoder_features(functional, 2)
    np.testing.assert_allclose(
        of_functional(images(4))[1], of_sequential(images(4))[1], rtol=1e-5
    )

    # Nothing has a spatial size in a network of dense layers.
    dense = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(5), keras.layers.Dense(3)]
    )
    embed, size = encoder_features(dense, 3)
    embedding, features = embed(np.ones((2, 4)))
    assert size == 4 and features.shape == (2, 4)
    np.testing.assert_array_equal(features[:, :3], dense(np.ones((2, 4))))

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x)

    own = Own()
    embedding, features = encoder_features(own, 3)[0](np.ones((2, 4)))
    np.testing.assert_array_equal(features[:, :3], embedding)


@pytest.mark.slow
@pytest.mark.parametrize("normalised", [True, False])
def test_the_encoder_trains_as_without_a_head(normalised):
    """In one pass and in two."""
    labels = np.repeat(np.arange(4), 6)
    weights = []
    for head in (None, UncertaintyHead((8,))):
        keras.utils.set_random_seed(1)
        encoder = image_encoder(normalised=normalised)
        model = compiled(encoder, losses.TripletLoss(), uncertainty=head)
        keras.utils.set_random_seed(2)
        model.encoder.set_weights(
            [np.random.normal(0, 0.1, w.shape) ** 2 for w in encoder.weights]
        )
        for _ in range(3):
            model.train_on_batch(images(), labels)
        weights.append(model.encoder.get_weights())
    for without, beside in zip(*weights, strict=True):
        np.testing.assert_allclose(beside, without, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_the_norm_of_the_head_does_not_clip_the_encoder():
    """With a rate of 1, a clipped step has the length of `global_clipnorm`."""
    labels = np.repeat(np.arange(4), 6)
    x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
    steps = []
    for head in (None, UncertaintyHead((8,))):
        encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        encoder.set_weights([np.arange(8.0).reshape(4, 2), np.zeros(2)])
        model = EmbeddingModel(
            encoder, losses.PrototypicalLoss(2), uncertainty=head
        )
        model.compile(keras.optimizers.SGD(1.0, global_clipnorm=0.01))
        parts = [encoder] if head is None else [encoder, head]
        before = [[w.numpy() for w in p.trainable_weights] for p in parts]
        model.train_on_batch(x, labels)
        for part, old in zip(parts, before, strict=True):
            weights = zip(part.trainable_weights, old, strict=True)
            steps.append(
                np.concatenate([(w.numpy() - o).ravel() for w, o in weights])
            )
    without, beside, of_head = steps
    np.testing.assert_allclose(beside, without, rtol=1e-3, atol=1e-5)
    for step in steps:
        assert np.linalg.norm(step) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.slow
def test_evaluation_changes_no_weight_and_drops_no_unit():
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model = compiled(
        encoder,
        losses.PrototypicalLoss(num_support=2),
        uncertainty=UncertaintyHead((64,), dropout=0.9),
    )
    x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
    labels = np.repeat(np.arange(4), 6)
    moving = model.uncertainty.standardize.weights
    before = [w.numpy() for w in (*moving, *model.trainable_weights)]
    found = [
        model.evaluate(x, labels, batch_size=24, verbose=0, return_dict=True)
        for _ in range(2)
    ]
    after = [w.numpy() for w in (*moving, *model.trainable_weights)]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new, old)
    # The losses that the head predicts for each row in inference mode.
    target = query_losses(Method(model), labels, encoder(x), 1, SEEDS)
    expected = np.mean((model.predict_uncertainty(x) - target.numpy()) ** 2)
    for logs in found:
        assert logs["uncertainty_loss"] == pytest.approx(expected, rel=1e-4)
    model.train_on_batch(x, labels)
    assert any(
        (m.numpy() != b).any() for m, b in zip(moving, before[:2], strict=True)
    )


@pytest.mark.slow
def test_trains_on_an_encoder_of_vectors():
    encoder = models.features_encoder(2, num_features=4, hidden_units=(5,))
    model = compiled(
        encoder, losses.TripletLoss(), uncertainty=UncertaintyHead((8,))
    )
    x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
    model.fit(x, np.repeat(np.arange(4), 6), batch_size=24, verbose=0)
    # The features are the embedding and its norm.
    points = encoder(x).numpy()
    norms = np.log(np.linalg.norm(points, axis=1, keepdims=True))
    features = np.concatenate([points, norms], axis=1)
    np.testing.assert_allclose(
        model.predict_uncertainty(x),
        model.uncertainty(features, training=False),
        rtol=1e-4,
    )


@pytest.mark.slow
def test_a_frozen_encoder_trains_only_the_head():
    encoder = image_encoder(gaussian=True)
    encoder.trainable = False
    model = compiled(
        encoder,
        objectives.StochasticPrototypes(2, seed=0),
        uncertainty=UncertaintyHead((8,), num_samples=2),
    )
    fixed = [*encoder.weights, model.objective.raw_noise_variance]
    before = [w.numpy() for w in fixed]
    labels = np.repeat(np.arange(4), 6)
    logs = model.train_on_batch(images(), labels, return_dict=True)
    for weight, value in zip(fixed, before, strict=True):
        np.testing.assert_array_equal(weight, value)
    assert logs["loss"] == pytest.approx(logs["uncertainty_loss"])


@keras.saving.register_keras_serializable(package="tests")
class Counted(keras.layers.Layer):
    """Returns its inputs, and counts how often a graph computes them."""

    passes = 0

    def call(self, inputs):
        def count(x):
            Counted.passes += 1
            return 0 * x

        # Not stateful, so that a graph that does not need it leaves it out.
        zeros = tf.numpy_function(count, [inputs], inputs.dtype, stateful=False)
        zeros.set_shape(inputs.shape)
        return inputs + tf.stop_gradient(zeros)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "trainable", "passes"),
    [
        (keras.layers.ReLU, True, 1),
        # Their embeddings in training are not those of inference.
        (keras.layers.BatchNormalization, True, 2),
        (lambda: keras.layers.Dropout(0.5), True, 2),
        # The head alone needs only embeddings of inference.
        (keras.layers.BatchNormalization, False, 1),
    ],
)
def test_passes_of_the_encoder(last, trainable, passes):
    encoder = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3), Counted(), last()]
    )
    encoder.trainable = trainable
    model = compiled(
        encoder, losses.PrototypicalLoss(2), uncertainty=UncertaintyHead((8,))
    )
    x = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")
    labels = np.repeat(np.arange(4), 6)
    model.train_on_batch(x, labels)
    Counted.passes = 0
    model.train_on_batch(x, labels)
    assert Counted.passes == passes
    model.test_on_batch(x, labels)
    Counted.passes = 0
    model.test_on_batch(x, labels)
    assert Counted.passes == 1


def test_a_head_of_other_features_is_refused():
    head = UncertaintyHead((8,))
    EmbeddingModel(image_encoder(), losses.TripletLoss(), uncertainty=head)
    dense = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="on 35 features.*has 3.*a new"):
        EmbeddingModel(dense, losses.TripletLoss(), uncertainty=head)
    head = UncertaintyHead((8,))
    head.build((None, 2 + 2 * (3 + 5)))  # two numbers of each channel
    with pytest.raises(ValueError, match="on 18 features.*has 35.*a new"):
        EmbeddingModel(image_encoder(), losses.TripletLoss(), uncertainty=head)


@pytest.fixture(scope="module")
def trained():
    """A head on points that are more or less noisy, and say how much."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 20)
    noise = rng.uniform(size=600)
    points = rng.normal(size=(30, 3))[labels]
    points += 2 * noise[:, None] * rng.normal(size=(600, 3))
    x = np.concatenate([points, noise[:, None]], axis=1).astype("float32")
    inputs = keras.Input((4,))
    # The noise is in an inner layer with a spatial size, not in the embedding.
    wide = keras.layers.Reshape((2, 2))(inputs)
    outputs = keras.layers.Flatten()(wide)[:, :3]
    encoder = keras.Model(inputs, outputs)
    encoder.trainable = False
    keras.utils.set_random_seed(0)
    model = EmbeddingModel(
        encoder,
        losses.PrototypicalLoss(5),
        uncertainty=UncertaintyHead((32,)),
    )
    model.compile(keras.optimizers.Adam(1e-2))
    indices = sampling.class_balanced_batches(labels, 10, 10, seed=0)
    model.fit(
        datasets.batches(x, labels, indices),
        steps_per_epoch=150,
        verbose=0,
        shuffle=False,
    )
    return model, x, noise


@pytest.mark.slow
def test_rises_with_noise(trained):
    model, x, noise = trained
    found = model.predict_uncertainty(x, batch_size=100)
    assert found.shape == (600,)
    assert spearmanr(found, noise).statistic > 0.6


@pytest.mark.slow
def test_saving_restores_it(trained, tmp_path):
    model, x, _ = trained
    model.save(tmp_path / "model.keras")
    restored = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        restored.predict_uncertainty(x), model.predict_uncertainty(x), rtol=1e-5
    )
    assert not restored.encoder.trainable


@pytest.mark.slow
def test_exports_it(trained, tmp_path):
    model, x, _ = trained
    path = embeddings_tf.export.export_saved_model(model, tmp_path)
    served = tf.saved_model.load(path)
    for name in ("serving_default", "embed"):
        run = served.signatures[name]
        (argument,) = run.structured_input_signature[1]
        found = run(**{argument: x[:7]})
        assert set(found) == {"embedding", "uncertainty"}
        np.testing.assert_allclose(
            found["uncertainty"], model.predict_uncertainty(x[:7]), rtol=1e-5
        )
        np.testing.assert_allclose(found["embedding"], x[:7, :3], rtol=1e-5)
    nothing = run(**{argument: x[:0]})
    assert nothing["uncertainty"].shape == (0,)


def test_a_model_without_a_head_says_so():
    model = EmbeddingModel(image_encoder(), losses.TripletLoss())
    assert "uncertainty" not in model.get_config()
    with pytest.raises(ValueError, match="has no uncertainty"):
        model.predict_uncertainty(images())


def test_refuses_inputs_without_a_meaning(trained):
    model, x, _ = trained
    for value in (np.nan, np.inf):
        bad = x[:7].copy()
        bad[5, 1] = value
        with pytest.raises(ValueError, match="Input 5 is not finite"):
            model.predict_uncertainty(bad, batch_size=2)
    with pytest.raises(ValueError, match=r"`x` must have the shape.*make a b"):
        model.predict_uncertainty(x[0])
    with pytest.raises(ValueError, match=r"`x` must have the shape.*\(7, 3\)"):
        model.predict_uncertainty(x[:7, :3])
    with pytest.raises(ValueError, match="`x` must be real numbers"):
        model.predict_uncertainty(x[:7].astype("complex64"))
    with pytest.raises(ValueError, match="with 'a', 'b'. For several inputs"):
        model.predict_uncertainty({"a": x, "b": x})
    with pytest.raises(ValueError, match="with 'a', 'b'. For several inputs"):
        model.predict_uncertainty(Pairs(x))
    assert model.predict_uncertainty(x[:0]).shape == (0,)


@pytest.mark.parametrize("layer", ["embedding", "inner"])
def test_refuses_results_that_are_not_finite(layer):
    """1e30 squared is infinite in float32."""
    inputs = keras.Input((2, 2))
    inner = keras.layers.Lambda(lambda x: x * x)(inputs)
    outputs = keras.layers.Flatten()(inner)
    if layer == "inner":
        outputs = keras.layers.ReLU(1.0)(outputs)
    model = EmbeddingModel(
        keras.Model(inputs, outputs),
        losses.PrototypicalLoss(2),
        uncertainty=UncertaintyHead((4,)),
    )
    x = np.ones((3, 2, 2), "float32")
    assert np.isfinite(model.predict_uncertainty(x)).all()
    x[1] = 1e30
    with pytest.raises(ValueError, match="input 1 is not finite, although"):
        model.predict_uncertainty(x)


def test_refuses_another_head():
    with pytest.raises(ValueError, match="UncertaintyHead or None.*received"):
        EmbeddingModel(image_encoder(), losses.TripletLoss(), uncertainty="x")


def dense_encoder(*layers_, **options):
    return keras.Sequential(
        [keras.Input((4,)), *layers_, keras.layers.Dense(2, **options)]
    )


ROWS = np.random.default_rng(3).normal(size=(12, 4)).astype("float32")
CLASSES = np.repeat(np.arange(3), 4)


@pytest.mark.slow
def test_a_head_does_not_train_frozen_parts_of_the_objective():
    distance = layers.PairDistance((8,))
    distance.trainable = False
    objective = objectives.LearnedDistance(
        distance, num_classes=3, auxiliary="softmax"
    )
    model = compiled(dense_encoder(), objective, uncertainty=UncertaintyHead())
    before = [w.numpy() for w in distance.weights]
    model.fit(ROWS, CLASSES, batch_size=12, verbose=0)
    for old, new in zip(before, distance.weights, strict=True):
        np.testing.assert_array_equal(old, new)
    again = EmbeddingModel.from_config(model.get_config())
    assert not again.objective.distance.trainable


class Penalty(keras.layers.Layer):
    """Adds 10 in training, 3 for each row in inference."""

    def call(self, inputs, training=None):
        rows = tf.fill([tf.shape(inputs)[0]], 3.0)
        self.add_loss(tf.constant(10.0) if training else rows)
        return inputs


@pytest.mark.slow
@pytest.mark.parametrize("piece_size", [None, 5])
def test_penalties_are_of_the_training_pass_also_with_a_head(piece_size):
    found = {}
    for head in (None, UncertaintyHead()):
        keras.utils.set_random_seed(0)
        model = compiled(
            dense_encoder(Penalty()),
            losses.TripletLoss(),
            uncertainty=head,
            piece_size=piece_size,
        )
        logs = model.train_on_batch(ROWS, CLASSES, return_dict=True)
        found[head is None] = logs["loss"] - logs.get("uncertainty_loss", 0)
        other = model.test_on_batch(ROWS, CLASSES, return_dict=True)
        without = compiled(model.encoder.layers[-1], losses.TripletLoss())
        expected = without.test_on_batch(ROWS, CLASSES, return_dict=True)
        assert other["loss"] - other.get("uncertainty_loss", 0) == (
            pytest.approx(expected["loss"] + 36, rel=1e-5)  # 12 rows
        )
    assert found[True] == pytest.approx(found[False], rel=1e-5)
    assert found[True] > 10


@pytest.mark.slow
def test_predictions_follow_layers_that_a_compile_changed():
    encoder = dense_encoder()
    model = compiled(
        encoder, losses.TripletLoss(), uncertainty=UncertaintyHead()
    )
    model.predict_uncertainty(ROWS)
    encoder.layers[-1].enable_lora(2)
    model.compile(keras.optimizers.SGD(0.1))
    model.fit(ROWS, CLASSES, batch_size=12, epochs=3, verbose=0)
    encoder.layers[-1].lora_kernel_b.assign(np.ones((2, 2)))
    found = model.predict_uncertainty(ROWS)
    _, expected = model.embed_with_uncertainty(ROWS)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_metrics_are_returned_once():
    model = compiled(
        dense_encoder(), losses.TripletLoss(), uncertainty=UncertaintyHead()
    )
    found = model.evaluate(ROWS, CLASSES, verbose=0)
    named = model.evaluate(ROWS, CLASSES, verbose=0, return_dict=True)
    assert found == pytest.approx(list(named.values()))


@pytest.mark.slow
def test_a_frozen_encoder_stays_frozen_in_a_file(tmp_path):
    encoder = dense_encoder()
    encoder.trainable = False
    model = compiled(
        encoder, losses.TripletLoss(), uncertainty=UncertaintyHead()
    )
    expected = model.evaluate(ROWS, CLASSES, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    found = again.evaluate(ROWS, CLASSES, verbose=0, return_dict=True)
    assert found == pytest.approx(expected)
    assert found["loss"] == pytest.approx(found["uncertainty_loss"])


def test_sequences_of_any_length_are_no_inner_layers():
    """Padding would change their statistics."""
    encoder = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Conv1D(4, 3, activation="relu"),
            layers.StatisticsPooling(),
            keras.layers.Dense(2),
        ]
    )
    _, size = encoder_features(encoder, 2)
    assert size == 2 + 1


@keras.saving.register_keras_serializable(package="uncertain_model_test")
class Adding(keras.layers.Layer):
    """An objective with a regulariser, whose call adds a loss."""

    def build(self, y_true_shape, y_pred_shape):
        self.weight = self.add_weight(
            shape=(2,), initializer="ones", regularizer=keras.regularizers.L2(1)
        )

    def call(self, y_true, y_pred):
        self.add_loss(100.0 + 0 * keras.ops.sum(y_pred))
        return 0 * y_pred[:, 0]


@pytest.mark.parametrize("head", [None, UncertaintyHead])
def test_losses_that_the_objective_adds_count_once(head):
    model = compiled(dense_encoder(), Adding(), uncertainty=head and head())
    for _ in range(2):
        logs = model.test_on_batch(ROWS, CLASSES, return_dict=True)
        own = logs["loss"] - logs.get("uncertainty_loss", 0)
        assert own == pytest.approx(100 + 2)  # and the squares of two ones


@pytest.mark.slow
def test_statistics_that_are_no_trained_weights_do_not_freeze_an_encoder():
    normalised = keras.layers.Normalization()
    normalised.adapt(ROWS)
    encoder = keras.Sequential([keras.Input((4,)), normalised])
    distance = layers.PairDistance((8,))
    model = compiled(
        encoder,
        objectives.LearnedDistance(distance),
        uncertainty=UncertaintyHead(),
    )
    before = [w.numpy() for w in distance.weights]
    model.fit(ROWS, CLASSES, batch_size=12, verbose=0)
    after = [w.numpy() for w in distance.weights]
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def vectors(count=12):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 6)).astype("float32")


THREE_CLASSES = np.tile(np.arange(3), 4)


def vector_model(loss=None, **arguments):
    encoder = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4)])
    return compiled(
        encoder,
        loss or losses.PrototypicalLoss(2),
        uncertainty=UncertaintyHead((4,), **arguments),
    )


@pytest.mark.slow
def test_a_batch_without_rows_does_no_harm():
    model = vector_model()
    model.train_on_batch(vectors(), THREE_CLASSES)
    before = model.get_weights()
    model.train_on_batch(vectors()[:0], THREE_CLASSES[:0])
    for new, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "mixed_float16"])
def test_a_head_of_any_precision_is_trained(dtype):
    model = vector_model(dtype=dtype)
    before = model.uncertainty.last.kernel.numpy()
    loss = model.train_on_batch(vectors(), THREE_CLASSES)
    assert np.isfinite(loss).all()
    assert (model.uncertainty.last.kernel.numpy() != before).any()
    assert model.predict_uncertainty(vectors()).dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_loss_of_any_precision_is_added(dtype):
    loss = losses.PrototypicalLoss(2, dtype=dtype)
    model = vector_model(loss)
    x = vectors()
    logs = model.evaluate(
        x, THREE_CLASSES, batch_size=12, verbose=0, return_dict=True
    )
    of_encoder = loss(THREE_CLASSES, model.encoder(x))
    expected = float(of_encoder) + logs["uncertainty_loss"]
    assert logs["loss"] == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("column", [False, True])
def test_sample_weights_weight_the_errors_of_the_head(column):
    labels = np.append(THREE_CLASSES[:11], 7)  # the last row has no loss
    rng = np.random.default_rng(1)
    embeddings = vectors()
    predicted = rng.uniform(size=12).astype("float32")
    weight = rng.uniform(0, 2, size=12).astype("float32")
    method = Method(vector_model())
    target = query_losses(method, labels[:11], embeddings[:11], 1, SEEDS)
    errors = (predicted[:11] - target.numpy()) ** 2
    found = uncertainty_loss(
        UncertaintyHead(),
        method,
        labels,
        embeddings,
        predicted,
        weight[:, None] if column else weight,
    )
    np.testing.assert_allclose(
        found, np.full(12, np.mean(weight[:11] * errors)), rtol=1e-5
    )


@pytest.mark.slow
def test_rows_of_weight_0_do_not_train_the_head():
    model = vector_model()
    before = [w.numpy() for w in model.trainable_weights]
    model.train_on_batch(
        vectors(), THREE_CLASSES, sample_weight=np.zeros(12, "float32")
    )
    for new, old in zip(model.trainable_weights, before, strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have:UserWarning")
@pytest.mark.parametrize("name", ["head", "objective", "layer"])
def test_a_quantized_model_is_saved_and_loaded(name, tmp_path):
    dense = keras.layers.Dense(4)
    encoder = keras.Sequential([keras.Input((6,)), dense])
    objective, head = losses.PrototypicalLoss(2), None
    if name == "objective":
        distance = layers.PairDistance((8,))
        objective = objectives.LearnedDistance(distance, 3, "softmax")
    else:
        head = UncertaintyHead((4,))
    if name == "layer":
        encoder = dense
    model = compiled(encoder, objective, uncertainty=head)
    x = vectors()
    model.fit(x, THREE_CLASSES, batch_size=12, verbose=0)
    kernel, before = dense.kernel.numpy(), model.predict(x, verbose=0)
    model.quantize("int8")
    # An error of a kernel is at most half a step of 127.
    error = 2 * np.abs(x).sum(axis=1).max() * np.abs(kernel).max() / 127
    after = model.predict(x, verbose=0)
    assert (after != before).any()
    np.testing.assert_allclose(after, before, atol=error)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), after, rtol=1e-5)
    if head is not None:
        np.testing.assert_allclose(
            loaded.predict_uncertainty(x), model.predict_uncertainty(x), 1e-5
        )


@pytest.mark.slow
@pytest.mark.parametrize("filters", [None, "inner", "other"])
def test_layers_inside_an_encoder_that_is_a_layer_are_quantized(filters):
    class Twice(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = keras.layers.Dense(4, name="inner")

        def call(self, x):
            return 2.0 * self.inner(x)

    encoder = Twice()
    model = compiled(encoder, losses.PrototypicalLoss(2))
    model(vectors())
    model.quantize("int8", filters=filters)
    is_quantized = encoder.inner.dtype_policy.name.startswith("int8")
    assert is_quantized == (filters != "other")
