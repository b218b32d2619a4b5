"""Log lines of TensorFlow that a check ignores."""

import contextlib
import os
import re
import sys
import tempfile

# TensorFlow logs each error of a graph, with the node, before it raises. It
# also remarks on pipelines of generators and on replicas in eager mode.
_EXPECTED = re.compile(
    rb"W\d{4} .*local_rendezvous.*\n(?:\t.*\n)*"
    rb"|W\d{4} .*AsGraphDefInternal.*\n"
    rb"|WARNING:tensorflow:Using MirroredStrategy eagerly .*\n"
)


@contextlib.contextmanager
def without_expected_errors():
    """Leaves out of stderr what TensorFlow logs about errors it raises.

    The rest is written when the block ends.
    """
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            text = _EXPECTED.sub(b"", held.read())
            while text:
                text = text[os.write(2, text) :]
