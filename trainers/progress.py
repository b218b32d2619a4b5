"""Progress with time left: a bar on a terminal, else a line now and then."""

import sys
import time

SECONDS_PER_LINE = 10


class Progress:
    """Shows how much of a long job is done, and the time left.

    Args:
        total: Number of units of the job.
        unit: What is counted, for example "episode".
    """

    def __init__(self, total: int, unit: str = "episode"):
        self.total, self.unit, self.done = total, unit, 0
        self.started = self.printed = time.monotonic()
        self.bar = None
        if sys.stdout.isatty():
            import keras

            self.bar = keras.utils.Progbar(total, unit_name=unit)

    def advance(self, count: int = 1) -> None:
        """Counts units that are done."""
        self.done += count
        if self.bar is not None:
            self.bar.add(count)
        elif time.monotonic() > self.printed + SECONDS_PER_LINE:
            self.printed = time.monotonic()
            passed = self.printed - self.started
            left = passed * (self.total - self.done) / self.done
            print(
                f"{self.done} of {self.total} {self.unit}s, {left:.0f} s left",
                flush=True,
            )
