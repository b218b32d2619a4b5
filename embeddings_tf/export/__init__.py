"""Export of trained models that need only TensorFlow to run."""

from embeddings_tf.export.saved_model import export_saved_model

__all__ = ["export_saved_model"]
