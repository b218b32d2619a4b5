"""The data of a run: examples, splits, folds, features."""
