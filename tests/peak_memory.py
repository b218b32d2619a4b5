"""The peak of the memory of this process."""

import pathlib

import pytest

_STATUS = pathlib.Path("/proc/self/status")


def reset() -> int:
    """Forgets the peak until now; returns the new one, in KiB."""
    if not _STATUS.exists():
        pytest.skip("needs /proc")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return read()


def read() -> int:
    """The peak since `reset`, in KiB."""
    (line,) = [
        line
        for line in _STATUS.read_text().splitlines()
        if line.startswith("VmHWM:")
    ]
    return int(line.split()[1])
