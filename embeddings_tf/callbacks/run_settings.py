"""Writes the settings of a run for TensorBoard, as text and as HParams."""

import json
import math
import os
import warnings
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.arguments import text
from embeddings_tf.ops.dotted_names import dotted_names


class RunSettings(keras.callbacks.Callback):
    """Shows the settings of a run in TensorBoard, beside its best result.

    Use it in any `model.fit` to find out later what a curve was trained with,
    and to compare runs: the tab HParams has one row per run, with its settings
    and the best value of `monitor`. List it after callbacks that log `monitor`.

    It writes to `log_dir/settings`:

    - the text `settings`, as JSON (tab Text);
    - one hyper-parameter per value, named by its path, such as
      `optimizer.learning_rate` (tab HParams). Lists become text, None becomes
      "None";
    - the scalar `best_<monitor>`, the best value so far, after each epoch that
      logs `monitor`. NaN and infinity are never the best value. With
      `validation_freq`, epochs without `monitor` are skipped.

    Runs with an equal `name` share a row, which shows the mean of their
    results.

    Args:
        settings: Names to numbers, text, booleans, None, lists of these, or
            mappings of the same kind.
        log_dir: Folder for TensorBoard, one per run.
        monitor: A name in the logs, such as "val_recall_at_1"; "": none.
        mode: "max" if larger values of `monitor` are better, else "min".
        initial_value_threshold: As in `keras.callbacks.ModelCheckpoint`: the
            best value of a training that continues.
        name: Name of the run in the tab HParams, column "Trial ID"; "": its
            `log_dir`.

    Raises:
        ValueError: If an argument is not as described, or if two values have
            the same path.
        OSError: If the folder cannot be written to.

    Warns:
        UserWarning: At the end of the training, if `monitor` was in the logs of
            no epoch.

    Reference:
        - [TensorBoard](https://www.tensorflow.org/tensorboard/hyperparameter_tuning_with_hparams)

    Example:

    >>> settings = {"seed": 0, "optimizer": {"learning_rate": 1e-3}}
    >>> callback = embeddings_tf.callbacks.RunSettings(
    ...     settings, tempfile.mkdtemp(), "loss", "min"
    ... )
    >>> callback.hparams
    {'seed': 0, 'optimizer.learning_rate': 0.001}
    """

    def __init__(
        self,
        settings: Mapping,
        log_dir: str | os.PathLike,
        monitor: str = "",
        mode: str = "max",
        *,
        initial_value_threshold: float | None = None,
        name: str = "",
    ):
        super().__init__()
        self.log_dir = path("log_dir", log_dir)
        self.monitor = text("monitor", monitor)
        self.mode = one_of("mode", mode, ("max", "min"))
        self.name = text("name", name) or str(self.log_dir)
        self.best = initial_value_threshold
        if self.best is not None:
            self.best = finite_number("initial_value_threshold", self.best)
        if not isinstance(settings, Mapping) or not settings:
            raise ValueError(
                "`settings` must be a dictionary with at least one value; "
                f"received {settings!r}."
            )
        self.text = json.dumps(_plain("settings", settings), indent=2)
        self.hparams: dict[str, bool | int | float | str] = {}
        for name, value in dotted_names(json.loads(self.text)):
            if name in self.hparams:
                raise ValueError(
                    "`settings` must have one value per path; received two "
                    f"for {name!r}. Rename one of them."
                )
            self.hparams[name] = _hparam(value)
        self._writer = None

    def on_train_begin(self, logs=None):
        from tensorboard.plugins.hparams import api

        self._close()  # An earlier training may have ended with an error.
        self._was_logged = False
        self._other_names: set[str] | None = None
        folder = str(self.log_dir / "settings")
        self._writer = tf.summary.create_file_writer(folder)
        with self._writer.as_default(step=0):
            # Markdown shows indented lines as they are.
            lines = [f"    {line}" for line in self.text.splitlines()]
            tf.summary.text("settings", "\n".join(lines))
            api.hparams(self.hparams, trial_id=self.name)
        self._writer.flush()

    def on_epoch_end(self, epoch, logs=None):
        if not self.monitor:
            return
        if self.monitor not in (logs or {}):
            self._other_names = set(logs or {}) | (self._other_names or set())
            return
        self._was_logged = True
        value = float(logs[self.monitor])
        is_better = self.best is None or (
            value > self.best if self.mode == "max" else value < self.best
        )
        if is_better and math.isfinite(value):
            self.best = value
        if self.best is None:
            return
        with self._writer.as_default(step=epoch):
            tf.summary.scalar(f"best_{self.monitor}", self.best)
        self._writer.flush()

    def on_train_end(self, logs=None):
        self._close()
        if self._other_names is None or self._was_logged:
            return
        warnings.warn(
            "`monitor` must be a name in the logs, which have "
            f"{', '.join(sorted(self._other_names)) or 'no names'}; received "
            f"{self.monitor!r}. No best value was written. List the callback "
            "that logs it before RunSettings.",
            stacklevel=2,
        )

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None


def _plain(name: str, value):
    """Returns a value as JSON has it; ValueError if that is impossible."""
    if isinstance(value, Mapping):
        return {
            text(f"a name in {name}", key): _plain(f"{name}[{key!r}]", inner)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(name, inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(name, value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(
        f"`{name}` must be a number, text, a boolean, None, a list or a "
        f"dictionary; received {value!r}."
    )


def _hparam(value):
    """Returns a number or text as it is, None and a list as text."""
    if isinstance(value, (bool, int, float, str)):
        return value
    return "None" if value is None else json.dumps(value)
