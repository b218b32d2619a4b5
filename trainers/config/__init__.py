"""The typed form of a run: its fields, from recipes, files and flags."""

from trainers.config.load import load_recipe
from trainers.config.run import Run

__all__ = ["Run", "load_recipe"]
