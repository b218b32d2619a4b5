import pathlib
import subprocess
import sys

import pytest

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
