"""Measurements; `results/` is the only source of printed numbers."""
