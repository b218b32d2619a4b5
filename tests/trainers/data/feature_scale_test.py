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
from trainers import embed_data
from trainers import enroll
from trainers import evaluate
from trainers import identify
from trainers import nearest
from trainers import train
from trainers import verify
from trainers.config.run import DataFields
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.data.feature_scale import require_usable_scale


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


@pytest.mark.slow
def test_a_small_feature_is_named(tmp_path):
    with pytest.warns(UserWarning, match=r"Features 1 \(counted from 0\)"):
        assert call(train, *words(tmp_path, [1.0, 1e-5, 10.0])) == 0


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_constant_feature_is_named(tmp_path):
    """Inference divides a later value by the smallest deviation."""
    with pytest.warns(UserWarning, match=r"Features 1 .* same .* 1,000 times"):
        assert call(train, *words(tmp_path, [1.0, 0.0, 1.0])) == 0


def times(dtype, step):
    """Seconds since 1970 of 300 rows, and noise."""
    rng = np.random.default_rng(0)
    seconds = 1_700_000_000 + step * rng.integers(0, 60, 300)
    return np.stack([seconds, rng.integers(0, 60, 300)], axis=1).astype(dtype)


FEATURES = Run(
    data=DataFields(dataset="arrays:x.npz"), encoder=Part("features_encoder")
)


@pytest.mark.parametrize("dtype", ["int64", "uint32", "float64", "float32"])
def test_values_that_float32_does_not_tell_apart_are_named(dtype):
    """It has steps of 2^(30 - 23) = 128 from 2^30 to 2^31."""
    x = times(dtype, 1)
    assert np.ptp(x[:, 0].astype("float32")) <= 128
    with pytest.warns(UserWarning, match=r"Features 0 .* subtract a constant"):
        require_usable_scale(FEATURES, x)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_features_that_are_all_equal_in_float32_are_refused(dtype):
    x = times(dtype, 1)[:, [0, 0]]
    with pytest.raises(
        ValueError, match="less than float32 tells apart: .* steps of 128"
    ):
        require_usable_scale(FEATURES, x)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_large_values_that_float32_tells_apart_pass(dtype):
    """A minute each, of which most are different multiples of 128."""
    require_usable_scale(FEATURES, times(dtype, 60))


@pytest.mark.slow
def test_every_command_refuses_too_large_features(tmp_path, capsys):
    """In rows that were not trained on, which no other check has seen."""
    value = -1e16
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)
    x = labels[:, None] + rng.normal(size=(120, 3)) / 9
    split = np.array(["train"] * 6 + ["validation"] * 3 + ["test"] * 3)[labels]
    data, run = f"arrays:{tmp_path / 'x.npz'}", ["--workdir", tmp_path / "run"]

    def write():
        np.savez(tmp_path / "x.npz", x=x, labels=labels, split=split)

    write()
    start = [data, "--goal", "retrieve", *run, *QUICK]
    assert call(train, *start, "--config.steps_per_epoch=2") == 0
    gallery, output = tmp_path / "g.npz", tmp_path / "e.npz"
    enrolled = ["--gallery", gallery, "--no-threshold", *run]
    assert call(enroll, data, *enrolled, "--split", "validation") == 0
    assert call(embed_data, *run, "--output", output) == 0
    before = gallery.read_bytes(), output.read_bytes()
    x[[100, 110], 1] = value
    write()
    words = {
        evaluate: run,
        embed_data: [*run, "--output", output],
        enroll: [data, *enrolled, "--split", "test"],
        identify: [data, "--gallery", gallery, "--split", "test"],
        nearest: [data, "--gallery", output, "--split", "test"],
    }
    error = f"error: Features 1 (counted from 0) of {data} have values up to "
    error += f"{abs(value):.3g} in the split 'test', first in row 10 (counted "
    for command, some in words.items():
        assert refused(capsys, command, *some).startswith(error), command
    assert before == (gallery.read_bytes(), output.read_bytes())
    some = [*run, "--data", data, "99", "100"]
    error = error.replace("'test'", "'all'").replace("row 10", "row 100")
    assert refused(capsys, verify, *some).startswith(error)
    for more in ((), ("--goal", "retrieve")):
        assert "in the split" in refused(capsys, train, data, "--check", *more)
    # A table without labels has its own name and columns.
    table = tmp_path / "new.csv"
    table.write_text(f"height,width,weight\n1,2,3\n1,2,{value}\n")
    error = refused(capsys, identify, table, "--gallery", gallery)
    assert f"Features 'weight' of csv:{table} have values" in error
    assert "in the inputs, first in row 1 (counted from 0)" in error


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
