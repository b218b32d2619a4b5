"""A trained run in use: inputs, galleries, neighbours, pairs."""

from trainers.trained.trained import Trained
from trainers.trained.trained import embed_inputs
from trainers.trained.trained import open_trained

__all__ = ["Trained", "embed_inputs", "open_trained"]
