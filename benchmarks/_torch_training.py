"""The networks and objectives of `training_throughput` in PyTorch.

The layers, sizes and batches are those of ours; initial weights differ, which
does not change the time of a step.
"""

import functools

import torch
from torch import nn
from torch.nn import functional

from benchmarks import _torch_losses as torch_losses

Pool = functools.partial(nn.MaxPool2d, 2)


def omniglot():
    def block(channels):
        return [
            nn.Conv2d(channels, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            Pool(),
        ]

    return nn.Sequential(
        *block(1),
        *block(64),
        *block(64),
        nn.Conv2d(64, 64, 3, padding=1),
        Pool(),
        nn.Flatten(),
    )


def n_digit():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        Pool(),
        nn.Conv2d(6, 16, 5, padding=2),
        nn.ReLU(),
        Pool(),
        nn.Flatten(),
        nn.Linear(16 * 7 * 14, 120),
        nn.ReLU(),
        nn.Linear(120, 2),
    )


def sprites():
    return nn.Sequential(
        nn.Conv2d(3, 64, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(64, 32, 5, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 12 * 12, 2048),
        nn.ReLU(),
        nn.Linear(2048, 22),
    )


def dense():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))


class XVector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 30
        for filters, (size, dilation, padding) in zip(
            (512, 512, 512, 512, 1500),
            ((5, 1, 2), (3, 2, 2), (3, 3, 3), (1, 1, 0), (1, 1, 0)),
            strict=True,
        ):
            layers += [
                nn.Conv1d(
                    channels,
                    filters,
                    size,
                    dilation=dilation,
                    padding=padding,
                    bias=False,
                ),
                nn.BatchNorm1d(filters),
                nn.ReLU(),
            ]
            channels = filters
        self.frames = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(3000, 512, bias=False), nn.BatchNorm1d(512), nn.ReLU()
        )

    def forward(self, x):
        x = self.frames(x)
        variance, mean = torch.var_mean(x, -1, correction=0)
        pooled = torch.cat([mean, torch.sqrt(variance + 1e-10)], -1)
        return self.head(pooled)


class Block(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.normalize = nn.BatchNorm2d(channels)
        self.first = nn.Conv2d(
            channels, filters, 3, stride, padding=1, bias=False
        )
        self.normalize_again = nn.BatchNorm2d(filters)
        self.second = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.shortcut = (
            nn.Conv2d(channels, filters, 1, stride, bias=False)
            if stride > 1 or channels != filters
            else None
        )

    def forward(self, x):
        active = functional.relu(self.normalize(x))
        x = x if self.shortcut is None else self.shortcut(active)
        active = functional.relu(self.normalize_again(self.first(active)))
        return x + self.second(active)


def resnet18():
    layers = [
        nn.Conv2d(3, 64, 3, padding=1, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
    ]
    channels = 64
    for filters, first_stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first_stride, 1):
            layers.append(Block(channels, filters, stride))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Prototypes(nn.Module):
    """Prototypical loss of 5 supports and the other rows of each class."""

    def __init__(self, num_per_class=10, num_support=5):
        super().__init__()
        self.num_per_class = num_per_class
        self.num_support = num_support

    def forward(self, z, labels):
        z = z.reshape(-1, self.num_per_class, z.shape[1])
        prototypes = z[:, : self.num_support].mean(1)
        queries = z[:, self.num_support :].flatten(0, 1)
        logits = -(torch.cdist(queries, prototypes) ** 2)
        target = labels.reshape(-1, self.num_per_class)[:, self.num_support :]
        return functional.cross_entropy(logits, target.flatten())


class Triplets(nn.Module):
    """All triplets of classes of one size, faster than the library's."""

    def __init__(self, num_per_class):
        super().__init__()
        self.num_per_class = num_per_class

    def forward(self, z, labels):
        return torch_losses.triplet(z, labels, self.num_per_class)


class LearnedDistance(nn.Module):
    """Scores of all pairs by a network on both embeddings; a classifier."""

    def __init__(self, dim, num_classes, units=(256, 256, 256)):
        super().__init__()
        layers, width = [], 2 * dim
        for size in units:
            layers += [nn.Linear(width, size), nn.LeakyReLU(0.1)]
            width = size
        self.distance = nn.Sequential(
            *layers, nn.Dropout(0.1), nn.Linear(width, 1)
        )
        self.classifier = nn.Linear(dim, num_classes)

    def forward(self, z, labels):
        n = len(z)
        first = z[:, None].expand(n, n, -1)
        second = z[None].expand(n, n, -1)
        logits = self.distance(torch.cat([first, second], -1))[..., 0]
        same = labels[:, None] == labels[None]
        other = ~torch.eye(n, dtype=torch.bool)
        loss = functional.softplus(-logits)[same & other].mean() / 2
        loss = loss + functional.softplus(logits)[~same].mean() / 2
        unit = functional.normalize(z)
        return loss + functional.cross_entropy(self.classifier(unit), labels)


NETWORKS = {
    "omniglot": (omniglot, Prototypes),
    "n_digit": (n_digit, Prototypes),
    "sprites": (sprites, lambda: Triplets(10)),
    "dense": (dense, lambda: Triplets(8)),
    "x_vector": (XVector, lambda: LearnedDistance(512, 64)),
    "resnet18": (resnet18, lambda: LearnedDistance(512, 64)),
}


def training_step(name, x, labels, mode):
    """Returns a function that takes a step.

    The mode is "eager" or "compiled", with ", bfloat16" the network in
    bfloat16 by autocast.
    """
    make_network, make_loss = NETWORKS[name]
    torch.manual_seed(0)
    network, loss = make_network(), make_loss()
    x, labels = torch.tensor(x), torch.tensor(labels)
    if x.ndim == 4:
        x = x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
        network = network.to(memory_format=torch.channels_last)
    elif x.ndim == 3:
        x = x.permute(0, 2, 1).contiguous()
    optimizer = torch.optim.Adam([*network.parameters(), *loss.parameters()])
    half = "bfloat16" in mode

    def value_of_batch():
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            z = network(x)
        return loss(z.float(), labels)

    if "compiled" in mode:
        value_of_batch = torch.compile(value_of_batch)

    def step():
        optimizer.zero_grad()
        value = value_of_batch()
        value.backward()
        optimizer.step()
        return float(value.detach())

    return step
