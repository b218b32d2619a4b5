"""Checks that a search and its trials are of today's recipe and space."""

import pathlib

from trainers.config.run import Run
from trainers.workdirs.workdir import changed_fields
from trainers.workdirs.workdir import require_run
from trainers.workdirs.workdir import require_same_code


def require_unchanged(path: pathlib.Path, run: Run, **more) -> None:
    """Raises ValueError if a folder contains another run than today's.

    Own code of the run must also be as it was.

    Args:
        path: Workdir of a search or of a trial.
        run: The run of today's recipe and space.
        **more: As in `trainers.workdirs.workdir.claim`.
    """
    require_run(path)
    changed = changed_fields(path, run, **more)
    if changed:
        field, old, new = changed[0]
        raise ValueError(
            f"the recipe or the space has changed since the search: {path} has "
            f"{field}={old!r}, and today's is {new!r} ({len(changed)} field(s) "
            "differ). Restore it, or search again."
        )
    require_same_code(path, run, "search")
