"""Export of trained models that need only TensorFlow to run."""

from embeddings_tf.export.image_decoder import ImageDecoder
from embeddings_tf.export.saved_model import export_saved_model
from embeddings_tf.export.signature_table import signature_table
from embeddings_tf.export.wave_decoder import WaveDecoder

__all__ = [
    "ImageDecoder",
    "WaveDecoder",
    "export_saved_model",
    "signature_table",
]
