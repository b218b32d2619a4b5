"""A worker that ends with the process that started it.

`tuning.search --workers N` starts such workers. A worker that you start by
hand is `tuning.search` itself.
"""

import os
import sys
import threading

from tuning import search


def _end_with_launcher() -> None:
    # Reads the descriptor, because sys.stdin would be locked at exit.
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_launcher, daemon=True).start()
    sys.exit(search.main())
