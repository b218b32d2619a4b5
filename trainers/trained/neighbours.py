"""A file of embeddings, searched for neighbours."""

import dataclasses
import os
import pathlib

import numpy as np

from embeddings_tf import scoring
from embeddings_tf.datasets import Images
from embeddings_tf.datasets.image_files import EXTENSIONS
from embeddings_tf.datasets.image_files import image_files
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.counted import counted
from embeddings_tf.scoring import array_file
from embeddings_tf.scoring import gallery_file
from embeddings_tf.scoring.labelled_embeddings import LabelledEmbeddings
from embeddings_tf.scoring.labelled_embeddings import labelled_embeddings
from trainers.terminal.progress import Progress
from trainers.trained.inputs import Inputs
from trainers.trained.moved_names import moved_names
from trainers.trained.moved_names import warn_of_lost
from trainers.trained.same_rows import require_same_rows
from trainers.trained.stored_paths import KIND
from trainers.trained.stored_paths import canonical_names
from trainers.trained.stored_paths import full_names
from trainers.trained.stored_paths import is_embeddings
from trainers.trained.stored_paths import shown_names
from trainers.trained.trained import Trained

# Inputs whose neighbours are searched at once.
BLOCK = 1024


class Neighbours:
    """The examples of a file of `embed_data` or `enroll`, to be searched."""

    def __init__(self, trained: Trained, path: pathlib.Path, approximate: bool):
        self.path = path
        examples, self.has_labels, settings = _examples(path, trained.model)
        data, are_files = settings.get("data"), settings.get("files")
        names = examples.names
        if data:  # as in a gallery
            names = full_names(names, data, are_files)
        self._stored_names = moved_names(names, path, trained.workdir)
        names = shown_names(self._stored_names, path, are_files=are_files)
        self._canonical_names = canonical_names(names)
        if data and not are_files:  # rows, without the name of their data
            names = examples.names
        self.examples = dataclasses.replace(examples, names=names)
        progress = Progress(len(self.examples), "example")
        self._search = scoring.NearestNeighbors(
            trained.model,
            search="faiss" if approximate else "exact",
            embedded=True,
        ).fit(
            examples.embeddings,
            examples.labels,
            self.examples.names,
            progress=progress.advance,
        )

    @property
    def value(self) -> str:
        """What is printed with a neighbour."""
        by_score = self._search.compare == "score"
        return "log-likelihood ratio" if by_score else "distance"

    def wanted(self, names: np.ndarray, count: int) -> int:
        """Returns how many neighbours to search, with the inputs themselves.

        Args:
            names: Names of the inputs, from `full_names`.
            count: Number of neighbours.

        Raises:
            ValueError: If the gallery has too few examples.
        """
        found, counts = np.unique(self._canonical_names, return_counts=True)
        is_own = np.isin(found, canonical_names(names))
        most = int(counts[is_own].max(initial=0))
        if count + most > len(self.examples):
            itself = f", {most} of them an input itself" if most else ""
            if most == len(self.examples):
                raise ValueError(
                    f"{self.path} has no example but the input itself; name "
                    "another gallery"
                )
            raise ValueError(
                f"--k {count}: {self.path} has "
                f"{counted(len(self.examples), 'example')}"
                f"{itself}; choose at most --k {len(self.examples) - most}"
            )
        return count + most

    def find(
        self, embeddings: np.ndarray, inputs: Inputs, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns values and rows of neighbours, both `(n, count)`.

        An example is not a neighbour of itself.

        Args:
            embeddings: Embeddings of the inputs, `(n, width)`.
            inputs: The inputs.
            count: Number of neighbours.

        Raises:
            ValueError: As `wanted` and `require_same_rows`.
        """
        names, known = inputs.full_names, self._canonical_names
        warn_of_lost(self._stored_names, self.path, names)
        examples = self.examples.embeddings
        require_same_rows(self.path, known, examples, inputs, embeddings)
        wanted = self.wanted(names, count)
        values, rows = self._searched(embeddings, wanted)
        if wanted == count:
            return values, rows
        itself = known[rows] == canonical_names(names)[:, None]
        shown = np.argsort(itself, axis=1, kind="stable")[:, :count]
        return tuple(
            np.take_along_axis(x, shown, axis=1) for x in (values, rows)
        )

    def _searched(self, embeddings: np.ndarray, count: int) -> tuple:
        """Searches block by block, with progress."""
        progress = Progress(len(embeddings), "input")
        found = []
        for first in range(0, len(embeddings), BLOCK):
            block = embeddings[first : first + BLOCK]
            found.append(self._search.kneighbors(block, count))
            progress.advance(len(block))
        return tuple(map(np.concatenate, zip(*found, strict=True)))

    def caption(self, row: int) -> str:
        """The class of an example, or its name if it has none."""
        label = str(self.examples.labels[row]) if self.has_labels else ""
        return label or pathlib.PurePath(self.examples.names[row]).name

    def is_right(self, inputs: Inputs, rows: np.ndarray) -> np.ndarray | None:
        """Whether neighbours are of the class; None if that is not known."""
        if inputs.labels is None or not self.has_labels:
            return None
        labels = self.examples.labels[rows].astype(str)
        return labels == inputs.labels.astype(str)[:, None]

    def columns(self, inputs: Inputs, values, rows) -> dict:
        """Columns for a file, with one row per input and neighbour."""
        count = rows.shape[1]
        columns = {
            "path": np.repeat(inputs.names, count),
            "rank": np.tile(np.arange(1, count + 1), len(rows)),
            "neighbour": self.examples.names[rows.ravel()],
            self.value.replace("-", "_").replace(" ", "_"): values.ravel(),
        }
        if self.has_labels:
            columns["class"] = self.examples.labels[rows.ravel()]
        right = self.is_right(inputs, rows)
        if right is not None:
            columns["right"] = right.ravel()
        return columns

    def pictures(self, inputs: Inputs, some, rows) -> tuple | None:
        """Images of some inputs and of their neighbours; None if not files."""
        names = self.examples.names[rows]
        own = inputs.names[some]
        # With a frozen network, inputs are features of the files.
        files = names.ravel().tolist() + own.tolist() * (
            not isinstance(inputs.x, Images)
        )
        if not all(
            name.lower().endswith(EXTENSIONS) and os.path.isfile(name)
            for name in files
        ):
            return None
        queries = inputs.x
        if not isinstance(queries, Images):
            queries = dict(
                zip(some, image_files("", own.tolist()), strict=True)
            )
        images = image_files("", names.ravel().tolist())
        found = [images[number] for number in range(len(images))]
        count = rows.shape[1]
        return (
            [queries[int(number)] for number in some],
            [found[n : n + count] for n in range(0, len(found), count)],
        )


def _examples(
    path: pathlib.Path, model
) -> tuple[LabelledEmbeddings, bool, dict]:
    """Returns the examples of a file, and whether their classes are known.

    Also returns settings: the data of which the names of the examples are
    rows, and whether they are files; none of a gallery, whose names have both.
    """
    if not is_embeddings(path):  # the other kind of file, or damaged
        return gallery_file.examples_of(path, model), True, {}
    needed = ("embedding", "paths", "data", "files")
    arrays, settings = array_file.read(path, KIND, needed)
    gallery_file.require_fingerprint(path, settings, model)
    embeddings, names = arrays["embedding"], arrays["paths"]
    if "variance" in arrays:
        embeddings = gaussian.pack(embeddings, arrays["variance"]).numpy()
    labels = arrays.get("names", np.full(len(names), ""))
    found = labelled_embeddings(embeddings, labels, names)
    return found, "names" in arrays, settings
