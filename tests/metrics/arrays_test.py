"""The arrays that all metrics accept and refuse."""

import re
from functools import partial

import keras
import ml_dtypes
import numpy as np
import pandas
import pytest
import tensorflow as tf
from scipy import sparse

from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import viz
from embeddings_tf.metrics import arrays

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], 8)
EMBEDDINGS = RNG.normal(size=(24, 2)) + LABELS[:, None]
FACTORS = np.stack([LABELS, np.arange(24) % 2], 1)

# Every function of vectors, and its other arguments.
OF_VECTORS = {
    "recall_at_k": lambda x: metrics.recall_at_k(x, LABELS),
    "few_shot_accuracy": lambda x: metrics.few_shot_accuracy(x, LABELS, 1, 2),
    "few_shot_episodes": lambda x: next(
        iter(metrics.few_shot_episodes(x, LABELS, 1, 2))
    ),
    "query_embeddings": lambda x: metrics.few_shot_accuracy(
        EMBEDDINGS, LABELS, 1, 2, query_embeddings=x
    ),
    "k_means_centroids": lambda x: metrics.k_means_centroids(x, 2),
    "class_means": lambda x: metrics.class_means(x, LABELS),
    "assign_clusters": lambda x: metrics.assign_clusters(x, x[:3]),
    "centroids": lambda x: metrics.assign_clusters(EMBEDDINGS, x),
    "cosine_scores": lambda x: metrics.cosine_scores(x, EMBEDDINGS),
    "cosine_score_pairs": lambda x: metrics.cosine_score_pairs(EMBEDDINGS, x),
    "score_all_pairs": lambda x: metrics.score_all_pairs(
        metrics.cosine_scores, x
    ),
    "stream_trials": lambda x: metrics.stream_trials(
        metrics.cosine_scores, x, LABELS, metrics.TrialHistogram().update
    ),
    "score_enrollments": lambda x: metrics.score_enrollments(
        metrics.cosine_scores, x, LABELS, EMBEDDINGS
    ),
    "score_trials": lambda x: metrics.score_trials(
        metrics.cosine_score_pairs, x, range(24), [(0, 1)]
    ),
    "mutual_information": lambda x: metrics.mutual_information(x, FACTORS),
    "chance_information": lambda x: metrics.chance_information(x, FACTORS),
    "modularity": lambda x: metrics.modularity(x, FACTORS),
    "explicitness": lambda x: metrics.explicitness(x, FACTORS),
    "explicitness_by_value": lambda x: metrics.explicitness_by_value(
        x, FACTORS
    ),
    "test_codes": lambda x: metrics.explicitness(
        EMBEDDINGS, FACTORS, test_codes=x, test_factors=FACTORS
    ),
    "single_dimension_auc": lambda x: metrics.single_dimension_auc(x, FACTORS),
    "best_rotation": lambda x: metrics.best_rotation(x, FACTORS),
    "acceptance_figure": lambda x: viz.acceptance_figure(
        x, LABELS, metrics.cosine_scores, grid_size=4
    ),
    "embedding_figure": lambda x: viz.embedding_figure(
        x, None, LABELS, LABELS == 0, {"label": LABELS}
    ),
    "traversal_indices": lambda x: viz.traversal_indices(x),
    "traversal_reference": lambda x: viz.traversal_reference(x),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_complex_embeddings_are_refused(name):
    """Before, the imaginary part was dropped, with at most a warning."""
    with pytest.raises(ValueError, match="must be real numbers.*complex128"):
        OF_VECTORS[name](EMBEDDINGS + 1j)


@pytest.mark.parametrize("name", OF_VECTORS)
@pytest.mark.parametrize("make", [str, object])
def test_strings_and_objects_are_refused(name, make):
    """Before, strings were parsed and objects rounded to float32."""
    with pytest.raises(ValueError, match="must be numbers"):
        OF_VECTORS[name](EMBEDDINGS.astype(make))


COMPUTED = [n for n in OF_VECTORS if n != "single_dimension_auc"]


@pytest.mark.parametrize("name", COMPUTED)
def test_integers_that_float64_would_round_are_refused(name):
    with pytest.raises(ValueError, match=r"9007199254740993, beyond 2\*\*53"):
        OF_VECTORS[name](np.arange(48).reshape(24, 2) + 2**53 + 1)


@pytest.mark.parametrize(
    "name", [n for n in OF_VECTORS if n not in ("recall_at_k", "test_codes")]
)
@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_any_scale(name, scale):
    """A warning would fail the test."""
    found = OF_VECTORS[name](EMBEDDINGS * np.ldexp(1.0, int(np.log2(scale))))
    values = [np.asarray(x) for x in keras.tree.flatten(found)]
    # Log-probabilities of classes may be -inf.
    assert not any(np.isnan(x).any() for x in values if x.dtype.kind == "f")


@pytest.mark.parametrize(
    "name",
    [
        "mutual_information",
        "modularity",
        "explicitness",
        "single_dimension_auc",
        "assign_clusters",
    ],
)
def test_the_scale_does_not_matter(name):
    for exponent in (-1020, 1010):
        assert np.array_equal(
            OF_VECTORS[name](np.ldexp(EMBEDDINGS, exponent)),
            OF_VECTORS[name](EMBEDDINGS),
        )


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (np.float16, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.longdouble, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
    ],
)
def test_types_of_numbers(make, expected):
    found = arrays.numbers("x", np.array([1, 0, 1]).astype(make), 1, "(n,)")
    assert found.dtype == expected
    assert found.tolist() == [1, 0, 1]


def test_a_long_double_keeps_float64_precision():
    value = np.array([1 + 2.0**-40], np.longdouble)
    assert arrays.numbers("x", value, 1, "(n,)")[0] == 1 + 2.0**-40


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        [[1.0], [1.0, 2.0]],
        {"a": 1},
        tf.ragged.constant([[1], [1, 2]]),
        np.array([("a", 1.0)], [("name", "U1"), ("value", "f8")]),
        np.array(["2020-01-01"], "M8[D]"),
        [10**400],
    ],
)
def test_non_numeric_arrays_are_refused(value):
    for check in (arrays.numbers, arrays.booleans, arrays.integers):
        with pytest.raises(ValueError, match="`x` must"):
            check("x", value, 1, "(n,)")


NOT_DENSE = [
    (sparse.csr_matrix(np.eye(3)), "csr_matrix", "x.toarray()"),
    (sparse.coo_array(np.eye(3)), "coo_array", "x.toarray()"),
    (tf.sparse.eye(3), "SparseTensor", "tf.sparse.to_dense(x)"),
    (tf.ragged.constant([[1.0, 2.0], [3.0]]), "RaggedTensor", "x.to_tensor()"),
]


@pytest.mark.parametrize(("value", "kind", "cure"), NOT_DENSE)
def test_sparse_and_ragged_values_are_named(value, kind, cure):
    received = re.escape(f"; received a {kind}. Convert it: {cure}.")
    for ask in (
        lambda: metrics.recall_at_k(value, [0, 0, 1]),
        lambda: metrics.recall_at_k(np.eye(3), value),
        lambda: metrics.normalized_mutual_information(value, [0, 0, 1]),
        lambda: metrics.cllr([1.0, 2.0, 3.0], value),
        lambda: losses.TripletLoss()([0, 0, 1], value),
        lambda: losses.TripletLoss()(value, np.eye(3)),
    ):
        with pytest.raises(ValueError, match=received):
            ask()


@pytest.mark.parametrize("value", [None, {"a": 1}, {1, 2}, object()])
def test_objects_that_are_no_array_are_named(value):
    received = f"received {type(value).__name__}. Pass an array."
    with pytest.raises(ValueError, match=received):
        metrics.recall_at_k(value, [0, 0, 1])


def test_masked_entries():
    value = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(ValueError, match="no masked entries; received 1"):
        arrays.numbers("x", value, 1, "(n,)")
    assert arrays.numbers("x", value[:1], 1, "(n,)").tolist() == [1.0]


@pytest.mark.parametrize("value", [["0", "1"], [0, 1j]])
def test_non_booleans_are_refused(value):
    with pytest.raises(ValueError, match="must contain booleans"):
        arrays.booleans("x", value, 1, "(n,)")


def test_missing_booleans_are_named():
    for value, match in (
        ([True, None], "received None in place 1"),
        (pandas.array([True, None], "boolean"), "no masked entries; received"),
    ):
        with pytest.raises(ValueError, match=match):
            arrays.booleans("x", value, 1, "(n,)")


def test_texts_of_tensors_are_classes():
    numbers, sizes = arrays.numbered_classes("x", tf.constant(["b", "é", "b"]))
    assert numbers.tolist() == [0, 1, 0] and sizes.tolist() == [2, 1]


@pytest.mark.parametrize("seed", [-1, 0.5, None, "a", True])
@pytest.mark.parametrize(
    "measure",
    [
        partial(
            metrics.mutual_information,
            EMBEDDINGS,
            FACTORS,
            correction="permutation",
        ),
        partial(metrics.chance_information, EMBEDDINGS, FACTORS),
        partial(
            metrics.bootstrap_interval,
            metrics.roc_auc,
            EMBEDDINGS[:, 0],
            LABELS == 0,
        ),
        partial(metrics.distance_properties, np.ones((4, 4)), num_items=3),
        partial(metrics.k_means_centroids, EMBEDDINGS, 2),
    ],
)
def test_seeds(measure, seed):
    with pytest.raises(ValueError, match="`seed` must be an integer"):
        measure(seed=seed)


def test_columns_of_python_objects_are_read_by_what_they_are():
    """As pandas returns them."""
    text = np.array(["a", "b", "a"], object)
    assert arrays.numbered_classes("classes", text)[0].tolist() == [0, 1, 0]
    truth = np.array([True, False, True], object)
    found = arrays.booleans("is_error", truth, 1, "(n,)")
    assert found.dtype == bool and found.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="classes"):
        arrays.numbered_classes("classes", np.array(["a", None], object))


@pytest.mark.parametrize("value", [1 / 30, 1 / 49, 0.25, 1.0, 1e-7 / 3])
def test_rounded_up(value):
    found = arrays.rounded_up(value)
    assert value * (1 - 1e-9) <= found <= value * 1.01
    assert len(f"{found:.3g}".replace(".", "")) <= 9
    assert float(f"{found:.3g}") == found


TINY = 2.0**-126  # the smallest normal number of float32


@pytest.mark.parametrize(
    ("scores", "threshold", "expected"),
    [
        ([], -30.18977, 6),
        ([-30.19109], -30.18977, 6),
        ([-30.19109, -30.189769], -30.18977, 8),
        ([2.0, 3.0], 2.0, 6),  # equal numbers have equal texts
        ([1.0], 1 + 2**-52, 17),  # neighbours in float64
        ([0.0, 1e30], np.inf, 6),
    ],
)
def test_digits_tell_scores_from_a_threshold(scores, threshold, expected):
    assert arrays.telling_digits(np.array(scores), threshold) == expected


@pytest.mark.parametrize(
    ("dtype", "score", "expected"),
    [
        (np.float32, 0.0, TINY),
        (np.float32, -0.0, TINY),
        (np.float32, 2.0**-149, TINY),
        (np.float32, -(2.0**-149), TINY),
        (np.float32, -TINY, 0.0),
        (np.float32, TINY, TINY + 2.0**-149),
        (np.float32, -2 * TINY, -2 * TINY + 2.0**-149),
        (np.float64, 0.0, 2.0**-1022),
        (np.float64, -(2.0**-1022), 0.0),
        (ml_dtypes.bfloat16, 0.0, TINY),
        (np.float16, 0.0, 2.0**-24),
    ],
)
def test_just_above_is_above_in_tensorflow_too(dtype, score, expected):
    """TensorFlow reads subnormal numbers as 0."""
    score = np.asarray(score, dtype)[()]
    found = arrays.just_above(score, np.dtype(dtype))
    assert found == expected
    threshold = tf.constant(np.asarray(found, dtype))
    assert not (tf.constant(score) >= threshold).numpy()


def objects(*values):
    """One Python object per row, as a column of pandas."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def test_the_rank_is_checked_after_conversion():
    """Tuples in a column are a second axis."""
    classes = pandas.Series([("a", "b"), ("c", "d"), ("e", "f")])
    with pytest.raises(ValueError, match=r"`classes` must have shape \(n,\)"):
        metrics.conformal_threshold([0.1, 0.2, 0.3], classes, 0.5)
    targets = pandas.Series([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"`is_target` must have shape"):
        metrics.error_rates([1.0, 2.0], targets, 0.5)


@pytest.mark.parametrize("check", [arrays.booleans, arrays.numbered_classes])
def test_objects_that_are_no_array_are_refused(check):
    more = (1, "(n,)") if check is arrays.booleans else ()
    with pytest.raises(ValueError, match="`x` must be an array, or lists"):
        check("x", objects((0,), (0, 1)), *more)
    with pytest.raises(
        ValueError, match=r"`x` must be text; received b'\\xff'"
    ):
        check("x", np.array([b"a", b"\xff"]), *more)
