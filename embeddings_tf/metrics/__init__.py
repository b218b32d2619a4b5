"""Metrics of embeddings: arrays or tensors in, Python floats out."""

from embeddings_tf.metrics.bootstrap import bootstrap_interval
from embeddings_tf.metrics.calibration import error_versus_reject
from embeddings_tf.metrics.calibration import expected_calibration_error
from embeddings_tf.metrics.calibration import reliability_curve
from embeddings_tf.metrics.cllr import cllr
from embeddings_tf.metrics.clustering import assign_clusters
from embeddings_tf.metrics.clustering import class_means
from embeddings_tf.metrics.clustering import k_means_centroids
from embeddings_tf.metrics.clustering import normalized_mutual_information
from embeddings_tf.metrics.conformal_threshold import conformal_threshold
from embeddings_tf.metrics.cosine import cosine_score_pairs
from embeddings_tf.metrics.cosine import cosine_scores
from embeddings_tf.metrics.cosine import fuse_scores
from embeddings_tf.metrics.dci import dci
from embeddings_tf.metrics.dimension_auc import single_dimension_auc
from embeddings_tf.metrics.dimension_auc import single_dimension_auc_by_value
from embeddings_tf.metrics.distance_properties import distance_properties
from embeddings_tf.metrics.error_rates import error_rates
from embeddings_tf.metrics.factor_modularity import modularity
from embeddings_tf.metrics.few_shot import confidence_interval
from embeddings_tf.metrics.few_shot import few_shot_accuracy
from embeddings_tf.metrics.few_shot import few_shot_episodes
from embeddings_tf.metrics.information import chance_information
from embeddings_tf.metrics.information import mutual_information
from embeddings_tf.metrics.learn_then_test import learn_then_test
from embeddings_tf.metrics.likelihood_ratio_curve import likelihood_ratio_curve
from embeddings_tf.metrics.linear_explicitness import explicitness
from embeddings_tf.metrics.linear_explicitness import explicitness_by_value
from embeddings_tf.metrics.listed_trials import score_enrollments
from embeddings_tf.metrics.listed_trials import score_trials
from embeddings_tf.metrics.min_cllr import min_cllr
from embeddings_tf.metrics.mutual_information_gap import mutual_information_gap
from embeddings_tf.metrics.out_of_distribution_fpr import (
    out_of_distribution_fpr,
)
from embeddings_tf.metrics.retrieval import mean_average_precision
from embeddings_tf.metrics.retrieval import recall_at_k
from embeddings_tf.metrics.rotation import best_rotation
from embeddings_tf.metrics.scoring import score_all_pairs
from embeddings_tf.metrics.scoring import stream_trials
from embeddings_tf.metrics.separated_attribute_predictability import (
    separated_attribute_predictability,
)
from embeddings_tf.metrics.threshold_at_false_accept_rate import (
    threshold_at_false_accept_rate,
)
from embeddings_tf.metrics.trial_histogram import TrialHistogram
from embeddings_tf.metrics.uncertainty import area_under_risk_coverage
from embeddings_tf.metrics.uncertainty import out_of_distribution_auroc
from embeddings_tf.metrics.uncertainty import recall_auroc
from embeddings_tf.metrics.verification import det_curve
from embeddings_tf.metrics.verification import equal_error_rate
from embeddings_tf.metrics.verification import min_dcf
from embeddings_tf.metrics.verification import roc_auc
from embeddings_tf.metrics.within_subject_interval import (
    within_subject_interval,
)

__all__ = [
    "TrialHistogram",
    "area_under_risk_coverage",
    "assign_clusters",
    "best_rotation",
    "bootstrap_interval",
    "chance_information",
    "class_means",
    "cllr",
    "confidence_interval",
    "conformal_threshold",
    "cosine_score_pairs",
    "cosine_scores",
    "dci",
    "det_curve",
    "distance_properties",
    "equal_error_rate",
    "error_rates",
    "error_versus_reject",
    "expected_calibration_error",
    "explicitness",
    "explicitness_by_value",
    "few_shot_accuracy",
    "few_shot_episodes",
    "fuse_scores",
    "k_means_centroids",
    "learn_then_test",
    "likelihood_ratio_curve",
    "mean_average_precision",
    "min_cllr",
    "min_dcf",
    "modularity",
    "mutual_information",
    "mutual_information_gap",
    "normalized_mutual_information",
    "out_of_distribution_auroc",
    "out_of_distribution_fpr",
    "recall_at_k",
    "recall_auroc",
    "reliability_curve",
    "roc_auc",
    "score_all_pairs",
    "score_enrollments",
    "score_trials",
    "separated_attribute_predictability",
    "single_dimension_auc",
    "single_dimension_auc_by_value",
    "stream_trials",
    "threshold_at_false_accept_rate",
    "within_subject_interval",
]
