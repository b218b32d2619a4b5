import keras
import numpy as np
import pytest

from embeddings_tf.optimizers import InverseSquareRootDecay


@pytest.mark.parametrize(
    ("scale", "warmup"), [(1.5, 2000), (0.3, 1), (2.0, 10)]
)
def test_against_the_formula(scale, warmup):
    rate = InverseSquareRootDecay(scale, warmup)
    for t in (1, 2, 9, 10, 11, 1999, 2000, 2001, 2_000_000):
        expected = scale * min(t**-0.5, t * warmup**-1.5)
        assert float(rate(t - 1)) == pytest.approx(expected, rel=1e-5)
    rates = np.asarray(rate(np.arange(3 * warmup)))
    assert np.argmax(rates) == warmup - 1
    assert rates.max() == pytest.approx(scale / warmup**0.5, rel=1e-5)


def test_an_optimizer_follows_it_and_keeps_it_in_its_file(tmp_path):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    schedule = InverseSquareRootDecay(1.0, 4)
    model.compile(keras.optimizers.SGD(schedule), "mse")
    x, y = np.ones((6, 1)), np.ones((6, 1))
    model.fit(x, y, batch_size=1, verbose=0)
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    # After six steps, the seventh is next.
    assert float(loaded.optimizer.learning_rate) == pytest.approx(7**-0.5)
    assert schedule.get_config() == {"scale": 1.0, "warmup_steps": 4}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 5), "scale"),
        ((1e39, 1), r"scale.* at most 1e\+18"),
        ((1, 0), "warmup_steps"),
        ((1, 2.5), "warmup_steps"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        InverseSquareRootDecay(*arguments)
