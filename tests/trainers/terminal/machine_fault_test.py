"""Errors of Python and TensorFlow about faults of the machine."""

import errno

import pytest
import tensorflow as tf

from trainers.terminal.machine_fault import machine_fault


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("{{function_node F}} run/events; File too large", errno.EFBIG),
        ("run/events; Disk quota exceeded [Op:SaveV2]", errno.EDQUOT),
        ("could not write: Input/output error; try again", errno.EIO),
        ("run/events; Read-only file system", errno.EROFS),
        ("margin must be positive", None),
        ("", None),
    ],
)
def test_faults_of_tensorflow_are_found_by_their_text(message, number):
    error = tf.errors.UnknownError(None, None, message)
    assert machine_fault(error) == number
    assert machine_fault(ValueError(message)) is None, "of a user's reader"


def test_faults_of_python_have_a_number():
    assert machine_fault(OSError(errno.ENOSPC, "no room")) == errno.ENOSPC
    assert machine_fault(OSError(errno.ENOENT, "no file")) is None
    assert machine_fault(OSError("File too large")) is None
