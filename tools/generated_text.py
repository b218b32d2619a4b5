"""Writes generated text into a page, between two marks."""

import argparse
import pathlib
from collections.abc import Callable
from collections.abc import Iterable

from trainers.workdirs.json_files import write_atomically

ROOT = pathlib.Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
# The text of a section without results.
NOT_RUN = "*Not run*: there is no result file yet."


def arguments(about: str) -> argparse.Namespace:
    """Reads `folders` and `replace` from the command line of a script.

    Args:
        about: The docstring of the script, for `--help`.
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
        help="folder of a run to copy numbers from (default: none)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="overwrite numbers of the same run",
    )
    found = parser.parse_args()
    for folder in found.folders:
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}")
    return found


def collect_folders(about: str, collect: Callable | str) -> None:
    """Calls `collect(folder, replace)` for each folder of the command line."""
    found = arguments(about)
    for folder in found.folders:
        if isinstance(collect, str):
            raise SystemExit(f"error: received the folder {folder}; {collect}")
        try:
            collect(folder, found.replace)
        except ValueError as error:
            raise SystemExit(f"error: {error}") from error


def remake_page(
    about: str,
    collect: Callable | str,
    load: Callable,
    page: pathlib.Path,
    marks: tuple[str, str],
    table: Callable,
    figures: Callable | None = None,
) -> None:
    """Runs a script: collects results, writes a table, draws figures.

    Args:
        about: The docstring of the script, for `--help`.
        collect: Function that copies the numbers of a given folder; text: the
            script takes no folders, and what to run instead.
        load: Function that returns all kept results.
        page: The page that contains the table.
        marks: Lines of the page before and after the table.
        table: Function from the results to the text of the table.
        figures: Function from the results to Matplotlib figures by the names of
            their files in `docs/figures`, without the suffix; None: no figures.
    """
    collect_folders(about, collect)
    found = load()
    write_between(page, *marks, table(found))
    written = [page]
    if figures is not None:
        from trainers.terminal.quiet import import_tensorflow

        import_tensorflow()
        from embeddings_tf import viz

        FIGURES.mkdir(parents=True, exist_ok=True)
        for name, figure in figures(found).items():
            viz.save_figure(figure, FIGURES / f"{name}.png")
        written.append(FIGURES)
    print("wrote", " and ".join(str(p.relative_to(ROOT)) for p in written))


def write_between(page: pathlib.Path, begin: str, end: str, text: str) -> None:
    """Replaces the text between the marks, which the page must have."""
    head, found_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found_end, tail = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(
            f"{page} must contain the lines {begin} and {end}; received a page "
            "without them. Add both where the text belongs."
        )
    write_atomically(page, f"{head}{begin}\n{text}\n{end}{tail}")


def commits(results: Iterable[dict]) -> str:
    """Lists the different commits of results."""
    return " ".join(sorted({result["commit"][:7] for result in results}))


def hardware(results: Iterable[dict]) -> str:
    """Lists the different machines of results, with numbers of cores."""
    machines = {
        f"{r['processor']}, {r['cores']} core{'s' * (r['cores'] > 1)}"
        for r in results
    }
    return "; ".join(sorted(machines))
