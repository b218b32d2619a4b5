import os
import shutil
import sys
import types

import keras
import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

from embeddings_tf.losses import PrototypicalLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.ops import gaussian
from tests.trainers.colours import colour_of
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import TEST
from trainers import embed_data
from trainers.data.data import Data
from trainers.trained.trained import open_trained


@pytest.fixture
def words(colours, tmp_path):
    start = ["--workdir", colours / "run", colours / "photos"]
    return lambda name: [*start, "--split", "test", "--output", tmp_path / name]


def test_arrays_and_table(words, colours, tmp_path, capsys):
    picture = colours / "run" / "embed.png"
    picture.unlink(missing_ok=True)
    assert call(embed_data, *words("a.npz")) == 0
    assert f"Picture: {picture}" in capsys.readouterr().out
    assert picture.is_file()
    assert call(embed_data, *words("a.parquet")) == 0
    names = [name for name in sorted(TEST) for _ in range(6)]
    with np.load(tmp_path / "a.npz") as file:
        assert file["names"].tolist() == names
        np.testing.assert_array_equal(
            file["labels"], np.repeat(np.arange(len(TEST)), 6)
        )
        assert file["paths"][5].endswith(f"{names[5]}/5.png")
        np.testing.assert_allclose(
            file["embedding"],
            [colour_of(name, n % 6) * 0.2 for n, name in enumerate(names)],
            rtol=1e-5,
        )
        table = pandas.read_parquet(tmp_path / "a.parquet")
        for name in ("labels", "names", "paths"):
            assert table[name].tolist() == file[name].tolist()
        np.testing.assert_array_equal(
            np.stack(table["embedding"]), file["embedding"]
        )


def test_gaussians_have_a_variance(trained, tmp_path):
    words = ["--workdir", trained, "--output", tmp_path / "a.npz"]
    assert call(embed_data, *words) == 0
    found = open_trained(str(trained))
    assert Method(found.model).is_gaussian
    x, labels = Data(found.run).split(found.run.evaluation.splits[0])
    mean, variance = gaussian.unpack(found.model.predict_on_batch(x[:50]))
    with np.load(tmp_path / "a.npz") as file:
        assert file["names"].tolist() == labels.astype(str).tolist()
        assert file["paths"][3] == "test_seen/3"
        np.testing.assert_allclose(file["embedding"][:50], mean, rtol=1e-4)
        np.testing.assert_allclose(file["variance"][:50], variance, rtol=1e-4)


def test_few_classes_and_examples_are_drawn(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "embeddings_tf.viz.embedding_figure",
        lambda **words: drawn.append(words) or Figure(),
    )

    def draw(dim, labels, objective, num_inputs=5000):
        network = keras.Sequential(
            [keras.Input((dim,)), keras.layers.Dense(dim)]
        )
        model = EmbeddingModel(
            network,
            objective,
            gaussian=isinstance(objective, StochasticPrototypes),
        )
        trained = types.SimpleNamespace(model=model, workdir=tmp_path)
        z = np.random.default_rng(0).uniform(0.1, 0.9, (num_inputs, dim))
        z *= np.arange(1, dim + 1)  # axes of different lengths
        embed_data._draw(trained, z.astype("float32"), labels)
        return z

    names = np.repeat([f"class {n:02}" for n in range(25)], 200)
    z = draw(4, names, StochasticPrototypes(5))  # two means, two variances
    points = drawn[0]["mean"]
    assert points.shape == drawn[0]["variance"].shape == (2000, 2)
    assert drawn[0]["seen"] is None and "axis_names" not in drawn[0]
    assert len(np.unique(drawn[0]["labels"])) == 10
    assert drawn[0]["factors"]["class"].tolist() == drawn[0]["labels"].tolist()
    assert drawn[0]["title"] == "2000 of 5000 inputs, 10 of 25 classes"
    assert set(points[:, 0]) <= set(z[:, 0].astype("float32"))
    # A plane with a correlation: only the means are coordinates.
    z = draw(5, names, FullCovariancePrototypes(5))
    assert drawn[1]["mean"].shape == drawn[1]["variance"].shape == (2000, 2)
    assert "axis_names" not in drawn[1]
    # Files without classes, in more dimensions.
    z = draw(3, None, PrototypicalLoss(5))
    points = drawn[2]["mean"]
    assert points.shape == (2000, 2) and drawn[2]["variance"] is None
    assert set(drawn[2]["labels"]) == {"all inputs"}
    assert drawn[2]["axis_names"][1] == "principal component 2"
    # The plane of the largest variance, up to signs.
    shown = z[np.random.default_rng(0).permutation(5000)[:2000]]
    shown = shown - shown.mean(axis=0)
    axes = np.linalg.svd(shown, full_matrices=False)[2][:2]
    np.testing.assert_allclose(
        np.abs(points), np.abs(shown @ axes.T), atol=1e-4
    )
    # A single dimension has no plane, and neither has a single input.
    draw(1, None, PrototypicalLoss(5))
    draw(3, None, PrototypicalLoss(5), num_inputs=1)
    assert len(drawn) == 3


def test_files_without_labels(colours, tmp_path):
    files = sorted((colours / "photos" / "c00").iterdir())
    words = ["--workdir", colours / "run", *files]
    assert call(embed_data, *words, "--output", tmp_path / "a.npz") == 0
    with np.load(tmp_path / "a.npz") as file:
        assert sorted(file.files) == ["embedding", "paths", "settings"]


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="names of files are text"
)
def test_a_table_of_names_that_are_not_utf_8(colours, tmp_path):
    photo = os.fsencode(tmp_path) + b"/caf\xe9.png"
    shutil.copy(colours / "photos" / "c00" / "0.png", photo)
    words = ["--workdir", colours / "run", os.fsdecode(photo)]
    assert call(embed_data, *words, "--output", tmp_path / "a.parquet") == 0
    (found,) = pandas.read_parquet(tmp_path / "a.parquet")["paths"]
    assert found == f"{tmp_path}/caf\\udce9.png"


def test_projector(words, tmp_path):
    folder = tmp_path / "projector"
    assert call(embed_data, *words("a.npz"), "--projector", folder) == 0
    with np.load(tmp_path / "a.npz") as file:
        np.testing.assert_allclose(
            np.loadtxt(folder / "embedding.tsv"), file["embedding"], rtol=1e-6
        )
        lines = (folder / "embedding_metadata.tsv").read_text().splitlines()
        assert lines[0] == "class\tpath"
        assert lines[6] == f"{file['names'][5]}\t{file['paths'][5]}"
    assert (folder / "embedding_sprite.png").is_file()


def test_refusals(words, colours, tmp_path, capsys, monkeypatch):
    assert "end in .npz or .parquet" in refused(
        capsys, embed_data, *words("a.txt")
    )
    assert "--projector is empty; name a folder" in refused(
        capsys, embed_data, *words("a.npz"), "--projector", ""
    )
    (tmp_path / "b.npz").mkdir()
    assert "is a folder" in refused(capsys, embed_data, *words("b.npz"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install pandas" in refused(
        capsys, embed_data, *words("a.parquet")
    )
    assert [p.name for p in tmp_path.iterdir()] == ["b.npz"]
