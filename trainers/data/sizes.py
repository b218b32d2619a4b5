"""Whether the examples of a split have one shape."""

from embeddings_tf import datasets


class Sizes:
    """Shapes of the examples of a split that could be read, by their row."""

    def __init__(self, x):
        self.shapes: dict[int, tuple[int, ...]] = {}
        self._x = x

    def with_messages(self, contents: list[tuple]) -> list[tuple]:
        """Adds a message to each example of another shape than the first."""
        found = list(contents)
        for row in self._others():
            content, message = contents[row]
            text = f"{self._text(row)}; set config.images.size, or resize it"
            found[row] = content, message or text
        return found

    def warnings(self) -> list[str]:
        """Returns a warning that examples have several shapes."""
        rows = self._others()
        if not rows:
            return []
        return [
            f"{len(rows)} of {len(self.shapes)} images "
            f"{'has' if len(rows) == 1 else 'have'} another size than the "
            f"first, such as {self._text(rows[0])}. A goal resizes them, "
            "unless the 100 that it looks at have one size"
        ]

    def _first(self) -> int:
        return min(self.shapes)

    def _others(self) -> list[int]:
        if not self.shapes or isinstance(self._x, datasets.Utterances):
            return []
        shape = self.shapes[self._first()]
        return [row for row in sorted(self.shapes) if self.shapes[row] != shape]

    def _text(self, row: int) -> str:
        names = getattr(self._x, "names", None) or range(len(self._x))
        first = self._first()
        return (
            f"{names[row]} has shape {self.shapes[row]}, {names[first]} has "
            f"shape {self.shapes[first]}"
        )
