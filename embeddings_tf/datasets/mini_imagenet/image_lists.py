"""Reads the lists of mini-ImageNet and finds their images in ImageNet."""

import csv
import gzip
import itertools
import os
import pathlib
import re
import tarfile
import zlib
from collections.abc import Iterator

_WNID = re.compile(r"n\d{8}")
# Ravi & Larochelle's names: n01532829 and 00000005, counted from 1.
_COUNTED = re.compile(r"(n\d{8})(\d{8})\.jpg")
_NUMBER = re.compile(r"n\d{8}_(\d+)\.JPEG")


def read_list(folder: pathlib.Path, name: str) -> list[tuple[str, str]]:
    """Returns file name and WordNet number of every image of a list.

    Args:
        folder: Folder of the list.
        name: `"train.csv"` and so on; the file may be compressed (`.gz`).

    Raises:
        ValueError: If the file is not such a list.
        FileNotFoundError: If the file does not exist.
    """
    path = folder / name
    if not path.exists():
        path = folder / f"{name}.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"mini-ImageNet needs {folder / name}, which does not exist; put "
            "the lists train.csv, val.csv and test.csv there, and set "
            "EMBEDDINGS_TF_MANUAL or manual_dir to the folder that contains "
            f"{folder.name}."
        )
    opener = gzip.open if path.suffix == ".gz" else open
    rows = []
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            next(lines, None)  # skips the heading
            for number, row in enumerate(lines, start=2):
                if not row:
                    continue
                image, wnid = row if len(row) == 2 else ("", "")
                if pathlib.PurePath(image).name != image or not (
                    image and _WNID.fullmatch(wnid)
                ):
                    raise ValueError(
                        f"{path}, line {number}, is {','.join(row)[:80]!r}: "
                        "expected the name of a file and its WordNet number, "
                        "such as n0153282900000005.jpg,n01532829."
                    )
                rows.append((image, wnid))
    except (EOFError, UnicodeDecodeError, csv.Error, OSError, zlib.error) as e:
        raise ValueError(
            f"{path} is damaged or not a list of images ({e}); fetch it again."
        ) from e
    if len({image for image, _ in rows}) < len(rows) or not rows:
        raise ValueError(
            f"{path} is empty or names an image twice; fetch it again."
        )
    return rows


def images_of_folder(
    folder: pathlib.Path, rows: list[tuple[str, str]]
) -> Iterator[bytes]:
    """Yields the content of the listed images, files of one folder."""
    for image, _ in rows:
        try:
            yield (folder / image).read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{folder} has no {image}, which a list of mini-ImageNet "
                "names; put all images of the lists there, or move the folder "
                "away to read ILSVRC2012_img_train.tar instead."
            ) from error


def images_of_archive(
    path: str | os.PathLike, rows: list[tuple[str, str]]
) -> Iterator[bytes]:
    """Yields the content of the listed images, from ImageNet's archive.

    The archive contains an archive per class, `n01532829.tar`, with
    `n01532829_17.JPEG` and so on. `rows` must be sorted by class.

    Raises:
        ValueError: If an image or a class is missing, or the archive is
            damaged.
    """
    classes = itertools.groupby(rows, key=lambda row: row[1])
    try:
        with tarfile.open(path, "r:") as archive:
            members = {member.name: member for member in archive}
            for wnid, part_rows in classes:
                if f"{wnid}.tar" not in members:
                    raise ValueError(
                        f"{path} has no {wnid}.tar, whose images a list of "
                        "mini-ImageNet names. Is it the original archive?"
                    )
                part = archive.extractfile(members[f"{wnid}.tar"])
                with tarfile.open(fileobj=part, mode="r:") as inner:
                    images = [image for image, _ in part_rows]
                    yield from _images_of_class(path, inner, wnid, images)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as ImageNet's archive of archives "
            f"({error}); fetch it again."
        ) from error


def _images_of_class(path, archive, wnid, images):
    members = {member.name: member for member in archive if member.isfile()}
    in_order = sorted(filter(_NUMBER.fullmatch, members), key=_number)
    for image in images:
        counted = _COUNTED.fullmatch(image)
        name = image
        if counted and 1 <= int(counted[2]) <= len(in_order):
            name = in_order[int(counted[2]) - 1]
        if name not in members or (counted and counted[1] != wnid):
            raise ValueError(
                f"{wnid}.tar in {path} has {len(in_order)} images and none for "
                f"{image}, which a list of mini-ImageNet names."
            )
        yield archive.extractfile(members[name]).read()


def _number(name):
    return int(_NUMBER.fullmatch(name)[1])
