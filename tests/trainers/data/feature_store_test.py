import numpy as np
import pytest

from tests.broken_headers import break_header
from trainers.data.feature_store import FeatureStore

KEYS = np.array([bytes([n]) * 15 + b"\0" for n in range(5)], "V16")
FEATURES = np.arange(15, dtype="f4").reshape(5, 3)


def test_rows_are_found_by_their_keys_in_any_process(tmp_path):
    folder = tmp_path / "deep" / "store"
    store = FeatureStore(folder, 3)
    assert store.missing(KEYS[[3, 1, 3, 1]]).tolist() == [0, 1]
    store.add(KEYS[:2], FEATURES[:2])
    store.add(KEYS[3:], FEATURES[3:])
    for again in (store, FeatureStore(folder, 3)):
        assert again.missing(KEYS).tolist() == [2]
        rows = [4, 0, 0, 1, 3]
        np.testing.assert_array_equal(again.read(KEYS[rows]), FEATURES[rows])
    assert len(list(folder.iterdir())) == 2  # nothing half-written
    assert store.missing(KEYS[:0]).shape == (0,)


def test_an_unfinished_file_of_another_process_is_not_read(tmp_path):
    (tmp_path / ".0123.456.npy").write_bytes(b"half")
    store = FeatureStore(tmp_path, 3)
    store.add(KEYS, FEATURES)
    assert FeatureStore(tmp_path, 3).missing(KEYS).tolist() == []


def test_damaged_files(tmp_path):
    FeatureStore(tmp_path, 3).add(KEYS, FEATURES)
    (path,) = tmp_path.iterdir()
    with pytest.raises(ValueError, match=f"{path.name} is not a complete"):
        FeatureStore(tmp_path, 4)
    whole = path.read_bytes()
    for content in (b"", b"text", whole[:-7]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path.name} is .*remove it"):
            FeatureStore(tmp_path, 3)
    path.write_bytes(whole)
    break_header(path)
    with pytest.raises(ValueError, match=f"{path.name} is .*remove it"):
        FeatureStore(tmp_path, 3)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    store = FeatureStore(tmp_path / "file" / "store", 3)
    with pytest.raises(OSError, match="cannot write features to .*cache_dir"):
        store.add(KEYS, FEATURES)


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    FeatureStore(tmp_path, 3).add(KEYS, FEATURES)

    def load(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(MemoryError):  # not "remove it"
        FeatureStore(tmp_path, 3)
