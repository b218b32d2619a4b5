"""Figures, drawn without a display and without pyplot's global state."""

from embeddings_tf.viz.acceptance_figure import acceptance_figure
from embeddings_tf.viz.auc_distribution_figure import auc_distribution_figure
from embeddings_tf.viz.bars_figure import bars_figure
from embeddings_tf.viz.calibration_figure import calibration_figure
from embeddings_tf.viz.confusion_figure import confusion_figure
from embeddings_tf.viz.det_figure import det_figure
from embeddings_tf.viz.distance_properties_figure import (
    distance_properties_figure,
)
from embeddings_tf.viz.embedding_figure import embedding_figure
from embeddings_tf.viz.evaluation_figure import evaluation_figure
from embeddings_tf.viz.learning_curves_figure import learning_curves_figure
from embeddings_tf.viz.mutual_information_figure import (
    mutual_information_figure,
)
from embeddings_tf.viz.neighbours_figure import neighbours_figure
from embeddings_tf.viz.paired_comparison_figure import paired_comparison_figure
from embeddings_tf.viz.picture_plane_figure import picture_plane_figure
from embeddings_tf.viz.recall_figure import recall_figure
from embeddings_tf.viz.save_figure import save_figure
from embeddings_tf.viz.score_histogram_figure import score_histogram_figure
from embeddings_tf.viz.traversal_figure import traversal_figure
from embeddings_tf.viz.traversal_indices import traversal_indices
from embeddings_tf.viz.traversal_reference import traversal_reference
from embeddings_tf.viz.trials_figure import trials_figure
from embeddings_tf.viz.within_subject_bars_figure import (
    within_subject_bars_figure,
)

__all__ = [
    "acceptance_figure",
    "auc_distribution_figure",
    "bars_figure",
    "calibration_figure",
    "confusion_figure",
    "det_figure",
    "distance_properties_figure",
    "embedding_figure",
    "evaluation_figure",
    "learning_curves_figure",
    "mutual_information_figure",
    "neighbours_figure",
    "paired_comparison_figure",
    "picture_plane_figure",
    "recall_figure",
    "save_figure",
    "score_histogram_figure",
    "traversal_figure",
    "traversal_indices",
    "traversal_reference",
    "trials_figure",
    "within_subject_bars_figure",
]
