import hashlib

import numpy as np
import pytest

from embeddings_tf.datasets.divide_classes import divide_classes
from embeddings_tf.datasets.divide_examples import divide_examples


def digest(name, seed=0):
    return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()


@pytest.mark.parametrize("seed", [0, 5])
def test_the_last_fifths_of_each_class_by_digest(seed):
    counts = {3: 6, 1: 9, 7: 20}
    classes = np.repeat(list(counts), list(counts.values()))
    names = np.array([f"{row}.png" for row in range(len(classes))])
    order = np.random.default_rng(0).permutation(len(classes))
    classes, names = classes[order], names[order]
    parts = divide_examples(classes, names, seed)
    sizes = {3: (2, 2, 2), 1: (5, 2, 2), 7: (12, 4, 4)}
    for label in counts:
        rows = np.flatnonzero(classes == label)
        ordered = sorted(rows, key=lambda row: digest(names[row], seed))
        first = 0
        for part, size in zip(parts, sizes[label], strict=True):
            found = parts[part][classes[parts[part]] == label]
            assert found.tolist() == sorted(ordered[first : first + size])
            first += size
    every = np.concatenate(list(parts.values()))
    assert sorted(every) == list(range(len(classes)))


def test_too_few():
    names = [str(number) for number in range(11)]
    with pytest.raises(ValueError, match="class '4' has 5 .* 1 of 2 classes"):
        divide_examples([4] * 5 + [5] * 6, names)
    with pytest.raises(ValueError, match="the class 'eel' has 5 examples"):
        divide_examples([4] * 5 + [5] * 6, names, 0, ["eel", "fox"])


def test_one_is_singular():
    message = "class 'c' has 1 example, too few .* 1 of 1 class has too few"
    with pytest.raises(ValueError, match=message):
        divide_examples(["c"], ["a.png"])
    with pytest.raises(
        ValueError, match="has 2 examples, .* 2 of 2 classes ha"
    ):
        divide_examples(["c", "d"] * 2, ["1", "2", "3", "4"])
    with pytest.raises(ValueError, match="^1 class cannot be divided"):
        divide_classes(["c", "c"])
    with pytest.raises(ValueError, match="^2 classes cannot be divided"):
        divide_classes(["c", "d"])
