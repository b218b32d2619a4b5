import pathlib
import shlex

from trainers import export
from trainers.terminal.next_export import next_export


def test_the_command_is_one_that_export_understands():
    """With a folder whose name a shell would divide."""
    for folder in ("my runs/$1", pathlib.Path("my runs/$1")):
        start, _, words = next_export(folder).partition("trainers.export ")
        assert start.startswith("Next: ") and start.endswith(" -m ")
        found = export.parser().parse_args(shlex.split(words))
        assert found.workdir == "my runs/$1"
        assert found.directory == "saved_models/NAME"
