"""Invalid command lines of the commands for data of the user's own.

As in `commands_test.py`: one line of error, and no new file.
"""

import importlib
import pathlib
import shutil

import pytest

from tests.hostile.commands_test import Run
from tests.hostile.commands_test import content
from tests.trainers.colours import write_colours
from tests.trainers.colours import write_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("hostile commands"),
]

# Paths that are no files or folders of the expected kind.
PATHS = ["", "hostile", "FOLDER", "FILE", "FILE/a.npz", "a\0b", "x" * 300]
OUTPUTS = ["", "a.txt", "FOLDER", "none/a.csv", "FILE/a.csv", "a\0.csv"]
# Names of data that nobody can train on.
DATA = [
    *("", "hostile", "image_folder:", "image_folder:none", "csv:FILE"),
    *("image_folder:FILE", "image_folder:FOLDER", "audio_folder:PHOTOS"),
    *("arrays:FILE", "FILE:f", "none.py:f", "hostile:f", "a\0b", "cut:"),
]
# A folder that cannot be made or written to.
NEW_FOLDERS = ["", "FILE", "FILE/a", "a\0b", "x" * 300]
# The words of a valid command; names in capitals are files.
COMMANDS = {
    "trainers.train --goal": {
        "": ["image_folder:PHOTOS"],
        "--goal": "retrieve",
        "--workdir": "run",
    },
    "trainers.train --check": {"": ["image_folder:PHOTOS"], "--check": None},
    "trainers.compare": {
        "": ["image_folder:PHOTOS"],
        "--goal": "verify",
        "--workdir": "run",
    },
    "trainers.embed_data": {
        "": ["IMAGE"],
        "--workdir": "RUN",
        "--output": "new.npz",
    },
    "trainers.enroll": {
        "": ["PHOTOS"],
        "--workdir": "RUN",
        "--gallery": "new.npz",
        "--split": "test",
        "--false-accept-rate": "0.3",
    },
    "trainers.identify": {"": ["IMAGE"], "--gallery": "GALLERY"},
    "trainers.nearest": {"": ["IMAGE"], "--gallery": "GALLERY"},
    "trainers.verify": {
        "": ["IMAGE", "IMAGE"],
        "--workdir": "RUN",
        "--false-accept-rate": "0.1",
    },
}
OF_TRAINING = {
    "": [*DATA, "image_folder:CUT"],
    "--goal": ["", "hostile", "disentangle"],
    "--split": ["", "hostile"],
    "--workdir": NEW_FOLDERS,
    "--config.num_epochs": ["0", "x", ""],
    "--config.hostile": ["1"],
    "--hostile": ["1"],
}
BAD_OF = {
    "trainers.train --goal": {
        **OF_TRAINING,
        "--method": ["", "hostile", "BetaVAE", "f_statistic"],
    },
    "trainers.train --check": {
        "": DATA,
        "--config": ["hostile", "FILE"],
        "--config.num_epochs": ["1"],
        "--hostile": ["1"],
    },
    "trainers.compare": {
        **OF_TRAINING,
        "--methods": ["", "TripletLoss", "hostile", "FStatisticLoss"],
        "--repeats": ["0", "1", "-1", "x"],
    },
}
BAD = {
    "": ["hostile", "FILE", "none.png", "a\0.png", "audio_folder:PHOTOS"],
    "--workdir": PATHS,
    "--gallery": PATHS,
    "--output": OUTPUTS,
    "--figure": ["", "a.jpg", "FOLDER", "none/a.png"],
    "--split": ["hostile", "train,test", "0"],
    "--false-accept-rate": ["0", "1", "-1", "nan", "x", "1e-9"],
    "--calibration": ["hostile", "IMAGE", "FILE", "csv:FILE", "arrays:FILE"],
    "--classes": ["hostile", ""],
    "--class": ["a"],
    "--examples-per-class": ["0", "-1", "x", "1.5"],
    "--remove": ["a"],
    "--score": ["cosine", ""],
    "--prior": ["0", "1", "nan", "x"],
    "--pairs": ["FILE", "FOLDER", "none.csv"],
    "--data": ["hostile", "FILE", "csv:FILE", "arrays:FILE", "FOLDER"],
    "--fit": ["platt"],
    "--k": ["0", "-1", "x", "1000"],
    "--hostile": ["1"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files for the commands; the last entry is the folder of them all."""
    folder = tmp_path_factory.mktemp("given")
    photos = write_colours(folder / "photos")
    run = write_run(folder / "run", photos)
    (folder / "file").write_text("hostile")
    (folder / "folder").mkdir()
    # One file is cut: found when it is read.
    for path in photos.rglob("*.png"):
        copy = folder / "cut" / path.relative_to(photos)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    copy.write_bytes(copy.read_bytes()[:40])
    gallery = folder / "gallery.npz"
    enroll = importlib.import_module("trainers.enroll").main
    words = ["--workdir", run, "--gallery", gallery, photos, "--split", "test"]
    assert enroll([*map(str, words), "--false-accept-rate", "0.3"]) == 0
    return {
        "PHOTOS": photos,
        "IMAGE": photos / "c00" / "0.png",
        "RUN": run,
        "GALLERY": gallery,
        "FILE": folder / "file",
        "FOLDER": folder / "folder",
        "CUT": folder / "cut",
        "": folder,
    }


def everything(folder):
    """The files of a folder with their content, and its folders."""
    return content(folder), {p for p in folder.rglob("*") if p.is_dir()}


def filled(word, place):
    for name, path in place.items():
        if name:
            word = word.replace(name, str(path))
    return word


def lines(command):
    """Yields the flags of invalid command lines."""
    module = command.partition(" ")[0]
    parser = importlib.import_module(module).parser()
    known = {s for a in parser._actions for s in a.option_strings}
    for flag, values in BAD_OF.get(command, BAD).items():
        is_field = flag.startswith("--config.") or flag in ("", "--hostile")
        if not is_field and flag not in known:
            continue
        for value in values:
            changed = [value] if flag == "" else value
            yield {**COMMANDS[command], flag: changed}


@pytest.mark.parametrize("command", COMMANDS)
def test_one_line_and_nothing_written(
    command, place, capfd, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "tfds"))
    problems, before = [], everything(place[""])
    for flags in lines(command):
        words = [filled(word, place) for word in flags[""]]
        for flag, value in flags.items():
            if flag.startswith("--config."):
                words.append(f"{flag}={filled(value, place)}")
            elif flag:
                words += (
                    [flag] if value is None else [flag, filled(value, place)]
                )
        ended = Run(command.partition(" ")[0], words, capfd)
        if ended.problem:
            problems.append(f"{flags} -- {ended.problem}")
        written = [*map(str, pathlib.Path().rglob("*"))]  # folders, too
        # A lock may stay in a folder that was there before.
        if written or everything(place[""]) != before:
            problems.append(f"{flags} -- writes {written}")
            before = everything(place[""])
            for path in pathlib.Path().iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not problems, "\n" + "\n".join(problems)


def test_every_new_command_has_invalid_lines():
    assert all(len([*lines(command)]) >= 15 for command in COMMANDS)
    assert sum(len([*lines(command)]) for command in COMMANDS) > 150
