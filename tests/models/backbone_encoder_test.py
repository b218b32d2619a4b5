"""Fine-tuning at a lower rate."""

import keras
import numpy as np
import pytest

from embeddings_tf import losses
from embeddings_tf import objectives
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import backbone_encoder
from embeddings_tf.models import lower_rates
from tests.models.networks import write_networks

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (12, 9, 9, 3)).astype("float32")
Y = np.repeat(np.arange(4), 3)


@pytest.fixture
def networks(tmp_path):
    return write_networks(tmp_path)


def encoder(networks, rate, **options):
    return backbone_encoder(
        3,
        backbone=f"{networks}:network",
        weights=None,
        image_shape=(9, 9, 3),
        learning_rate_factor=rate,
        **options,
    )


def test_random_weights_follow_the_seed(networks):
    """The seed of the run, or of the network."""

    def weights(run, **seed):
        keras.utils.set_random_seed(run)
        made = encoder(networks, 0.1, **seed)
        layer = made.get_layer("network").layer
        return np.concatenate([v.numpy().ravel() for v in layer.variables])

    first, again, other = weights(1), weights(1), weights(2)
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    np.testing.assert_array_equal(weights(1, seed=3), weights(2, seed=3))


def changes(networks, rate, optimizer, with_objective):
    """Returns by how much a step changes the network and the head."""
    keras.utils.set_random_seed(0)
    made = encoder(networks, rate)
    if with_objective:
        model = EmbeddingModel(made, losses.TripletLoss(margin=9.0))
        model.compile(optimizer())
    else:
        model = made
        model.compile(optimizer(), loss=losses.TripletLoss(margin=9.0))
        assert lower_rates(lower_rates(model)) is model
    network = made.get_layer("network").layer
    parts = network.trainable_variables or network.variables
    head = made.get_layer("embedding").trainable_variables
    before = [[v.numpy() for v in part] for part in (parts, head)]
    model.fit(X, Y, batch_size=12, epochs=1, verbose=0, shuffle=False)
    return [
        [v.numpy() - old for v, old in zip(part, olds, strict=True)]
        for part, olds in zip((parts, head), before, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer", "with_objective"),
    [
        pytest.param(
            lambda: keras.optimizers.SGD(1e-3), False, marks=pytest.mark.slow
        ),
        (lambda: keras.optimizers.Adam(1e-3), True),
    ],
)
def test_a_step_is_the_rate_times_as_large(networks, optimizer, with_objective):
    full, head = changes(networks, 1.0, optimizer, with_objective)
    lower, same_head = changes(networks, 0.25, optimizer, with_objective)
    assert max(np.abs(change).max() for change in full) > 1e-5
    for wanted, found in zip(full, lower, strict=True):
        np.testing.assert_allclose(found, wanted / 4, atol=1e-7)
    for wanted, found in zip(head, same_head, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("with_objective", [False, True])
def test_a_network_that_was_compiled_does_not_hide_the_loss(
    tmp_path, with_objective
):
    keras.utils.set_random_seed(0)
    first = keras.Sequential([keras.Input((9, 9, 3)), keras.layers.Flatten()])
    first.compile("sgd", loss="mse", metrics=["accuracy"])
    first.save(tmp_path / "first.keras")
    (tmp_path / "net.py").write_text(
        "import keras\n\ndef network():\n"
        f"    return keras.saving.load_model({str(tmp_path / 'first.keras')!r})"
    )
    made = encoder(tmp_path / "net.py", 1.0)
    loss = losses.TripletLoss(margin=9.0)
    expected = float(loss(Y, made(X)))
    model = EmbeddingModel(made, loss) if with_objective else made
    model.compile("sgd", **({} if with_objective else {"loss": loss}))
    found = model.evaluate(X, Y, batch_size=12, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(expected, rel=1e-5)
    history = model.fit(X, Y, batch_size=12, verbose=0, shuffle=False).history
    assert history["loss"] == [pytest.approx(expected, rel=1e-5)]


@pytest.mark.slow
def test_the_rate_of_single_steps(networks):
    """As Keras's `train_on_batch` takes them."""
    steps = []
    for rate in (1.0, 0.25):
        keras.utils.set_random_seed(0)
        model = EmbeddingModel(encoder(networks, rate), losses.TripletLoss(9.0))
        model.compile(keras.optimizers.SGD(1e-3))
        weights = model.encoder.get_layer("network").layer.trainable_variables
        before = [weight.numpy() for weight in weights]
        model.train_on_batch(X, Y)
        steps.append(
            [w.numpy() - b for w, b in zip(weights, before, strict=True)]
        )
    assert max(np.abs(step).max() for step in steps[0]) > 1e-5
    for full, lower in zip(*steps, strict=True):
        np.testing.assert_allclose(lower, full / 4, atol=1e-7)


@pytest.mark.slow
def test_frozen(networks):
    network, head = changes(networks, 0.0, keras.optimizers.Adam, True)
    # With the statistics of batch normalisation.
    assert len(network) == 8 and not any(change.any() for change in network)
    assert all(change.any() for change in head)


@pytest.mark.slow
def test_the_rate_is_saved(networks, tmp_path):
    model = EmbeddingModel(encoder(networks, 0.25), losses.TripletLoss())
    model.compile("adam")
    model.fit(X, Y, batch_size=12, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.encoder.get_layer("network").learning_rate_factor == 0.25
    np.testing.assert_array_equal(again(X).numpy(), model(X).numpy())
    again.fit(X, Y, batch_size=12, verbose=0)


def test_gaussian_and_hidden_layers(networks):
    made = encoder(networks, 0.1, hidden_units=(7,), gaussian=True)
    assert made.output_shape == (None, 6)
    model = EmbeddingModel(made, objectives.StochasticPrototypes(1))
    assert model(X).shape == (12, 6)


def test_refused(networks):
    with pytest.raises(
        ValueError, match="`learning_rate_factor` must be .* received 2"
    ):
        encoder(networks, 2)
    with pytest.raises(
        ValueError, match="`learning_rate_factor` must be .* received -1"
    ):
        encoder(networks, -1)
    with pytest.raises(ValueError, match="needs a compiled model"):
        lower_rates(encoder(networks, 0.1))
