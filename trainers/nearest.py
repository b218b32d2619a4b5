"""Finds the most similar examples of a gallery.

`python -m trainers.nearest --gallery FILE.npz photo.jpg`
"""

import argparse
import os
import shlex
import sys

from trainers import command_line
from trainers.terminal import command_names
from trainers.trained.answers_file import MOST_LINES
from trainers.trained.answers_file import add_answers
from trainers.trained.answers_file import answers_paths
from trainers.trained.answers_file import print_more
from trainers.trained.answers_file import require_not_read
from trainers.trained.answers_file import write_answers

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
    add_answers(
        result,
        "pictures of neighbours, wrong ones framed; default: nearest.png in "
        "the workdir",
    )
    return result


def nearest(arguments: argparse.Namespace) -> None:
    """Prints one line per input: path, and class and value of neighbours."""
    import pathlib

    from trainers.terminal.quiet import import_tensorflow
    from trainers.trained.stored_paths import workdir_of

    output, figure = answers_paths(arguments)
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1; received {arguments.k}")
    path = pathlib.Path(os.path.expanduser(arguments.gallery))
    workdir = workdir_of(path, arguments.workdir, "trainers.embed_data")
    import_tensorflow()
    from trainers.trained.inputs import read_inputs
    from trainers.trained.neighbours import Neighbours
    from trainers.trained.stored_paths import full_names
    from trainers.trained.trained import embed_inputs
    from trainers.trained.trained import open_trained

    trained = open_trained(workdir, own_code=arguments.workdir is not None)
    gallery = Neighbours(trained.model, path, arguments.approximate)
    inputs = read_inputs(trained.run, arguments.inputs, arguments.split)
    require_not_read(
        {"--output": output, "--figure": figure},
        [trained.run.data.dataset, *inputs.names],
    )
    data = [*arguments.inputs, trained.run.data.dataset][0]
    names = full_names(inputs.names, data, inputs.are_files)
    # Its errors come before the inputs are embedded.
    gallery.wanted(names, arguments.k)
    values, rows = gallery.find(
        embed_inputs(trained, inputs), names, arguments.k
    )
    _print_lines(gallery, inputs, values, rows)
    _print_summary(gallery, inputs, rows)
    if output is not None:
        columns = gallery.columns(inputs, values, rows)
        write_answers(output, columns)
        print(f"Every neighbour: {output}")
    _draw(
        gallery, inputs, values, rows, figure or trained.workdir / "nearest.png"
    )
    pair = [str(inputs.names[0]), str(gallery.examples.names[rows[0, 0]])]
    if inputs.are_files and all(map(os.path.isfile, pair)):
        print(
            f"Next: {command_names.shell_command('trainers.verify')} "
            f"--workdir {shlex.quote(workdir)} {shlex.join(pair)}"
        )


def _print_lines(gallery, inputs, values, rows) -> None:
    width = max(len("path"), *(len(name) for name in inputs.names[:MOST_LINES]))
    print(f"{'path':<{width}}  neighbours ({gallery.value}), nearest first")
    for name, found, places in list(
        zip(inputs.names, values, rows, strict=True)
    )[:MOST_LINES]:
        texts = [
            f"{gallery.caption(place)} ({value:.4g})"
            for value, place in zip(found, places, strict=True)
        ]
        print(f"{name:<{width}}  {', '.join(texts)}")
    print_more(len(rows), "neighbour")


def _print_summary(gallery, inputs, rows) -> None:
    right = gallery.is_right(inputs, rows)
    if right is None:
        return
    import numpy as np

    known = np.isin(
        inputs.labels.astype(str), gallery.examples.labels.astype(str)
    )
    if known.any():
        print(
            f"Of {known.sum()} inputs with their class in the gallery, the "
            f"nearest example is of their class for "
            f"{100 * right[known, 0].mean():.1f} %."
        )


def _draw(gallery, inputs, values, rows, path) -> None:
    import numpy as np

    from trainers.terminal.pictures import save_picture

    some = np.unique(np.linspace(0, len(rows) - 1, QUERIES_DRAWN).astype(int))
    pictures = gallery.pictures(inputs, some, rows[some])
    if pictures is None:
        print("No picture: the inputs or the gallery are not image files.")
        return
    right = gallery.is_right(inputs, rows)

    def draw():
        from embeddings_tf import viz

        return viz.neighbours_figure(
            *pictures,
            [
                [
                    f"{gallery.caption(place)}\n{value:.3g}"
                    for value, place in zip(values[n], rows[n], strict=True)
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
            title=f"nearest examples, with their {gallery.value}",
        )

    save_picture(draw, path)


def main(words=None) -> int:
    return command_line.run(nearest, parser().parse_args(words))


if __name__ == "__main__":
    sys.exit(main())
