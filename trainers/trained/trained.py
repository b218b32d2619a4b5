"""A trained workdir, opened to be used: its run and its model."""

import dataclasses
import pathlib

from trainers.config.run import Run


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """The run of a workdir and the model of its best epoch."""

    workdir: pathlib.Path
    run: Run
    model: object


def require_trained(workdir: str) -> pathlib.Path:
    """Checks that a workdir has a checkpoint, without importing TensorFlow.

    Raises:
        ValueError: If the folder contains no run, or no usable checkpoint.
    """
    from trainers.training.best_file import best_file
    from trainers.workdirs.workdir import folder_argument
    from trainers.workdirs.workdir import require_run

    path = folder_argument("--workdir", workdir)
    require_run(path)
    best_file(path)
    return path


def open_trained(workdir: str, *, own_code: bool = True) -> Trained:
    """Loads the best model of a workdir. Several commands may use it at once.

    Args:
        workdir: Folder of the run.
        own_code: Whether Python code that the run names may be run. False for
            a run that the user has not named.

    Raises:
        ValueError: As `require_trained`, or if a file is damaged, or the
            frozen network is not the one of the training. If the run needs
            code that may not be run.
    """
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.workdir import run_of_workdir

    path = require_trained(workdir)
    if not own_code:
        _require_no_own_code(path)
    _, run = run_of_workdir(path)
    import_tensorflow()
    from trainers.data.backbone_features import require_same_backbone
    from trainers.training.checkpoint import load_best

    require_same_backbone(path, run.data)
    return Trained(path, run, load_best(path, run_recipe=own_code))


def _require_no_own_code(path: pathlib.Path) -> None:
    """Raises ValueError if a run names Python code, without running it."""
    from trainers.config.own_code import own_code_names
    from trainers.workdirs.json_files import read_json

    names = own_code_names(read_json(path / "config.json", "train again"))
    if names:
        raise ValueError(
            f"the run {path} runs Python code of its own, {names[0]}, and is "
            "only named by a file of embeddings; if you trust this code, name "
            f"the run yourself: --workdir {path}"
        )


def embed_inputs(trained: Trained, inputs, what: str = "inputs"):
    """Embeds inputs of `trainers.trained.inputs`, with progress.

    Raises:
        ValueError: If a table has other features than in the training, or
            the first input has another shape.
    """
    from embeddings_tf import scoring
    from trainers.data.classes import require_same_features
    from trainers.terminal.progress import Progress

    require_same_features(trained.workdir, inputs.features)
    _require_shape(trained, inputs)
    count = len(inputs.names)
    if count == 1:
        noun, *rest = what.split(" ")
        what = " ".join([noun.removesuffix("s"), *rest])
    print(f"Embedding {count} {what}.", flush=True)
    progress = Progress(count, "input")
    return scoring.embed(trained.model, inputs.x, progress=progress.advance)


def _require_shape(trained: Trained, inputs) -> None:
    """Raises unless the first input has a shape that the model takes."""
    from embeddings_tf import datasets
    from embeddings_tf.models.input_shape import input_shape
    from embeddings_tf.models.input_shape import require_input_shape

    # As in a batch: images may be resized there.
    is_long = isinstance(inputs.x, datasets.Utterances)
    example = inputs.x[0] if is_long else inputs.x[0:1][0]
    try:
        require_input_shape("x", example[None], trained.model)
    except ValueError as error:
        wanted = tuple(input_shape(trained.model))[1:]
        kinds = {1: "features", 2: "frames", 3: "height, width and channels"}
        remedy = "Give it this shape"
        if len(wanted) == example.ndim == 3:
            remedy = "Resize it, or train the run with --config.images.size"
        raise ValueError(
            f"{inputs.names[0]} has the shape {example.shape} "
            f"({kinds.get(example.ndim, 'of an array')}), but the model of "
            f"{trained.workdir} takes {wanted}. {remedy}"
        ) from error
