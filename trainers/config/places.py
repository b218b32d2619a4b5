"""Where the objects that a run names are looked up."""

from trainers.config.own_code import file_and_name
from trainers.config.run import Method
from trainers.config.run import Part
from trainers.config.signatures import ancestors
from trainers.config.signatures import signature

# Modules that have the object of a section or argument, tried in order.
PLACES = {
    "autoencoder": ("embeddings_tf.models",),
    "batches": ("embeddings_tf.sampling",),
    "decoder": ("embeddings_tf.models",),
    "distance": ("embeddings_tf.layers",),
    "encoder": ("embeddings_tf.models",),
    "encoder_loss": ("embeddings_tf.losses",),
    "front_end": ("embeddings_tf.datasets.speech",),
    "learning_rate": (
        "embeddings_tf.optimizers",
        "keras.optimizers.schedules",
    ),
    "loss": ("embeddings_tf.losses",),
    "objective": ("embeddings_tf.objectives",),
    "optimizer": ("embeddings_tf.optimizers", "keras.optimizers"),
    "preprocess": ("embeddings_tf.datasets",),
    "projection": ("embeddings_tf.models",),
    "uncertainty": ("embeddings_tf.layers",),
}
METHODS = ("objective", "loss", "autoencoder")


# The kind of a class of the user's own, by a class that it is derived from.
_KINDS = {"Loss": "loss", "Model": "autoencoder", "Layer": "objective"}


def place_of(part: Part, field: str) -> str:
    """The key of `PLACES` for the part in a field."""
    return part.kind if isinstance(part, Method) else field


def method_kind(name: str) -> str | None:
    """The section of a method, by its name; None if it is not known."""
    if file_and_name(name):
        bases = ancestors(name)
        return next((_KINDS[base] for base in _KINDS if base in bases), None)
    kinds = (kind for kind in METHODS if signature(PLACES[kind], name))
    return next(kinds, None)
