"""Finds the most similar examples of a gallery.

`python -m trainers.nearest --gallery FILE.npz photo.jpg`
"""

import argparse
import os
import pathlib
import shlex
import sys
from collections.abc import Sequence

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.terminal import command_names
from trainers.trained.answers_file import MOST_LINES
from trainers.trained.answers_file import answers_paths
from trainers.trained.answers_file import print_more
from trainers.trained.answers_file import write_answers
from trainers.trained.written_files import require_not_read

QUERIES_DRAWN = 8


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.nearest"),
        description="Find the most similar examples of a gallery for each "
        "input. No input finds itself: neither a file, by its path, nor a row "
        "of data, by its name.",
    )
    command_line.add_inputs(result)
    command_line.add_gallery(result, "`embed` or `enroll`")
    result.add_argument(
        "--k", type=int, default=5, help="number of neighbours; default: 5"
    )
    result.add_argument(
        "--approximate",
        action="store_true",
        help="search by FAISS, for very large galleries; default: exact",
    )
    command_line.add_answers(
        result,
        "pictures of neighbours, wrong ones framed; default: nearest.png in "
        "the workdir",
    )
    return result


@checked_arguments()
def nearest(
    gallery: str,
    inputs: Sequence[str] = (),
    workdir: str | None = None,
    *,
    split: str = "",
    k: int = 5,
    approximate: bool = False,
    output: str | None = None,
    figure: str | None = None,
) -> dict:
    """Prints one line per input: path, and class and value of neighbours.

    Args:
        gallery: File that `embed_data` or `enroll` wrote.
        inputs: As for `trainers.trained.inputs.read_inputs`.
        workdir: Folder of the run; None: as in the gallery.
        split: Split of the data; "": all, or without inputs the split that is
            evaluated.
        k: Number of neighbours.
        approximate: Whether to search by FAISS.
        output: File of the neighbours, or None.
        figure: File of the picture; None: in the workdir.

    Returns:
        The neighbours by column, as in `output`.
    """
    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.stored_paths import workdir_of

    table, picture = answers_paths(output, figure, [*inputs, gallery])
    if k < 1:
        raise ValueError(f"--k must be at least 1; received {k}")
    path = pathlib.Path(os.path.expanduser(gallery))
    source = workdir_of(path, workdir, "trainers.embed_data")
    import_tensorflow()
    from trainers.trained.inputs import read_inputs
    from trainers.trained.neighbours import Neighbours
    from trainers.trained.trained import embed_inputs
    from trainers.trained.trained import open_trained

    trained = open_trained(source, own_code=workdir is not None)
    neighbours = Neighbours(trained, path, approximate)
    asked = read_inputs(trained.run, inputs, split)
    require_not_read(
        {"--output": table, "--figure": picture},
        [trained.run.data.dataset, *asked.names],
    )
    # Its errors come before the inputs are embedded.
    neighbours.wanted(asked.full_names, k)
    values, rows = neighbours.find(embed_inputs(trained, asked), asked, k)
    _print_lines(neighbours, asked, values, rows)
    _print_summary(neighbours, asked, rows)
    columns = neighbours.columns(asked, values, rows)
    if table is not None:
        write_answers(table, columns)
        print(f"Every neighbour: {table}")
    drawn = picture or trained.workdir / "nearest.png"
    _draw(neighbours, asked, values, rows, drawn)
    pair = [str(asked.names[0]), str(neighbours.examples.names[rows[0, 0]])]
    if asked.are_files and all(map(os.path.isfile, pair)):
        print(
            f"Next: {command_names.shell_command('trainers.verify')} "
            f"--workdir {shlex.quote(source)} {shlex.join(pair)}"
        )
    return columns


def _print_lines(neighbours, inputs, values, rows) -> None:
    width = max(len("path"), *(len(name) for name in inputs.names[:MOST_LINES]))
    print(f"{'path':<{width}}  neighbours ({neighbours.value}), nearest first")
    for name, of_input, found in list(
        zip(inputs.names, values, rows, strict=True)
    )[:MOST_LINES]:
        texts = [
            f"{neighbours.caption(row)} ({value:.4g})"
            for value, row in zip(of_input, found, strict=True)
        ]
        print(f"{name:<{width}}  {', '.join(texts)}")
    print_more(len(rows), "neighbour")


def _print_summary(neighbours, inputs, rows) -> None:
    right = neighbours.is_right(inputs, rows)
    if right is None:
        return
    import numpy as np

    from embeddings_tf.ops.counted import counted

    known = np.isin(
        inputs.labels.astype(str), neighbours.examples.labels.astype(str)
    )
    if known.any():
        print(
            f"Of {counted(known.sum(), 'input')} with their class in the "
            f"gallery, the nearest example is of their class for "
            f"{100 * right[known, 0].mean():.1f} %."
        )


def _draw(neighbours, inputs, values, rows, path) -> None:
    import numpy as np

    from trainers.terminal.pictures import save_picture

    some = np.unique(np.linspace(0, len(rows) - 1, QUERIES_DRAWN).astype(int))
    pictures = neighbours.pictures(inputs, some, rows[some])
    if pictures is None:
        print("No picture: the inputs or the gallery are not image files.")
        return
    right = neighbours.is_right(inputs, rows)

    def draw():
        from embeddings_tf import viz

        return viz.neighbours_figure(
            *pictures,
            [
                [
                    f"{neighbours.caption(row)}\n{value:.3g}"
                    for value, row in zip(values[n], rows[n], strict=True)
                ]
                for n in some
            ],
            [
                [None] * rows.shape[1] if right is None else right[n].tolist()
                for n in some
            ],
            query_captions=[
                "" if inputs.labels is None else inputs.labels[n] for n in some
            ],
            title=f"nearest examples, with their {neighbours.value}",
        )

    save_picture(draw, path)


def main(words=None) -> int:
    return command_line.run(nearest, **vars(parser().parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
