import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import objectives
from embeddings_tf.losses import EmbeddingLoss
from embeddings_tf.models.method import Method

LABELS = np.array([3, 1, 0, 3, 2, 0], "int32")
Z = np.random.default_rng(0).normal(size=(6, 2)).astype("float32")


def row_values(y_true, y_pred):
    labels = tf.cast(tf.reshape(y_true, [-1]), y_pred.dtype)
    return labels * tf.reduce_sum(y_pred, -1)


class Ours(EmbeddingLoss):
    def call(self, y_true, y_pred):
        assert y_true.dtype.is_integer
        return row_values(y_true, y_pred)


class OfKeras(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return row_values(y_true, y_pred)


REDUCTIONS = [
    "sum_over_batch_size",
    "sum",
    "mean",
    "mean_with_sample_weight",
    "none",
    None,
]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, [1, 0, 2, 0.5, 0, 1], [[2.0]] * 6])
@pytest.mark.parametrize("masked", [False, True])
def test_reduces_as_keras_does(reduction, weight, masked):
    z = tf.constant(Z)
    if masked:
        embed = keras.layers.Embedding(4, 2, mask_zero=True)
        z = embed(LABELS)  # rows of label 0 are masked
    ours, of_keras = (
        cls(reduction=reduction)(LABELS, z, sample_weight=weight)
        for cls in (Ours, OfKeras)
    )
    assert ours.dtype == of_keras.dtype
    np.testing.assert_allclose(ours, of_keras, rtol=1e-6)
    if masked and weight is None and reduction == "mean":
        kept = LABELS != 0
        expected = np.mean((LABELS * np.sum(z, -1))[kept])
        np.testing.assert_allclose(ours, expected, rtol=1e-5)


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, np.zeros(0), 2.0])
@pytest.mark.parametrize(
    "make", [losses.TripletLoss, losses.FStatisticLoss, Ours]
)
def test_the_loss_of_an_empty_batch_is_zero(make, weight, reduction):
    loss = make(reduction=reduction)
    batch = np.zeros(0, "int64"), np.zeros((0, 4), "float32")
    found = loss(*batch, sample_weight=weight)
    in_graph = tf.function(loss)(*batch, sample_weight=weight)
    expected = np.zeros(0 if reduction in (None, "none") else ())
    for value in (found, in_graph):
        np.testing.assert_array_equal(value, expected)
        assert value.shape == expected.shape


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtype_as_in_keras(dtype):
    ours, of_keras = (cls(dtype=dtype)(LABELS, Z) for cls in (Ours, OfKeras))
    assert ours.dtype == of_keras.dtype == dtype
    np.testing.assert_array_equal(
        tf.cast(ours, "float64"), tf.cast(of_keras, "float64")
    )


def test_scaled_by_the_number_of_replicas(strategy):
    for cls in (Ours, OfKeras):
        values = strategy.run(lambda cls=cls: cls()(LABELS, Z))
        for value in strategy.experimental_local_results(values):
            expected = np.mean(LABELS * np.sum(Z, -1)) / 2
            np.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["sum", "sum_over_batch_size"])
def test_gradients_of_uneven_replicas(strategy, reduction):
    """As on one replica; a sum needs no balance of the rows."""
    pieces = [slice(0, 4), slice(4, 6)]

    def gradient(piece):
        z = tf.constant(Z[piece])
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = Ours(reduction=reduction)(LABELS[piece], z)
        return tape.gradient(value, z)

    found = strategy.run(
        lambda: gradient(
            pieces[tf.distribute.get_replica_context().replica_id_in_sync_group]
        )
    )
    found = np.concatenate(strategy.experimental_local_results(found))
    scale = 1 if reduction == "sum" else 1 / len(Z)
    expected = np.repeat(LABELS[:, None] * scale, 2, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_diagnostics_of_a_batch():
    """Checked and cast; empty unless the loss has some."""
    assert Ours().batch_diagnostics(LABELS, Z) == {}
    loss = losses.BinomialDevianceLoss(dtype="float64")
    labels, embeddings = loss._checked(LABELS[:, None], Z.tolist())
    assert labels.dtype.is_integer and labels.shape == (6,)
    assert embeddings.dtype == "float64"
    found = loss.batch_diagnostics(LABELS[:, None], Z.tolist())
    assert found == loss.batch_diagnostics(LABELS, Z)
    for each in (loss, Ours()):
        with pytest.raises(ValueError, match="6 labels"):
            each.batch_diagnostics(LABELS, Z[:5])


def test_own_diagnostics_of_a_batch():
    class Watched(Ours):
        def batch_diagnostics(self, labels, embeddings):
            return {"largest": tf.reduce_max(embeddings)}

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile(loss=Watched())
    found = Method(model).batch_diagnostics(LABELS, Z)
    assert found == {"largest": pytest.approx(Z.max())}


def test_lists():
    np.testing.assert_allclose(
        Ours()(LABELS.tolist(), Z.tolist()), OfKeras()(LABELS, Z), rtol=1e-6
    )


ALL = [
    losses.BinomialDevianceLoss(),
    losses.ContrastiveLoss(),
    losses.FStatisticLoss(),
    losses.HistogramLoss(),
    losses.LiftedStructureLoss(),
    losses.PrototypicalLoss(2),
    losses.TripletLoss(),
]


@pytest.mark.every_nth(4)
@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
@pytest.mark.parametrize("start", [20_240_101, 10**9, 2**40])
def test_big_ids_in_fit(loss, start):
    """The values that small ids give, through all of Keras."""
    rng = np.random.default_rng(1)
    labels = np.tile(np.arange(4), 4)
    x = rng.normal(size=(16, 3)).astype("float32")
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Activation("linear")]
    )
    model.compile(loss=loss, run_eagerly=True)
    expected = model.evaluate(x, labels, verbose=0)
    assert expected > 1e-3
    found = model.evaluate(x, labels + start, verbose=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
def test_bad_labels_in_fit():
    x, y = np.ones((4, 2), "float32"), np.array([0.0, 0.3, 0.6, 1.0])
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile("sgd", loss=losses.TripletLoss())
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole numbers"):
        model.fit(x, y, verbose=0)
    model.compile("sgd", loss=losses.TripletLoss(), jit_compile=True)
    with pytest.raises(ValueError, match="XLA cannot check"):
        model.fit(x, np.arange(4.0), verbose=0)
    model.compile("sgd", loss=losses.TripletLoss())
    model.fit(x, np.array([0.0, 0.0, 1.0, 1.0]), verbose=0)


def test_a_loss_without_call_is_named():
    class Nothing(losses.EmbeddingLoss):
        pass

    with pytest.raises(ValueError, match="Nothing has no `call`"):
        Nothing()([0, 1], np.ones((2, 3), "float32"))


@pytest.mark.parametrize(
    "weight", [np.ones(3), np.ones((1, 6)), np.ones((6, 2)), tf.ones(5), [1, 2]]
)
def test_other_than_one_weight_per_example_is_refused(weight):
    with pytest.raises(ValueError, match=r"one value for each example.*\(6,\)"):
        Ours()(LABELS, Z, sample_weight=weight)


@pytest.mark.parametrize(
    "weight", [2.0, [2.0], [[2.0]], [2.0] * 6, [[2.0]] * 6]
)
def test_one_weight_for_all_examples(weight):
    once, twice = (Ours()(LABELS, Z, sample_weight=w) for w in (None, weight))
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [2.0, [2.0], [[2.0]]])
@pytest.mark.parametrize("num_rows", [1, 6])
@pytest.mark.parametrize("is_known", [True, False])
def test_one_weight_is_the_weight_of_every_row(
    reduction, weight, num_rows, is_known
):
    labels, z = LABELS[-num_rows:], np.float32(Z[-num_rows:])
    values = 2 * labels * np.sum(z, -1)
    expected = {
        "sum": np.sum(values),
        "mean_with_sample_weight": np.mean(values) / 2,
        "none": values,
        None: values,
    }.get(reduction, np.mean(values))
    call = tf.function(
        lambda labels, z: Ours(reduction=reduction)(labels, z, weight),
        input_signature=[
            tf.TensorSpec([num_rows if is_known else None], tf.int64),
            tf.TensorSpec([num_rows if is_known else None, z.shape[1]]),
        ],
    )
    found = np.array(call(labels, z))
    if weight == [[2.0]] and found.ndim:  # as in Keras
        found = found[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "complex64"])
def test_dtypes_that_are_not_floats_are_refused(dtype):
    makers = [
        losses.FStatisticLoss,
        losses.TripletLoss,
        lambda dtype: objectives.StochasticPrototypes(1, dtype=dtype),
        objectives.HedgedInstances,
        lambda dtype: objectives.LearnedDistance(
            layers.PairDistance((4,)), dtype=dtype
        ),
        objectives.SoftContrastive,
        lambda dtype: layers.GaussianEmbedding(3, dtype=dtype),
        lambda dtype: layers.PairDistance((4,), dtype=dtype),
        lambda dtype: layers.AdditiveMargin(3, dtype=dtype),
        lambda dtype: layers.DimensionDropout(0.1, dtype=dtype),
        lambda dtype: layers.StatisticsPooling(dtype=dtype),
        lambda dtype: layers.UncertaintyHead((4,), dtype=dtype),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=f"floating-point.*{dtype}"):
            make(dtype=dtype)


@pytest.mark.parametrize(
    "loss",
    [
        losses.ContrastiveLoss(),
        losses.LiftedStructureLoss(),
        losses.LiftedStructureLoss(form="authors"),
        losses.TripletLoss(distance="squared_l2"),
        losses.TripletLoss(distance="l2", mining="hard"),
        losses.TripletLoss(distance="squared_l2", average_over="active"),
        losses.PrototypicalLoss(1),
        losses.PrototypicalLoss(2),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_finite_up_to_1e30(loss, seed):
    labels = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    z = np.random.default_rng(seed).uniform(-1, 1, (9, 3)) * 1e30
    z = tf.constant(z, "float32")
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = loss(labels, z)
    assert np.isfinite(value)
    assert np.isfinite(tape.gradient(value, z)).all()


@pytest.mark.parametrize("shape", [[None], [None, 1], [None, None]])
def test_weights_whose_shape_is_unknown_in_a_graph(shape):
    """A column of weights must not become a matrix of products."""
    weight = np.array([1, 0, 2, 0.5, 0, 1], "float32")
    expected = Ours()(LABELS, Z, sample_weight=weight)
    given = weight.reshape([-1] + [1] * (len(shape) - 1))
    call = tf.function(
        lambda weight: Ours()(LABELS, tf.constant(Z), weight),
        input_signature=[tf.TensorSpec(shape, tf.float32)],
    )
    np.testing.assert_allclose(call(given), expected, rtol=1e-6)
    if shape == [None, None]:
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(weight[None])


def test_weights_of_an_unknown_number_of_rows():
    call = tf.function(
        lambda labels, z, weight: Ours()(labels, z, weight),
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, 2], tf.float32),
            tf.TensorSpec([None], tf.float32),
        ],
    )
    z = tf.constant([[1.0, 2.0]])
    assert call([3], z, [2.0]).numpy() == 2 * 3 * (1 + 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        call([3], z, [1.0, 2.0, 3.0])


def test_a_list_of_graph_tensors_is_a_weight():
    @tf.function
    def call(weight):
        return Ours()(LABELS, tf.constant(Z), [w for w in tf.unstack(weight)])

    weight = tf.constant([1, 0, 2, 0.5, 0, 1])
    expected = Ours()(LABELS, Z, sample_weight=weight)
    np.testing.assert_allclose(call(weight), expected, rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_weights_whose_rank_is_unknown_in_a_graph(jit_compile):
    weight = np.array([1, 0, 2, 0.5, 0, 1], "float32")
    values = LABELS * np.sum(Z, -1)
    call = tf.function(
        lambda weight: Ours()(LABELS, tf.constant(Z), weight),
        input_signature=[tf.TensorSpec(None, tf.float32)],
        jit_compile=jit_compile,
    )
    for given in (weight, weight[:, None]):
        expected = np.mean(weight * values)
        np.testing.assert_allclose(call(given), expected, rtol=1e-5)
    for given in (np.float32(2), np.float32([2]), np.float32([[2]])):
        expected = 2 * np.mean(values)
        np.testing.assert_allclose(call(given), expected, rtol=1e-5)
    for given in (weight[None], weight.reshape(2, 3), weight[:3]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(given)


@pytest.mark.parametrize(
    ("weight", "received"),
    [
        (["1"] * 6, "the type string"),
        (np.ones(6, complex), "the type complex128"),
        (np.array([1, 2, 3, 4, 5, None]), "the type object"),
        (tf.ragged.constant([[1.0]] * 6), "a RaggedTensor"),
        (tf.sparse.from_dense(np.ones((6, 1))), "a SparseTensor"),
    ],
)
def test_weights_are_real_numbers(weight, received):
    expected = f"`sample_weight` must be real numbers; received {received}"
    with pytest.raises(ValueError, match=expected):
        Ours()(LABELS, Z, sample_weight=weight)


def test_weights_may_be_booleans():
    weight = np.array([True, False, True, True, False, True])
    expected = np.mean(weight * LABELS * np.sum(Z, -1))
    found = Ours()(LABELS, Z, sample_weight=weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
