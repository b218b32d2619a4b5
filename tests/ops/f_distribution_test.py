import decimal
from decimal import Decimal

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.ops import f_distribution

RATIOS = np.concatenate(
    [10.0 ** np.linspace(-37, 37, 21), 10.0 ** np.linspace(-4, 2, 31)]
)


def evaluated(function, ratios, freedom, **options):
    """NumPy in and out; degrees of freedom in a column, as in the loss."""
    ratios = tf.constant(ratios, tf.float64)[None]
    return function(
        ratios, tf.fill([1, 1], tf.constant(freedom, tf.float64)), **options
    )[0].numpy()


@pytest.mark.parametrize(
    "freedom", [1, 2, 3, 6, 8, 18, 19, 57.3, 98, 199, 1000]
)
def test_by_scipy(freedom):
    """Uses each of SciPy's functions where it is accurate."""
    s = RATIOS * freedom
    cdf, sf = stats.f.cdf(s, 1, freedom), stats.f.sf(s, 1, freedom)
    density = s * stats.f.pdf(s, 1, freedom)
    log_sf_is_known, log_density_is_known = sf > 1e-300, density > 1e-300
    assert log_sf_is_known.sum() > 20
    with np.errstate(divide="ignore"):
        log_cdf = np.where(cdf < 0.5, np.log(cdf), np.log1p(-sf))
        log_sf = np.where(sf < 0.5, np.log(sf), np.log1p(-cdf))
        log_density = np.log(density)
    found = evaluated(f_distribution.log_cdf, RATIOS, freedom)
    np.testing.assert_allclose(found, log_cdf, rtol=1e-11)
    found = evaluated(f_distribution.log_sf, RATIOS, freedom)
    np.testing.assert_allclose(
        found[log_sf_is_known], log_sf[log_sf_is_known], rtol=1e-11
    )
    found = evaluated(f_distribution.log_density, RATIOS, freedom)
    np.testing.assert_allclose(
        found[log_density_is_known],
        log_density[log_density_is_known],
        rtol=1e-11,
        atol=1e-9,
    )


def tails_by_series(ratio, freedom):
    """P(S < s) and P(S > s): a finite sum if `freedom` is even.

    sqrt(x) * (1 + 1/2 y + (1 3)/(2 4) y^2 + ...), freedom / 2 terms.
    """
    y = 1 / (1 + ratio)
    term, total = Decimal(1), Decimal(0)
    for j in range(freedom // 2):
        total += term
        term *= y * (2 * j + 1) / (2 * j + 2)
    lower = (1 - y).sqrt() * total
    return lower, 1 - lower


@pytest.mark.parametrize("freedom", [2, 4, 18, 64, 120])
def test_by_the_finite_series(freedom):
    """Far out, P(S > s) falls to 1e-2200."""
    log = decimal.Context(prec=50).ln
    expected = []
    # Enough digits to subtract numbers next to 1 from 1.
    with decimal.localcontext(prec=100 + 20 * freedom):
        for ratio in RATIOS:
            lower, upper = tails_by_series(Decimal(ratio), freedom)
            expected.append((float(log(lower)), float(log(upper))))
    log_cdf, log_sf = np.transpose(expected)
    found = evaluated(f_distribution.log_cdf, RATIOS, freedom)
    np.testing.assert_allclose(found, log_cdf, rtol=1e-11, atol=1e-37)
    # A truncated continued fraction replaced the value beyond float64.
    found = evaluated(f_distribution.log_sf, RATIOS, freedom)
    np.testing.assert_allclose(found, log_sf, rtol=1e-9, atol=1e-37)


@pytest.mark.parametrize(
    "freedom", [0.7, 1, 1.3, 3, 7.5, 18, 31, 57.3, 63.95, 64, 99]
)
def test_slope_by_scipy(freedom):
    """Many ratios near the median, where the tail switches."""
    ratios = np.concatenate([RATIOS, np.geomspace(0.1, 20, 500) / freedom])
    ratios = ratios[stats.f.sf(ratios * freedom, 1, freedom) > 1e-30]
    assert len(ratios) > 500
    s = ratios * freedom
    cdf, sf = stats.f.cdf(s, 1, freedom), stats.f.sf(s, 1, freedom)
    density = s * stats.f.pdf(s, 1, freedom)
    with np.errstate(divide="ignore"):
        log_cdf = np.where(cdf < 0.5, np.log(cdf), np.log1p(-sf))
        log_sf = np.where(sf < 0.5, np.log(sf), np.log1p(-cdf))
    found, slope = (
        tensor[0].numpy()
        for tensor in f_distribution.log_cdf_and_slope(
            tf.constant(ratios[None]),
            tf.fill([1, 1], np.float64(freedom)),
        )
    )
    np.testing.assert_allclose(found, log_cdf, rtol=1e-11)
    np.testing.assert_allclose(slope, density / cdf, rtol=1e-9)
    found = evaluated(f_distribution.log_sf, ratios, freedom)
    np.testing.assert_allclose(found, log_sf, rtol=1e-9)


@pytest.mark.parametrize("function", ["log_cdf", "log_sf"])
@pytest.mark.parametrize("freedom", [1, 7.5, 30])
def test_the_density_is_the_derivative(function, freedom):
    log_ratio = np.linspace(-8, 2, 21)
    step = 1e-5
    tail = getattr(f_distribution, function)
    up, down = (
        evaluated(tail, np.exp(log_ratio + sign * step), freedom)
        for sign in (1, -1)
    )
    slope = evaluated(f_distribution.log_density, np.exp(log_ratio), freedom)
    slope -= evaluated(tail, np.exp(log_ratio), freedom)
    sign = 1 if function == "log_cdf" else -1
    np.testing.assert_allclose(
        sign * np.exp(slope), (up - down) / (2 * step), rtol=1e-6, atol=1e-9
    )


def test_welch_freedom_by_scipy():
    rng = np.random.default_rng(0)
    for size_a, size_b in [(2, 2), (5, 3), (2, 30)]:
        a, b = rng.normal(size=size_a), 3 * rng.normal(size=size_b)
        found = f_distribution.welch_freedom(
            *(tf.constant(x.var(ddof=1) / len(x)) for x in (a, b)),
            *(tf.constant(len(x) - 1.0, tf.float64) for x in (a, b)),
        )
        expected = stats.ttest_ind(a, b, equal_var=False).df
        np.testing.assert_allclose(found, expected, rtol=1e-12)
