"""Expected values by loops over pairs and triplets, in float64."""

import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf import losses
from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.training_loss import mean_over_rows
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.ops.pair_divergence import counts_in_triplets
from embeddings_tf.ops.pair_divergence import pair_divergence
from embeddings_tf.ops.pairs import positive_and_negative

BATCHES = {
    "class by class": [0, 0, 0, 1, 1, 1, 2, 2, 2, 2],
    "uneven and mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9],
    "one class": [3] * 10,
    "singletons": list(range(10)),
}
DIVERGENCES = {
    "jensen_shannon": (
        lambda x: -special.log_expit(x),
        lambda x: -special.log_expit(-x),
    ),
    "kullback_leibler": (lambda x: -(1 + x), np.exp),
}


def embeddings(rows=10, dim=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, dim)).astype("float32")


def objective(**arguments):
    distance = PairDistance((8, 8), dropout=0.5, seed=1)
    return LearnedDistance(distance, seed=2, **arguments)


def mean_or_zero(values):
    return np.mean(values) if values else 0.0


def pair_value(labels, z, distance, divergence="jensen_shannon"):
    if_same, if_different = DIVERGENCES[divergence]
    positives, negatives = [], []
    for i, j in itertools.permutations(range(len(z)), 2):
        x = distance((z[i : i + 1], z[j : j + 1])).numpy()[0]
        if labels[i] == labels[j]:
            positives.append(if_same(float(x)))
        else:
            negatives.append(if_different(float(x)))
    return (mean_or_zero(positives) + mean_or_zero(negatives)) / 2


def triplet_value(labels, z, distance):
    """The authors' mean over the two pairs of each triplet."""
    values = []
    logits = distance.all_pairs(z, z).numpy().astype("float64")
    for i, j in itertools.combinations(range(len(z)), 2):
        if labels[i] != labels[j]:
            continue
        for n in range(len(z)):
            if labels[n] != labels[i]:
                values.append(np.log1p(np.exp(-logits[i, j])))
                values.append(np.log1p(np.exp(logits[i, n])))
    return mean_or_zero(values)


def cross_entropies(labels, x, kernel, scale=1.0, margin=0.0, smoothing=0.0):
    """Cross-entropy of each example, with explicit smoothed targets."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    logits = scale * (unit @ kernel - margin * np.eye(kernel.shape[1])[labels])
    num_classes = kernel.shape[1]
    values = []
    for label, row in zip(
        labels, special.log_softmax(logits, axis=1), strict=True
    ):
        target = np.full(num_classes, smoothing / (num_classes - 1))
        target[label] = 1 - smoothing
        assert abs(target.sum() - 1) < 1e-12
        values.append(-target @ row)
    return np.array(values)


class TestPairs:
    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
    def test_by_loop(self, labels, divergence):
        loss, z = objective(divergence=divergence), embeddings()
        values = loss(np.array(labels), z)
        expected = pair_value(labels, z, loss.distance, divergence)
        np.testing.assert_allclose(values, np.full(10, expected), rtol=1e-5)

    @pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
    def test_the_authors_triplets(self, labels):
        loss, z = objective(pair_weighting="authors"), embeddings()
        values = loss(np.array(labels), z)
        expected = triplet_value(labels, z, loss.distance)
        np.testing.assert_allclose(values, np.full(10, expected), rtol=1e-5)

    def test_triplets_of_a_published_batch(self):
        """24 speakers, 5 recordings: 240 pairs, 6900, 27,600 triplets."""
        same, different = positive_and_negative(tf.repeat(tf.range(24), 5))
        assert np.sum(np.triu(same)) == 240
        assert np.sum(np.triu(different)) == 6900
        for count in counts_in_triplets(same, different):
            assert np.sum(count) == 27_600

    def test_a_distance_that_knows_nothing(self):
        """ln 2: half of the paper's ln 4."""
        loss, z = objective(), embeddings()
        loss.build((None,), z.shape)
        for weight in loss.distance.trainable_variables:
            weight.assign(tf.zeros_like(weight))
        labels = np.array(BATCHES["class by class"])
        np.testing.assert_allclose(loss(labels, z), np.log(2), rtol=1e-6)

    @pytest.mark.every_nth(3)
    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @pytest.mark.parametrize("weighting", ["balanced", "authors"])
    @pytest.mark.parametrize("training", [False, True])
    def test_degenerate_batches(self, divergence, weighting, training):
        """Values and gradients are finite; without pairs they are 0."""
        for rows, labels in ((4, [1] * 4), (4, range(4)), (1, [0]), (0, [])):
            for scale in (0.0, 1e-18, 1.0, 1e18):
                loss = objective(
                    divergence=divergence, pair_weighting=weighting
                )
                z = tf.constant(np.float32(scale) * embeddings(rows))
                with tf.GradientTape() as tape:
                    tape.watch(z)
                    values = loss(
                        np.array(labels, "int32"), z, training=training
                    )
                weights = loss.distance.trainable_variables
                gradients = tape.gradient(values, [z, *weights])
                assert values.shape == (rows,)
                assert np.isfinite(values).all()
                assert all(np.isfinite(g).all() for g in gradients)
                if rows == 1 or weighting == "authors":
                    assert not np.any(values)
                    assert not any(np.any(g) for g in gradients)

    def test_exponential_goes_on_as_its_tangent(self):
        different = tf.constant([0, 1])
        for x in (-30.0, 0.0, 19.0, 21.0, 100.0):
            logits = tf.fill([2, 2], x)
            with tf.GradientTape() as tape:
                tape.watch(logits)
                value = pair_divergence(
                    different, logits, "kullback_leibler", "balanced"
                )
            slope = np.sum(tape.gradient(value, logits))
            e = np.exp(min(x, 20))
            np.testing.assert_allclose(
                value, e * (1 + max(0, x - 20)) / 2, rtol=1e-5
            )
            np.testing.assert_allclose(slope, e / 2, rtol=1e-5)


class TestSmoothing:
    @pytest.mark.parametrize("divergence", DIVERGENCES)
    def test_random_targets(self, divergence):
        """Their mean: s / 4 of each label is flipped; new in every step."""
        smoothing = 0.4
        distance = PairDistance((8, 8), dropout=0.0, seed=1)
        loss = LearnedDistance(
            distance, label_smoothing=smoothing, divergence=divergence, seed=2
        )
        labels, z = np.array(BATCHES["class by class"]), embeddings()
        step = tf.function(
            lambda: loss(labels, z, training=True)[0], autograph=False
        )
        loss.build((None,), z.shape)
        values = np.array([step().numpy() for _ in range(400)])
        assert len(np.unique(values)) > 390

        if_same, if_different = DIVERGENCES[divergence]
        logits = distance.all_pairs(z, z).numpy().astype("float64")
        same = labels[:, None] == labels
        off_diagonal = ~np.eye(10, dtype=bool)
        a, b = if_same(logits), if_different(logits)
        # Each pair: (1 - u) right + u wrong, u uniform in [0, s / 2].
        parts, variance = [], 0.0
        for mask, right, wrong in (
            (same & off_diagonal, a, b),
            (~same, b, a),
        ):
            gap = (wrong - right)[mask]
            parts.append(np.mean(right[mask] + smoothing / 4 * gap))
            variance += np.sum(gap**2) / len(gap) ** 2 * smoothing**2 / 48
        deviation = np.sqrt(variance) / 2
        expected = np.mean(parts)
        assert abs(values.mean() - expected) < 5 * deviation / np.sqrt(400)
        np.testing.assert_allclose(values.std(), deviation, rtol=0.2)

    def test_none_outside_training(self):
        labels, z = np.array(BATCHES["class by class"]), embeddings()
        loss = objective(label_smoothing=0.4)
        expected = pair_value(labels, z, loss.distance)
        for training in (None, False):
            np.testing.assert_allclose(
                loss(labels, z, training=training), expected, rtol=1e-5
            )

    def test_without_smoothing_training_is_exact(self):
        labels, z = np.array(BATCHES["class by class"]), embeddings()
        distance = PairDistance((8, 8), dropout=0.0, seed=1)
        loss = LearnedDistance(distance, label_smoothing=0.0)
        np.testing.assert_allclose(
            loss(labels, z, training=True),
            pair_value(labels, z, distance),
            rtol=1e-5,
        )


class TestAuxiliary:
    LABELS = np.array([0, 1, 2, 3, 0, 1, 2, 0, 1, 0])

    @pytest.mark.parametrize("auxiliary", ["softmax", "additive_margin"])
    @pytest.mark.parametrize("projected", [False, True])
    @pytest.mark.parametrize("training", [False, True])
    def test_by_hand(self, auxiliary, projected, training):
        arguments = {"num_classes": 4, "label_smoothing": 0.2}
        z = embeddings()
        projection = keras.layers.Dense(5) if projected else None
        distance = PairDistance((8, 8), dropout=0.0, seed=1)
        loss = LearnedDistance(
            distance,
            auxiliary=auxiliary,
            projection=projection,
            seed=2,
            **arguments,
        )
        # The same random targets as without a classifier.
        alone = LearnedDistance(distance, seed=2, **arguments)
        pairs = alone(self.LABELS, z, training=training).numpy()
        values = loss(self.LABELS, z, training=training).numpy() - pairs
        kernel = loss.classifier.kernel.numpy().astype("float64")
        options = {}
        if auxiliary == "additive_margin":
            kernel /= np.linalg.norm(kernel, axis=0)
            options = {"scale": 30, "margin": 0.35}
        x = projection(z).numpy() if projected else z
        expected = cross_entropies(
            self.LABELS, x, kernel, smoothing=0.2 * training, **options
        )
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)

    def test_gradient_reaches_all(self):
        loss = objective(
            num_classes=4,
            auxiliary="additive_margin",
            projection=keras.Sequential(
                [keras.layers.Dense(5), keras.layers.BatchNormalization()]
            ),
        )
        with tf.GradientTape() as tape:
            value = loss(self.LABELS, embeddings(), training=True)
        # Distance: 3 x 2; dense 2, normalisation 2, classifier 1.
        assert len(loss.trainable_variables) == 6 + 5
        gradients = tape.gradient(value, loss.trainable_variables)
        assert all(gradient is not None for gradient in gradients)

    def test_projection_knows_that_it_is_trained(self):
        projection = keras.layers.BatchNormalization()
        loss = objective(
            num_classes=4, auxiliary="softmax", projection=projection
        )
        loss(self.LABELS, embeddings())
        assert not np.any(projection.moving_mean)
        loss(self.LABELS, embeddings(), training=True)
        assert np.any(projection.moving_mean)

    @pytest.mark.parametrize("label", [4, -1])
    def test_unknown_class(self, label):
        loss = objective(num_classes=4, auxiliary="softmax")
        labels = self.LABELS.copy()
        labels[3] = label
        z = embeddings()
        with pytest.raises(ValueError, match=rf"in \[0, 4\).*Received {label}"):
            loss(labels, z)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"in \[0, 4"):
            tf.function(loss, autograph=False)(
                tf.constant(labels), tf.constant(z)
            )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance": keras.layers.Dense(1)}, "`distance` must be a layer"),
        ({"distance": None}, "`distance` must be a layer.*received None"),
        ({"auxiliary": "arcface"}, "`auxiliary` must be one of None, 'soft"),
        ({"auxiliary": "softmax"}, "as `num_classes`; received None"),
        ({"auxiliary": "softmax", "num_classes": 1}, "at least 2.*received 1"),
        ({"num_classes": 2.5}, "`num_classes` must be an integer"),
        ({"projection": keras.layers.Dense(1)}, "with auxiliary=None"),
        (
            {"projection": 3, "num_classes": 3, "auxiliary": "softmax"},
            "`projection` must be a Keras layer.*received 3",
        ),
        ({"label_smoothing": 1.0}, "`label_smoothing`.*received 1.0"),
        ({"label_smoothing": -0.1}, "`label_smoothing` must be .*at least 0"),
        ({"pair_weighting": "triplets"}, "`pair_weighting` must be one of"),
        ({"divergence": "hellinger"}, "`divergence` must be one of"),
        ({"encoder_loss": "triplet"}, "`encoder_loss` must be a loss object"),
        ({"train_encoder": "no"}, "`train_encoder` must be True or False"),
        ({"train_encoder": False}, "needs an `auxiliary`.*received neither"),
        ({"updates": "in turns"}, "`updates` must be one of 'simultaneous', "),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        LearnedDistance(**{"distance": PairDistance((8,)), **arguments})


@pytest.mark.parametrize("classifier", [None, "softmax"])
@pytest.mark.parametrize(
    ("distance", "whole"),
    [
        ("mixed_bfloat16", "float32"),
        ("mixed_float16", "float32"),
        ("float32", "float64"),
    ],
)
def test_a_distance_of_another_dtype(distance, whole, classifier):
    """The value has the dtype of the objective."""
    labels, z = np.repeat([0, 1, 2], 4), embeddings(12).astype(whole)

    def value(distance, dtype):
        made = LearnedDistance(
            PairDistance((8,), seed=1, dtype=distance),
            *(3, classifier) if classifier else (),
            encoder_loss=losses.TripletLoss(),
            dtype=dtype,
        )
        keras.utils.set_random_seed(0)
        return made(labels, tf.constant(z))

    found = value(distance, whole)
    assert found.dtype == whole
    assert np.isfinite(found).all()
    if classifier is None:  # whose first weights depend on the dtype
        expected = value("float32", "float32")
        np.testing.assert_allclose(found, expected, rtol=0.02)


def test_many_pairs_with_a_distance_in_half_precision():
    """More negative pairs than float16 can count."""
    labels = np.repeat(np.arange(12), 25)
    z = embeddings(300)
    values = [
        LearnedDistance(PairDistance((4,), seed=1, dtype=dtype))(
            labels, tf.constant(z)
        ).numpy()
        for dtype in ("float32", "mixed_float16")
    ]
    np.testing.assert_allclose(*values, rtol=0.01)


def test_another_loss_of_the_encoder():
    """Its values are added, and alone train the encoder if asked to."""
    labels, z = BATCHES["class by class"], tf.Variable(embeddings())
    triplet = losses.TripletLoss(margin=0.3)
    plain = objective()
    gradients = {}
    for train_encoder in (True, False):
        loss = objective(encoder_loss=triplet, train_encoder=train_encoder)
        plain(labels, z), loss(labels, z)  # builds them
        loss.set_weights(plain.get_weights())
        with tf.GradientTape() as tape:
            values = loss(labels, z)
        expected = plain(labels, z) + losses.triplet_loss(labels, z, 0.3)
        np.testing.assert_allclose(values, expected, rtol=1e-5)
        sources = [z, *loss.distance.trainable_variables]
        gradients[train_encoder] = tape.gradient(values, sources)
    with tf.GradientTape() as tape:
        values = losses.triplet_loss(labels, z, 0.3)
    np.testing.assert_allclose(
        gradients[False][0], tape.gradient(values, z), rtol=1e-5, atol=1e-7
    )
    assert np.abs(gradients[True][0] - gradients[False][0]).max() > 1e-4
    for one, other in zip(*(g[1:] for g in gradients.values()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("split", [5, 2])
def test_another_loss_of_the_encoder_in_two_replicas(strategy, split):
    """Replicas have the values and the gradients of one batch."""
    labels, z = np.array(BATCHES["class by class"]), embeddings()
    with strategy.scope():
        loss = objective(
            encoder_loss=losses.TripletLoss(margin=0.3), train_encoder=False
        )
        loss.build((None,), (None, 3))

    def values_and_gradients(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            values = loss(labels, z)
            mean = mean_over_rows(values)
        return values, tape.gradient(mean, z)

    def parts(whole):
        pieces = tf.constant(whole[:split]), tf.constant(whole[split:])
        return strategy.experimental_distribute_values_from_function(
            lambda context: pieces[context.replica_id_in_sync_group]
        )

    found = strategy.run(values_and_gradients, (parts(labels), parts(z)))
    values, gradients = (
        tf.concat(strategy.experimental_local_results(part), 0)
        for part in found
    )
    distance = loss.distance
    expected = pair_value(labels, z, distance)
    expected += losses.triplet_loss(labels, z, 0.3)
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    whole = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(whole)
        triplet = losses.triplet_loss(labels, whole, 0.3)[0]
    np.testing.assert_allclose(
        gradients, tape.gradient(triplet, whole), rtol=1e-4, atol=1e-6
    )


def values_and_gradients(loss, labels, z, training=True):
    """Gradients of the embeddings and of the weights of the distance."""
    with tf.GradientTape() as tape:
        tape.watch(z)
        values = loss(labels, z, training=training)
    sources = [z, *loss.distance.trainable_variables]
    return values, tape.gradient(values, sources)


@pytest.mark.slow
@pytest.mark.parametrize("is_compiled", [False, True])
def test_alternating_updates(is_compiled):
    """Steps 0, 2, ... train the distance, steps 1, 3, ... the encoder.

    Values, and the gradients of the part in turn, are of simultaneous updates.
    """
    labels, z = BATCHES["class by class"], tf.constant(embeddings())
    more = {"encoder_loss": losses.TripletLoss(margin=0.3)}
    plain = objective(**more)
    alternating = objective(updates="alternating", **more)

    def step():
        return values_and_gradients(alternating, labels, z)

    plain.build((None,), z.shape)
    alternating.build((None,), z.shape)
    if is_compiled:
        step = tf.function(step)
    for number in range(4):
        expected, of_plain = values_and_gradients(plain, labels, z)
        values, found = step()
        np.testing.assert_allclose(values, expected, rtol=1e-5)
        of_distance = number % 2 == 0
        assert np.any(found[0]) != of_distance
        for gradient in found[1:]:
            assert np.any(gradient) == of_distance
        in_turn = slice(1, None) if of_distance else slice(0, 1)
        for one, other in zip(found[in_turn], of_plain[in_turn], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert int(alternating.turns.num_steps) == 4
    # Evaluation takes no turn.
    values_and_gradients(alternating, labels, z, training=False)
    assert int(alternating.turns.num_steps) == 4


@pytest.mark.slow
def test_alternating_updates_resume_with_the_turn_that_is_due(tmp_path):
    """Three steps, saving, and two steps are five steps."""

    def fresh():
        keras.utils.set_random_seed(0)
        encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])
        loss = objective(updates="alternating", label_smoothing=0.0)
        loss.distance.dropout = 0.0  # weights do not contain random seeds
        model = EmbeddingModel(encoder, loss)
        model.compile(keras.optimizers.SGD(0.1))
        return model

    labels, x = np.array(BATCHES["class by class"]), embeddings()
    whole, first, resumed = fresh(), fresh(), fresh()
    moved = []
    for _ in range(5):
        before = [np.array(w) for w in whole.trainable_variables]
        whole.train_on_batch(x, labels)
        pairs = zip(whole.trainable_variables, before, strict=True)
        moved.append([bool(np.any(np.array(w) != b)) for w, b in pairs])
    # The encoder's kernel and bias, then three layers of the distance.
    of_distance, of_encoder = [False] * 2 + [True] * 6, [True] * 2 + [False] * 6
    turns = [of_distance, of_encoder] * 2 + [of_distance]
    assert moved == turns
    for _ in range(3):
        first.train_on_batch(x, labels)
    first.save_weights(tmp_path / "run.weights.h5")
    resumed.load_weights(tmp_path / "run.weights.h5")
    for _ in range(2):
        resumed.train_on_batch(x, labels)
    pairs = zip(whole.get_weights(), resumed.get_weights(), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_alternating_updates_in_two_replicas(strategy):
    """All replicas take the same turn, with the gradients of one batch."""
    labels, z = np.array(BATCHES["class by class"]), embeddings()
    with strategy.scope():
        loss = objective(updates="alternating", label_smoothing=0.0)
        loss.build((None,), (None, 3))
    one = objective(updates="alternating", label_smoothing=0.0)
    one.distance.dropout = loss.distance.dropout = 0.0
    one.build((None,), (None, 3))

    def parts(whole):
        pieces = tf.constant(whole[:5]), tf.constant(whole[5:])
        return strategy.experimental_distribute_values_from_function(
            lambda context: pieces[context.replica_id_in_sync_group]
        )

    def step(labels, z):
        return values_and_gradients(loss, labels, z)[1][0]

    for number in range(4):
        found = strategy.run(step, (parts(labels), parts(z)))
        gradients = tf.concat(strategy.experimental_local_results(found), 0)
        expected = values_and_gradients(one, labels, tf.constant(z))[1][0]
        assert np.any(expected) == (number % 2 == 1)
        np.testing.assert_allclose(gradients, expected, rtol=1e-4, atol=1e-6)


def test_configuration_holds_the_layers():
    loss = objective(
        num_classes=4,
        auxiliary="softmax",
        encoder_loss=losses.TripletLoss(margin=0.3),
        train_encoder=False,
        updates="alternating",
        projection=keras.layers.Dense(5, activation="relu"),
    )
    config = json.loads(json.dumps(loss.get_config()))
    copy = LearnedDistance.from_config(config)
    assert copy.distance.hidden_units == [8, 8]
    assert copy.distance.dropout == 0.5
    assert copy.projection.units == 5
    assert copy.encoder_loss.margin == 0.3
    assert copy.train_encoder is False and copy.updates == "alternating"
    assert copy.get_config() == loss.get_config()


# --- A known answer ----------------------------------------------------------

BETWEEN, WITHIN = 4.0, 1.0  # variances of class means, and around them


def log_likelihood_ratio(a, b):
    """Two-covariance model: a and b of one class share their mean."""
    total = BETWEEN + WITHIN
    same = stats.multivariate_normal(
        [0, 0], [[total, BETWEEN], [BETWEEN, total]]
    )
    alone = stats.norm(0, np.sqrt(total))
    pairs = np.stack([a, b], axis=-1)
    return same.logpdf(pairs) - alone.logpdf(a) - alone.logpdf(b)


@pytest.mark.parametrize(
    "divergence",
    [
        "jensen_shannon",
        pytest.param("kullback_leibler", marks=pytest.mark.slow),
    ],
)
def test_learns_the_true_log_likelihood_ratio(divergence):
    """D never saw the test classes; the encoder is the identity."""
    keras.utils.set_random_seed(0)
    distance = PairDistance((32, 32), dropout=0.0, seed=1)
    loss = LearnedDistance(distance, label_smoothing=0.0, divergence=divergence)
    loss.build((None,), (None, 1))
    optimizer = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(1e-2, 250)
    )
    optimizer.build(loss.trainable_variables)  # or it is traced twice
    labels = tf.repeat(tf.range(48), 4)

    @tf.function(autograph=False)
    def step(seed):
        noise = tf.random.stateless_normal([48 * 5], [seed, 1])
        means, around = tf.split(noise, [48, 192])
        z = BETWEEN**0.5 * tf.gather(means, labels) + WITHIN**0.5 * around
        with tf.GradientTape() as tape:
            value = loss(labels, z[:, None], training=True)
            value = tf.reduce_mean(value)
        weights = loss.trainable_variables
        optimizer.apply_gradients(
            zip(tape.gradient(value, weights), weights, strict=True)
        )

    for seed in tf.range(250):
        step(seed)
    rng = np.random.default_rng(5)
    means = np.repeat(rng.normal(0, BETWEEN**0.5, 500), 2)
    z = means + rng.normal(0, WITHIN**0.5, 1000)
    a = np.concatenate([z[::2], z[::2]])
    b = np.concatenate([z[1::2], np.roll(z[1::2], 7)])
    truth = log_likelihood_ratio(a, b)
    learned = distance(
        (a[:, None].astype("float32"), b[:, None].astype("float32"))
    ).numpy()
    # Near the threshold, not in the tail of certain negatives.
    near = truth > -4
    assert near.mean() > 0.5
    error = np.abs(learned - truth)[near]
    assert error.mean() < 0.15 < np.abs(truth[near]).mean() / 5
    assert np.corrcoef(learned[near], truth[near])[0, 1] > 0.98
    assert stats.spearmanr(learned, truth)[0] > 0.98


class TestModel:
    LABELS = np.arange(24, dtype="int32") % 3

    def data(self):
        rng = np.random.default_rng(0)
        x = np.eye(3)[self.LABELS] + rng.normal(0, 0.2, (24, 3))
        return x.astype("float32")

    def model(self):
        keras.utils.set_random_seed(0)
        encoder = keras.Sequential(
            [
                keras.Input((3,)),
                keras.layers.Dense(8, activation="relu"),
                keras.layers.Dense(2),
            ]
        )
        loss = LearnedDistance(
            PairDistance((16, 16), seed=1),
            num_classes=3,
            auxiliary="additive_margin",
            projection=keras.layers.Dense(4),
            seed=1,
        )
        model = EmbeddingModel(encoder, loss)
        model.compile(keras.optimizers.Adam(0.01))
        return model

    @pytest.mark.slow
    def test_fit_tells_pairs_apart(self):
        model, x = self.model(), self.data()
        first = model.evaluate(x, self.LABELS, batch_size=24, verbose=0)
        data = tf.data.Dataset.from_tensors((x, self.LABELS)).repeat(100)
        model.fit(data, epochs=1, verbose=0)
        last = model.evaluate(x, self.LABELS, batch_size=24, verbose=0)
        assert last < first / 2
        z = model.predict(x, verbose=0)
        logits = model.objective.distance.all_pairs(z, z).numpy()
        same = self.LABELS[:, None] == self.LABELS
        assert np.mean((logits > 0) == same) > 0.95

    def test_saving(self, tmp_path):
        model, x = self.model(), self.data()
        model.run_eagerly = True
        model.train_on_batch(x, self.LABELS)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        loaded.run_eagerly = True
        assert isinstance(loaded.objective.distance, PairDistance)
        z = loaded.predict(x, verbose=0)
        np.testing.assert_allclose(z, model.predict(x, verbose=0), rtol=1e-6)
        np.testing.assert_allclose(
            loaded.objective.distance.all_pairs(z, z),
            model.objective.distance.all_pairs(z, z),
            rtol=1e-5,
            atol=1e-6,
        )
        np.testing.assert_allclose(
            *(
                m.evaluate(x, self.LABELS, batch_size=24, verbose=0)
                for m in (model, loaded)
            ),
            rtol=1e-5,
        )
