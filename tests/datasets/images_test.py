from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embeddings_tf.datasets import Images
from tests import peak_memory

SIZES = [(40, 60), (30, 30), (90, 20), (8, 8)]


@pytest.fixture
def photographs():
    """Red rises from top to bottom, green from left to right."""
    found = []
    for number, (height, width) in enumerate(SIZES):
        image = np.zeros((height, width, 3), np.uint8)
        image[..., 0] = np.linspace(0, 255, height)[:, None]
        image[..., 1] = np.linspace(0, 255, width)
        image[..., 2] = 50 * number
        found.append(image)
    return found


@pytest.fixture
def x(photographs):
    return Images(photographs.__getitem__, len(photographs))


def test_one_by_one(x, photographs):
    assert len(x) == 4
    for number, image in enumerate(photographs):
        np.testing.assert_array_equal(x[number], image)
        np.testing.assert_array_equal(x[number - 4], image)


def test_the_middle(x, photographs):
    batch = x.with_size(28)[np.array([0, 2, -1])]
    assert batch.shape == (3, 28, 28, 3) and batch.dtype == np.uint8
    assert batch[:, 0, 0, 2].tolist() == [0, 100, 150]
    # 40 x 60 becomes 32 x 48; the central 28 x 28 start at pixel 2 of 32 and
    # at pixel 10 of 48.
    centre = np.arange(28) + 0.5
    rows = 255 * ((centre + 2) / 32 * 40 - 0.5) / 39
    columns = 255 * ((centre + 10) / 48 * 60 - 0.5) / 59
    np.testing.assert_allclose(batch[0, :, 5, 0], rows, atol=2)
    np.testing.assert_allclose(batch[0, 5, :, 1], columns, atol=2)
    # An image of one colour keeps its colour when enlarged.
    grey = Images(lambda _: np.full((1, 1, 3), 99, np.uint8), 1).with_size(5)
    np.testing.assert_array_equal(
        grey[np.array([0])], np.full((1, 5, 5, 3), 99)
    )
    # The image already has this size.
    image = np.zeros((16, 16, 3), np.uint8)
    image[1:15, 1:15] = 7
    same = Images(lambda _: image, 1, 14)
    assert (same[np.array([0])] == 7).all()


@pytest.mark.slow
def test_random_crops(x):
    crops = x.with_size(12, seed=3)
    index = np.full(400, 0)
    batch = crops[index].astype(int)
    np.testing.assert_array_equal(batch, crops[index])
    assert (batch != x.with_size(12, seed=4)[index]).any()
    assert (batch[:5] != crops[index[:5]]).any()
    # Red and green reveal the place of a crop and whether it is mirrored.
    red, green = batch[..., 0].mean(2), batch[..., 1].mean(1)
    mirrored = green[:, 0] > green[:, -1]
    assert 150 < mirrored.sum() < 250
    # From the first to the last row's centre, times 12/11: the whole side.
    height = (red[:, -1] - red[:, 0]) / 255 * 39 * 12 / 11
    width = np.abs(green[:, -1] - green[:, 0]) / 255 * 59 * 12 / 11
    area = height * width / (40 * 60)
    aspect = width / height
    assert 0.05 < area.min() < 0.15 and 0.75 < area.max() < 1.05
    assert 0.65 < aspect.min() < 0.85 and 1.2 < aspect.max() < 1.5
    assert np.abs(np.log(aspect).mean()) < 0.1


def test_crops_of_images_too_narrow(x):
    # 90 x 20 has no crop of more than 0.3 of its area between 3:4 and 4:3.
    # After ten failed attempts the largest central crop, 27 x 20, is used.
    batch = x.with_size(12, seed=0)[np.full(60, 2)].astype(int)
    assert batch.shape == (60, 12, 12, 3)
    red = batch[..., 0].mean(2)
    assert red.min() >= 0 and (red[:, -1] > red[:, 0]).all()


def test_take(x, photographs):
    some = x.with_size(5).take([3, 0])
    assert len(some) == 2 and some.size == 5
    np.testing.assert_array_equal(some[1], photographs[0])
    some = some.take(np.array([False, True]))
    np.testing.assert_array_equal(some[0], photographs[0])
    assert len(x.take([])) == 0


def test_slices(x):
    sized = x.with_size(6)
    np.testing.assert_array_equal(sized[1:9], sized[np.array([1, 2, 3])])
    assert sized[np.array([], int)].shape == (0, 6, 6, 3)


class TestAsTheyAre:
    """Batches without a size, if all images have one size."""

    def test_batches(self):
        images = np.arange(4 * 2 * 3 * 3, dtype=np.uint8).reshape(4, 2, 3, 3)
        x = Images(images.__getitem__, 4)
        for some in (x, x.cached(10**6), x.take([0, 1, 2, 3])):
            np.testing.assert_array_equal(
                some[np.array([3, 0, 3])], images[[3, 0, 3]]
            )
            np.testing.assert_array_equal(some[1:], images[1:])
            assert some[np.array([], int)].shape == (0, 2, 3, 3)

    def test_different_sizes(self, x):
        message = (
            r"differ in size: Image 0 has shape \(40, 60, 3\), Image 1 has "
            r"shape \(30, 30, 3\); crop .* x.with_size"
        )
        for index in ([0, 1], [1, 1]):
            with pytest.raises(ValueError, match=message):
                x[np.array(index)]

    def test_different_channels(self):
        images = [np.zeros((4, 4, 3), "uint8"), np.zeros((4, 4, 1), "uint8")]
        x = Images(images.__getitem__, 2)
        for same in (x, x.with_size(3), x.with_size(3, crop=False)):
            with pytest.raises(
                ValueError, match="channels: Image 0 has 3, Image 1 has 1"
            ):
                same[np.array([0, 1])]

    def test_names(self, photographs):
        names = ["a", "b", "c", "d"]
        x = Images(photographs.__getitem__, 4, names=np.array(names))
        assert x.names == names
        assert x.with_size(3, seed=0).cached(9).names == names
        some = x.take([2, -1])
        assert some.names == ["c", "d"] and x.take([]).names == []
        with pytest.raises(ValueError, match=r"Image 0 \(c\) .*Image 1 \(d\)"):
            some[:]
        with pytest.raises(ValueError, match="one for each of 4.*received 3"):
            Images(photographs.__getitem__, 4, names=names[:3])


def test_bad_arguments(x):
    with pytest.raises(ValueError, match="`size` must be"):
        x.with_size(0)
    with pytest.raises(
        ValueError, match="`seed` must be an integer of at least 0"
    ):
        x.with_size(3, seed=-1)
    for index in (4, -5):
        with pytest.raises(IndexError, match=r"must be in 0..3; received"):
            x[index]
    for index in ([True, False, True, True], 1.0, [[0]]):
        with pytest.raises(TypeError, match="integer"):
            x[index]
    with pytest.raises(ValueError, match="indices must be integers"):
        x.take([0.5])
    for wrong in (np.zeros((3, 3), np.uint8), np.zeros((3, 3, 3))):
        with pytest.raises(ValueError, match="Image 0 must be uint8"):
            Images(lambda _, wrong=wrong: wrong, 1)[0]


class TestCached:
    """40 x 60, 30 x 30, 90 x 20 and 8 x 8 pixels of 3 bytes."""

    @pytest.fixture
    def read(self, photographs):
        """Returns the list of numbers in the order of reading."""
        return []

    @pytest.fixture
    def slow(self, photographs, read):
        def from_file(number):
            read.append(number)
            return photographs[number]

        return Images(from_file, len(photographs))

    def test_is_read_once_and_shared(self, slow, read, photographs):
        x = slow.cached(10**6)
        for number in (1, 3, 1, -1):
            np.testing.assert_array_equal(x[number], photographs[number])
        assert read == [1, 3]
        x.with_size(5)[np.array([3, 1, 0])]
        x.take([2, 0]).with_size(5, seed=0)[np.array([0, 1, 1])]
        assert read == [1, 3, 0, 2]
        slow[1]
        assert read == [1, 3, 0, 2, 1]

    def test_images_beyond_the_cache_are_read_again(
        self, slow, read, photographs
    ):
        # 30 x 30 and 8 x 8 fit in the cache, the larger images do not.
        x = slow.cached(3 * (30 * 30 + 8 * 8) + 10)
        for _ in range(2):
            for number in (1, 0, 2, 3):
                np.testing.assert_array_equal(x[number], photographs[number])
        assert read == [1, 0, 2, 3, 0, 2]
        assert slow.cached(0)[1].shape == (30, 30, 3)

    def test_from_many_threads(self, slow, read, photographs):
        x = slow.cached(10**6).with_size(6)
        index = np.array([0, 1, 2, 3])
        with ThreadPoolExecutor(8) as pool:
            batches = list(pool.map(lambda _: x[index], range(32)))
        for batch in batches:
            np.testing.assert_array_equal(batch, slow.with_size(6)[index])
        assert x[0] is x[0]

    def test_keeps_its_own_bytes_and_nobody_writes_to_them(self):
        page = np.zeros((100, 50, 3), np.uint8)
        x = Images(lambda _: page[:10], 1).cached(10 * 50 * 3)
        assert x[0] is x[0] and x[0].base is None
        page += 1
        assert x[0].max() == 0
        with pytest.raises(ValueError, match="read-only"):
            x[0][0, 0, 0] = 1

    @pytest.mark.parametrize("num_bytes", [-1, "1", np.nan])
    def test_bad_size(self, slow, num_bytes):
        with pytest.raises(ValueError, match="`num_bytes` must be a finite"):
            slow.cached(num_bytes)


@pytest.mark.parametrize("crop", [True, False])
@pytest.mark.parametrize("shape", [(1, 8000), (8000, 1), (1, 900_000)])
def test_memory_of_long_images(shape, crop):
    """A grey line stays grey; a scaled image would take gigabytes."""
    line = np.full((*shape, 3), 77, np.uint8)
    x = Images(lambda _: line, 1).with_size(64, crop=crop)
    before = peak_memory.reset()
    found = x[np.array([0])]
    np.testing.assert_array_equal(found, np.full((1, 64, 64, 3), 77))
    assert peak_memory.read() - before < 150_000  # KiB


@pytest.mark.parametrize("side", [1, 7, 32])
def test_an_image_that_has_the_size_stays_as_it_is(side):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (side, side, 3), np.uint8)
    sized = Images(lambda _: image, 2).with_size(side)
    for same in (sized, sized.take([1, 0]), sized.cached(10**6)):
        np.testing.assert_array_equal(same[np.array([0, 1])][1], image)


def test_resizing_without_a_crop(x, photographs):
    batch = x.with_size(20, crop=False)[np.array([0, 1])]
    # 40 x 60 halves its rows and takes a third of its columns.
    centre = np.arange(20) + 0.5
    np.testing.assert_allclose(
        batch[0, :, 5, 0], 255 * (2 * centre - 0.5) / 39, atol=3
    )
    np.testing.assert_allclose(
        batch[0, 5, :, 1], 255 * (3 * centre - 0.5) / 59, atol=3
    )
    whole = x.with_size(30, crop=False)
    for same in (whole, whole.take([0, 1]), whole.cached(10**6)):
        np.testing.assert_array_equal(
            same[np.array([1])][0], photographs[1], "30 x 30 stays"
        )
    seeded = x.with_size(30, seed=1, crop=False)[np.full(100, 1)]
    mirrored = (seeded == photographs[1][:, ::-1]).all(axis=(1, 2, 3))
    same = (seeded == photographs[1]).all(axis=(1, 2, 3))
    assert (mirrored | same).all() and 25 < mirrored.sum() < 75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 3), "read must be a function"),
        ((len, -1), "num_images"),
        ((len, 2.5), "num_images"),
        ((len, 3, 0), "size"),
        ((len, 3, 2.5), "size"),
        ((len, 3, 4, -1), "`seed` must be an integer of at least 0"),
        ((len, 3, 4, 0.5), "seed"),
        ((len, 3, 4, "1"), "seed"),
    ],
)
def test_hostile_arguments_are_value_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Images(*arguments)


def test_masked_pixels_are_refused(x):
    masked = np.ma.masked_all((2, 2, 3), np.uint8)
    with pytest.raises(ValueError, match="result of `read` must have no mask"):
        Images(lambda number: masked, 1)[0]
    with pytest.raises(ValueError, match="`indices` must have no masked"):
        x.take(np.ma.masked_equal([0, 1], 1))
