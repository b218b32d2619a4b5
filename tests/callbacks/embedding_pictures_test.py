import keras
import numpy as np
import pytest
import tensorflow as tf
from matplotlib.collections import EllipseCollection
from tensorboard.backend.event_processing import event_accumulator

from embeddings_tf import viz
from embeddings_tf.callbacks import EmbeddingPictures
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import ContrastiveLoss
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import FullCovariancePrototypes

LABELS = np.arange(18) % 3
X = np.random.default_rng(0).normal(size=(18, 3)).astype("float32")
IMAGES = np.random.default_rng(1).integers(0, 256, (18, 6, 6))


def model_of(dim, gaussian=False):
    last = GaussianEmbedding(dim) if gaussian else keras.layers.Dense(dim)
    model = keras.Sequential([keras.Input((3,)), last])
    model.compile("sgd", loss=None if gaussian else ContrastiveLoss())
    return model


def pictures(folder):
    """Steps of the pictures by name, and the last one as an array."""
    found = event_accumulator.EventAccumulator(
        str(folder / "validation"), {"tensors": 0}
    )
    found.Reload()
    steps, last = {}, {}
    for name in found.Tags()["tensors"]:
        events = found.Tensors(name)
        steps[name] = [event.step for event in events]
        width, height, png = tf.make_ndarray(events[-1].tensor_proto)[:3]
        last[name] = tf.io.decode_png(png).numpy()
        assert last[name].shape[:2] == (int(height), int(width))
    return steps, last


@pytest.mark.slow
def test_pictures_of_a_fit(tmp_path):
    model = model_of(2)
    callback = EmbeddingPictures(X, LABELS, tmp_path, images=IMAGES, every=2)
    model.fit(
        X, LABELS, batch_size=18, epochs=3, verbose=0, callbacks=[callback]
    )
    steps, last = pictures(tmp_path)
    assert steps == {"embedding": [2, 3], "neighbours": [2, 3]}
    for picture in last.values():
        assert picture.std() > 5, "the picture is empty"


@pytest.mark.slow
def test_the_last_picture_is_of_the_weights_that_are_kept(tmp_path):
    """Early stopping restores other weights after the last epoch."""
    for restored, steps in ((False, [1, 2]), (True, [1, 2, 2])):

        class Other(keras.callbacks.Callback):
            is_restored = restored

            def on_train_end(self, logs=None):
                if self.is_restored:
                    weights = self.model.get_weights()
                    self.model.set_weights([2 * w for w in weights])

        folder = tmp_path / str(restored)
        callback = EmbeddingPictures(X, LABELS, folder, every=1)
        model_of(2).fit(
            *(X, LABELS),
            batch_size=len(X),
            epochs=2,
            verbose=0,
            callbacks=[Other(), callback],
        )
        assert pictures(folder)[0] == {"embedding": steps}


def test_the_picture_says_nothing_about_classes_of_the_training(
    tmp_path, monkeypatch
):
    """The inputs are held out, so no key may say that they were seen."""
    titles, axes = [], []
    draw = viz.embedding_figure

    def keep(*arguments, **more):
        figure = draw(*arguments, **more)
        titles.append(figure.get_suptitle())
        panel = figure.axes[0]
        axes.append((panel.get_xlabel(), panel.get_ylabel()))
        return figure

    monkeypatch.setattr(viz, "embedding_figure", keep)
    callback = EmbeddingPictures(X, LABELS, tmp_path)
    callback.set_model(model_of(5))
    callback.write_embeddings(np.random.default_rng(0).normal(size=(18, 5)))
    assert titles == ["two principal components of 5 dimensions"]
    assert axes == [("principal component 1", "principal component 2")]


def test_zeros_are_no_neighbours_of_rows_with_a_smaller_angle(
    tmp_path, monkeypatch
):
    """A row of zeros has cosine 0 with every row."""
    drawn, draw = [], viz.neighbours_figure

    def keep(queries, found, captions, *arguments, **more):
        drawn.append(captions)
        return draw(queries, found, captions, *arguments, **more)

    monkeypatch.setattr(viz, "neighbours_figure", keep)
    points = np.array([[1, 0], [0.3, 0.95], [0, 0], [-1, 0.1]])
    callback = EmbeddingPictures(
        X[:4], np.arange(4), tmp_path, images=IMAGES[:4]
    )
    model = model_of(2)
    model.compile("sgd", loss=TripletLoss(distance="cosine"))
    callback.set_model(model)
    callback.write_embeddings(points)
    # By cosine; the zeros have three equal neighbours.
    (captions,) = drawn
    assert captions == [
        *(["1", "2", "3"], ["0", "2", "3"], ["0", "1", "3"], ["2", "1", "0"])
    ]


@pytest.mark.parametrize(
    ("model", "variance"),
    [
        (model_of(2), None),
        (model_of(2, gaussian=True), lambda z: z[:, 2:]),
        (model_of(3, gaussian=True), None),
        (
            EmbeddingModel(model_of(5), FullCovariancePrototypes(2)),
            # Means, raw variances and a raw correlation.
            lambda z: np.logaddexp(0, z[:, 2:4].astype("float64")),
        ),
    ],
    ids=["points", "Gaussians", "in 3 dimensions", "full covariance"],
)
def test_ellipses_of_predicted_variances(
    model, variance, tmp_path, monkeypatch
):
    drawn, draw = [], viz.embedding_figure

    def keep(mean, variance, *arguments, **more):
        figure = draw(mean, variance, *arguments, **more)
        ellipses = [
            shape.get_offsets()
            for shape in figure.axes[0].collections
            if isinstance(shape, EllipseCollection)
        ]
        drawn.append((variance, sum(map(len, ellipses))))
        return figure

    monkeypatch.setattr(viz, "embedding_figure", keep)
    model.compile("sgd")
    callback = EmbeddingPictures(X, LABELS, tmp_path)
    callback.set_model(model)
    callback.write()
    ((found, num_ellipses),) = drawn
    if variance is None:
        assert found is None and num_ellipses == 0
        return
    expected = variance(model.predict(X, verbose=0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert num_ellipses == 18, "six of each class"


@pytest.mark.parametrize(
    "dim, gaussian", [(1, False), (5, False), (2, True), (3, True)]
)
def test_other_dimensions(dim, gaussian, tmp_path):
    callback = EmbeddingPictures(X, LABELS, tmp_path)
    callback.set_model(model_of(dim, gaussian))
    callback.write()
    steps, last = pictures(tmp_path)
    assert steps == {"embedding": [0]}
    assert last["embedding"].std() > 5


def test_embeddings_that_are_not_finite(tmp_path):
    callback = EmbeddingPictures(X, LABELS, tmp_path)
    callback.set_model(model_of(2))
    bad = np.zeros((18, 2))
    bad[3] = np.nan
    with pytest.raises(ValueError, match="17 of them finite"):
        callback.write_embeddings(bad)
    with pytest.raises(ValueError, match="received 4 rows for 18 inputs"):
        callback.write_embeddings(bad[:4])
