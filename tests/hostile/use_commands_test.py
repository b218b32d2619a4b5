"""Invalid command lines of the commands that use a trained run.

As in `commands_test.py`: one line of error, and no new file.
"""

import importlib
import pathlib

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
# The words of a valid command; names in capitals are files.
COMMANDS = {
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
        "": folder,
    }


def filled(word, place):
    for name in ("PHOTOS", "IMAGE", "RUN", "GALLERY", "FILE", "FOLDER"):
        word = word.replace(name, str(place[name]))
    return word


def lines(module):
    """Yields a description and the flags of an invalid command line."""
    parser = importlib.import_module(module).parser()
    known = {s for a in parser._actions for s in a.option_strings}
    for flag, values in BAD.items():
        if flag and flag != "--hostile" and flag not in known:
            continue
        for value in values:
            changed = [value] if flag == "" else value
            yield {**COMMANDS[module], flag: changed}


@pytest.mark.parametrize("module", COMMANDS)
def test_one_line_and_nothing_written(
    module, place, capfd, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "tfds"))
    problems, before = [], content(place[""])
    for flags in lines(module):
        words = [filled(word, place) for word in flags[""]]
        for flag, value in flags.items():
            if flag:
                words += [flag, filled(value, place)]
        ended = Run(module, words, capfd)
        if ended.problem:
            problems.append(f"{flags} -- {ended.problem}")
        written = [p for p in pathlib.Path().rglob("*") if p.is_file()]
        if written or content(place[""]) != before:
            problems.append(f"{flags} -- writes {written}")
            before = content(place[""])
            for path in written:
                path.unlink()
    assert not problems, "\n" + "\n".join(problems)


def test_there_are_more_than_forty():
    assert sum(len([*lines(module)]) for module in COMMANDS) > 40
