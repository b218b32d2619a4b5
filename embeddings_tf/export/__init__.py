"""SavedModels that need TensorFlow alone."""

from embeddings_tf.export.saved_model import export_saved_model

__all__ = ["export_saved_model"]
