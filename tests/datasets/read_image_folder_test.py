import os
import re

import numpy as np
import pytest
from PIL import Image

from embeddings_tf import sampling
from embeddings_tf.datasets import batches
from embeddings_tf.datasets import load
from embeddings_tf.datasets.divide_classes import divide_classes
from tests.datasets.image_folders import with_sides
from tests.datasets.image_folders import write_classes
from tests.datasets.image_folders import write_image

CLASSES = [f"class {number}" for number in range(10)]
GREY = np.full((4, 5), 9)


def write_depths(path, largest):
    """Writes a grey image of 16 bits, from 0 to its largest value."""
    path.parent.mkdir(parents=True)
    values = np.linspace(0, largest, 20).astype(np.uint16).reshape(4, 5)
    Image.fromarray(values).save(path)
    assert path.read_bytes()[24] == 16
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "photos"


def read(folder, split="all", **arguments):
    return load(f"image_folder:{folder}", split, **arguments)


def fails(folder, message, split="all", error=ValueError, **arguments):
    with pytest.raises(error, match=message) as raised:
        read(folder, split, **arguments)
    assert "\n" not in str(raised.value)


class TestClasses:
    @pytest.fixture
    def written(self, folder):
        return write_classes(folder, CLASSES)

    def test_all(self, folder, written):
        x, labels = read(folder)
        assert labels.dtype == np.int32
        assert labels.tolist() == np.repeat(np.arange(10), 2).tolist()
        assert list(x.names) == sorted(written)
        for number, name in enumerate(x.names):
            np.testing.assert_array_equal(x[number], written[name])
        np.testing.assert_array_equal(
            x[np.array([3, 0])],
            np.stack([written[x.names[3]], written[x.names[0]]]),
        )

    def test_divided_by_class(self, folder, written):
        parts = divide_classes(CLASSES)
        for split, names in parts.items():
            x, labels = read(folder, split)
            wanted = [name for name in sorted(written) if name[:7] in names]
            assert list(x.names) == wanted
            # A class has the same number in every split.
            expected = [CLASSES.index(name[:7]) for name in wanted]
            assert labels.tolist() == expected

    def test_names_as_labels(self, folder, written):
        x, classes = read(folder, "train", label="class")
        _, names = read(folder, "train", label="name")
        assert names.tolist() == list(x.names)
        assert classes.tolist() == [name[:7] for name in names]

    def test_files_of_other_classes_do_not_change_a_split(
        self, folder, written
    ):
        before = read(folder, "test")[0].names
        other = divide_classes(CLASSES)["train"][0]
        write_image(folder / other / "more.png", GREY)
        assert read(folder, "test")[0].names == before
        assert len(read(folder)[0]) == 21

    def test_the_order_of_the_file_system_does_not_matter(
        self, folder, written, monkeypatch
    ):
        before = [read(folder, split)[0].names for split in ("train", "all")]
        scan = os.scandir

        class Backwards:
            def __init__(self, path):
                with scan(path) as entries:
                    self.entries = sorted(
                        entries, key=lambda entry: entry.name, reverse=True
                    )

            def __enter__(self):
                return iter(self.entries)

            def __exit__(self, *_):
                pass

        monkeypatch.setattr(os, "scandir", Backwards)
        after = [read(folder, split)[0].names for split in ("train", "all")]
        assert after == before

    def test_unknown_split_and_label(self, folder, written):
        fails(
            folder, "Unknown split 'dev' .*train, validation, test, all", "dev"
        )
        fails(folder, "Unknown split 'train.:5.'", "train[:5]")
        fails(folder, "no label 'speaker'.* class, name", label="speaker")
        fails(folder, "divide must be one of classes, ex", divide="files")
        fails(folder, "seed.* at least 0; received -1", seed=-1)

    def test_too_few_to_divide(self, folder):
        write_classes(folder, CLASSES[:5])
        fails(
            folder,
            "photos has .* 5 classes cannot .*examples instead.*split all",
            "train",
        )
        assert len(read(folder)[0]) == 10

    def test_a_class_called_train(self, folder):
        write_classes(folder, ["car", "train"])
        assert read(folder, label="class")[1].tolist() == [
            *("car", "car"),
            *("train", "train"),
        ]


class TestSplits:
    def test_a_class_in_two_splits_is_one_class(self, folder):
        write_classes(folder / "train", ["bee", "cat"])
        write_classes(folder / "test", ["ant", "cat"], num_images=1)
        x, labels = read(folder, "train")
        assert labels.tolist() == [1, 1, 2, 2]
        assert x.names[0] == "train/bee/0.png"
        assert read(folder, "test")[1].tolist() == [0, 2]
        assert read(folder)[1].tolist() == [1, 1, 2, 2, 0, 2]
        assert read(folder, "test", label="class")[1].tolist() == ["ant", "cat"]
        fails(folder, "one of train, test, all. Move a fifth", "validation")

    def test_accents_written_in_two_ways(self, folder):
        write_classes(folder / "train", ["caf\u00e9"], num_images=1)
        write_classes(folder / "test", ["cafe\u0301"], num_images=1)
        x, labels = read(folder)
        assert labels.tolist() == [0, 0]
        assert x[:].shape == (2, 4, 5, 3)

    def test_other_folders_beside_them(self, folder):
        write_classes(folder / "train", ["ant"])
        write_classes(folder / "val", ["ant"])
        fails(folder, "split folders, train, and other folders, val; .*Rename")

    def test_capital_letters(self, folder):
        write_classes(folder / "Train", ["ant"])
        write_classes(folder / "Test", ["bee"])
        fails(folder, "/Test contains folders, such as bee, .*name test. Renam")
        (folder / "Test").rename(folder / "test")
        fails(folder, "/Train contains folders, such as ant")

    def test_a_class_with_a_capital_letter(self, folder):
        write_classes(folder, ["Test", "car"])
        assert set(read(folder, label="class")[1]) == {"Test", "car"}

    def test_splits_without_classes(self, folder):
        write_image(folder / "train" / "1.png", GREY)
        write_image(folder / "test" / "2.png", GREY)
        fails(folder, "train/1.png is not in the folder of a class")


class TestFiles:
    def test_extensions_hidden_and_other_files(self, folder):
        for name in ("1.PNG", "2.jpeg", "3.JPG", "4.Jpeg", "5.png", "6.jpg"):
            write_image(folder / "ant" / name, GREY)
        for name in (".7.png", "8.txt", "9.webp", "Thumbs.db", "png"):
            (folder / "ant" / name).write_bytes(b"no image")
        write_image(folder / ".hidden" / "1.png", GREY)
        (folder / "README.txt").write_text("about")
        x, _ = read(folder)
        assert [name[4:] for name in x.names] == [
            *("1.PNG", "2.jpeg", "3.JPG", "4.Jpeg", "5.png", "6.jpg")
        ]
        assert x[:].shape == (6, 4, 5, 3)

    def test_every_image_is_red_green_and_blue(self, folder):
        colour = np.array([10, 200, 30])
        write_image(folder / "ant" / "1.png", GREY)
        write_image(folder / "ant" / "2.png", GREY[..., None] * 0 + colour)
        transparent = np.array([*colour, 0])
        write_image(folder / "ant" / "3.png", GREY[..., None] * 0 + transparent)
        palette = Image.fromarray(np.full((4, 5), 1, np.uint8), mode="P")
        palette.putpalette([0, 0, 0, *colour])
        palette.save(folder / "ant" / "4.png")
        depth = Image.fromarray(np.full((4, 5), 9 * 257, np.uint16))
        depth.save(folder / "ant" / "5.png")
        write_image(folder / "ant" / "6.jpg", GREY)
        x, _ = read(folder)
        pixels = [[9] * 3, *[colour.tolist()] * 3, [9] * 3, [9] * 3]
        assert x[:][:, 0, 0].tolist() == pixels

    @pytest.mark.parametrize("largest", [1, 255, 4080, 4095])
    def test_small_values_of_16_bits(self, folder, largest):
        path = write_depths(folder / "ant" / "1.png", largest)
        x, _ = read(folder)
        message = (
            f"{re.escape(str(path))} has 16 bits, of which the upper 8 are "
            "kept, and they are all below 16; scale it to 8 bits"
        )
        for wanted in (x, x.with_size(3), x.cached(10**6)):
            with pytest.raises(OSError, match=message):
                wanted[np.array([0])]

    @pytest.mark.parametrize("largest", [0, 4096, 65535])
    def test_other_values_of_16_bits(self, folder, largest):
        """Also a black image, which loses nothing."""
        path = write_depths(folder / "ant" / "1.png", largest)
        expected = np.asarray(Image.open(path), np.uint16) // 256
        found = read(folder)[0][0]
        for channel in range(3):
            np.testing.assert_array_equal(found[..., channel], expected)

    def test_dark_images_of_8_bits(self, folder):
        write_image(folder / "ant" / "1.png", np.arange(15).reshape(3, 5))
        assert read(folder)[0][0][..., 0].ravel().tolist() == [*range(15)]

    def test_jpeg_as_pillow_reads_it(self, folder):
        rng = np.random.default_rng(0)
        smooth = np.kron(rng.integers(0, 256, (4, 4, 3)), np.ones((16, 16, 1)))
        path = write_image(folder / "ant" / "1.jpg", smooth)
        expected = np.asarray(Image.open(path)).astype(int)
        assert np.abs(read(folder)[0][0] - expected).mean() < 1

    def test_different_sizes(self, folder):
        write_image(folder / "ant" / "1.png", GREY)
        write_image(folder / "ant" / "2.png", GREY[:3])
        x, labels = read(folder)
        assert x[1].shape == (3, 5, 3)
        for some in (x, x.cached(10**6)):
            with pytest.raises(
                ValueError,
                match=r"Image 0 \(ant/1.png\) has shape \(4, 5, 3\), Image 1 "
                r"\(ant/2.png\) has shape \(3, 5, 3\); .*config.images.size",
            ):
                some[np.array([0, 1])]
        # This also fails if the images of the batch have one size.
        with pytest.raises(ValueError, match="differ in size"):
            x[np.array([1])]
        assert x.with_size(6)[:].shape == (2, 6, 6, 3)
        assert x.take([1]).names == ["ant/2.png"]

    @pytest.mark.parametrize("name", ["1.png", "1.jpg"])
    def test_damaged_images(self, folder, name):
        rng = np.random.default_rng(0)
        image = rng.integers(0, 256, (40, 40, 3))
        path = write_image(folder / "ant" / name, image)
        write_image(folder / "ant" / "0.png", image)
        content = path.read_bytes()
        for damaged in (b"", b"no image", content[: len(content) // 2]):
            path.write_bytes(damaged)
            x, labels = read(folder)
            x[0]
            message = (
                f"{re.escape(str(path))} is not a complete JPEG or PNG image"
            )
            with pytest.raises(OSError, match=message) as raised:
                x[1]
            assert "\n" not in str(raised.value)
        path.unlink()
        with pytest.raises(OSError, match=f"{name} cannot be read .No such"):
            x[1]

    @pytest.mark.parametrize(
        ("name", "width", "height"),
        [
            ("0.png", 30_000, 30_000),
            ("0.png", 23_171, 23_171),  # 2^29 = 23170.5 x 23170.5
            ("0.png", 1_000_001, 1),
            ("0.png", 1, 1_000_001),
            ("0.jpg", 65_500, 65_500),
            ("0.jpg", 13_378, 13_378),  # 2^29 / 3 = 13377.2 x 13377.2
        ],
    )
    def test_images_that_are_too_large(self, folder, name, width, height):
        path = write_image(folder / "ant" / name, np.zeros((4, 5, 3)))
        path.write_bytes(with_sides(path.read_bytes(), width, height))
        message = (
            f"{path} has {width} x {height} pixels, more than TensorFlow "
            "decodes; make it smaller."
        )
        with pytest.raises(OSError, match=f"^{re.escape(message)}$"):
            read(folder)[0][0]

    def test_a_damaged_header_is_not_a_large_image(self, folder):
        path = write_image(folder / "ant" / "0.png", GREY)
        content = bytearray(path.read_bytes())
        content[17] = 100  # of the width; the checksum is of another
        path.write_bytes(content)
        with pytest.raises(OSError, match="is not a complete JPEG or PNG"):
            read(folder)[0][0]

    def test_links(self, folder, tmp_path):
        write_classes(tmp_path / "elsewhere", ["bee"], num_images=1)
        write_image(folder / "ant" / "1.png", GREY)
        (folder / "ant" / "2.png").symlink_to(folder / "ant" / "1.png")
        (folder / "bee").symlink_to(tmp_path / "elsewhere" / "bee")
        for loop in (folder / "loop", folder / "ant" / "loop"):
            loop.symlink_to(folder)
        (folder / "itself").symlink_to(folder / "itself")
        x, _ = read(folder)
        assert list(x.names) == ["ant/1.png", "ant/2.png", "bee/0.png"]
        assert x[:].shape == (3, 4, 5, 3)

    def test_links_to_pipes_and_devices_are_ignored(self, folder, tmp_path):
        """A missing file is named when it is read."""
        write_image(folder / "ant" / "1.png", GREY)
        os.mkfifo(tmp_path / "pipe")
        os.mkfifo(folder / "ant" / "2.png")
        (folder / "ant" / "3.png").symlink_to(tmp_path / "pipe")
        (folder / "ant" / "4.png").symlink_to("/dev/null")
        (folder / "ant" / "5.png").symlink_to(tmp_path / "missing")
        x, _ = read(folder)
        assert list(x.names) == ["ant/1.png", "ant/5.png"]
        with pytest.raises(OSError, match="ant/5.png cannot be read .No such"):
            x[1]


class TestRefused:
    def test_no_folder(self, folder, tmp_path):
        missing = FileNotFoundError
        fails(folder, f"There is no folder {folder}", error=missing)
        path = write_image(tmp_path / "1.png", GREY)
        fails(path, f"{path} is a file", error=NotADirectoryError)
        for name in ("image_folder:", "image_folder"):
            with pytest.raises(ValueError, match="image_folder:PATH"):
                load(name, "all")

    def test_home_folder(self, folder, monkeypatch):
        write_classes(folder, ["ant"])
        monkeypatch.setenv("HOME", str(folder.parent))
        assert len(read("~/photos")[0]) == 2

    def test_no_classes(self, folder):
        folder.mkdir()
        fails(folder, "photos has no folders of classes; .* found nothing")
        (folder / "1.gif").write_bytes(b"")
        fails(folder, "found 1 .gif")
        write_image(folder / "2.png", GREY)
        fails(folder, "photos/2.png is not in the folder of a class")

    def test_empty_class(self, folder):
        write_classes(folder, CLASSES)
        (folder / "dodo").mkdir()
        # Loading any split finds it, before hours of training.
        for split in ("train", "validation", "test", "all"):
            fails(folder, "photos/dodo has no images; .* found nothing", split)
        for name in ("1.webp", "2.webp", "3.tiff", "notes"):
            (folder / "dodo" / name).write_bytes(b"")
        fails(folder, "found 2 .webp, 1 .tiff, 1 without extension. Add")

    @pytest.mark.parametrize("name", ["dodo", "St. Bernard", "v1.0"])
    def test_a_class_whose_folder_is_not_there(self, name, folder, tmp_path):
        write_classes(folder, CLASSES)
        (folder / name).symlink_to(tmp_path / "unmounted" / name)
        fails(
            folder,
            f"photos/{name} is a link to {tmp_path}/unmounted/{name}, which do",
            error=FileNotFoundError,
        )

    @pytest.mark.parametrize("name", [" ant", "ant ", "ant\N{WORD JOINER}"])
    @pytest.mark.parametrize("part", ["", "train"])
    def test_blanks_around_the_name_of_a_class(self, folder, name, part):
        write_image(folder / part / "ant" / "1.png", GREY)
        write_image(folder / part / name / "2.png", GREY)
        place = (folder / part).name
        message = f"{place}: the name of a class is {name!r}; remove the blanks"
        message = re.escape(message)
        fails(folder, message)

    def test_folders_within_classes(self, folder):
        write_image(folder / "ant" / "1.png", GREY)
        write_image(folder / "ant" / "old" / "1.png", GREY)
        fails(folder, "photos/ant/old is a folder within a class")


def test_batches(folder):
    written = write_classes(folder, CLASSES)
    x, labels = read(folder, "train")
    indices = sampling.class_balanced_batches(labels, 3, 2, seed=0)
    for number, (images, label) in enumerate(batches(x, labels, indices)):
        assert images.shape == (6, 4, 5, 3)
        for image, found in zip(images.numpy(), label.numpy(), strict=True):
            assert any(
                (image == written[f"{CLASSES[found]}/{file}.png"]).all()
                for file in range(2)
            )
        if number == 3:
            break
