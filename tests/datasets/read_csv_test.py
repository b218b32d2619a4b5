import builtins
import os

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.read_csv import read_csv
from tests import peak_memory
from tests.datasets.image_folders import write_image
from tests.datasets.speech_files import write_wav

FEATURES = "label,width,height\nbee,1,2.5\nant,3,-4e0\nbee,5,6\n"


@pytest.fixture
def table(tmp_path):
    return tmp_path / "table.csv"


def read(table, text=None, split="all", **arguments):
    if text is not None:
        table.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(f"csv:{table}", split, **arguments)


def fails(table, text, message, split="all", error=ValueError, **arguments):
    with pytest.raises(error, match=message) as raised:
        read(table, text, split, **arguments)
    assert "\n" not in str(raised.value)


def test_features(table):
    x, labels = read(table, FEATURES)
    assert x.dtype == np.float32 and labels.dtype == np.int32
    assert x.tolist() == [[1, 2.5], [3, -4], [5, 6]]
    assert labels.tolist() == [1, 0, 1]
    assert read(table, label="class")[1].tolist() == ["bee", "ant", "bee"]
    names = read(table, label="name")[1].tolist()
    assert names == ["line 2", "line 3", "line 4"]


def test_names_of_classes_stay_as_they_are_written(table):
    text = "label,x\n007,1\nNA,2\n1e3,3\n007,4\n"
    assert read(table, text, label="class")[1].tolist() == [
        *("007", "NA"),
        *("1e3", "007"),
    ]


def test_names_that_look_equal_are_one_class(table):
    composed, combined = "caf\u00e9", "cafe\u0301"
    text = f"label,x\n{composed},1\n{combined},2\na,3\n"
    assert read(table, text)[1].tolist() == [1, 1, 0]
    names = read(table, text, label="class")[1].tolist()
    assert names == [composed, composed, "a"]


def test_split_column(table):
    text = "x,label,split\n1,a,train\n2,b,dev\n3,a,train\n"
    x, labels = read(table, text, "train")
    assert x.tolist() == [[1], [3]] and labels.tolist() == [0, 0]
    assert read(table, split="dev", label="class")[1].tolist() == ["b"]
    fails(table, None, "Unknown split 'test' .* train, dev, all", "test")
    text = "x,label,split\n1,a,train\n2,b,\n"
    fails(table, text, "table.csv, line 3: the column split is empty")


def test_divided_by_class(table):
    rows = "".join(f"class {n % 10},{n}\n" for n in range(30))
    parts = [
        set(read(table, f"label,x\n{rows}", split, label="class")[1])
        for split in ("train", "validation", "test")
    ]
    assert [len(part) for part in parts] == [6, 2, 2]
    assert len(set.union(*parts)) == 10


def test_several_factors(table):
    text = "label_colour,x,label_shape\nred,1,box\nblue,2,box\nred,3,arc\n"
    x, labels = read(table, text)
    assert x.tolist() == [[1], [2], [3]]
    assert labels.tolist() == [[1, 1], [0, 1], [1, 0]]
    names = read(table, label="class")[1].tolist()
    assert names == ["red,box", "blue,box", "red,arc"]
    shapes = read(table, label="label_shape")[1].tolist()
    assert shapes == ["box", "box", "arc"]


def test_images(table):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 4, 5, 3))
    for number, image in enumerate(images):
        write_image(table.parent / "inner" / f"{number}.png", image)
    text = "path,label,place\ninner/1.png,b,x\ninner/0.png,a,y\n"
    x, labels = read(table, text)
    np.testing.assert_array_equal(x[:], images[[1, 0]])
    assert labels.tolist() == [1, 0]
    assert read(table, label="place")[1].tolist() == ["x", "y"]
    assert read(table, label="name")[1].tolist() == x.names
    (table.parent / "inner" / "1.png").unlink()
    x, _ = read(table)
    with pytest.raises(OSError, match="inner/1.png cannot be read"):
        x[0]


def test_a_device_is_no_file(table):
    """A pipe would hang."""
    for name in ("1.png", "1.wav", "1.flac"):
        (table.parent / name).symlink_to("/dev/null")
    x, _ = read(table, "path,label\n1.png,a\n")
    with pytest.raises(OSError, match="1.png cannot be read .a pipe or a dev"):
        x[0]
    for name in ("1.wav", "1.flac"):
        text = f"path,label\n{name},a\n"
        fails(table, text, "a pipe or a device", error=OSError)


def test_the_column_class_may_repeat_the_label(table):
    write_image(table.parent / "1.png", np.zeros((4, 5, 3)))
    text = "path,label,class\n1.png,bee,bee\n"
    assert read(table, text, label="class")[1].tolist() == ["bee"]


def test_recordings(table):
    samples = np.arange(300)
    write_wav(table.parent / "1.wav", samples)
    x, _ = read(table, "path,label\n1.wav,a\n")
    np.testing.assert_array_equal(x[0], samples)
    fails(table, "path,label\n2.wav,a\n", "2.wav", error=OSError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv is empty; expected a line with the names"),
        ("\nlabel,x\na,1\n", "the first line of .*table.csv is empty; exp"),
        ("\r\nlabel,x\r\na,1\r\n", "the first line of .* is empty; expec"),
        ("\n", "the first line of .*table.csv is empty; expected the names"),
        ("label,x\n", "has no rows below"),
        ("class,x\na,1\n", "no column label: .*it has class, x. Rename"),
        ("label\na\n", "neither a column path nor columns of features"),
        ("label,x,x\na,1,2\n", "has the column 'x' 2 times"),
        ("label,x,\na,1,2\n", "Column 3 of .* no name .*index=False"),
        ("label,x\na,1\n\n\n", "line 3: the line is empty; remove"),
        ("label,x\na,1\n,2\n", "line 3: the column label is empty"),
        ("label,x\na,1\nb,two\n", "line 3: the feature 'x' is 'two', exp"),
        ("label,x\na,\nb,2\n", "line 2: the feature 'x' is '', expected"),
        ("label,x\na,True\nb,False\n", "line 2: .* 'x' is 'True', .* Write 1"),
        ("label,x\na,false\nb,false\n", "line 2: .* 'x' is 'false', .* Write"),
        ("label,x\na,1\nb,True\n", "line 3: .* 'x' is 'True', .* Write 1 ins"),
        ("label,y,x\na,1,TRUE\n", "line 2: .* 'x' is 'TRUE', .* Write 1 ins"),
        ("label,x\na,1_0\n", "line 2: the feature 'x' is '1_0', expected"),
        ("label,x\na,inf\n", "line 2: the feature 'x' is 'inf', expected"),
        ("label,x\na,1e200\n", "the feature 'x' is '1e200'.* at most 3.4e38"),
        ("label,x\na,1e99\n", "line 2: the feature 'x' is '1e99', expected"),
        ("label,x\na,1\nb,2,3\n", "not a table .*line 3, saw 3"),
        ("label,x\na,1\n\nb,2\n", "line 3: the line is empty; remove"),
        ("x,label\n1,a\n2\n", "line 3: the column label is empty"),
        ("label,x\na,1\nb\n", "line 3: the feature 'x' is '', expected"),
        ("label,x\na,1,7\nb,2,7\n", "rows have more cells than the first"),
        ("x,y,label\n1,2,a,\n3,4,b,\n", "comma at the end of the rows"),
        ("x,label\n0,2,7\n1,3,8\n", "rows have more cells than the first"),
        (b"label,x\n\xff\xfe,1\n", "is not a table of text in UTF-8"),
        ("path,label\n1.png,a\n1.png,b\n", "'1.png' twice, in the lines 2 and"),
        ("path,label\na.png,a\n./a.png,b\n", "'a.png' twice, in the lines 2"),
        ("path,label\nb/../a.png,a\na.png,b\n", "twice, in the lines 2 and 3"),
        ("label,x\na,1\nb ,2\n", "line 3: the column label is 'b '; remove"),
        ("label_u,label_v,x\na, b,1\n", "2: the column label_v is ' b'; rem"),
        ("x,label,split\n1,a,train\n2,b,\ttest\n", "3: the column split is"),
        ("path,label\n1.png ,a\n", "line 2: the column path is '1.png '"),
        ("path,label,name\n1.png,a,me\n", "has a column 'name', which load"),
        ("path,label,class\n1.png,a,b\n", "has a column 'class', which load"),
        ("label,x,class\n3,1,3\n", "has a column 'class', which .* rename"),
        ("label,x,split\na,1,all\n", "has a split called 'all', which .* ren"),
        ("path,label\n1.png,a\n2.wav,b\n", "line 3: '2.wav' ends in none"),
        ("path,label\n1.gif,a\n", "line 2: '1.gif' is neither an image"),
    ],
)
def test_refused(table, text, message):
    fails(table, text, message)


BREAK = 'label,x\n"a\nb",1\nc,2\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BREAK + "d,bad\n", "line 5: the feature 'x' is 'bad'"),
        (BREAK.replace("\n", "\r\n") + "d,bad", "line 5: the feature 'x' is"),
        ('label,"x\ny"\na,1\nb,\n', "line 4: the feature"),
        (BREAK + "\n", "line 5: the line is empty"),
        (BREAK + ",3\n", "line 5: the column label is empty"),
        (BREAK + "d ,3\n", "line 5: the column label is 'd '"),
        (
            'path,label,about\n1.png,a,"x\ny\nz"\n2.png,b,""\n1.png,c,""\n',
            "'1.png' twice, in the lines 2 and 6",
        ),
        (
            'path,label,about\n1.png,a,"x\ny"\n2.wav,b,""\n',
            "line 4: '2.wav' ends in none",
        ),
        ('path,"label"\n1.gif,a\n', "line 2: '1.gif' is neither an image"),
        ('path,label,"a\nb"\n1.gif,a,c\n', "line 3: '1.gif' is neither"),
    ],
)
def test_lines_of_tables_with_line_breaks_in_cells(table, text, message):
    fails(table, text, message)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_rows_are_named_by_their_first_lines(table, line_break, end):
    text = BREAK + '"d\n\nd",4\n"e",5\nf,6'
    text = text.replace("\n", line_break) + end
    _, names = read(table, text, label="name")
    # The lines 2 and 3, 4, 5 to 7, 8, 9.
    expected = ["line 2", "line 4", "line 5", "line 8", "line 9"]
    assert names.tolist() == expected


def test_a_long_cell_before_a_bad_row(table):
    text = f'label,x\n"a\n{"b" * 200_000}",1\nc,bad\n'
    fails(table, text, "line 4: the feature 'x' is 'bad'")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("label,x\na\0,1\na,2\n", 2),  # NumPy would make one class of them
        ("label,x\na,1\nb\0c,2", 3),
        ("label,x\na,1\nb,2\0\n", 3),
        ("label,x\0\na,1\n", 1),
        # Far from the start of the file.
        ("label,x\n" + "a,1\n" * 600_000 + "b\0,2\n", 600_002),
    ],
    ids=["end", "middle", "feature", "header", "far"],
)
def test_null_characters_are_refused(table, text, line):
    message = (
        "is not a table of text in UTF-8, separated by commas: "
        f"line {line} contains a null character"
    )
    fails(table, text, message)


def test_no_file_and_no_package(table, monkeypatch):
    fails(table, None, "There is no file .*csv:FILE", error=FileNotFoundError)
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    message = r"needs pandas: .*\[tables\]"
    fails(table, FEATURES, message, error=ImportError)


@pytest.mark.parametrize(
    "name", ["Split", " split", "Label", "Path ", " label_shape", "LABEL_SHAPE"]
)
def test_a_name_that_is_almost_a_known_one_is_refused(table, name):
    meant = name.strip().lower()
    message = f"has the column {name!r}; call it {meant!r}"
    fails(table, f"label,x,{name}\na,1,2\nb,3,4\n", message)


def test_a_factor_may_have_capital_letters(table):
    _, labels = read(table, "label_Size,x\nbig,1\nsmall,2\n")
    assert labels.tolist() == [[0], [1]]


def test_splits_that_differ_in_capital_letters_are_refused(table):
    text = "label,x,split\na,1,train\nb,2,Train\n"
    fails(table, text, "has the splits 'Train' and 'train'; give a split one")


def test_the_split_of_each_row(table):
    text = "label,x,split\na,1,train\nb,2,test\n"
    assert read(table, text, label="split")[1].tolist() == ["train", "test"]
    fails(table, "label,x\na,1\n", "has no label 'split'", label="split")


@pytest.mark.slow
def test_a_long_cell_of_another_column_does_not_pad_all_rows(table):
    text = "path,label,caption\n"
    for number in range(300):
        write_image(table.parent / f"{number}.png", (2, 2, 3))
        text += (
            f"{number}.png,a,{'word' * 250_000 if number in (0, 7) else ''}\n"
        )
    before = peak_memory.reset()
    read(table, text)
    # An array of text would take 300 x 4 MB.
    assert peak_memory.read() - before < 300 * 1024
    captions = read(table, label="caption")[1]
    assert captions[0] == captions[7] == "word" * 250_000
    assert captions[8] == ""


def test_a_folder_instead_of_a_table(tmp_path):
    with pytest.raises(ValueError, match="is a folder; .* image_folder:"):
        load(f"csv:{tmp_path}", "all")


def test_rows_without_labels(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("x,y\n1,2\n3,4\n")
    source = read_csv(table, needs_labels=False)
    np.testing.assert_array_equal(source.x, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(source.labels, [0, 0])
    assert source.columns["name"].tolist() == ["line 2", "line 3"]
    assert source.columns["class"].tolist() == ["", ""]
    with pytest.raises(ValueError, match="no column label"):
        read_csv(table)


def test_a_pipe(table):
    os.mkfifo(table)
    fails(table, None, "a pipe or a device", error=OSError)
