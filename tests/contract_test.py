"""Promised signatures: names, order and defaults, then keyword-only ones.

A caller may rely on them, so a change here breaks the code of users.
"""

import functools
import inspect

import pytest

import embeddings_tf

PROMISED = [
    "losses.f_statistic_loss(y_true, y_pred, num_dims=2, "
    'grand_mean="class_means", direction="separate")',
    'losses.FStatisticLoss(num_dims=2, grand_mean="class_means", '
    'direction="separate")',
    'losses.triplet_loss(y_true, y_pred, margin=0.1, mining="all", '
    'distance="squared_l2")',
    'losses.TripletLoss(margin=0.1, mining="all", distance="squared_l2")',
    "losses.prototypical_loss(y_true, y_pred, num_support)",
    "losses.PrototypicalLoss(num_support)",
    "layers.GaussianEmbedding(dim)",
    "layers.as_distribution(packed)",
    "layers.PairDistance(hidden_units=(256, 256, 256), dropout=0.1)",
    "layers.PairDistance.all_pairs(self, a, b)",
    "objectives.StochasticPrototypes(num_support, "
    'sampler="intersection", num_samples=1)',
    "objectives.StochasticPrototypes.prototypes(self, packed, labels, "
    "num_classes)",
    "objectives.StochasticPrototypes.log_prob(self, packed_queries, "
    "packed_prototypes, num_samples=200, seed=None)",
    "objectives.HedgedInstances(num_samples=8, beta=1e-4)",
    "objectives.LearnedDistance(distance, num_classes=None, auxiliary=None, "
    "projection=None, label_smoothing=0.1)",
    "models.EmbeddingModel(encoder, objective)",
    "sampling.class_balanced_batches(labels, num_classes, num_per_class, seed)",
    "sampling.episodes(labels, num_classes, num_support, num_query, seed)",
    "sampling.factor_batches(factors, num_values, num_per_value, seed)",
    'metrics.recall_at_k(embeddings, labels, k=(1,), distance="l2", '
    "gallery=None, gallery_labels=None)",
    "metrics.equal_error_rate(scores, is_target)",
    "metrics.roc_auc(scores, is_target)",
    "metrics.det_curve(scores, is_target)",
    "metrics.mutual_information(codes, factors, bins=20)",
    'metrics.explicitness(codes, factors, variant="paper")',
    "metrics.single_dimension_auc(codes, factors)",
    "datasets.load(name, split, data_dir=None, manual_dir=None)",
    "datasets.batches(x, labels, indices, preprocess=None)",
    "export.export_saved_model(model, directory, version=None, "
    "preprocessing=None)",
]
NAMES = [
    ("losses", "HistogramLoss"),
    ("losses", "BinomialDevianceLoss"),
    ("losses", "LiftedStructureLoss"),
    ("losses", "ContrastiveLoss"),
    ("losses", "histogram_loss"),
    ("losses", "triplet_loss"),
    ("losses", "binomial_deviance_loss"),
    ("losses", "lifted_structure_loss"),
    ("losses", "contrastive_loss"),
    ("losses", "prototypical_loss"),
    ("models", "BetaVAE"),
    ("metrics", "min_dcf"),
    ("metrics", "modularity"),
    ("metrics", "normalized_mutual_information"),
    ("metrics", "few_shot_accuracy"),
    ("metrics", "expected_calibration_error"),
    ("metrics", "error_versus_reject"),
    ("callbacks", "EmbeddingEvaluation"),
    ("callbacks", "EmbeddingProjector"),
]


def parameters_of(stub: str) -> list[inspect.Parameter]:
    scope: dict = {}
    exec(f"def promised({stub}: pass", scope)
    return [*inspect.signature(scope["promised"]).parameters.values()]


@pytest.mark.parametrize("promised", PROMISED)
def test_a_promised_signature(promised):
    path, _, stub = promised.partition("(")
    found = functools.reduce(getattr, path.split("."), embeddings_tf)
    ours = [*inspect.signature(found).parameters.values()]
    expected = parameters_of(stub)
    for one, other in zip(ours, expected, strict=False):
        assert (one.name, one.default) == (other.name, other.default)
        assert one.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert len(ours) >= len(expected)
    for more in ours[len(expected) :]:
        is_open = more.kind in (
            inspect.Parameter.KEYWORD_ONLY,
            inspect.Parameter.VAR_KEYWORD,
        )
        assert is_open, more


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_a_promised_name(package, name):
    found = getattr(getattr(embeddings_tf, package), name)
    assert callable(found) and found.__doc__
