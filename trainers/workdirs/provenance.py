"""Records the commit, versions and machine of a result."""

import os
import pathlib
import platform
import subprocess
import sys
from importlib import metadata


def provenance() -> dict:
    """Returns commit, versions, hardware and load.

    `load` is the mean number of runnable processes in the last minute,
    including this one. Timings are comparable if it is below `cores`. A
    `commit` with `-dirty` had uncommitted changes.
    """
    import keras
    import numpy
    import tensorflow as tf

    import embeddings_tf

    return {
        "commit": _commit(),
        "embeddings_tf": embeddings_tf.__version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": numpy.__version__,
        "scikit_learn": metadata.version("scikit-learn"),
        "python": platform.python_version(),
        "platform": sys.platform,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "devices": [d.device_type for d in tf.config.list_logical_devices()],
        "load": round(os.getloadavg()[0], 2),
    }


def _commit() -> str:
    """Hash of the checkout that runs, with `-dirty` if it has changes."""
    folder = pathlib.Path(__file__).parent

    def git(*words):
        return subprocess.run(
            ["git", "-C", folder, *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        # An installed copy may be inside another checkout.
        git("ls-files", "--error-unmatch", pathlib.Path(__file__).name)
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
