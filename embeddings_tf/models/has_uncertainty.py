"""Whether a model predicts an uncertainty."""

from embeddings_tf.models.uncertain_model import UncertainModel


def has_uncertainty(model) -> bool:
    """Returns True if the model has an `UncertaintyHead`.

    `predict_uncertainty` and `embed_with_uncertainty` then ask it.
    """
    return isinstance(model, UncertainModel) and model.uncertainty is not None
