"""Files that a command writes are none that it reads."""

import os
import shutil

import numpy as np
import pytest

from tests.trainers.colours import write_plane
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.read_only import MESSAGE
from tests.trainers.read_only import make_read_only
from trainers import embed_data
from trainers import enroll
from trainers import identify
from trainers import nearest
from trainers import verify


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on `plane.npz`, with a gallery and a file of embeddings."""
    folder = tmp_path_factory.mktemp("made")
    write_plane(folder / "run", folder / "plane.npz")
    (folder / "a.csv").write_text("x,y,label\n0,0,0\n7,0,3\n")
    (folder / "p.csv").write_text("first,second\nline 2,line 3\n")
    run, data = ["--workdir", folder / "run"], folder / "plane.npz"
    words = [*run, "--gallery", folder / "g.npz", "--no-threshold"]
    assert call(enroll, *words, f"arrays:{data}") == 0
    assert call(embed_data, *run, "--output", folder / "e.npz", data) == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy, which a test may change, as the current folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "link.csv").symlink_to("a.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


GALLERY, RUN = ("--gallery", "g.npz"), ("--workdir", "run")
PAIRS = (*RUN, "--pairs", "p.csv", "--data", "a.csv", "--output")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (identify, (*GALLERY, "a.csv", "--output", "a.csv")),
        (identify, (*GALLERY, "csv:a.csv", "--output", "link.csv")),
        (nearest, (*GALLERY, "link.csv", "--output", "./a.csv")),
        (embed_data, (*RUN, "plane.npz", "--output", "plane.npz")),
        (embed_data, (*RUN, "arrays:plane.npz", "--output", "plane.npz")),
        (verify, (*PAIRS, "p.csv")),
        (verify, (*PAIRS, "a.csv")),
        (
            verify,
            (*RUN, "--calibration", "a.csv", "x.png", "y.png")
            + ("--output", "a.csv"),
        ),
    ],
)
def test_an_output_that_is_also_an_input(command, words, folder, capsys):
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    error = refused(capsys, command, *words)
    assert f"--output {os.path.normpath(words[-1])} is also an input" in error
    assert "name another file" in error
    assert all(path.read_bytes() == old for path, old in before.items())


def test_an_output_that_is_the_data_of_the_run(made, tmp_path, capsys):
    """Without inputs, the commands read this data."""
    data = tmp_path / "a.csv"
    data.write_text(
        "x,y,label\n" + "\n".join(f"{n},0,{n // 2}" for n in range(40))
    )
    write_plane(tmp_path / "run", tmp_path / "plane.npz")
    config = tmp_path / "run" / "config.json"
    text = config.read_text()
    name = f"arrays:{tmp_path / 'plane.npz'}"
    assert name in text
    config.write_text(text.replace(name, f"csv:{data}"))
    before = data.read_bytes()
    words = ["--gallery", made / "g.npz", "--workdir", tmp_path / "run"]
    for command in (identify, nearest):
        error = refused(capsys, command, *words, "--output", data)
        assert f"--output {data} is also an input" in error
    words = ["--workdir", tmp_path / "run", "--data", made / "a.csv"]
    words += ["line 2", "line 3", "--output", data]
    assert "is also an input" in refused(capsys, verify, *words)
    assert data.read_bytes() == before


def test_pictures_and_projectors_stay_outside_of_the_data(colours, capsys):
    photos = colours / "photos"
    words = ["--workdir", colours / "run", "--split", "test", "--output"]
    projector = ["--projector", photos / "view"]
    for inputs in ([], [photos]):
        given = [*words, colours / "e.npz", *projector, *inputs]
        error = refused(capsys, embed_data, *given)
        assert f"--projector {photos / 'view'} is in the data" in error
    assert not (photos / "view").exists()


@pytest.mark.parametrize("figure", ["0.png", "photo.png"])
def test_a_figure_that_is_also_an_input(figure, colours, tmp_path, capsys):
    """Also in a folder of inputs, and as the second picture of `identify`."""
    words = ["--workdir", colours / "run", "--gallery", tmp_path / "g.npz"]
    words += ["--split", "test", "--no-threshold", colours / "photos"]
    assert call(enroll, *words) == 0
    folder, words = tmp_path / "photos", ["--gallery", tmp_path / "g.npz"]
    folder.mkdir()
    for name in ("0.png", "photo.png", "photo_confusion.png"):
        shutil.copy(colours / "photos" / "c00" / "0.png", folder / name)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for command in (identify, nearest):
        for inputs, error in (
            ([folder / figure], "is also an input"),
            ([folder], "is in the data"),
        ):
            given = [*words, *inputs, "--figure", folder / figure]
            found = refused(capsys, command, *given)
            assert f"--figure {folder / figure} {error}" in found
    (folder / "photo.png").unlink()
    given = [*words, folder / "photo_confusion.png"]
    error = refused(capsys, identify, *given, "--figure", folder / "photo.png")
    assert "second picture" in error and "is also an input" in error
    before.pop(folder / "photo.png")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (embed_data, (*RUN, "a.csv", "--output", "ro/e.npz")),
        (
            embed_data,
            (*RUN, "a.csv", "--output", "e.npz", "--projector", "ro/view"),
        ),
        (identify, (*GALLERY, "a.csv", "--output", "ro/a.csv")),
        (nearest, (*GALLERY, "a.csv", "--output", "ro/a.json")),
        (nearest, (*GALLERY, "a.csv", "--figure", "ro/a.png")),
        (verify, (*PAIRS, "ro/a.csv")),
        (enroll, (*RUN, "plane.npz", "--gallery", "ro/g.npz")),
        (enroll, ("--remove", "3", "--gallery", "ro/old.npz")),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    command, words, folder, capsys, monkeypatch
):
    (folder / "ro").mkdir()
    shutil.copy("g.npz", "ro/old.npz")
    make_read_only(folder / "ro", monkeypatch)
    error = refused(capsys, command, *words)
    assert f"error: {words[-2]} {words[-1]} {MESSAGE}; name another" in error
    assert os.listdir("ro") == ["old.npz"]


def test_embed_replaces_only_its_own_files(folder, capsys):
    x = np.zeros((2, 2), "float32")
    np.savez("data.npz", x=x, labels=np.array(["a", "b"]))
    (folder / "text.npz").write_text("no arrays")
    (folder / "empty.npz").write_text("")
    np.savez_compressed("squeezed.npz", settings=np.array("{" * 1000))
    damaged = bytearray((folder / "squeezed.npz").read_bytes())
    start = damaged.index(b"settings.npy") + len(b"settings.npy")
    damaged[start : start + 30] = bytes(range(200, 230))
    (folder / "squeezed.npz").write_bytes(damaged)
    for name in ("g.npz", "data.npz", "text.npz", "squeezed.npz"):
        before = (folder / name).read_bytes()
        error = refused(capsys, embed_data, *RUN, "a.csv", "--output", name)
        assert f"--output {name} is a file of another kind" in error
        assert (folder / name).read_bytes() == before
    for name in ("e.npz", "empty.npz"):
        assert call(embed_data, *RUN, "a.csv", "--output", name) == 0
        with np.load(name) as file:
            np.testing.assert_array_equal(file["embedding"], [[0, 0], [7, 0]])
