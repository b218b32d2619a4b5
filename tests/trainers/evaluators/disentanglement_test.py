"""The modularity of a code with one dimension for every value."""

import itertools
import types

import keras
import numpy as np
import pytest

from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes
from trainers.config.evaluation_fields import Disentanglement
from trainers.evaluators import disentanglement
from trainers.evaluators.disentanglement import _published_measures
from trainers.evaluators.disentanglement import modularity_of_ideal
from trainers.terminal.progress import Progress
from trainers.training.monitor import direction


def test_independent_factors():
    factors = np.array([*itertools.product(range(2), range(3), range(4))])
    assert modularity_of_ideal(factors) == pytest.approx(1)


def test_a_factor_of_one_value_tells_nothing():
    factors = np.array([*itertools.product(range(2), range(3), [7])])
    assert modularity_of_ideal(factors) == pytest.approx(1)


def test_two_names_of_one_factor():
    column = np.repeat([0, 1, 2], 4)
    assert modularity_of_ideal(np.stack([column, column], 1)) == pytest.approx(
        0
    )


def test_factors_that_depend_on_each_other():
    """Two binary factors that agree in 3 of 4 examples: all 4 dimensions."""
    factors = np.array([[0, 0], [0, 0], [0, 0], [0, 1]] * 2)
    factors[4:] = 1 - factors[4:]
    agree = 2 * (3 / 8) * np.log(3 / 8 / 0.25)
    disagree = 2 * (1 / 8) * np.log(1 / 8 / 0.25)
    shared, own = agree + disagree, np.log(2)
    expected = 1 - shared**2 / own**2
    assert modularity_of_ideal(factors) == pytest.approx(expected)


@pytest.mark.slow
def test_explicitness_of_held_out_combinations():
    """A random code of each combination says nothing of other combinations."""
    factors = np.array([*itertools.product(range(2), repeat=6)])
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(64, 64))
    progress = Progress(disentanglement.NUM_MEASURES, "measure")
    found = disentanglement._measures(codes, factors, progress)
    assert found["explicitness"] == pytest.approx(1)
    assert abs(found["explicitness_held_out"] - 0.5) < 0.15


def test_both_halves_have_every_value():
    """Every other combination would be one value of the last factor."""
    factors = np.stack(np.unravel_index(np.arange(24), (3, 4, 2)), axis=1)
    factors = np.repeat(factors, 2, axis=0)
    half = disentanglement._half(factors)
    for column in factors.T:
        assert {*column[half]} == {*column[~half]} == {*column}
    # Whole combinations are on one side.
    assert (half[::2] == half[1::2]).all()
    # Elsewhere the halves are as before.
    some = factors[np.random.default_rng(0).random(48) < 0.6]
    expected = disentanglement.class_ids(some) % 2 == 0
    np.testing.assert_array_equal(disentanglement._half(some), expected)


def test_published_measures_are_those_of_the_metrics():
    """On few examples all are used: half are fitted, half are tested."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (60, 2))
    codes = factors @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(60, 3))
    progress = Progress(3, "measure")
    found = _published_measures(codes, factors, progress)
    assert progress.done == 3
    rows = np.random.default_rng(0).permutation(60)
    first, second = rows[:30], rows[30:]
    expected = metrics.dci(
        codes[first],
        factors[first],
        test_codes=codes[second],
        test_factors=factors[second],
    )
    for name, value in expected.items():
        assert found[f"dci_{name}"] == value
    assert found["mutual_information_gap"] == metrics.mutual_information_gap(
        codes, factors
    )
    assert 0 < found["separated_attribute_predictability"] < 1
    # A single dimension cannot be compared with another.
    progress = Progress(3, "measure")
    assert _published_measures(codes[:, :1], factors, progress) == {}


def test_one_number_chooses_between_methods():
    """A code of the factors has about 2; one that mixes them has less."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (90, 2))
    noise = 0.05 * rng.normal(size=(90, 2))
    wanted = types.SimpleNamespace(
        validation=types.SimpleNamespace(split="validation"),
        normalize_codes=False,
    )
    run = types.SimpleNamespace(evaluation=wanted)
    data = types.SimpleNamespace(split=lambda name: (factors, factors))
    measures = disentanglement.validation(run, data, None).metrics
    name = "corrected_modularity_plus_explicitness"
    assert direction(f"val_{name}") == "max"
    found = {}
    for kind, mixing in (("factors", np.eye(2)), ("mixed", [[1, 1], [1, -1]])):
        codes = factors @ np.asarray(mixing) + noise
        explicitness = measures["explicitness"](codes, factors)
        expected = explicitness + metrics.modularity(
            codes,
            factors,
            correction="permutation",
            num_permutations=disentanglement.NUM_PERMUTATIONS,
        )
        found[kind] = measures[name](codes, factors)
        assert found[kind] == pytest.approx(expected)
    assert 1.9 < found["factors"] <= 2 and found["mixed"] < 1.8


@pytest.mark.parametrize(
    ("loss", "normalize_codes", "expected"),
    [
        (losses.HistogramLoss(), True, 1.0),
        (losses.HistogramLoss(), False, None),
        (losses.TripletLoss(), True, None),
    ],
)
def test_lengths_of_a_cosine_loss_do_not_count(loss, normalize_codes, expected):
    """They are free: the loss does not see them."""
    rng = np.random.default_rng(0)
    factors = np.array([*itertools.product(range(2), range(2))] * 30)
    codes = 2.0 * factors - 1  # of one length
    scaled = codes * rng.uniform(0.01, 100, size=(120, 1))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    model.compile("sgd", loss=loss)
    run = types.SimpleNamespace(
        evaluation=Disentanglement(
            factor_names=("a", "b"), normalize_codes=normalize_codes
        )
    )
    data = types.SimpleNamespace(split=lambda name: (scaled, factors))
    held_out = disentanglement.validation(run, data, model)
    found = held_out.metrics["modularity"](scaled, factors)
    if expected is None:
        expected = metrics.modularity(scaled, factors)
        assert expected < 0.99
    assert found == pytest.approx(expected)


def test_a_single_factor_that_varies_is_refused():
    factors = np.array([[0, 5], [1, 5]])
    data = types.SimpleNamespace(labels=lambda split: factors)
    wanted = Disentanglement(splits=("test",), factor_names=("a", "b"))
    run = types.SimpleNamespace(evaluation=wanted)
    with pytest.raises(ValueError, match="several values of a only"):
        disentanglement.check(run, data)


def test_validation_of_gaussians_of_odd_dimension():
    rng = np.random.default_rng(0)
    factors = np.array([*itertools.product(range(2), range(3))] * 10)
    x = (factors @ rng.normal(size=(2, 4))).astype("float32")
    encoder = keras.Sequential([keras.Input((4,)), GaussianEmbedding(3)])
    model = EmbeddingModel(encoder, StochasticPrototypes(1))
    run = types.SimpleNamespace(
        evaluation=Disentanglement(factor_names=("a", "b"))
    )
    data = types.SimpleNamespace(split=lambda name: (x, factors))
    held_out = disentanglement.validation(run, data, model)
    held_out.set_model(model)
    logs = {}
    held_out.on_epoch_end(0, logs)
    mean, variance = np.split(encoder.predict(x, verbose=0), 2, axis=1)
    expected = disentanglement.explicitness(mean, factors)
    assert logs["val_explicitness"] == pytest.approx(expected, abs=1e-4)
    own, between = variance.sum(axis=1), mean.var(axis=0).sum()
    share = own.mean() / (own.mean() + between)
    assert logs["val_variance_share"] == pytest.approx(share, rel=1e-5)
