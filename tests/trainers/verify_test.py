import csv
import json
import shutil

import numpy as np
import pytest

from embeddings_tf import datasets
from embeddings_tf import scoring
from embeddings_tf.datasets.read_function import _called
from embeddings_tf.scoring import Verifier
from tests.datasets.image_folders import write_image
from tests.datasets.speech_files import write_wav
from tests.trainers.colours import colour_of
from tests.trainers.colours import write_plane
from tests.trainers.commands import call
from tests.trainers.commands import refused
from tests.trainers.enroll_test import HELD_OUT
from tests.trainers.enroll_test import TEST
from trainers import verify
from trainers.config import load_recipe
from trainers.trained.galleries import held_out
from trainers.trained.trained import Trained
from trainers.trained.verifiers import _source
from trainers.trained.verifiers import measurable_rate
from trainers.training.checkpoint import load_best

# Colours hardly overlap, so that no line separates the pairs.
FIT = ("--fit", "isotonic", "--false-accept-rate", "0.05")


@pytest.fixture
def words(colours):
    return ["--workdir", colours / "run", *FIT]


def distance(first, second):
    colours = [colour_of(*image) * 0.2 for image in (first, second)]
    return np.square(colours[0] - colours[1]).sum()


def test_pairs_by_loop(words, colours, tmp_path, capsys):
    rows = (0, 0, 0, 1), (0, 1, 1, 0), (2, 3, 2, 5), (3, 0, 4, 1)
    pairs = [((TEST[a], m), (TEST[b], n)) for a, m, b, n in rows]
    lines = [
        ",".join([*(f"{name}/{n}.png" for name, n in pair), str(int(same))])
        for pair in pairs
        for same in [pair[0][0] == pair[1][0]]
    ]
    table = colours / "photos" / "pairs.csv"
    table.write_text("\n".join(["first,second,same", *lines]))
    words = [*words, "--pairs", table, "--output", tmp_path / "a.csv"]
    try:
        assert call(verify, *words) == 0
    finally:
        table.unlink()
    out = capsys.readouterr().out
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    images = [(name, n) for name in HELD_OUT for n in range(6)]
    others = sorted(
        -distance(a, b) for a in images for b in images if a[0] < b[0]
    )
    (threshold,) = {float(row["threshold"]) for row in rows}
    # The command computes in float32.
    assert np.mean(np.array(others) >= threshold + 1e-3) <= 0.05
    assert np.mean(np.array(others) >= threshold - 1e-3) >= 0.05
    for pair, row in zip(pairs, rows, strict=True):
        score = -distance(*pair)
        np.testing.assert_allclose(float(row["score"]), score, rtol=1e-4)
        accepted = score >= threshold
        assert row["answer"] == ("same" if accepted else "different")
        ratio = float(row["log_likelihood_ratio"])
        np.testing.assert_allclose(
            float(row["probability"]), 1 / (1 + np.exp(-ratio)), rtol=1e-6
        )
        assert row["same"] == str(pair[0][0] == pair[1][0])
    for is_same, text, wrong in (
        (True, "are missed", "different"),
        (False, "are accepted", "same"),
    ):
        answers = [r["answer"] for r in rows if r["same"] == str(is_same)]
        kind = "the same class" if is_same else "different classes"
        rate = 100 * answers.count(wrong) / len(answers)
        assert f"of {kind}, {rate:.1f} % {text}." in out
    assert "Of 2 pairs of the same class, " in out
    report = json.loads((colours / "run" / "verifier.json").read_text())
    assert report["report"]["num_classes"] == len(HELD_OUT)
    assert (colours / "run" / "verify.png").is_file()


def test_answers_in_python(words, colours, tmp_path):
    """The keyword arguments are the flags, with their defaults."""
    first, second, third = (
        str(colours / "photos" / TEST[0] / f"{n}.png") for n in range(3)
    )
    output = tmp_path / "a.csv"
    assert call(verify, *words, first, second, "--output", output) == 0
    with open(output) as file:
        (row,) = csv.DictReader(file)
    found = verify.verify(
        str(colours / "run"),
        [first, second],
        fit="isotonic",
        false_accept_rate=0.05,
    )
    assert list(found["answer"]) == [row["answer"]]
    np.testing.assert_allclose(found["score"], float(row["score"]), rtol=1e-6)
    with pytest.raises(ValueError, match="--prior must be between 0 and 1"):
        verify.verify(str(colours / "run"), [first, third], prior=1.0)


def test_a_second_start_does_not_calibrate_again(words, colours, capsys):
    photos = colours / "photos"
    files = [photos / TEST[0] / "0.png", photos / TEST[0] / "1.png"]
    assert call(verify, *words, *files) == 0
    first = capsys.readouterr().out.splitlines()
    assert call(verify, *words, *files) == 0
    again = capsys.readouterr().out.splitlines()
    assert "Calibrating." not in again
    assert first[-3:] == again[-3:]
    assert " same " in again[-3]
    assert "trainers.enroll --workdir" in again[-1]
    # Another rate has another threshold.
    assert call(verify, *words[:-1], "0.2", *files) == 0
    assert "Calibrating." in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_numbers_of_the_fitted_pairs_say_so(kind, colours, tmp_path, capsys):
    """Cllr is computed on all pairs to which the calibration was fitted."""
    photos, workdir = colours / "photos", tmp_path / "run"
    shutil.copytree(colours / "run", workdir)
    files = [photos / TEST[0] / "0.png", photos / TEST[0] / "1.png"]
    words = ["--workdir", workdir, *FIT[2:], "--fit", kind]
    assert call(verify, *words, *files) == 0
    out = capsys.readouterr().out
    with np.load(workdir / "verifier_pairs.npz") as kept:
        scores, is_same = kept["scores"], kept["is_same"]
    calibrated = json.loads((workdir / "verifier.json").read_text())
    assert len(scores) == len(HELD_OUT) * 6 * (len(HELD_OUT) * 6 - 1) // 2
    calibration = scoring.LogisticCalibration()
    if calibrated["report"]["calibration"] == "isotonic":
        calibration = scoring.IsotonicCalibration()
    ratios = calibration.fit(scores, is_same).transform(scores)
    cost = np.log2(1 + np.exp(np.where(is_same, -ratios, ratios)))
    cllr = (cost[is_same].mean() + cost[~is_same].mean()) / 2
    assert f"Cllr {cllr:.3f} bits. The same pairs fitted" in out
    assert "so these numbers are too good; " in out
    other = "evaluate tests other pairs"
    assert f"{other}, with --config.evaluation.name=verification." in out
    verify._print_report(calibrated["report"], "verification")
    assert capsys.readouterr().out.endswith(f"{other}.\n")


def test_every_start_draws_the_asked_pairs(words, colours, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "embeddings_tf.viz.score_histogram_figure",
        lambda groups, threshold, **kw: drawn.append((groups, threshold, kw)),
    )
    monkeypatch.setattr("embeddings_tf.viz.save_figure", lambda *_: "a.png")
    photos = colours / "photos"
    for second in ("0", "1", "1"):  # the last two are kept in the workdir
        files = [photos / TEST[0] / "0.png", photos / TEST[1] / f"{second}.png"]
        assert call(verify, *words, *files) == 0
    (first, _, _), (again, _, _), (kept, threshold, more) = drawn
    for groups in (again, kept):
        for name, scores in first.items():
            np.testing.assert_array_equal(groups[name], scores)
    ((name, score),) = more["marks"].items()
    expected = -distance((TEST[0], 0), (TEST[1], 1))
    np.testing.assert_allclose(score, expected, rtol=1e-4)
    answer = "same" if score >= threshold else "different"
    assert name == f"1. 0.png, 1.png ({answer})"


def test_other_held_out_examples_are_calibrated_again(
    colours, tmp_path, monkeypatch, capsys
):
    """One relative path: other contents, another folder, and neither."""
    photos, workdir = colours / "photos", tmp_path / "run"
    shutil.copytree(colours / "run", workdir)
    for folder, names in (("a", TEST[:4]), ("b", TEST[4:8])):
        for name in names:
            shutil.copytree(photos / name, tmp_path / folder / "others" / name)
    files = [photos / HELD_OUT[0] / "0.png", photos / HELD_OUT[1] / "0.png"]
    words = ["--workdir", workdir, *FIT, "--calibration", "others", *files]

    def is_calibrated(folder):
        monkeypatch.chdir(tmp_path / folder)
        capsys.readouterr()
        assert call(verify, *words) == 0
        out = capsys.readouterr().out
        report = json.loads((workdir / "verifier.json").read_text())["report"]
        folder = tmp_path / folder / "others"
        assert report["num_classes"] == len(list(folder.iterdir()))
        return "Calibrating." in out

    assert is_calibrated("a")
    assert not is_calibrated("a")
    assert is_calibrated("b")
    (tmp_path / "b" / "others" / TEST[4]).rename(tmp_path / TEST[4])
    assert is_calibrated("b")
    # The same name and label, with another colour and so another size.
    image = tmp_path / "b" / "others" / TEST[5] / "0.png"
    write_image(image, np.arange(5 * 6 * 3).reshape(5, 6, 3)[:4, :5])
    assert is_calibrated("b")
    assert not is_calibrated("b")


OWN = """
import numpy as np
from embeddings_tf import datasets

class Later:
    def __init__(self, x):
        self.x = x
    def __len__(self):
        return len(self.x)
    def __getitem__(self, rows):
        return np.array(self.x)[rows]
    def take(self, rows):
        return Later(np.array(self.x)[rows])

def images():
    return datasets.load("image_folder:FOLDER/others", "all", label="class")

def split(split):
    return datasets.load("image_folder:FOLDER/others", split, label="class")

def later():
    x, labels = images()
    return Later(x[np.arange(len(x))]), labels
"""


@pytest.mark.parametrize("name", ["images", "split", "later"])
def test_changed_examples_of_a_function_are_calibrated_again(
    name, colours, tmp_path, capsys, monkeypatch
):
    """Names and labels stay; the contents of one image change."""
    for label in TEST[:4]:
        photos = colours / "photos" / label
        shutil.copytree(photos, tmp_path / "others" / label)
    (tmp_path / "own.py").write_text(OWN.replace("FOLDER", str(tmp_path)))
    shutil.copytree(colours / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    for number in range(len(TEST[:4]) * 6):  # files with the names of rows
        (tmp_path / str(number)).write_text("")
    image = colours / "photos" / HELD_OUT[0] / "0.png"
    words = ["--workdir", tmp_path / "run", *FIT, image, image]

    def is_calibrated():
        _called.cache_clear()  # as in a new process
        capsys.readouterr()
        data = f"{tmp_path}/own.py:{name}"
        assert call(verify, *words, "--calibration", data) == 0
        return "Calibrating." in capsys.readouterr().out

    assert is_calibrated()
    assert not is_calibrated()
    changed = np.arange(4 * 5 * 3).reshape(4, 5, 3)
    write_image(tmp_path / "others" / TEST[2] / "3.png", changed)
    assert is_calibrated()
    assert not is_calibrated()


def test_changed_recordings_of_kaldi_are_calibrated_again(tmp_path):
    """Name and length stay. The test compares digests."""
    rng = np.random.default_rng(0)
    for split, speakers in (("train", "ab"), ("held_out", "cd")):
        folder = tmp_path / "kaldi" / split
        folder.mkdir(parents=True)
        write_wav(
            folder / "0.wav", rng.integers(-99, 99, 4000).astype("int16"), 8000
        )
        rows = [(f"{who}-{n}", who) for who in speakers for n in range(2)]
        for file, lines in (
            ("wav.scp", [f"{name} {folder}/0.wav" for name, _ in rows]),
            ("utt2spk", [f"{name} {who}" for name, who in rows]),
        ):
            (folder / file).write_text("\n".join(lines) + "\n")
    fields = ["dataset=kaldi", f"manual_dir={tmp_path}", "split=train"]
    fields += ["folds.num_folds=0", "validation.split=held_out"]
    fields += ["label.feature=", "label.pattern="]
    run = load_recipe("spoken_digit_triplet", fields)
    trained = Trained(tmp_path, run, None)

    def source():
        return _source(trained, None, held_out(trained, None, processed=False))

    before = source()
    assert source() == before
    wave = tmp_path / "kaldi" / "held_out" / "0.wav"
    write_wav(wave, rng.integers(-99, 99, 4000).astype("int16"), 8000)
    assert source() != before


def test_a_good_model_is_calibrated_by_default(colours, tmp_path, capsys):
    """Distant colours: a threshold separates the pairs."""
    photos, chosen = colours / "photos", []
    for name in TEST:
        others = [colour_of(other, 0) for other in chosen]
        if all(np.linalg.norm(colour_of(name, 0) - o) > 80 for o in others):
            chosen.append(name)
            shutil.copytree(photos / name, tmp_path / "others" / name)
    assert len(chosen) > 2
    shutil.copytree(colours / "run", tmp_path / "run")
    words = ["--workdir", tmp_path / "run", "--false-accept-rate", 0.05]
    words += ["--calibration", tmp_path / "others"]
    words += [photos / TEST[0] / "0.png", photos / TEST[0] / "1.png"]
    for _ in range(2):  # fitted, and from the file
        assert call(verify, *words) == 0
        assert "the calibration is isotonic" in capsys.readouterr().out
    assert call(verify, *words, "--fit", "isotonic") == 0
    assert "the calibration is isotonic" not in capsys.readouterr().out


def test_few_pairs_raise_the_default_rate(colours, tmp_path, capsys):
    """Two classes of six: 36 pairs. The rate stays when it is stored."""
    photos, workdir = colours / "photos", tmp_path / "run"
    shutil.copytree(colours / "run", workdir)
    for name in TEST[:2]:
        shutil.copytree(photos / name, tmp_path / "others" / name)
    words = ["--workdir", workdir, *FIT[:2]]
    words += ["--calibration", tmp_path / "others"]
    words += [photos / TEST[2] / "0.png", photos / TEST[2] / "1.png"]
    line = "36 pairs of different held-out classes can measure a false-accept "
    for _ in range(2):  # fitted, and from the file
        assert call(verify, *words) == 0
        out = capsys.readouterr().out
        assert line + "rate of 0.0278 or more; 0.01 needs 100." in out
        assert "(stated: 2.78 %;" in out
    assert "Calibrating." not in out
    error = refused(capsys, verify, *words, "--false-accept-rate", 0.02)
    assert "cannot measure --false-accept-rate 0.02; the smallest is" in error
    assert "Take --false-accept-rate 0.0278, or --calibration with" in error


def test_many_pairs_keep_the_rate():
    """Two classes of 10: 100 pairs; of 400: more than the 50,000 drawn."""
    labels = np.repeat(["a", "b"], 10)
    assert measurable_rate(labels, None) == 0.01
    assert measurable_rate(labels, 0.01) == 0.01
    for refused_by_fit in (["a", "a"], ["a", "b"]):
        assert measurable_rate(refused_by_fit, None) == 0.01
    with pytest.raises(ValueError, match="smallest is 2e-05.*rate 2e-05$"):
        measurable_rate(np.repeat(["a", "b"], 400), 1e-5)


def test_rows_of_data_by_name(tmp_path, capsys):
    """Points 0, 1, 2, ... on a line; each class has two."""
    data = tmp_path / "plane.npz"
    write_plane(tmp_path / "run", data)
    words = ["--workdir", tmp_path / "run", *FIT[:3], "0.3"]
    words += ["--data", f"arrays:{data}"]
    output = ["--output", tmp_path / "a.csv"]
    assert call(verify, "4", "7", *words, *output) == 0
    pairs = tmp_path / "pairs.csv"
    # As Excel saves UTF-8, with a mark at the start.
    table = "first,second,same\n4,7,0\n3,2,TRUE\n9,4,FALSE\n"
    pairs.write_text(table, encoding="utf-8-sig")
    assert call(verify, "--pairs", pairs, *words, *output) == 0
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    scores = [float(row["score"]) for row in rows]
    np.testing.assert_allclose(scores, [-(3**2), -1, -(5**2)], rtol=1e-5)
    assert [row["first"] for row in rows] == ["4", "3", "9"]
    error = refused(capsys, verify, "4", "40", *words)
    assert "has no row '40'; its rows are '0', '1'" in error
    error = refused(capsys, verify, "4", "7", *words[:-2])
    assert "there is no file 4; for rows of a table" in error


def test_printed_scores_tell_the_answer(capsys):
    """Four digits are equal; the columns are as wide as their names."""
    verify._print_lines(
        {
            "first": ["a", "a/long/name.png"],
            "second": ["b.png", "c"],
            "answer": np.array(["different", "same"]),
            "probability": np.array([0.25, 0.75]),
            "log_likelihood_ratio": np.array([-1.0, 1.0]),
            "score": np.array([-30.19109, -30.18977]),
            "threshold": np.full(2, -30.18977),
        }
    )
    head, *lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines]
    assert [row[5:] for row in rows] == [
        ["-30.1911", "-30.1898"],
        ["-30.1898", "-30.1898"],
    ]
    for line, name in zip(lines, ("b.png", "c"), strict=True):
        assert line.index(f" {name} ") == head.index(" second ")


@pytest.mark.slow
def test_rows_of_a_split(run, tmp_path, capsys):
    """Data without a split of all examples."""
    x, labels = datasets.load("n_digit/digits_2_number", "test_unseen")
    others = tmp_path / "others.npz"
    names = np.char.add("unseen ", labels.astype(str))
    np.savez(others, x=x, labels=names)
    words = ["--workdir", run, "--data", "n_digit/digits_2_number"]
    rows = ["test_unseen/0", "test_unseen/7"]
    output = tmp_path / "a.csv"
    more = [*rows, "--split", "test_unseen", "--output", output]
    more += ["--calibration", f"arrays:{others}", *FIT[:3], 0.3]
    assert call(verify, *words, *more) == 0
    with open(output) as file:
        (found,) = csv.DictReader(file)
    assert [found["first"], found["second"]] == rows
    model = load_best(run)
    (score,) = Verifier(model).score_samples(x[[0]], x[[7]])
    np.testing.assert_allclose(float(found["score"]), score, rtol=1e-4)
    error = refused(capsys, verify, *words, *rows)
    assert "Unknown split 'all'" in error
    assert error.endswith("test_unseen. Name one of them with --split.\n")
    error = refused(capsys, verify, *words[:2], *rows, "--split", "train")
    assert "--split train is for data with splits" in error


def test_data_without_all_examples_cannot_calibrate(words, colours, capsys):
    image = colours / "photos" / TEST[0] / "0.png"
    more = ["--calibration", "n_digit/digits_2_number", image, image]
    error = refused(capsys, verify, *words, *more)
    assert "Unknown split 'all'" in error
    assert "name a folder or a file of your own" in error


def test_refusals(words, colours, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(colours / "photos")
    image = colours / "photos" / "c00" / "0.png"
    table, photos = tmp_path / "pairs.csv", colours / "photos"
    for text, message in (
        ("", "its rows: 0, its columns: none"),
        ("first,third\na,b", "columns first and second"),
        ("first,second\n,b", "line 2: first is empty"),
        ("first,second,same\na,b,maybe", "line 2: same must be 0, 1, tr"),
        ('first,second,same\n"a\nb",b,1\n\na,b,maybe', "line 5: same must"),
        ('first,second\n"a\nb",b\n\n\n,b', "line 6: first is empty"),
        # A row is named by its first line.
        ('first,second,same\n"a\nb",b,maybe', "line 2: same must"),
        ("first,second\na.png,b.png", "there is no file"),
        ("first,second,first\na,b,c", "has the column 'first' twice"),
        ("first,second\n\na,b,c", "line 3, has more cells than the 2 col"),
        ('first,second\n"a\nb",b,c', "line 2, has more cells than the 2"),
    ):
        table.write_text(text)
        assert message in refused(capsys, verify, *words, "--pairs", table)
    for more, message in (
        ([], "name two files"),
        ([image], "received 1"),
        ([image, tmp_path / "b.png"], "there is no file"),
        ([image, image, "--prior", 1], "--prior must be between 0 and 1"),
        ([image, image, "--false-accept-rate", 0], "between 0 and 1"),
        ([image, image, "--false-accept-rate", 1e-6], "cannot measure"),
        ([image, image, "--calibration", image.parent], "has no classes"),
        ([image, image, "--calibration", photos], "of the training"),
        ([image, image, "--calibration", ""], "an input is empty"),
        (["c00/0.png", "c00/1.png", "--data", ""], "an input is empty"),
        ([image, image, "--output", "a.txt"], "must end in"),
    ):
        assert message in refused(capsys, verify, *words, *more)
    assert "contains no run" in refused(
        capsys, verify, "--workdir", tmp_path, image, image
    )
    assert [p.name for p in tmp_path.iterdir()] == ["pairs.csv"]


def test_a_workdir_that_cannot_be_written(words, colours, monkeypatch, capsys):
    """The answers are printed; what is kept for later is not."""
    kept = colours / "run" / "verifier.json"
    kept.unlink(missing_ok=True)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("embeddings_tf.scoring.array_file.write", full)
    monkeypatch.setattr("embeddings_tf.viz.save_figure", full)
    files = [colours / "photos" / TEST[0] / f"{n}.png" for n in range(2)]
    assert call(verify, *files, *words) == 0
    out = capsys.readouterr().out
    assert "log ratio" in out
    assert "is not kept in the workdir: No space left on device" in out
    assert "No picture: " in out and not kept.exists()


def test_a_prior_moves_the_probability_and_nothing_else(
    words, colours, tmp_path, capsys
):
    files = [colours / "photos" / TEST[0] / f"{n}.png" for n in range(2)]
    rows = {}
    for prior in (0.5, 0.1):
        table = tmp_path / f"{prior}.csv"
        given = [*files, "--prior", prior, "--output", table]
        assert call(verify, *words, *given) == 0
        out = capsys.readouterr().out
        with open(table) as file:
            (rows[prior],) = csv.DictReader(file)
    # The calibration of the first prior is taken again.
    assert "Calibrating." not in out
    even, rare = rows[0.5], rows[0.1]
    for column in ("score", "log_likelihood_ratio"):
        assert float(rare[column]) == pytest.approx(float(even[column]))
    logit = float(rare["log_likelihood_ratio"]) + np.log(0.1 / 0.9)
    assert float(rare["probability"]) == pytest.approx(1 / (1 + np.exp(-logit)))
