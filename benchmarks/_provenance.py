"""Commit, versions and hardware of a measurement."""

import pathlib
import subprocess


def provenance():
    """The provenance of a run, where only changed code counts as a change.

    Files that other benchmarks have just written, pages and results, do not
    make a commit "-dirty".
    """
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from trainers.workdirs import provenance as of_a_run

    found = of_a_run.provenance()
    commit = found["commit"]
    if commit.endswith("-dirty") and not _changed_code():
        found["commit"] = commit.removesuffix("-dirty")
    return found


def _changed_code():
    """Whether files differ from the commit, except what benchmarks write."""
    written = [":!docs", ":!benchmarks/results"]
    words = ["git", "status", "--porcelain", "--untracked-files=no", "--", "."]
    root = pathlib.Path(__file__).parents[1]
    done = subprocess.run(
        [*words, *written], cwd=root, capture_output=True, check=True
    )
    return bool(done.stdout.strip())
