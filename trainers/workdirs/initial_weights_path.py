"""Where the initial weights of a run are."""

import os
import pathlib

from trainers.config.run import Run
from trainers.workdirs import layout


def initial_weights_path(run: Run) -> pathlib.Path:
    """Returns the workdir or file that `config.initial_weights` names.

    The workdir of a cross-validation stands for its run of the same fold: on
    the same data, this run has not trained on the classes that are tested.

    Args:
        run: A run with initial weights.

    Raises:
        FileNotFoundError: If the folder, the file or its fold does not exist.
        ValueError: If it is a cross-validation, and the run has no folds.
    """
    name = run.training.initial_weights
    path = pathlib.Path(os.path.expanduser(name))
    if not path.exists():
        raise FileNotFoundError(
            f"config.initial_weights={name!r} is neither a workdir nor a "
            ".keras file; train that run first, or name another"
        )
    if not (path / layout.FOLDS).is_file():
        return path
    if not run.data.folds.num_folds:
        raise ValueError(
            f"config.initial_weights={name!r} is a cross-validation, and this "
            "run has no folds; name the run of one fold, such as "
            f"{layout.fold(path, 1)}"
        )
    of_fold = layout.fold(path, run.data.folds.fold)
    if not layout.checkpoints(of_fold).is_dir():
        raise FileNotFoundError(
            f"the cross-validation config.initial_weights={name!r} has not "
            f"trained fold {run.data.folds.fold}; train this fold there first"
        )
    return of_fold
