"""The error of a run that would continue on something else."""


class OtherDataError(ValueError):
    """The data or the user's own code has changed since the run started."""
