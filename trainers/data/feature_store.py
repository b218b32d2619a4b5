"""Rows of features on disk, by a hash of what they were computed from."""

import io
import pathlib
import uuid

import numpy as np

from embeddings_tf.ops.reason_of_damage import reason_of_damage
from trainers.workdirs.json_files import write_atomically


class FeatureStore:
    """A folder of feature rows; files are written whole and never changed.

    Several processes may add rows at once.

    Args:
        folder: The folder; made when rows are added.
        num_features: Length of a row.
    """

    def __init__(self, folder: pathlib.Path, num_features: int):
        self.folder = folder
        self._dtype = np.dtype(
            [("key", "V16"), ("features", "<f4", (num_features,))]
        )
        self._files: dict[pathlib.Path, np.ndarray] = {}
        self._places: dict[bytes, tuple[pathlib.Path, int]] = {}
        for path in sorted(folder.glob("*.npy")):
            # Another process writes hidden files, or was killed before it
            # could rename them.
            if not path.name.startswith("."):
                self._open(path)

    def missing(self, keys: np.ndarray) -> np.ndarray:
        """Returns the first row of every key that the store lacks."""
        _, first = np.unique(keys, return_index=True)
        is_new = [bytes(keys[row]) not in self._places for row in first]
        return np.sort(first[np.array(is_new, bool)])

    def add(self, keys: np.ndarray, features: np.ndarray) -> None:
        """Writes rows to a new file.

        Raises:
            OSError: If it cannot be written.
        """
        rows = np.empty(len(keys), self._dtype)
        rows["key"], rows["features"] = keys, features
        content = io.BytesIO()
        np.save(content, rows, allow_pickle=False)
        path = self.folder / f"{uuid.uuid4().hex}.npy"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content.getvalue())
        except OSError as error:
            raise OSError(
                f"cannot write features to {self.folder} ({error.strerror}); "
                "set --config.cache_dir to a folder with space"
            ) from error
        self._open(path)

    def read(self, keys: np.ndarray) -> np.ndarray:
        """Returns the features of keys that the store has, `(keys, dim)`."""
        found = np.empty((len(keys), *self._dtype["features"].shape), "f4")
        by_file: dict[pathlib.Path, list] = {}
        for row, key in enumerate(keys):
            path, place = self._places[bytes(key)]
            by_file.setdefault(path, []).append((row, place))
        for path, pairs in by_file.items():
            rows, places = np.array(pairs).T
            found[rows] = self._files[path]["features"][places]
        return found

    def _open(self, path):
        damaged = (
            f"{path} is not a complete file of features; remove it, and the "
            "features are computed again"
        )
        try:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy raises errors of many types
            reason = reason_of_damage(error)
            raise ValueError(f"{damaged} ({reason})") from error
        if rows.dtype != self._dtype or rows.ndim != 1:
            raise ValueError(f"{damaged} (it contains {rows.dtype})")
        self._files[path] = rows
        for place, key in enumerate(rows["key"].tolist()):
            self._places[key] = path, place
