"""Spaces to search, one file each: `space(hyperparameters, config)`.

A space draws values from a `keras_tuner.HyperParameters` and writes them into
the config of a recipe. It runs many times, so it must not have side effects.
"""
