"""Progress with time left: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

SECONDS_PER_LINE = 10
# On a terminal, the line is replaced; shorter jobs have none.
SECONDS_BEFORE_LINE = 2
SECONDS_PER_UPDATE = 0.1
BAR_WIDTH = 20


class Progress:
    """Shows how much of a long job is done, and the time left.

    Args:
        total: Number of units of the job.
        unit: What is counted, for example "episode".
    """

    def __init__(self, total: int, unit: str = "episode"):
        self.total, self.unit, self.done = total, unit, 0
        self.started = self.printed = time.monotonic()
        self.first: tuple[int, float] | None = None
        self.width = 0
        self.is_terminal = sys.stdout.isatty()

    def advance(self, count: int = 1) -> None:
        """Counts units that are done."""
        self.done += count
        now = time.monotonic()
        if self.first is None:
            self.first = self.done, now
        if self.is_terminal:
            self._replace_line(now)
        elif now > self.printed + SECONDS_PER_LINE:
            self.printed = now
            print(self._text(now), flush=True)

    def _replace_line(self, now: float) -> None:
        is_last = self.done >= self.total
        is_new = now > self.printed + SECONDS_PER_UPDATE
        if now > self.started + SECONDS_BEFORE_LINE and (is_new or is_last):
            full = BAR_WIDTH * min(self.done, self.total) // max(self.total, 1)
            bar = f"[{'=' * full}{' ' * (BAR_WIDTH - full)}]"
            self.printed, text = now, f"{bar} {self._text(now)}"
            end = "\n" if is_last else ""
            print(f"\r{text:<{self.width}}", end=end, flush=True)
            self.width = len(text)

    def _text(self, now: float) -> str:
        """The rate is measured after the first units, which contain tracing."""
        text = f"{self.done} of {self.total} {self.unit}s"
        done, since = self.first or (self.done, now)
        if self.done in (done, self.total):
            return text
        left = (now - since) * (self.total - self.done) / (self.done - done)
        return f"{text}, {left:.0f} s left"

    def counting(self, function: Callable) -> Callable:
        """Returns the function; each call advances by one."""

        def counted(*arguments, **options):
            found = function(*arguments, **options)
            self.advance()
            return found

        return counted

    def counting_scores(self, score: Callable) -> Callable:
        """Returns a score of pairs; each call advances by its scores."""

        def counted(*sides):
            found = score(*sides)
            self.advance(int(np.prod(np.shape(found))))
            return found

        return counted


def counted_images(x, times: int = 1):
    """Returns examples whose reading is shown, if they are image files.

    Args:
        x: Arrays, `datasets.Images` or `datasets.Utterances`.
        times: How often all are read.
    """
    from embeddings_tf.datasets import Images

    if not isinstance(x, Images):
        return x
    return CountedRows(x, Progress(times * len(x), "image"))


def time_left(seconds: Sequence[float], total: int) -> str:
    """Returns the time left, from the seconds of those that are done.

    Args:
        seconds: Seconds of each part that is done.
        total: Number of all parts.

    Returns:
        Text to append to a line; empty if nothing is known or left.
    """
    left = total - len(seconds)
    if not seconds or left <= 0:
        return ""
    return f", about {sum(seconds) / len(seconds) * left / 60:.0f} min left"


class CountedRows:
    """Rows that are read in slices; each slice advances a `Progress`."""

    def __init__(self, x, progress: Progress):
        self.x, self.progress = x, progress

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows):
        found = self.x[rows]
        self.progress.advance(len(found))
        return found
