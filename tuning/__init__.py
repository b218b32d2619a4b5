"""Searches over the hyperparameters of a recipe."""
