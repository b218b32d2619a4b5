"""Finds examples with the same content."""

import dataclasses
import hashlib

import numpy as np

_LISTED = 10


@dataclasses.dataclass(frozen=True)
class _Example:
    name: str
    class_name: str
    split: str


class Copies:
    """Describes the examples that are copies of an earlier one.

    Two classes with the same example cannot both be right, and an example of
    both training and test makes results too good.
    """

    def __init__(self):
        self._first: dict[bytes, _Example] = {}
        self._pairs: list[tuple[_Example, _Example]] = []

    @staticmethod
    def digest(example) -> bytes:
        """Returns 16 bytes that equal examples share."""
        values = np.ascontiguousarray(example)
        kind = f"{values.dtype.str}{values.shape}".encode()
        return hashlib.blake2b(kind + values.tobytes(), digest_size=16).digest()

    def add(self, content: bytes, name: str, class_name: str, split: str):
        """Notes the next example; `content` is its `digest`."""
        example = _Example(name, class_name, split)
        first = self._first.setdefault(content, example)
        splits = {first.split, split}
        is_one = first.name == name and (len(splits) == 1 or "all" in splits)
        if not is_one:
            self._pairs.append((example, first))

    def lines(self) -> list[str]:
        """Returns a summary and the copies, the worst first; or nothing."""
        if not self._pairs:
            return []
        kinds = [
            (_other_class, "in another class"),
            (_other_split, "in another split"),
        ]
        counts = [
            f"{count} {where}"
            for is_kind, where in kinds
            if (count := sum(is_kind(*pair) for pair in self._pairs))
        ]
        worst = sorted(
            self._pairs,
            key=lambda pair: [not is_kind(*pair) for is_kind, _ in kinds],
        )
        lines = [
            f"copies of other examples: {len(self._pairs)}"
            + (f", {' and '.join(counts)}" if counts else "")
            + "; remove them"
        ]
        for example, first in worst[:_LISTED]:
            notes = [
                f"{first_value} and {value}"
                for is_kind, first_value, value in (
                    (_other_class, first.class_name, example.class_name),
                    (_other_split, first.split, example.split),
                )
                if is_kind(example, first)
            ]
            lines.append(
                f"  {example.name} is {first.name}"
                + (f" ({'; '.join(notes)})" if notes else "")
            )
        if len(worst) > _LISTED:
            lines.append(f"  and {len(worst) - _LISTED} more")
        return lines


def _other_class(example: _Example, first: _Example) -> bool:
    return example.class_name != first.class_name


def _other_split(example: _Example, first: _Example) -> bool:
    return example.split != first.split
