import decimal
import importlib
import itertools
import pathlib
from decimal import Decimal

import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf.losses import FStatisticLoss
from embeddings_tf.losses import f_statistic_loss

MODULE = importlib.import_module("embeddings_tf.ops.f_statistic")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "f_statistic_loss.md"

EQUAL = [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
UNEQUAL = [4, 4, -7, 4, 9, 9, 9, -7, 4, 9, 9, 9, 9, 4, 9, -7, 30, 30, 4, 9]
SINGLES = [1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 3, 1, 1]
BATCHES = {"equal": EQUAL, "unequal": UNEQUAL, "with singles": SINGLES}
OPTIONS = [
    {"grand_mean": grand_mean, "direction": direction, "equal_variance": True}
    for grand_mean in ("class_means", "instances")
    for direction in ("separate", "merge")
] + [
    {"direction": direction, "equal_variance": False}
    for direction in ("separate", "merge")
]
every_option = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: "-".join(map(str, options.values()))
)
every_batch = pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)


def points(num_rows=20, dim=4, seed=0):
    """Random float32 points with means that differ by dimension and row."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(num_rows, dim)) * rng.uniform(0.1, 10, dim)
    return (z + rng.normal(size=dim)).astype("float32")


def anova(a, b, grand_mean):
    """s and n of two samples in each dimension, by the published formula."""
    means = a.mean(0), b.mean(0)
    centre = (
        sum(means) / 2
        if grand_mean == "class_means"
        else np.concatenate([a, b]).mean(0)
    )
    between = len(a) * (means[0] - centre) ** 2
    between += len(b) * (means[1] - centre) ** 2
    within = sum((a - means[0]) ** 2) + sum((b - means[1]) ** 2)
    n = len(a) + len(b) - 2
    return n * between / within, np.full(a.shape[1], n)


def welch(a, b):
    """s and n of two samples in each dimension, by SciPy's test."""
    test = stats.ttest_ind(a, b, equal_var=False)
    return test.statistic**2, test.df


def log_probabilities(s, n):
    """ln Phi and ln(1 - Phi)."""
    # The distribution of stats.f, without its slow checks of arguments.
    cdf, sf = special.fdtr(1, n, s), special.fdtrc(1, n, s)
    return (
        np.log(cdf) if cdf < 0.5 else np.log1p(-sf),
        np.log(sf) if sf < 0.5 else np.log1p(-cdf),
    )


def loss_by_loop(
    labels,
    z,
    num_dims,
    grand_mean="class_means",
    direction="separate",
    equal_variance=True,
    freedom=None,
):
    """Loops over pairs of classes and over dimensions.

    `freedom` contains Welch's degrees of freedom by pair of classes. If it
    is empty, it is filled with the computed values.
    """
    labels, z = np.asarray(labels), np.asarray(z, "float64")
    smallest = 1 if equal_variance else 2
    classes = [c for c in dict.fromkeys(labels.tolist())]
    total = 0.0
    for first, second in itertools.combinations(classes, 2):
        a, b = z[labels == first], z[labels == second]
        if min(len(a), len(b)) < smallest or len(a) + len(b) < 3:
            continue
        if equal_variance:
            s, n = anova(a, b, grand_mean)
        else:
            s, n = welch(a, b)
            if freedom is not None:
                n = freedom.setdefault((first, second), n)
        found = [
            log_probabilities(*of_dim) for of_dim in zip(s, n, strict=True)
        ]
        found.sort(key=lambda logs: logs[0] - logs[1])
        for log_phi, log_rest in found[-num_dims:]:
            total -= log_phi if direction == "separate" else log_rest
    return total


def value_and_gradient(labels, z, *args, **kwargs):
    z = tf.convert_to_tensor(z)
    with tf.GradientTape() as tape:
        tape.watch(z)
        values = f_statistic_loss(labels, z, *args, **kwargs)
        value = tf.reduce_mean(values)
    return value.numpy(), tape.gradient(value, z).numpy()


@every_batch
@every_option
@pytest.mark.parametrize("num_dims", [1, 3, 4])
def test_by_loop(labels, options, num_dims):
    for seed in range(3):
        z = points(seed=seed)
        expected = loss_by_loop(labels, z, num_dims, **options)
        assert expected > 0
        values = f_statistic_loss(labels, z, num_dims, **options)
        assert values.dtype == "float32"
        np.testing.assert_allclose(values, np.full(20, expected), rtol=5e-7)
        precise = f_statistic_loss(
            labels, z.astype("float64"), num_dims, **options
        )
        np.testing.assert_allclose(precise, np.full(20, expected), rtol=1e-11)


def test_published_defaults():
    z = points()
    expected = loss_by_loop(UNEQUAL, z, 2, "class_means", "separate")
    np.testing.assert_allclose(FStatisticLoss()(UNEQUAL, z), expected, 5e-7)


def test_arithmetic():
    """n = 6: Phi = sqrt(x) (1 + y / 2 + 3 y^2 / 8), y = 1 - x.

    Means 1 and 2; sum of squares within 2 + 2. The sum of squares between is
    8 / 4 by class means, and 5 * 3 / 8 by instances.
    """
    labels, z = [0] * 5 + [1] * 3, [[0.0], [1], [2], [1], [1], [1], [2], [3]]
    for grand_mean, between in (("class_means", 2), ("instances", 15 / 8)):
        y = 4 / (4 + between)
        phi = np.sqrt(1 - y) * (1 + y / 2 + 3 * y**2 / 8)
        values = f_statistic_loss(labels, z, 1, grand_mean)
        np.testing.assert_allclose(values, -np.log(phi), rtol=1e-6)
        values = f_statistic_loss(labels, z, 1, grand_mean, "merge")
        np.testing.assert_allclose(values, -np.log(1 - phi), rtol=1e-6)


@pytest.mark.slow
def test_noise_has_its_expectation():
    """If classes do not differ, Phi is uniform and -ln Phi exponential.

    The sum of the `num_dims` smallest of `dim` exponential variables has the
    expectation sum over i of (1 / dim + ... + 1 / (dim - i + 1)).
    """
    rng = np.random.default_rng(0)
    dim, num_dims, num_pairs = 20, 3, 6
    means = np.cumsum(1 / np.arange(dim, dim - num_dims, -1))
    found = [
        f_statistic_loss(EQUAL, rng.normal(size=(20, dim)), num_dims)[0]
        for _ in range(200)
    ]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - num_pairs * means.sum()) < 4 * error
    assert error < 0.03 * np.mean(found)


@every_batch
@every_option
def test_gradient_by_differences(labels, options):
    """Differences of the loops, with constant Welch's degrees of freedom."""
    z = points().astype("float64")
    num_dims = 2 if options["equal_variance"] else 4
    freedom = {}
    loss_by_loop(labels, z, num_dims, **options, freedom=freedom)
    _, gradient = value_and_gradient(labels, z, num_dims, **options)
    _, in_float32 = value_and_gradient(
        labels, z.astype("float32"), num_dims, **options
    )
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(
        in_float32, gradient, rtol=1e-5, atol=1e-6 * scale
    )
    step = 1e-6
    for row, k in itertools.product(range(0, 20, 3), range(4)):
        up, down = z.copy(), z.copy()
        up[row, k] += step
        down[row, k] -= step
        up, down = (
            loss_by_loop(labels, x, num_dims, **options, freedom=freedom)
            for x in (up, down)
        )
        np.testing.assert_allclose(
            gradient[row, k], (up - down) / (2 * step), 1e-6, 1e-7 * scale
        )


# From equal means to means so far apart that 1 - Phi is 1e-300.


def exact_probability(a, b, direction):
    """exp(-loss) in one dimension, even n, computed with enough digits."""
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    within = sum((x - mean_a) ** 2 for x in a)
    within += sum((x - mean_b) ** 2 for x in b)
    between = (len(a) + len(b)) * (mean_a - mean_b) ** 2 / 4
    y = within / (between + within)
    term, total = Decimal(1), Decimal(0)
    for j in range((len(a) + len(b) - 2) // 2):
        total += term
        term *= y * (2 * j + 1) / (2 * j + 2)
    phi = (1 - y).sqrt() * total
    return phi if direction == "separate" else 1 - phi


@pytest.mark.parametrize("direction", ["separate", "merge"])
@pytest.mark.parametrize(
    "sizes", [(3, 1), (5, 5), pytest.param((21, 21), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "distance", [1e-10, 1e-7, 1e-4, 1e-2, 1, 3, 10, 30, 1e3, 1e6, 1e9, 1e12]
)
def test_from_coinciding_to_separate(direction, sizes, distance):
    """float32 versus 1,200 digits and finite differences of these."""
    a, b = (
        np.concatenate([steps, [0], -steps])
        for steps in (np.linspace(0.5, 1.5, size // 2) for size in sizes)
    )
    if distance < 1:  # A point near 0 keeps digits that one near 1 loses.
        b[len(b) // 2] = distance * len(b)
    else:
        a, b = a / distance, 1 + b / distance
    z = np.concatenate([a, b]).astype("float32")
    labels = np.repeat([0, 1], sizes)
    value, gradient = value_and_gradient(
        labels, z[:, None], 1, direction=direction
    )
    with decimal.localcontext(prec=1200):
        exact = np.array([Decimal(float(x)) for x in z])
        p = exact_probability(*np.split(exact, sizes[:1]), direction)
        expected = float(-p.ln())
        step = Decimal("1e-100")
        differences = []
        for row in range(len(z)):
            up, down = exact.copy(), exact.copy()
            up[row] += step
            down[row] -= step
            up, down = (
                exact_probability(*np.split(x, sizes[:1]), direction)
                for x in (up, down)
            )
            differences.append(float((down - up) / (2 * step) / p))
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-37)
    scale = np.max(np.abs(differences))
    np.testing.assert_allclose(
        gradient[:, 0], differences, rtol=1e-5, atol=1e-6 * scale + 1e-37
    )


@every_option
@pytest.mark.parametrize("scale", [1e-30, 1e-18, 1e18, 1e30])
def test_scale_and_offset(options, scale):
    z = points()
    scale = np.float32(2.0 ** round(np.log2(scale)))  # exact
    value, gradient = value_and_gradient(UNEQUAL, z, 2, **options)
    # Each dimension has a separate scale.
    scales = np.array([scale, 1, scale, 1], "float32")
    scaled, gradient_of_scaled = value_and_gradient(
        UNEQUAL, z * scales, 2, **options
    )
    np.testing.assert_allclose(scaled, value, rtol=1e-6)
    np.testing.assert_allclose(gradient_of_scaled * scales, gradient, rtol=1e-5)
    # Multiples of 1/64, for which a large offset is exact.
    z = np.round(64 * z) / 64
    value, gradient = value_and_gradient(UNEQUAL, z, 2, **options)
    shifted, gradient_of_shifted = value_and_gradient(
        UNEQUAL, z + np.float32(2**16), 2, **options
    )
    np.testing.assert_allclose(shifted, value, rtol=1e-6)
    np.testing.assert_allclose(
        gradient_of_shifted,
        gradient,
        rtol=1e-5,
        atol=1e-6 * np.abs(gradient).max(),
    )


# Degenerate batches.


def cap(n, direction="separate"):
    """At a ratio of 1e-37 or 1e37, by the leading terms of the series."""
    log_beta = special.betaln(1 / 2, n / 2)
    if direction == "separate":
        return 37 / 2 * np.log(10) - np.log(2) + log_beta
    return 37 / 2 * np.log(10) * n + np.log(n / 2) + log_beta


@every_option
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_degenerate_batches(options, dtype):
    z = points().astype(dtype)
    separate = options["direction"] == "separate"
    num_pairs, n = 6, 8
    # All points equal; then equal within classes; other pairs count 0.
    coinciding = 2 * num_pairs * cap(n) if separate else 0
    collapsed = 0 if separate else 2 * num_pairs * cap(n, "merge")
    batches = {
        "coinciding": (EQUAL, np.full_like(z, 0.3), coinciding),
        "collapsed": (EQUAL, np.repeat(z[:4], 5, axis=0), collapsed),
        # Ratios of 1e340.
        "far": (EQUAL, np.repeat(1e30 * z[:4], 5, axis=0), collapsed),
        "one class": ([3] * 20, z, 0),
        "singletons": (range(20), z, 0),
        "one row": ([3], z[:1], 0),
    }
    for name, (labels, points_, expected) in batches.items():
        value, gradient = value_and_gradient(
            list(labels), points_, 2, **options
        )
        np.testing.assert_allclose(value, expected, 1e-4, 1e-15, err_msg=name)
        np.testing.assert_array_equal(gradient, 0, err_msg=name)
    assert f_statistic_loss([], z[:0], 2, **options).shape == (0,)


@every_option
def test_the_ends_of_float32(options):
    """Differences below the resolution of float32 have no gradient."""
    jitter = 1e-40 * np.arange(20)[:, None]
    z = (np.array(EQUAL)[:, None] + 1) * np.ones(4) * 1e-37 + jitter
    value, gradient = value_and_gradient(
        EQUAL, z.astype("float32"), 2, **options
    )
    separate = options["direction"] == "separate"
    expected = 0 if separate else 2 * 6 * cap(8, "merge")
    np.testing.assert_allclose(value, expected, 1e-4, 1e-15)
    np.testing.assert_array_equal(gradient, 0)
    for seed in range(5):
        for scale, offset in ((1e-36, 0), (2e-38, 0), (1e-39, 1e-38)):
            z = (scale * points(seed=seed) + offset).astype("float32")
            value, gradient = value_and_gradient(UNEQUAL, z, 4, **options)
            assert np.isfinite(value)
            assert np.isfinite(gradient).all(), (seed, scale)


@every_option
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_dimension_comes_last(options, dtype):
    z = points().astype(dtype)
    constant = np.insert(z, 2, 0.3, axis=1)
    value, gradient = value_and_gradient(UNEQUAL, z, 4, **options)
    found, with_constant = value_and_gradient(UNEQUAL, constant, 4, **options)
    np.testing.assert_allclose(found, value, rtol=1e-6)
    np.testing.assert_array_equal(with_constant[:, 2], 0)
    np.testing.assert_allclose(
        np.delete(with_constant, 2, axis=1), gradient, rtol=1e-5
    )


def test_welch_leaves_singles_out():
    z = points()
    several = np.isin(SINGLES, [1, 3])
    value, gradient = value_and_gradient(SINGLES, z, equal_variance=False)
    np.testing.assert_allclose(
        value,
        f_statistic_loss(
            np.array(SINGLES)[several], z[several], equal_variance=False
        )[0],
        rtol=1e-6,
    )
    np.testing.assert_array_equal(gradient[~several], 0)
    assert gradient[several].any()


def test_welch_is_the_same_for_equal_spreads():
    """With equal counts and variances, n and s equal equal_variance=True."""
    z = np.tile(points(5), (4, 1)) + 0.7 * np.repeat(np.eye(4), 5, axis=0)
    np.testing.assert_allclose(
        f_statistic_loss(EQUAL, z, equal_variance=False),
        f_statistic_loss(EQUAL, z),
        rtol=1e-9,
    )


@pytest.mark.every_nth(5)
@every_option
@pytest.mark.parametrize("labels", [EQUAL, UNEQUAL, range(20), [5] * 20])
def test_not_a_number_is_not_hidden(labels, options):
    """Also if there is nothing to test; the gradient is NaN, too."""
    labels = list(labels)
    for row, column in itertools.product((0, 3, 15, 19), range(4)):
        z = points()
        z[row, column] = np.nan
        value, gradient = value_and_gradient(labels, z, 2, **options)
        assert np.isnan(value) and np.isnan(gradient).any(), (row, column)


@pytest.mark.slow
@pytest.mark.parametrize("equal_variance", [True, False])
def test_not_a_number_is_not_hidden_by_xla(equal_variance):
    compiled = tf.function(f_statistic_loss, jit_compile=True)
    for column in range(4):
        z = points()
        z[7, column] = np.nan
        value = compiled(EQUAL, z, equal_variance=equal_variance)[0]
        assert np.isnan(value), column


@every_option
def test_no_testable_pair_gives_plus_zero(options):
    for labels in ([3] * 20, range(20)):
        value, _ = value_and_gradient(list(labels), points(), 2, **options)
        assert value == 0 and not np.signbit(value)


# Many classes.


@pytest.mark.every_nth(5)
@every_option
def test_blocks_of_pairs(options, monkeypatch):
    labels = np.random.default_rng(0).permutation(np.arange(48) % 12)
    z = points(48)
    value, gradient = value_and_gradient(labels, z, 2, **options)
    for block_size in (1, 4 * 7, 4 * 66, 4 * 67):
        monkeypatch.setattr(MODULE, "BLOCK_SIZE", block_size)
        blocked = value_and_gradient(labels, z, 2, **options)
        np.testing.assert_allclose(blocked[0], value, rtol=1e-6)
        np.testing.assert_allclose(blocked[1], gradient, rtol=1e-5, atol=1e-6)


def test_thousand_classes():
    """499,500 pairs; the tolerance allows for their dependence."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(1000), 3))
    z = rng.normal(size=(3000, 8)).astype("float32")
    value, gradient = value_and_gradient(labels, z, 2)
    assert np.isfinite(gradient).all() and gradient.any()
    # As above: 1/8 for the largest Phi of 8, and 1/8 + 1/7 for the next.
    np.testing.assert_allclose(value, 499_500 * (2 / 8 + 1 / 7), rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("equal_variance", [True, False])
def test_xla_with_few_rows(equal_variance):
    """Such as the last batch of an epoch; one or two rows have no test."""
    compiled = tf.function(MODULE.value_and_gradient, jit_compile=True)
    options = (1, "class_means", "separate", equal_variance)
    for labels in ([4], [4, 4], [4, 5]):
        z = tf.constant(points(len(labels)))
        value, gradient = compiled(tf.constant(labels), z, *options)
        assert value == 0 and not gradient.numpy().any(), labels


@pytest.mark.slow
def test_xla_with_several_blocks():
    """XLA knows a bound of the number of classes, not the number."""
    labels = tf.constant(np.arange(60) % 7, tf.int32)
    z = tf.constant(points(60))
    compiled = tf.function(MODULE.value_and_gradient, jit_compile=True)
    options = (2, "class_means", "separate", True)
    for found, expected in zip(
        compiled(labels, z, *options),
        MODULE.value_and_gradient(labels, z, *options),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# Errors.


def test_errors():
    z = points()
    with pytest.raises(ValueError, match="num_dims=5 and .* dimension 4"):
        f_statistic_loss(EQUAL, z, 5)
    for num_dims in (0, 1.5, None, True):
        with pytest.raises(ValueError, match="`num_dims` must be an integer"):
            FStatisticLoss(num_dims)
    with pytest.raises(ValueError, match="'instances'; received 'mean'"):
        FStatisticLoss(grand_mean="mean")
    with pytest.raises(ValueError, match="'merge'; received 'apart'"):
        f_statistic_loss(EQUAL, z, direction="apart")


def test_more_classes_than_pairs_fit_in_an_integer():
    labels = np.repeat(np.arange(46_342), 2)
    z = np.zeros((len(labels), 2), "float32")
    with pytest.raises(ValueError, match=r"46341 classes .* classes: 46342\."):
        f_statistic_loss(labels, z)
    compiled = tf.function(f_statistic_loss, autograph=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="46341 classes"):
        compiled(labels, z)
    # The last of the pairs that fit.
    number = 46_341 * 46_340 // 2 - 1
    first, second = MODULE._classes_of_pair(tf.constant(number))
    assert (int(first), int(second)) == (46_339, 46_340)


def test_no_second_derivative():
    z = tf.constant(points())
    with tf.GradientTape() as outer:
        outer.watch(z)
        with tf.GradientTape() as inner:
            inner.watch(z)
            value = f_statistic_loss(EQUAL, z)[0]
        gradient = inner.gradient(value, z)
    with pytest.raises(LookupError, match="differentiable once"):
        outer.gradient(gradient, z)
