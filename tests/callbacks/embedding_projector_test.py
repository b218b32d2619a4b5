"""The written files are read back, also by TensorBoard's own plugin."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.callbacks import EmbeddingProjector
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import ContrastiveLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import FullCovariancePrototypes

LABELS = np.arange(5) % 2
INPUTS = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")


def point_model(dim=3):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(dim)])
    model.compile(optimizer="adam", loss=ContrastiveLoss())
    return model


def gaussian_model():
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input((3,)), GaussianEmbedding(3)])


def written(model, folder, labels=LABELS, **options):
    """Writes once; returns the lines of the metadata."""
    projector = EmbeddingProjector(INPUTS, labels, folder, **options)
    projector.set_model(model)
    projector.write()
    name = options.get("name", "embedding")
    return (folder / f"{name}_metadata.tsv").read_text().splitlines()


def read_config(folder):
    from google.protobuf import text_format
    from tensorboard.plugins import projector

    config = projector.ProjectorConfig()
    text = (folder / "projector_config.pbtxt").read_text()
    return text_format.Parse(text, config).embeddings


def files(folder):
    """Returns the names of files except event files."""
    return sorted(p.name for p in folder.iterdir() if "events" not in p.name)


def test_points(tmp_path):
    model, folder = point_model(), tmp_path / "new" / "folder"
    assert written(model, folder, batch_size=2) == ["0", "1", "0", "1", "0"]
    np.testing.assert_allclose(
        np.loadtxt(folder / "embedding.tsv", delimiter="\t"),
        model.predict_on_batch(INPUTS),
        rtol=1e-6,
        atol=1e-7,
    )
    (entry,) = read_config(folder)
    assert entry.tensor_path == "embedding.tsv"
    assert entry.metadata_path == "embedding_metadata.tsv"
    assert not entry.HasField("sprite")
    assert files(folder) == [
        "embedding.tsv",
        "embedding_metadata.tsv",
        "projector_config.pbtxt",
    ]


def test_gaussians(tmp_path):
    """Means as points, and total variance as a column."""
    model = gaussian_model()
    header, *rows = written(model, tmp_path)
    mean, variance = np.split(model.predict_on_batch(INPUTS), 2, axis=1)
    np.testing.assert_allclose(
        np.loadtxt(tmp_path / "embedding.tsv"), mean, rtol=1e-6
    )
    assert header == "label\ttotal_variance"
    for row, label, total in zip(rows, LABELS, variance.sum(1), strict=True):
        text, value = row.split("\t")
        assert text == str(label)
        assert float(value) == pytest.approx(total, rel=1e-5)


def test_full_covariances(tmp_path):
    """Means, and not the numbers that only the objective reads."""
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
    model = EmbeddingModel(encoder, FullCovariancePrototypes(1))
    header, first, *_ = written(model, tmp_path)
    raw = encoder.predict_on_batch(INPUTS)
    np.testing.assert_allclose(
        np.loadtxt(tmp_path / "embedding.tsv")[:, :2], raw[:, :2], rtol=1e-6
    )
    assert header == "label\ttotal_variance"
    total = np.logaddexp(0, raw[0, 2:4]).sum()
    assert float(first.split("\t")[1]) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_three_columns_at_least(dim, tmp_path):
    """With fewer columns, the projector shows nothing."""
    model = point_model(dim)
    written(model, tmp_path)
    expected = np.zeros((5, max(3, dim)))
    expected[:, :dim] = model.predict_on_batch(INPUTS)
    np.testing.assert_allclose(
        np.loadtxt(tmp_path / "embedding.tsv"), expected, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("labels", "lines"),
    [
        ({"class": LABELS, "file": list("abcde")}, ["class\tfile", "0\ta"]),
        (np.stack([LABELS, LABELS + 7], 1), ["label_0\tlabel_1", "0\t7"]),
        (["a b", "ü", "", "d", "e"], ["a b", "ü", "(empty)", "d"]),
        ({"a": list(" bcde"), "b": [""] * 5}, ["a\tb", "(empty)", "b\t"]),
        # The name of a file that is not UTF-8.
        (["a", b"\xe9".decode("utf-8", "surrogateescape"), *"cde"], ["a"]),
        # Strings of TensorFlow.
        ([b"a", "ü".encode(), b"\xe9", b"", b"e"], ["a", "ü", "\\udce9"]),
        (tf.constant(["a", "ü", "c", "d", "e"]), ["a", "ü", "c"]),
        ({"file": np.array([b"a"] * 5), "b": LABELS}, ["file\tb", "a\t0"]),
    ],
)
def test_labels(tmp_path, labels, lines):
    found = written(point_model(), tmp_path, labels)
    assert found[: len(lines)] == lines
    assert len(found) == 5 + isinstance(labels, dict | np.ndarray)


@pytest.mark.parametrize("channels", [None, 1, 3])
def test_sprite(tmp_path, channels):
    """Images row by row in the smallest square grid, for wide images."""
    shape = (5, 2, 3, *([] if channels is None else [channels]))
    images = np.random.default_rng(0).uniform(0, 255, size=shape)
    written(point_model(), tmp_path, images=images)
    (entry,) = read_config(tmp_path)
    width, height = entry.sprite.single_image_dim
    assert (width, height) == (3, 2)
    png = (tmp_path / entry.sprite.image_path).read_bytes()
    sprite = tf.io.decode_png(png).numpy()
    assert sprite.shape == (3 * 2, 3 * 3, channels or 1)
    for place in range(9):
        row, column = divmod(place, 3)
        top, left = row * height, column * width
        tile = sprite[top : top + height, left : left + width]
        expected = np.zeros_like(tile)
        if place < 5:
            expected = np.round(images[place]).reshape(tile.shape)
        np.testing.assert_array_equal(tile, expected)


def test_several_in_one_folder(tmp_path):
    model = point_model()
    for name in ("train", "test", "train"):
        written(model, tmp_path, name=name)
    entries = {e.tensor_name: e.tensor_path for e in read_config(tmp_path)}
    assert entries == {"test": "test.tsv", "train": "train.tsv"}
    assert len(read_config(tmp_path)) == 2
    assert len(list(tmp_path.glob("*tfevents*"))) == 1


@pytest.mark.slow
def test_in_a_plain_fit(tmp_path, monkeypatch):
    """Writes every second epoch, and at the end with the best weights."""
    seen = []
    write = EmbeddingProjector.write_embeddings

    def spy(self, embeddings):
        write(self, embeddings)
        seen.append(np.loadtxt(tmp_path / "embedding.tsv"))

    monkeypatch.setattr(EmbeddingProjector, "write_embeddings", spy)
    model = point_model()
    best = keras.callbacks.EarlyStopping(
        "loss", mode="max", patience=9, restore_best_weights=True
    )
    after_first = []
    record = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: after_first.append(
            model.predict_on_batch(INPUTS)
        )
    )
    projector = EmbeddingProjector(INPUTS, LABELS, tmp_path, every=2)
    history = model.fit(
        INPUTS,
        LABELS,
        epochs=5,
        verbose=0,
        callbacks=[best, record, projector],
    )
    assert len(seen) == 3
    for actual, epoch in zip(seen, (1, 3), strict=False):
        np.testing.assert_allclose(actual, after_first[epoch], rtol=1e-5)
    highest = int(np.argmax(history.history["loss"]))
    np.testing.assert_allclose(seen[2], after_first[highest], rtol=1e-5)


def test_the_plugin_reads_it(tmp_path):
    """Uses the routes that the browser requests."""
    from tensorboard.backend.event_processing import data_provider
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.projector import projector_plugin
    from werkzeug import test as werkzeug_test
    from werkzeug import wrappers

    folder = tmp_path / "run"
    images = np.zeros((5, 2, 3), np.uint8)
    written(gaussian_model(), folder, images=images)
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, tmp_path)
    plugin = projector_plugin.ProjectorPlugin(
        base_plugin.TBContext(logdir=str(tmp_path), data_provider=provider)
    )
    routes = plugin.get_plugin_apps()

    def get(route, **query):
        client = werkzeug_test.Client(routes[route], wrappers.Response)
        response = client.get("/", query_string={"run": "run", **query})
        assert response.status_code == 200, response.data
        return response

    assert get("/runs").json == ["run"]
    (entry,) = get("/info").json["embeddings"]
    assert entry["tensorName"] == "embedding"
    tensor = get("/tensor", name="embedding").data
    np.testing.assert_allclose(
        np.frombuffer(tensor, "float32").reshape(5, 3),
        np.loadtxt(folder / "embedding.tsv"),
        rtol=1e-6,
    )
    metadata = get("/metadata", name="embedding").text
    assert metadata == (folder / "embedding_metadata.tsv").read_text()
    sprite = get("/sprite_image", name="embedding").data
    assert sprite == (folder / "embedding_sprite.png").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": LABELS[:4]}, r"5 inputs and `labels` 'label' of shape \(4"),
        ({"labels": {}}, "at least one column"),
        ({"labels": {0: LABELS}}, "must have strings as names; received 0"),
        ({"labels": {None: LABELS}}, "strings as names; received None"),
        ({"labels": [b"a", b"b\tc", b"d", b"e", b"f"]}, r"received 'b\\tc'"),
        ({"labels": ["a", "b\tc", "d", "e", "f"]}, r"received 'b\\tc'"),
        ({"name": "a/b"}, "letters, digits, _ and -; received 'a/b'"),
        ({"every": 0}, "`every` must be an integer"),
        ({"x": None}, "`x` must have one row per input.*received None"),
        ({"x": "text"}, "`x` must have one row per input"),
        ({"labels": [[1], [1, 2]]}, "`labels` must be an array, or lists"),
        ({"labels": {"a": [[1], [1, 2]]}}, r"`labels\['a'\]` must be an array"),
        ({"name": None}, "`name` must be a string; received None"),
        ({"name": b"a"}, "`name` must be a string; received b'a'"),
        ({"log_dir": "a\0b"}, "`log_dir` must be the path"),
        ({"images": [[1], [1, 2]]}, "`images` must be an array, or lists"),
        ({"images": np.ones((5, 2, 2)) * 1j}, "real numbers; received .*comp"),
        ({"images": np.zeros((4, 2, 2))}, r"received \(4, 2, 2\)"),
        ({"images": np.zeros((5, 2, 2, 2))}, "1 or 3 channels"),
        ({"images": np.full((5, 2, 2), 256)}, "values from 256 to 256"),
        ({"images": np.full((5, 2, 2), np.nan)}, "pixels from 0 to 255"),
        ({"images": np.zeros((5, 1, 2731))}, "sprite of 8193 pixels per side"),
    ],
)
def test_argument_errors(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingProjector(
            **{"x": INPUTS, "labels": LABELS, "log_dir": tmp_path, **arguments}
        )


def test_no_inputs(tmp_path):
    with pytest.raises(ValueError, match="at least one; received"):
        EmbeddingProjector(INPUTS[:0], LABELS[:0], tmp_path)


def test_embeddings_that_are_not_finite(tmp_path):
    """Earlier files stay."""
    model = point_model()
    written(model, tmp_path)
    before = (tmp_path / "embedding.tsv").read_bytes()
    model.layers[-1].bias.assign([np.nan, 0, 0])
    with pytest.raises(ValueError, match="input 0 is not finite"):
        written(model, tmp_path)
    assert (tmp_path / "embedding.tsv").read_bytes() == before


def test_a_config_that_is_none(tmp_path):
    (tmp_path / "projector_config.pbtxt").write_text("embeddings {")
    with pytest.raises(ValueError, match="not a projector configuration"):
        written(point_model(), tmp_path)


def test_an_empty_folder_is_refused():
    with pytest.raises(ValueError, match="`log_dir` must be the path"):
        EmbeddingProjector(np.zeros((3, 2)), np.arange(3), "")


@pytest.mark.slow
def test_nothing_is_written_again_after_the_last_epoch(tmp_path, monkeypatch):
    written = []
    write = EmbeddingProjector.write_embeddings

    def keep(callback, embeddings):
        written.append(embeddings)
        write(callback, embeddings)

    monkeypatch.setattr(EmbeddingProjector, "write_embeddings", keep)
    for every, count in ((1, 2), (2, 1), (3, 1)):
        written.clear()
        model = point_model()
        projector = EmbeddingProjector(INPUTS, LABELS, tmp_path, every=every)
        model.fit(INPUTS, LABELS, epochs=2, verbose=0, callbacks=[projector])
        assert len(written) == count
        np.testing.assert_array_equal(
            written[-1], model.predict(INPUTS, verbose=0)
        )
