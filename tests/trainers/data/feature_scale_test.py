"""Features that an encoder could not tell apart are refused."""

import pathlib

import numpy as np
import pytest

from embeddings_tf.models.features_encoder import LARGEST_FEATURE
from embeddings_tf.models.features_encoder import features_encoder
from tests.datasets.image_folders import write_classes
from tests.trainers.commands import QUICK
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import train


def words(tmp_path, scale):
    """Words of a command on a table of four classes, in small units."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)
    x = (labels[:, None] + rng.normal(size=(120, 3))) * np.asarray(scale)
    np.savez(tmp_path / "table.npz", x=x.astype("float32"), labels=labels)
    found = [f"arrays:{tmp_path / 'table.npz'}", "--goal", "retrieve"]
    found += ["--workdir", str(tmp_path / "run")]
    return [*found, *QUICK, "--config.steps_per_epoch=2"]


def test_equal_features_are_refused(tmp_path, capsys):
    """A standard deviation of 3e-13, as of an untrained MobileNetV2."""
    error = refused(capsys, train, *words(tmp_path, 1e-13))
    assert "nearly equal for all training examples" in error
    assert "Multiply the features by a constant" in error
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_constant_features_are_refused(tmp_path, capsys):
    error = refused(capsys, train, *words(tmp_path, 0))
    assert "of all training examples are equal; look at arrays:" in error


def test_a_small_feature_is_named(tmp_path):
    with pytest.warns(UserWarning, match=r"Features 1 \(counted from 0\)"):
        assert call(train, *words(tmp_path, [1.0, 1e-5, 10.0])) == 0


def test_large_features_pass(tmp_path, recwarn):
    assert call(train, *words(tmp_path, [1.0, 1.0, 1e6])) == 0
    assert not [w for w in recwarn if "Features" in str(w.message)]


@pytest.mark.parametrize("scale", [3e18, -3e18, 9.96921e36])
def test_features_whose_squares_overflow_are_refused(scale, tmp_path, capsys):
    """The variance of a batch would be infinite in float32."""
    error = refused(capsys, train, *words(tmp_path, [1.0, scale, 1.0]))
    assert "Features 1 (counted from 0) of arrays:" in error
    assert "at most 1e+15" in error and "divide" in error
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_the_largest_features_are_standardised():
    """1e15 is below the overflow: the normalised features are as before."""
    model = features_encoder(2, num_features=3)
    x = np.random.default_rng(0).normal(size=(256, 3)).astype("float32")
    expected = model(x, training=True)
    found = model(x * np.float32(LARGEST_FEATURE / 5), training=True)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_columns_of_a_table_are_named(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3)) * [1, 1e17, 1]
    table = pathlib.Path(tmp_path / "table.csv")
    lines = ["label,height,width,weight"]
    lines += [f"c{n // 10},{a},{b},{c}" for n, (a, b, c) in enumerate(x)]
    table.write_text("\n".join(lines))
    found = [f"csv:{table}", "--goal", "retrieve", "--workdir", tmp_path / "r"]
    error = refused(capsys, train, *found, *QUICK)
    assert f"Features 'width' of csv:{table} have values up to" in error
    error = refused(capsys, train, f"csv:{table}", "--check")
    assert f"Features 'width' of csv:{table} have values up to" in error


def test_a_constant_feature_is_named(tmp_path):
    """Inference divides a later value by the smallest deviation."""
    with pytest.warns(UserWarning, match=r"Features 1 .* same .* 1,000 times"):
        assert call(train, *words(tmp_path, [1.0, 0.0, 1.0])) == 0


def test_images_are_not_read_for_an_encoder_of_features(tmp_path, capsys):
    write_classes(tmp_path / "photos", list("abcdefgh"), 6, (6, 6, 3))
    found = [f"image_folder:{tmp_path / 'photos'}", "--goal", "retrieve"]
    found += ["--workdir", str(tmp_path / "run"), *QUICK]
    found += ["--config.encoder.name=features_encoder"]
    error = refused(capsys, train, *found, "--config.encoder.num_features=4")
    assert "are images of shape (6, 6, 3), the encoder takes vectors of 4" in (
        error
    )
    assert "config.backbone.network=NETWORK" in error
