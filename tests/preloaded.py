"""Imported by the server of `processes.py` before it starts any command.

Without the library, so that a command that does not import it fails.
"""

from trainers.terminal.quiet import quiet_import

with quiet_import():
    import tensorflow  # noqa: F401
    import tensorflow_probability  # noqa: F401
