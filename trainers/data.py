"""The data set of a recipe."""

from embeddings_tf import datasets


def load(config, split: str):
    """`(x, labels)` of a split of the recipe's data set."""
    return datasets.load(
        config.dataset,
        split,
        data_dir=config.data_dir or None,
        manual_dir=config.manual_dir or None,
    )
