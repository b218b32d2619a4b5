"""A worker that ends with the process that started it.

`tuning.search --workers N` starts it. Workers that are started by hand are
`tuning.search` itself.
"""

import os
import sys
import threading

from tuning import search


def _end_with_launcher() -> None:
    sys.stdin.buffer.read()  # ends when the launcher does
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_launcher, daemon=True).start()
    sys.exit(search.main())
