"""Text of a page that a script writes, between two marks."""

import argparse
import pathlib
from collections.abc import Iterable

from trainers.workdir import write_atomically


def arguments(about: str) -> argparse.Namespace:
    """`folders` and `replace` from the command line of a script.

    Args:
        about: What the script does, for `--help`.
    """
    parser = argparse.ArgumentParser(
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        type=pathlib.Path,
        help="of a run, to take numbers from (default: none)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="put the numbers in the place of others of the same run",
    )
    found = parser.parse_args()
    for folder in found.folders:
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}")
    return found


def collect_folders(about: str, collect) -> None:
    """Calls `collect(folder, replace)` for the folders of the command line."""
    found = arguments(about)
    for folder in found.folders:
        try:
            collect(folder, found.replace)
        except ValueError as error:
            raise SystemExit(f"error: {error}") from error


def read_between(page: pathlib.Path, begin: str, end: str) -> str:
    """What stands between the marks, without the line breaks around it."""
    return page.read_text().partition(begin)[2].partition(end)[0].strip("\n")


def write_between(page: pathlib.Path, begin: str, end: str, text: str) -> None:
    """Puts `text` in the place of what stands between the marks."""
    head, _, rest = page.read_text().partition(begin)
    _, _, tail = rest.partition(end)
    write_atomically(page, f"{head}{begin}\n{text}\n{end}{tail}")


def hardware(results: Iterable[dict]) -> str:
    """The different machines of results, each with its number of cores."""
    machines = {
        f"{r['processor']}, {r['cores']} core{'s' * (r['cores'] > 1)}"
        for r in results
    }
    return "; ".join(sorted(machines))
