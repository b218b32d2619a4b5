import hashlib

import pytest

from embeddings_tf.datasets.divide_classes import divide_classes

NAMES = [f"class {number}" for number in range(60)]
PARTS = ("train", "validation", "test")


def digest(name):
    return hashlib.sha256(f"0/{name}".encode()).hexdigest()


def part_of(names):
    parts = divide_classes(names)
    return {name: part for part in parts for name in parts[part]}


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (6, (2, 2, 2)),
        (7, (3, 2, 2)),
        (10, (6, 2, 2)),
        (12, (8, 2, 2)),
        (13, (7, 3, 3)),
        (60, (36, 12, 12)),
    ],
)
def test_sizes_and_order_by_digest(count, sizes):
    parts = divide_classes(NAMES[:count])
    assert tuple(parts) == PARTS
    assert tuple(len(parts[part]) for part in PARTS) == sizes
    ordered = sorted(NAMES[:count], key=digest)
    bounds = (0, sizes[0], sizes[0] + sizes[1], count)
    for number, part in enumerate(PARTS):
        expected = ordered[bounds[number] : bounds[number + 1]]
        assert parts[part] == sorted(expected)


def test_the_order_of_the_names_and_repetitions_do_not_matter():
    assert divide_classes(NAMES[::-1] + NAMES[:7]) == divide_classes(NAMES)


def test_another_seed_is_another_division():
    assert divide_classes(NAMES, 1) != divide_classes(NAMES)


def test_a_new_class_moves_at_most_three_classes():
    for count in range(6, 40):
        before = part_of(NAMES[:count])
        for new in NAMES[count:]:
            after = part_of([*NAMES[:count], new])
            moved = [name for name in before if before[name] != after[name]]
            assert len(moved) <= 3


def test_names_must_be_text():
    names = [*NAMES[:6], "\udcff", "é"]
    parts = divide_classes(names)
    assert sorted(sum(parts.values(), [])) == sorted(names)


def test_too_few():
    with pytest.raises(ValueError, match="5 classes cannot be .* at least 6"):
        divide_classes(NAMES[:5])
