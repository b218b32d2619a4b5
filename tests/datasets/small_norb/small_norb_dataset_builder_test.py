import numpy as np
import pytest
import requests
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import checksums

from embeddings_tf.datasets import load
from embeddings_tf.datasets.small_norb import FACTORS
from embeddings_tf.datasets.small_norb import small_norb_dataset_builder
from tests.datasets import small_norb_files


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files for the unchanged builder of TFDS, and their contents."""

    def send(self, request, **kwargs):
        raise requests.ConnectionError("no network", request=request)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    monkeypatch.delenv("EMBEDDINGS_TF_DATA", raising=False)
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)
    folder = tmp_path / "manual/smallnorb"
    written = small_norb_files.write_files(folder)
    builder_cls = tfds.builder_cls("smallnorb")
    # The real URLs with the checksums of the fabricated files.
    url_infos = {}
    for url, info in builder_cls.url_infos.items():
        found = checksums.compute_url_info(folder / info.filename)
        found.filename = info.filename
        url_infos[url] = found
    monkeypatch.setattr(builder_cls, "url_infos", url_infos)
    return written


def _load(split, tmp_path):
    return load(
        "small_norb", split, tmp_path / "data", manual_dir=tmp_path / "manual"
    )


def _rows(x, labels):
    return sorted(
        (image.tobytes(), *factors.tolist())
        for image, factors in zip(x, labels, strict=True)
    )


def _expected(images, categories, info):
    """Computes the expected rows image by image."""
    rows = []
    for pair, category, (instance, elevation, azimuth, _) in zip(
        images, categories, info, strict=True
    ):
        low_high = 0 if elevation in (0, 1, 2, 3, 4) else 1
        front_back = 0 if azimuth < 18 else 1
        for image in pair:
            toy = int(category * 10 + instance)
            rows.append((image.tobytes(), toy, low_high, front_back))
    return sorted(rows)


def test_both_cameras_and_three_factors(files, tmp_path):
    of_split = {}
    for split, written in files.items():
        x, labels = _load(split, tmp_path)
        assert x.dtype == np.uint8 and labels.dtype == np.int32
        assert x.shape == (64, 96, 96, 1) and labels.shape == (64, 3)
        assert _rows(x, labels) == _expected(*written)
        of_split[split] = _rows(x, labels)
    for split in ("all", "train+test"):
        assert _rows(*_load(split, tmp_path)) == sorted(
            of_split["train"] + of_split["test"]
        )
    assert FACTORS == ("toy", "elevation", "azimuth")


def test_nuisance_is_kept(files, tmp_path):
    _load("train", tmp_path)
    builder = small_norb_dataset_builder.Builder(data_dir=tmp_path / "data")
    examples = list(builder.as_dataset(split="train").as_numpy_iterator())
    images, _, info = files["train"]
    # Azimuths are stored in tens of degrees, 20 degrees apart.
    expected = {
        image.tobytes(): (camera, elevation, azimuth // 2, lighting)
        for pair, (_, elevation, azimuth, lighting) in zip(
            images, info.tolist(), strict=True
        )
        for camera, image in enumerate(pair)
    }
    assert len(examples) == len(expected)
    for example in examples:
        found = tuple(
            int(example[key])
            for key in ("camera", "elevation", "azimuth", "lighting")
        )
        assert found == expected[example["image"].tobytes()]
    # Left before right, pair by pair.
    assert [int(e["camera"]) for e in examples] == [0, 1] * len(images)


def test_read_again_without_the_files(files, tmp_path):
    first, _ = _load("test", tmp_path)
    for file in (tmp_path / "manual/smallnorb").iterdir():
        file.unlink()
    second, _ = load("small_norb", "test", tmp_path / "data")
    np.testing.assert_array_equal(first, second)


def test_missing_file(files, tmp_path):
    name = f"{small_norb_files.PREFIXES['test']}-info.mat.gz"
    (tmp_path / "manual/smallnorb" / name).unlink()
    with pytest.raises(FileNotFoundError, match=name) as error:
        _load("train", tmp_path)
    assert "EMBEDDINGS_TF_MANUAL" in str(error.value)
    assert not (tmp_path / "data/small_norb").exists()


def test_the_camera_pair_of_tfds_stays_available(files, tmp_path):
    x, labels = load(
        "smallnorb", "train", tmp_path / "data", tmp_path / "manual"
    )
    assert x.shape == (32, 96, 96, 1) and labels.shape == (32,)
