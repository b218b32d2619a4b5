"""Messages of Python and TensorFlow about faults of the machine."""

import errno

import pytest

from trainers.terminal.machine_fault import machine_fault


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("[Errno 28] No space left on device: 'a'", errno.ENOSPC),
        ("{{function_node F}} run/events; File too large", errno.EFBIG),
        ("run/events; Disk quota exceeded [Op:SaveV2]", errno.EDQUOT),
        ("could not write: Input/output error; try again", errno.EIO),
        ("run/events; Read-only file system", errno.EROFS),
        ("margin must be positive", None),
        ("", None),
    ],
)
def test_faults_are_found_by_their_text(message, number):
    assert machine_fault(message) == number
