import keras

from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.has_uncertainty import has_uncertainty


def test_only_a_head_is_an_uncertainty():
    encoder = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(2)]
    )
    assert not has_uncertainty(encoder)
    assert not has_uncertainty(EmbeddingModel(encoder, TripletLoss()))
    head = UncertaintyHead()
    model = EmbeddingModel(encoder, TripletLoss(), uncertainty=head)
    assert has_uncertainty(model)
    encoder.uncertainty = 0.1  # of the user's own model
    assert not has_uncertainty(encoder)
