"""The callbacks with which the commands write to TensorBoard."""

import pathlib

import keras
import numpy as np

from embeddings_tf import callbacks
from trainers.config.run import DATA_FOLDERS
from trainers.config.run import Run
from trainers.data.examples import take
from trainers.data.sprite_images import sprite_images
from trainers.training.monitor import direction
from trainers.workdirs.workdir import as_json

# Held-out inputs in the projector and in pictures.
MOST_SHOWN = 500
# Epochs between two pictures.
EVERY = 10
# How a run is evaluated and where its data are; not what is trained.
NOT_SETTINGS = ("evaluation", *DATA_FOLDERS)


def watch(
    run: Run,
    recipe: str,
    log_dir: pathlib.Path,
    batch,
    validation: callbacks.EmbeddingEvaluation,
    state: dict,
    hparams: bool,
) -> list[keras.callbacks.Callback]:
    """Returns the callbacks that write to TensorBoard.

    Args:
        run: The run.
        recipe: Its recipe's name.
        log_dir: Folder for TensorBoard, in the workdir.
        batch: Inputs and labels of a training batch.
        validation: Evaluates held-out data, earlier in the list of callbacks.
        state: The state of the checkpoint, with the best value so far.
        hparams: Whether to write a row for the tab HParams.
    """
    found = [
        keras.callbacks.TensorBoard(log_dir, write_graph=False),
        callbacks.TrainingDiagnostics(*batch, log_dir),
        *held_out_callbacks(validation, log_dir),
    ]
    if hparams:
        monitor = run.training.monitor
        settings = callbacks.RunSettings(
            _settings(run, recipe),
            log_dir,
            monitor,
            direction(monitor),
            initial_value_threshold=(
                state["best_value"] if state["best_epoch"] else None
            ),
            name=row_name(log_dir),
        )
        found.append(settings)
    return found


def row_name(log_dir: pathlib.Path) -> str:
    """Returns the name of a workdir in the tab HParams.

    The table cuts long names; the path makes the name unique.
    """
    return f"{log_dir.parent.resolve().name} ({log_dir.parent})"


def _settings(run: Run, recipe: str) -> dict:
    fields = as_json(run)
    fields = {n: v for n, v in fields.items() if n not in NOT_SETTINGS}
    return {"recipe": recipe, **fields}


def held_out_callbacks(validation, log_dir) -> list[keras.callbacks.Callback]:
    """Returns the callbacks that show held-out inputs, if any."""
    if len(np.unique(_classes(validation))) == len(validation.labels):
        return []  # a list of trials, without classes
    return [ShowHeldOut(validation, log_dir)]


def _classes(validation) -> np.ndarray:
    """Class ids `(n,)`; of several factors, the first."""
    labels = np.asarray(validation.labels)
    return labels.reshape(len(labels), -1)[:, 0]


class ShowHeldOut(keras.callbacks.Callback):
    """Shows held-out inputs in the projector and in pictures.

    Uses the embeddings that `validation` has made in the same epoch.

    Args:
        validation: Earlier in the list of callbacks.
        log_dir: Folder for TensorBoard.
    """

    def __init__(self, validation: callbacks.EmbeddingEvaluation, log_dir):
        super().__init__()
        self.validation = validation
        classes = _classes(validation)
        self.rows = rows_to_show(classes, MOST_SHOWN)
        x = take(validation.x, self.rows)
        labels = np.asarray(validation.labels)[self.rows]
        images = sprite_images(x)
        self.shown = [
            callbacks.EmbeddingProjector(x, labels, log_dir, images=images)
        ]
        pictures = callbacks.EmbeddingPictures(
            x, classes[self.rows], log_dir, images=images
        )
        self.shown.append(pictures)
        self._is_new = False

    def set_model(self, model):
        super().set_model(model)
        for callback in self.shown:
            callback.set_model(model)

    def on_epoch_end(self, epoch, logs=None):
        self._is_new = True
        if (epoch + 1) % EVERY == 0:
            self._write()

    def on_train_end(self, logs=None):
        if self._is_new:
            self._write()

    def _write(self) -> None:
        embeddings = self.validation.embeddings[self.rows]
        for callback in self.shown:
            callback.write_embeddings(embeddings)
        self._is_new = False


def rows_to_show(labels: np.ndarray, most: int) -> np.ndarray:
    """Returns at most `most` rows, all rows of evenly spaced classes.

    If not even two classes fit, their first rows.
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    classes, counts = np.unique(labels, return_counts=True)
    number = max(2, int(most / counts.mean()))
    chosen = np.unique(np.linspace(0, len(classes) - 1, number).astype(int))
    each = most // len(chosen)
    rows = [np.flatnonzero(labels == label)[:each] for label in classes[chosen]]
    return np.sort(np.concatenate(rows))
