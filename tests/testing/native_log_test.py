import os

import pytest

from embeddings_tf.testing.native_log import without_expected_errors

LOGGED = (
    b"W0000 00:00:17.3   13 local_rendezvous.cc:412] Local rendezvous is "
    b"aborting with status: INVALID_ARGUMENT: no ids\n"
    b"\t [[{{node Assert}}]]\n"
)


def test_only_logs_of_expected_errors_are_left_out(capfd):
    with pytest.raises(KeyError), without_expected_errors():
        os.write(2, b"before\n" + LOGGED + b"after\n")
        raise KeyError
    assert capfd.readouterr().err == "before\nafter\n"
    os.write(2, LOGGED)
    assert capfd.readouterr().err == LOGGED.decode()
