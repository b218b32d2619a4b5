"""The line that names the export of a run as the next command."""

import os
import shlex

from trainers.terminal import command_names


def next_export(workdir: str | os.PathLike) -> str:
    """Returns `Next: ...` with the command that exports a run."""
    return (
        f"Next: {command_names.shell_command('trainers.export')} --workdir "
        f"{shlex.quote(str(workdir))} --directory saved_models/NAME"
    )
