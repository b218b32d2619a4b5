import logging
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from trainers.terminal import quiet

ROOT = pathlib.Path(__file__).parents[3]


@pytest.mark.slow
def test_a_start_says_nothing_and_imports_what_is_needed():
    """Keras's optional imports happen later, on request."""
    code = (
        "import sys\n"
        "from trainers.terminal.quiet import import_tensorflow\n"
        "import_tensorflow()\n"
        "late = {'sklearn', 'matplotlib', 'scipy.stats'}\n"
        "assert not late & set(sys.modules)\n"
        "import matplotlib.pyplot, numpy, sklearn.cluster\n"
        "from embeddings_tf import metrics\n"
        "x = numpy.eye(3)\n"
        "assert metrics.k_means_centroids(x, 3).shape == (3, 3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_functions_of_several_trainings_are_no_retracing(caplog):
    """TensorFlow warns from the fifth tracing of one line of code on."""

    def trace_often(function):
        for _ in range(8):
            tf.function(function, autograph=False)(tf.constant(1.0))

    with quiet.several_trainings():
        trace_often(lambda x: x + 1)
        logging.getLogger("tensorflow").warning("another warning")
    assert caplog.messages == ["another warning"]
    trace_often(lambda x: x + 2)  # it warns twice of each line at most
    assert "triggered tf.function retracing" in caplog.text
