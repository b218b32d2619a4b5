import csv
import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.scoring.nearest_neighbors_test import faiss_stand_in
from tests.trainers.colours import colour_of
from tests.trainers.colours import write_plane
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import TEST
from trainers import embed_data
from trainers import enroll
from trainers import export
from trainers import identify
from trainers import nearest
from trainers import verify


@pytest.fixture(scope="module")
def gallery(colours):
    path = colours / "nearest.npz"
    words = ["--workdir", colours / "run", colours / "photos"]
    assert call(embed_data, *words, "--output", path, "--split", "test") == 0
    return path


def make(command, path, *words):
    """Writes a file of embeddings, or a gallery without a threshold."""
    flags = ["--output", path]
    if command is enroll:
        flags = ["--gallery", path, "--no-threshold"]
    assert call(command, *words, *flags) == 0


def read(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_neighbours_by_loop(gallery, colours, tmp_path, capsys):
    words = ["--gallery", gallery, colours / "photos", "--split", "test"]
    words += ["--k", 3, "--output", tmp_path / "a.csv"]
    assert call(nearest, *words, "--figure", tmp_path / "a.png") == 0
    out = capsys.readouterr().out
    rows = read(tmp_path / "a.csv")
    images = [(name, n) for name in sorted(TEST) for n in range(6)]
    every = np.array([colour_of(*image) * 0.2 for image in images])
    assert len(rows) == 3 * len(images)
    right = []
    for number, (name, _) in enumerate(images):
        distances = np.linalg.norm(every - every[number], axis=1)
        distances[number] = np.inf  # never the input itself
        found = rows[3 * number : 3 * number + 3]
        np.testing.assert_allclose(
            [float(row["distance"]) for row in found],
            np.sort(distances)[:3],
            rtol=1e-4,
        )
        best = float(found[0]["distance"])
        near = np.flatnonzero(np.isclose(distances, best, rtol=1e-4))
        assert found[0]["class"] in {images[n][0] for n in near}
        assert found[0]["right"] == str(found[0]["class"] == name)
        assert [row["rank"] for row in found] == ["1", "2", "3"]
        right.append(found[0]["class"] == name)
    assert f"{100 * np.mean(right):.1f} %." in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_approximate_search_asks_faiss(
    gallery, colours, tmp_path, monkeypatch
):
    words = ["--gallery", gallery, colours / "photos", "--split", "test"]
    assert call(nearest, *words, "--output", tmp_path / "exact.csv") == 0
    recorded: list[tuple] = []
    monkeypatch.setitem(sys.modules, "faiss", faiss_stand_in(recorded))
    words += ["--approximate", "--output", tmp_path / "approximate.csv"]
    assert call(nearest, *words) == 0
    assert [links for _, links in recorded] == [32], "one graph"
    exact, found = (
        [float(row["distance"]) for row in read(tmp_path / f"{name}.csv")]
        for name in ("exact", "approximate")
    )
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-6)


def test_neighbours_in_python(gallery, colours, tmp_path):
    """The keyword arguments are the flags, with their defaults."""
    photo = colours / "photos" / TEST[0] / "0.png"
    found = nearest.nearest(
        str(gallery), [str(photo)], k=2, output=str(tmp_path / "a.csv")
    )
    rows = read(tmp_path / "a.csv")
    for name in ("path", "class"):
        assert list(found[name]) == [row[name] for row in rows]
    (five,) = {*map(len, nearest.nearest(str(gallery), [str(photo)]).values())}
    assert five == 5


def test_a_gallery_of_enrolled_classes(colours, tmp_path, capsys):
    path = tmp_path / "g.npz"
    words = ["--workdir", colours / "run", "--gallery", path]
    words += [colours / "photos", "--split", "test", "--no-threshold"]
    assert call(enroll, *words, "--examples-per-class", 3) == 0
    query = colours / "photos" / TEST[0] / "4.png"
    words = ["--gallery", path, query, "--output", tmp_path / "a.csv"]
    assert call(nearest, *words, "--k", 1) == 0
    (row,) = read(tmp_path / "a.csv")
    assert row["class"] == TEST[0]
    assert "right" not in row
    assert (colours / "run" / "nearest.png").is_file()


def test_rows_of_other_data_are_not_the_query(tmp_path, capsys):
    """Rows have the names 0, 1, ... in every file of arrays."""
    write_plane(tmp_path / "run", tmp_path / "a.npz")
    np.savez(
        tmp_path / "b.npz",
        x=np.array([[0.2, 0], [3.4, 0]], "float32"),
        labels=np.array([0, 1]),
    )
    words = ["--workdir", tmp_path / "run", tmp_path / "a.npz"]
    assert call(embed_data, *words, "--output", tmp_path / "g.npz") == 0
    words = ["--gallery", tmp_path / "g.npz", tmp_path / "b.npz", "--k", 2]
    assert call(nearest, *words, "--output", tmp_path / "a.csv") == 0
    rows = read(tmp_path / "a.csv")
    assert [row["neighbour"] for row in rows] == ["0", "1", "3", "4"]
    np.testing.assert_allclose(
        [float(row["distance"]) for row in rows], [0.2, 0.8, 0.4, 0.6], 1e-5
    )


@pytest.mark.parametrize("command", [embed_data, enroll])
def test_a_row_never_finds_itself(command, tmp_path, capsys, monkeypatch):
    """Points 0, 1, 2, ... on a line: the nearest other is 1 away."""
    count = write_plane(tmp_path / "run", tmp_path / "a.npz")
    monkeypatch.chdir(tmp_path)
    make(command, "g.npz", "--workdir", "run", "a.npz")
    for data in (["arrays:a.npz"], [tmp_path / "a.npz"], ["--split", "all"]):
        words = ["--gallery", "g.npz", *data, "--k", 1]
        assert call(nearest, *words, "--output", "a.csv") == 0
        rows = read("a.csv")
        assert len(rows) == count
        assert {float(row["distance"]) for row in rows} == {1.0}
    error = refused(capsys, nearest, "--gallery", "g.npz", "a.npz", "--k", 40)
    assert "40 examples, 1 of them an input itself" in error


@pytest.mark.parametrize("command", [embed_data, enroll])
def test_rows_that_were_sorted_since_are_refused(
    command, tmp_path, capsys, monkeypatch
):
    """Row n, point n of 0 to 39, becomes point 39 - n: at least 1 away.

    A row that is only added is another input, and is 1 from point 39.
    """
    write_plane(tmp_path / "run", tmp_path / "a.npz")
    monkeypatch.chdir(tmp_path)
    make(command, "g.npz", "--workdir", "run", "a.npz")
    with np.load("a.npz") as file:
        x, labels = file["x"], file["labels"]
    asked = ["a.npz", "--gallery", "g.npz", "--output", "a.csv"]
    np.savez("a.npz", x=[*x, [40, 0]], labels=[*labels, 20])
    assert call(nearest, *asked, "--k", 1) == 0
    assert {float(row["distance"]) for row in read("a.csv")} == {1.0}
    pathlib.Path("a.csv").unlink()
    np.savez("a.npz", x=x[::-1], labels=labels[::-1])
    for other in [nearest] + [identify] * (command is enroll):
        error = refused(capsys, other, *asked)
        assert "row 0 of a.npz is not the example of this name" in error
        assert "the data has changed since (40 of 40 rows)" in error
        assert not pathlib.Path("a.csv").exists()


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("swapped", [[0, 1], [38, 39], [3, 30]])
def test_two_rows_that_were_swapped_are_refused(
    offset, swapped, tmp_path, capsys, monkeypatch
):
    """Far from the origin, the step between them is a small share of it."""
    write_plane(tmp_path / "run", tmp_path / "a.npz")
    monkeypatch.chdir(tmp_path)
    with np.load("a.npz") as file:
        x, labels = file["x"] + np.array([offset, 0], "float32"), file["labels"]
    np.savez("a.npz", x=x, labels=labels)
    words = ["--workdir", "run", "a.npz", "--output", "g.npz"]
    assert call(embed_data, *words) == 0
    asked = ["a.npz", "--gallery", "g.npz", "--output", "a.csv"]
    assert call(nearest, *asked) == 0
    x[swapped] = x[swapped[::-1]]
    np.savez("a.npz", x=x, labels=labels)
    error = refused(capsys, nearest, *asked)
    assert f"row {swapped[0]} of a.npz is not the example of this" in error
    assert "the data has changed since (2 of 40 rows)" in error


@pytest.mark.parametrize("command", [embed_data, enroll])
@pytest.mark.parametrize("place", [".", "files", "a/deep/one", "runs/a/files"])
def test_a_file_of_embeddings_is_moved_away_from_its_run(
    command, place, tmp_path, capsys, monkeypatch
):
    """With --workdir, points on a line still do not find themselves."""
    folder = tmp_path / "here" / place
    folder.mkdir(parents=True)
    count = write_plane(tmp_path / "here/runs/a", tmp_path / "here/a.npz")
    monkeypatch.chdir(tmp_path / "here")
    make(command, f"{place}/g.npz", "--workdir", "runs/a", "a.npz")
    (tmp_path / "moved" / "deep").mkdir(parents=True)
    folder.joinpath("g.npz").rename(tmp_path / "moved" / "deep" / "g.npz")
    monkeypatch.chdir(tmp_path / "moved" / "deep")
    words = ["../../here/a.npz", "--workdir", "../../here/runs/a"]
    words += ["--gallery", "g.npz"]
    assert call(nearest, *words, "--k", 1, "--output", "a.csv") == 0
    assert {float(row["distance"]) for row in read("a.csv")} == {1.0}
    assert "warning" not in capsys.readouterr().err
    if command is enroll:
        assert call(identify, *words) == 0
        out = capsys.readouterr().out
        assert f"{count} inputs are examples of the gallery themselves" in out
        assert call(enroll, *words, "--no-threshold") == 0
        assert f"Replaced {count} examples" in capsys.readouterr().out


@pytest.mark.parametrize("command", [embed_data, enroll])
@pytest.mark.parametrize("place", [".", "files"])
def test_a_file_with_the_name_of_a_row(command, place, tmp_path, monkeypatch):
    """In the current folder, or beside the file of embeddings."""
    count = write_plane(tmp_path / "run", tmp_path / "a.npz")
    monkeypatch.chdir(tmp_path)
    pathlib.Path("files").mkdir()
    for number in range(count):
        pathlib.Path(place, str(number)).write_text("")
    make(command, "files/g.npz", "--workdir", "run", "a.npz")
    shutil.copy("a.npz", "b.npz")
    for data, distance in (("a.npz", 1.0), ("b.npz", 0.0)):
        words = ["--gallery", "files/g.npz", data, "--k", 1]
        assert call(nearest, *words, "--output", "a.csv") == 0
        rows = read("a.csv")
        assert len(rows) == count
        assert {float(row["distance"]) for row in rows} == {distance}
        names = [row["neighbour"].rpartition(" ")[2] for row in rows]
        assert set(names) <= {str(number) for number in range(count)}


@pytest.mark.parametrize("name", ["data", "files"])
def test_a_file_without_a_setting_is_refused(name, colours, tmp_path, capsys):
    """Otherwise the names of its examples could be misread."""
    photos = colours / "photos" / TEST[0]
    words = ["--workdir", colours / "run", photos]
    assert call(embed_data, *words, "--output", tmp_path / "g.npz") == 0
    with np.load(tmp_path / "g.npz") as file:
        arrays = dict(file)
    settings = json.loads(str(arrays["settings"]))
    del settings[name]
    arrays["settings"] = np.array(json.dumps(settings))
    np.savez(tmp_path / "g.npz", **arrays)
    words = [photos / "0.png", "--gallery", tmp_path / "g.npz"]
    capsys.readouterr()
    assert call(nearest, *words) == 1
    assert f"it lacks {name}. Make it again" in capsys.readouterr().err


@pytest.mark.parametrize("command", [embed_data, enroll])
@pytest.mark.parametrize("kind", ["", "arrays:"])
def test_a_row_never_finds_itself_in_a_copy(
    command, kind, tmp_path, monkeypatch
):
    """Run, data and file of embeddings are copied together, or linked."""
    (tmp_path / "a dir").mkdir()
    monkeypatch.chdir(tmp_path / "a dir")
    count = write_plane(pathlib.Path("run"), pathlib.Path("a.npz"))
    (tmp_path / "a dir" / "files").mkdir()
    make(command, "files/g.npz", "--workdir", "run", f"{kind}a.npz")
    shutil.copytree(tmp_path / "a dir", tmp_path / "copy")
    (tmp_path / "link").symlink_to(tmp_path / "copy")
    for folder, data in (
        ("a dir", "a.npz"),
        ("copy", "a.npz"),
        ("copy", "arrays:../link/a.npz"),
        ("", f"arrays:{tmp_path}/link/a.npz"),
    ):
        monkeypatch.chdir(tmp_path / folder)
        files = tmp_path / (folder or "copy") / "files"
        words = ["--gallery", files / "g.npz", data, "--k", 1]
        assert call(nearest, *words, "--output", tmp_path / "a.csv") == 0
        rows = read(tmp_path / "a.csv")
        assert len(rows) == count
        assert {float(row["distance"]) for row in rows} == {1.0}


@pytest.mark.parametrize("command", [embed_data, enroll])
def test_a_file_is_the_query_in_another_folder(
    command, colours, tmp_path, monkeypatch
):
    """Also if the gallery is reached by a link to its folder."""
    photos, folder = tmp_path / "data" / TEST[0], tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    shutil.copytree(colours / "photos" / TEST[0], photos)
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    words = ["--workdir", colours / "run", f"data/{TEST[0]}"]
    if command is embed_data:
        words += ["--output", "link/g.npz"]
    else:
        words += ["--gallery", "link/g.npz", "--class", "a", "--no-threshold"]
    assert call(command, *words) == 0
    monkeypatch.chdir(photos)
    words = ["0.png", "--gallery", "../../link/g.npz", "--k", 5]
    assert call(nearest, *words, "--output", "../a.csv") == 0
    found = {row["neighbour"] for row in read("../a.csv")}
    assert found == {f"{n}.png" for n in range(1, 6)}


def test_every_copy_of_the_input_is_left_out(colours, tmp_path, capsys):
    """A class that is linked a second time has all its images twice."""
    photos, photo = tmp_path / "data", tmp_path / "data" / TEST[0]
    shutil.copytree(colours / "photos" / TEST[0], photo)
    (photos / "link").symlink_to(photo)
    words = ["--workdir", colours / "run", *sorted(photos.glob("*/*.png"))]
    assert call(embed_data, *words, "--output", tmp_path / "g.npz") == 0
    words = ["--gallery", tmp_path / "g.npz", photo / "0.png", "--k"]
    assert call(nearest, *words, 10, "--output", tmp_path / "a.csv") == 0
    found = [
        pathlib.Path(r["neighbour"]).name for r in read(tmp_path / "a.csv")
    ]
    assert sorted(found) == sorted([f"{n}.png" for n in range(1, 6)] * 2)
    error = refused(capsys, nearest, *words, 11)
    assert "12 examples, 2 of them an input itself" in error


@pytest.mark.slow
def test_gaussians_are_compared_by_their_means(trained, tmp_path):
    path = tmp_path / "a.npz"
    assert call(embed_data, "--workdir", trained, "--output", path) == 0
    words = ["--gallery", path, "--k", 2, "--output", tmp_path / "a.csv"]
    assert call(nearest, *words, "--split", "test_unseen") == 0
    with np.load(path) as file:
        means = file["embedding"]
    other = tmp_path / "b.npz"
    words = ["--workdir", trained, "--output", other, "--split", "test_unseen"]
    assert call(embed_data, *words) == 0
    with np.load(other) as file:
        queries = file["embedding"].astype(np.float64)
    rows = read(tmp_path / "a.csv")
    for number in (0, 17, len(queries) - 1):
        distances = np.linalg.norm(means - queries[number], axis=1)
        np.testing.assert_allclose(
            [float(row["distance"]) for row in rows[2 * number :][:2]],
            np.sort(distances)[:2],
            rtol=1e-4,
            atol=1e-6,
        )


@pytest.mark.parametrize("command", [nearest, identify])
@pytest.mark.parametrize("with_run", [True, False])
def test_a_parquet_file_is_no_gallery(
    command, with_run, colours, tmp_path, capsys
):
    path = tmp_path / "v.parquet"
    path.write_bytes(b"PAR1")
    words = ["--gallery", path, colours / "photos" / "c00" / "0.png"]
    words += ["--workdir", colours / "run"] * with_run
    flag = "--output" if command is nearest else "--gallery"
    assert f"is a table for other programs; write {flag} FILE.npz with" in (
        refused(capsys, command, *words)
    )


def test_refusals(gallery, colours, tmp_path, capsys):
    image = colours / "photos" / "c00" / "0.png"
    for words, message in (
        (["--gallery", tmp_path / "none.npz", image], "make it with"),
        (["--gallery", image, image], "another kind of file"),
        (["--gallery", gallery, image, "--k", 0], "at least 1"),
        (["--gallery", gallery, image, "--k", 49], "has 48 examples"),
        (["--gallery", gallery, image, "--output", "a"], "must end in"),
        (["--gallery", gallery, tmp_path / "none.png"], "there is no file"),
    ):
        assert message in refused(capsys, nearest, *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_export_finds_the_same_images(colours, tmp_path):
    """With the flags of docs/serving.md, `Search for similar images`."""
    photos, run, file = colours / "photos", colours / "run", tmp_path / "g.npz"
    words = ["--workdir", run, "--gallery", file, "--no-threshold"]
    assert call(enroll, photos, *words, "--split", "test") == 0
    words = ["--workdir", run, "--gallery", file, "--num-neighbors", 3]
    words += ["--no-unchecked", "--max-rows", 2, "--max-values", 0]
    assert call(export, *words, "--directory", tmp_path / "served") == 0
    served = tf.saved_model.load(tmp_path / "served" / "1").signatures
    assert "nearest" in served and "identify_unchecked" not in served
    names = [TEST[0], TEST[3]]
    images = [np.broadcast_to(colour_of(n, 2), (4, 5, 3)) for n in names]
    images = np.stack(images).astype("float32")
    found = served["nearest"](image=tf.constant(images))
    every = [(name, n) for name in sorted(TEST) for n in range(6)]
    points = np.array([colour_of(*image) * 0.2 for image in every])
    for row, name in enumerate(names):
        distances = np.linalg.norm(points - colour_of(name, 2) * 0.2, axis=1)
        np.testing.assert_allclose(
            found["distance"][row], np.sort(distances)[:3], rtol=1e-3, atol=1e-3
        )
        label, path = found["label"][row, 0], found["name"][row, 0]
        assert label.numpy().decode() == name
        assert path.numpy().decode().endswith(f"{name}/2.png")
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 2 rows"):
        served["nearest"](image=tf.constant(images[[0, 1, 0]]))


def test_names_that_begin_like_the_home_of_a_user(
    gallery, colours, tmp_path, monkeypatch
):
    """Users of these names do not exist, so they are names of files."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(gallery, "~gallery.npz")
    shutil.copytree(colours / "photos" / TEST[0], "~photos/a")
    shutil.copy("~photos/a/0.png", "~0.png")
    run = ["--workdir", colours / "run"]
    words = ["--gallery", "~gallery.npz", *run, "--output", "~a.csv"]
    assert call(nearest, *words, "~photos") == 0
    assert call(nearest, *words, "~0.png") == 0
    assert [row["class"] for row in read("~a.csv")][0] == TEST[0]
    words = ["~photos", *run, "--gallery", "~enrolled.npz"]
    assert call(enroll, *words) == 0
    words = ["--gallery", "~enrolled.npz", *run, "--output", "~b.csv"]
    assert call(identify, *words, "~0.png") == 0
    (tmp_path / "~pairs.csv").write_text("first,second\n~0.png,~photos/a/1.png")
    words = ["--pairs", "~pairs.csv", *run, "--output", "~c.csv"]
    assert call(verify, *words) == 0
    assert len(read("~c.csv")) == 1
