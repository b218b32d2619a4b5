"""Measurements; every printed number comes from a file in `results/`."""
