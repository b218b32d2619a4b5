"""Exports a trained workdir for serving.

`python -m trainers.export --workdir DIR --directory saved_models/NAME`
"""

import argparse
import pathlib
import shlex
import sys

from trainers import command_line
from trainers.terminal import command_names

UNIT_RANGE = ("warn", "refuse", "accept")
SAVED_MODEL_CLI = "tensorflow.python.tools.saved_model_cli"


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.export"),
        description="Write the best checkpoint of a run as a SavedModel: the "
        "next version in the folder of a model.",
    )
    result.add_argument("--workdir", required=True, help="folder of the run")
    result.add_argument(
        "--directory", required=True, help="folder of the served model"
    )
    result.add_argument("--version", type=int, help="default: the next one")
    result.add_argument(
        "--label",
        help="label of the version in models.config, beside the folder of the "
        "model; default: canary if another version is stable, else stable",
    )
    result.add_argument("--licence", help="for the model card")
    result.add_argument(
        "--gallery",
        metavar="FILE.npz",
        help="gallery of this run, which trainers.enroll wrote: adds the "
        "signatures identify and nearest",
    )
    result.add_argument(
        "--num-neighbors",
        type=int,
        metavar="K",
        help="number of neighbours in the signature nearest; default: 5",
    )
    result.add_argument(
        "--max-rows",
        type=int,
        default=4096,
        metavar="N",
        help="refuse requests with more rows; default: 4096; 0: no limit",
    )
    result.add_argument(
        "--max-values",
        type=int,
        default=2**28,
        metavar="N",
        help="refuse inputs with more values, rows times values of a row, and "
        "longer recordings; default: 2^28; 0: no limit",
    )
    result.add_argument(
        "--unit-range",
        choices=UNIT_RANGE,
        default="warn",
        help="what to do with images of 0 to 1 instead of 0 to 255; choose "
        "refuse for a server; default: warn",
    )
    result.add_argument(
        "--no-unchecked",
        dest="unchecked",
        action="store_false",
        help="leaves out embed and identify_unchecked, which have no limits "
        "and are for converters to other engines; for a server",
    )
    return result


def export(
    workdir: str,
    directory: str,
    version: int | None,
    label: str | None = None,
    licence: str | None = None,
    gallery: str | None = None,
    **options,
) -> str:
    """Exports the best checkpoint of a run; returns the version folder.

    With a front end in the recipe, the exported model takes waveforms.

    Args:
        workdir: Folder of the run.
        directory: Folder of the served model.
        version: None: the next one.
        label: Label of the version; None: chosen.
        licence: For the model card.
        gallery: File of a gallery of this run.
        options: Arguments of `export_saved_model`.
    """
    from trainers.terminal.quiet import import_tensorflow
    from trainers.terminal.quiet import quiet_import
    from trainers.workdirs.lock import read_workdir
    from trainers.workdirs.model_folder import require_writable_models_config
    from trainers.workdirs.model_folder import writable_model_folder
    from trainers.workdirs.require_outside_data import require_outside_data
    from trainers.workdirs.workdir import run_of_workdir

    _require_no_run(writable_model_folder("--directory", directory))
    with read_workdir(workdir) as path:
        _, run = run_of_workdir(path)
        require_outside_data("--directory", directory, run.data.dataset)
        import_tensorflow()
        from embeddings_tf.export import export_saved_model
        from embeddings_tf.export.models_config import check_label
        from embeddings_tf.export.models_config import chosen_label
        from embeddings_tf.export.models_config import label_version
        from embeddings_tf.export.models_config import read_models_config
        from embeddings_tf.export.models_config import require_model_list
        from embeddings_tf.scoring import Gallery
        from trainers.data.classes import CLASSES_FILE
        from trainers.data.recordings import serving_decoder
        from trainers.training.checkpoint import load_best
        from trainers.training.unfinished import unfinished
        from trainers.workdirs.run_card import run_card

        check_label(label)
        require_writable_models_config(directory)
        models = pathlib.Path(directory).resolve().parent
        require_model_list(read_models_config(models), models)
        preprocessing = _preprocessing(path, run)
        reached = unfinished(path, run.training.num_epochs)
        model, names = load_best(path), path / CLASSES_FILE
        enrolled = None
        if gallery is not None:
            enrolled = Gallery.load(gallery, model, embedded=True)
        with quiet_import():
            written = export_saved_model(
                model,
                directory,
                version,
                preprocessing=preprocessing,
                decoder=serving_decoder(run.data, model, preprocessing),
                gallery=enrolled,
                **options,
                files={CLASSES_FILE: names.read_text("utf-8")}
                if names.exists()
                else None,
                card=run_card(path, licence, reached),
            )
        pictures = [str(file) for file in sorted(path.glob("*.png"))]
    version_folder = pathlib.Path(written)
    model_folder, number = version_folder.parent, int(version_folder.name)
    try:
        labels = label_version(model_folder, number, label)
    except OSError as error:
        label = label or chosen_label(model_folder, number)
        raise OSError(
            f"{written} is complete, but its label is not written: {error}. "
            "Make room, or mend what the message names, then "
            f"{_label_command(version_folder, label)}"
        ) from error
    _print_end(written, labels, pictures)
    if reached:
        print(
            f"The training of {workdir} has not ended: {reached}. The export "
            "has its best epoch so far."
        )
    return written


def _label_command(version_folder: pathlib.Path, label: str) -> str:
    """Returns the command that labels a version."""
    words = ["--directory", str(version_folder.parent)]
    words += ["--version", version_folder.name, "--label", label]
    name = command_names.shell_command("trainers.label_version")
    return f"{name} {shlex.join(words)}"


def _require_no_run(folder: pathlib.Path) -> None:
    """Raises ValueError if a folder is the workdir of a run."""
    if (folder / "config.json").is_file():
        raise ValueError(
            f"--directory {folder} is the workdir of a run (it has a "
            "config.json); name another folder, such as saved_models/NAME"
        )


def _preprocessing(path: pathlib.Path, run):
    """Returns the layers before the trained model: features, a backbone."""
    from trainers.data.backbone_features import network
    from trainers.data.backbone_features import require_same_backbone
    from trainers.data.recordings import serving_front_end

    if run.data.backbone.network:
        require_same_backbone(path, run.data)
        return network(run.data.backbone)
    return serving_front_end(run.data)


def _print_end(written: str, labels: dict, pictures: list[str]) -> None:
    print(
        f"Wrote {written} and its label in models.config: "
        f"{', '.join(f'{name} {labels[name]}' for name in sorted(labels))}.\n"
        f"Model card: {pathlib.Path(written) / 'model_card.md'}"
        + (f"\nPictures of its run: {', '.join(pictures)}" if pictures else "")
        + "\nLook: "
        f"{command_names.shell_command(SAVED_MODEL_CLI)} "
        f"show --all --dir {shlex.quote(written)}"
    )


def main(words=None) -> int:
    arguments = parser().parse_args(words)

    def run():
        num_neighbors = arguments.num_neighbors
        if num_neighbors is not None and arguments.gallery is None:
            raise ValueError(
                "--num-neighbors is for the signature nearest, which needs "
                "--gallery FILE.npz; leave it out, or name a gallery"
            )
        export(
            arguments.workdir,
            arguments.directory,
            arguments.version,
            arguments.label,
            arguments.licence,
            gallery=arguments.gallery,
            num_neighbors=5 if num_neighbors is None else num_neighbors,
            max_rows=arguments.max_rows or None,
            max_values=arguments.max_values or None,
            unit_range=arguments.unit_range,
            unchecked=arguments.unchecked,
        )

    return command_line.run(run)


if __name__ == "__main__":
    sys.exit(main())
