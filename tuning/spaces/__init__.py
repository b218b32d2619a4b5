"""Spaces to search, one file each: `space(hyperparameters, config)`.

A space draws values from a `keras_tuner.HyperParameters` and writes them into
the config of a recipe. It is called many times and must not have side effects.
"""
