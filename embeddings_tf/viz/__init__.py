"""Figures, drawn without a display and without pyplot's global state."""

from embeddings_tf.viz.embedding_figure import embedding_figure
from embeddings_tf.viz.evaluation_figure import evaluation_figure
from embeddings_tf.viz.save_figure import save_figure

__all__ = ["embedding_figure", "evaluation_figure", "save_figure"]
