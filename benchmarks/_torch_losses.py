"""The losses in plain PyTorch and in pytorch-metric-learning.

The plain forms compute all pairs by one product. The triplets use that every
class has as many rows, which ours does not require.
"""

import functools
import warnings

from trainers.terminal.quiet import quiet_import

with quiet_import():
    import torch
    from torch.nn import functional

NUM_SUPPORT = 4


def squared_distances(z):
    square = z.square().sum(1)
    return (square[:, None] + square - 2 * z @ z.T).clamp_min(0)


def distances_of(z):
    return squared_distances(z).clamp_min(1e-12).sqrt()


def cosines(z):
    z = functional.normalize(z)
    return z @ z.T


def kinds(labels):
    """Positive and negative pairs, as masks."""
    same = labels[:, None] == labels
    return same & ~torch.eye(len(labels), dtype=torch.bool), ~same


def mean_over(mask, x):
    return torch.where(mask, x, 0).sum() / mask.sum()


def triplet(z, labels, num_per_class):
    positive, negative = kinds(labels)
    d = squared_distances(z)
    places = positive.float().topk(num_per_class - 1).indices
    hinge = (d.gather(1, places)[:, :, None] + 0.1 - d[:, None]).relu()
    total = (hinge * negative[:, None]).sum()
    return total / (negative.sum() * (num_per_class - 1))


def contrastive(z, labels, num_per_class):
    positive, negative = kinds(labels)
    d = distances_of(z)
    value = torch.where(positive, d, (1 - d).relu()).square() / 2
    return mean_over(positive | negative, value)


def lifted_structure(z, labels, num_per_class):
    positive, negative = kinds(labels)
    d = distances_of(z)
    row = torch.where(negative, 1 - d, -torch.inf).logsumexp(1)
    hinge = (torch.logaddexp(row[:, None], row) + d).relu()
    return mean_over(positive, hinge.square()) / 2


def histogram(z, labels, num_per_class, num_cells=200):
    positive, negative = kinds(labels)
    place = (cosines(z) + 1) * (num_cells / 2)
    cell = place.detach().floor().clamp(0, num_cells - 1).long()
    share = place - cell
    cell = (cell + (num_cells + 1) * negative).flatten()
    counted = (positive | negative).float()
    sums = torch.zeros(2 * num_cells + 2)
    sums = sums.index_add(0, cell, (counted * (1 - share)).flatten())
    sums = sums.index_add(0, cell + 1, (counted * share).flatten())
    of_positives, of_negatives = sums.reshape(2, -1)
    at_most = (of_positives / positive.sum()).cumsum(0)
    return (at_most * of_negatives).sum() / negative.sum()


def binomial_deviance(z, labels, num_per_class, scale=2.0, cost=10.0):
    positive, negative = kinds(labels)
    s = cosines(z) - 0.5
    value = mean_over(positive, functional.softplus(-scale * s))
    return value + mean_over(negative, functional.softplus(scale * cost * s))


def prototypical(z, labels, num_per_class):
    z = z.reshape(-1, num_per_class, z.shape[1])
    prototypes = z[:, :NUM_SUPPORT].mean(1)
    queries = z[:, NUM_SUPPORT:].flatten(0, 1)
    target = labels.reshape(-1, num_per_class)[:, NUM_SUPPORT:].flatten()
    # The square of the query does not change the softmax.
    logits = 2 * queries @ prototypes.T - prototypes.square().sum(1)
    return functional.cross_entropy(logits, target.long())


def contender(function):
    """Makes a contender of a function of embeddings and labels."""

    def step(z, labels):
        z = z.detach().requires_grad_()
        value = function(z, labels)
        value.backward()
        return value.detach().numpy()

    return torch.tensor, step


def plain(loss, compiled=False):
    function = globals()[loss]
    if compiled:
        # Beyond the limit, torch would silently run uncompiled.
        torch._dynamo.config.recompile_limit = 64
        function = torch.compile(function)
    return contender(
        lambda z, labels: function(z, labels, int((labels == 0).sum()))
    )


def of_the_library(loss):
    """Returns the contender of pytorch-metric-learning."""
    with quiet_import():
        from pytorch_metric_learning import distances
        from pytorch_metric_learning import losses
        from pytorch_metric_learning import reducers
    warnings.simplefilter("ignore")  # its indexing is deprecated

    raw = functools.partial(distances.LpDistance, normalize_embeddings=False)
    return contender(
        {
            "triplet": lambda: losses.TripletMarginLoss(
                margin=0.1,
                distance=raw(power=2),
                reducer=reducers.MeanReducer(),
            ),
            "histogram": lambda: losses.HistogramLoss(n_bins=200),
            "lifted_structure": lambda: losses.LiftedStructureLoss(
                distance=raw()
            ),
            "contrastive": lambda: losses.ContrastiveLoss(distance=raw()),
        }[loss]()
    )
