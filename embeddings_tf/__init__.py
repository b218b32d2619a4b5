"""Embeddings you can trust, for TensorFlow and Keras.

Importing this package registers its Keras classes, so `keras.saving.load_model`
can restore them.
"""

from embeddings_tf import callbacks
from embeddings_tf import datasets
from embeddings_tf import export
from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf import optimizers
from embeddings_tf import sampling
from embeddings_tf import scoring
from embeddings_tf import testing
from embeddings_tf import viz
from embeddings_tf.version import __version__

__all__ = [
    "__version__",
    "callbacks",
    "datasets",
    "export",
    "layers",
    "losses",
    "metrics",
    "models",
    "objectives",
    "optimizers",
    "sampling",
    "scoring",
    "testing",
    "viz",
]
