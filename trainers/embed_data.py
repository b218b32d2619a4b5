"""Embeds your data with a trained run, into a file.

`python -m trainers.embed_data --workdir DIR --output FILE.npz photos`
"""

import argparse
import shlex
import sys
from collections.abc import Sequence

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.terminal import command_names

ENDINGS = (".npz", ".parquet")
# Classes and examples that the picture shows.
CLASSES_DRAWN, EXAMPLES_DRAWN = 10, 2000


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.embed_data"),
        description="Embed images, recordings or features with the best "
        "checkpoint of a run.",
    )
    command_line.add_inputs(result)
    result.add_argument("--workdir", required=True, help="folder of the run")
    result.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="FILE.npz (arrays) or FILE.parquet (a table; needs pandas and "
        "pyarrow)",
    )
    result.add_argument(
        "--projector",
        metavar="DIR",
        help="also write a view for TensorBoard's Embedding Projector",
    )
    return result


@checked_arguments()
def embed_data(
    workdir: str,
    inputs: Sequence[str] = (),
    *,
    output: str,
    split: str = "",
    projector: str | None = None,
) -> None:
    """Embeds inputs and writes embeddings, labels and paths.

    Args:
        workdir: Folder of the run.
        inputs: As for `trainers.trained.inputs.read_inputs`.
        output: The file to write, `.npz` or `.parquet`.
        split: Split of the data; "": all, or without inputs the split that is
            evaluated.
        projector: A folder for TensorBoard's Embedding Projector; None: none.

    Raises:
        ValueError: If an argument or an input does not fit, or a file cannot
            be written.
    """
    from trainers.trained.written_files import require_not_read
    from trainers.trained.written_files import writable_file
    from trainers.workdirs.writable_folder import writable_folder

    path = writable_file("--output", output, ENDINGS)
    written = {"--output": path}
    if projector is not None:
        written["--projector"] = writable_folder("--projector", projector)
    require_not_read(written, inputs)
    if path.suffix.lower() == ".parquet":
        _require_parquet()
    else:
        _require_own_file(path)

    from trainers.trained.trained import embed_inputs
    from trainers.trained.trained import open_trained

    trained = open_trained(workdir)
    # It imports TensorFlow, which `open_trained` does quietly.
    from trainers.trained.inputs import read_inputs

    found = read_inputs(trained.run, inputs, split)
    require_not_read(written, [trained.run.data.dataset, *found.names])
    embeddings = embed_inputs(trained, found)
    columns = _columns(trained, found, embeddings)
    if path.suffix.lower() == ".npz":
        _write_npz(path, trained, columns, found)
    else:
        _write_parquet(path, columns)
    shape = " x ".join(map(str, columns["embedding"].shape))
    print(f"Wrote {path}: embeddings of {shape}, and {_others(columns)}.")
    if projector is not None:
        _write_projector(projector, trained, found, embeddings)
        print(
            f"Look: {command_names.shell_command('tensorboard.main')} "
            f"--logdir {shlex.quote(projector)}, tab Projector"
        )
    _draw(trained, embeddings, found.labels)
    if path.suffix.lower() == ".npz":
        print(
            f"Next: {command_names.shell_command('trainers.nearest')} "
            f"--gallery {shlex.quote(str(path))} "
            f"--workdir {shlex.quote(workdir)} QUERY"
        )


def _require_parquet() -> None:
    import importlib.util

    for package in ("pandas", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise ValueError(
                f"Parquet needs {package}: pip install pandas pyarrow, or "
                "write FILE.npz"
            )


def _require_own_file(path) -> None:
    """Raises ValueError if a file of another kind would be replaced."""
    from trainers.trained.stored_paths import is_embeddings

    if not path.exists() or not path.stat().st_size:
        return
    if not is_embeddings(path):
        raise ValueError(
            f"--output {path} is a file of another kind, such as data or a "
            "gallery, and would be replaced; name another file"
        )


def _columns(trained, found, embeddings) -> dict:
    import numpy as np
    import tensorflow as tf

    from embeddings_tf.models.method import Method
    from embeddings_tf.ops import gaussian
    from trainers.measures.embed import head_uncertainty

    columns = {"embedding": embeddings}
    if Method(trained.model).is_gaussian:
        mean, variance = gaussian.unpack(tf.convert_to_tensor(embeddings))
        columns = {"embedding": mean.numpy(), "variance": variance.numpy()}
    uncertainty = head_uncertainty(trained.model, found.x)
    if uncertainty is not None:
        columns["uncertainty"] = uncertainty
    if found.labels is not None:
        _, numbers = np.unique(found.labels, return_inverse=True)
        columns |= {"labels": numbers.astype(np.int32), "names": found.labels}
    return {**columns, "paths": found.names}


def _others(columns: dict) -> str:
    return ", ".join(name for name in columns if name != "embedding")


def _draw(trained, embeddings, labels) -> None:
    """Draws the embeddings in a plane, as `embed.png` of the run."""
    import numpy as np

    from embeddings_tf.models.method import Method
    from embeddings_tf.ops.counted import counted
    from embeddings_tf.viz.plane import plane
    from trainers.terminal.pictures import save_picture

    method = Method(trained.model)
    if min(method.points(embeddings).shape) < 2:
        print("No picture: it needs two inputs and two dimensions.")
        return
    rng = np.random.default_rng(0)
    rows, names = rng.permutation(len(embeddings)), labels
    title = f"of {counted(len(embeddings), 'input')}"
    if labels is None:
        names = np.full(len(embeddings), "all inputs")
    else:
        classes = np.unique(labels)
        shown = rng.permutation(classes)[:CLASSES_DRAWN]
        rows = rows[np.isin(labels[rows], shown)]
        number = counted(len(classes), "class", "classes")
        title += f", {len(shown)} of {number}"
    rows = rows[:EXAMPLES_DRAWN]
    names = names[rows]

    def draw():
        from embeddings_tf import viz

        return viz.embedding_figure(
            **plane(method, embeddings[rows]),
            labels=names,
            seen=None,
            factors={"class": names},
            title=f"{len(rows)} {title}",
        )

    save_picture(draw, trained.workdir / "embed.png")


def _write_npz(path, trained, columns, found) -> None:
    from embeddings_tf.scoring import array_file
    from embeddings_tf.scoring.fingerprint import fingerprint
    from trainers.trained.stored_paths import KIND
    from trainers.trained.stored_paths import relative_path
    from trainers.trained.stored_paths import stored_data
    from trainers.trained.stored_paths import stored_names

    names = stored_names(
        columns["paths"], path, with_data=False, are_files=found.are_files
    )
    columns = {**columns, "paths": names}
    settings = {
        "kind": KIND,
        "fingerprint": fingerprint(trained.model),
        "source": relative_path(trained.workdir, path),
        # Rows have the same names in other data; `nearest` tells them apart.
        "data": stored_data(found.data, path),
        "files": found.are_files,
    }
    array_file.write(path, columns, settings)


def _write_parquet(path, columns) -> None:
    """One row per input; embeddings and variances are lists of numbers."""
    import io

    import pandas

    from trainers.workdirs.json_files import write_atomically

    table = pandas.DataFrame(
        {
            name: list(column) if column.ndim == 2 else _as_utf_8(column)
            for name, column in columns.items()
        }
    )
    content = io.BytesIO()
    table.to_parquet(content, engine="pyarrow", index=False)
    write_atomically(path, content.getvalue())


def _as_utf_8(column):
    """Escapes names of files that are not UTF-8, as in answers."""
    if column.dtype.kind != "U":
        return column
    return [
        text.encode("utf-8", "backslashreplace").decode()
        for text in column.tolist()
    ]


def _write_projector(folder, trained, found, embeddings) -> None:
    from embeddings_tf.callbacks import EmbeddingProjector
    from trainers.data.sprite_images import sprite_images

    labels = {"path": found.names}
    if found.labels is not None:
        labels = {"class": found.labels, **labels}
    images = sprite_images(found.x)
    projector = EmbeddingProjector(found.x, labels, folder, images=images)
    projector.set_model(trained.model)
    projector.write_embeddings(embeddings)


def main(words=None) -> int:
    arguments = parser().parse_args(words)
    return command_line.run(
        embed_data,
        arguments.workdir,
        arguments.inputs,
        output=arguments.output,
        split=arguments.split,
        projector=arguments.projector,
    )


if __name__ == "__main__":
    sys.exit(main())
