"""Models: training, few-shot classification and published encoders."""

from embeddings_tf.models.backbone import backbone
from embeddings_tf.models.backbone_encoder import backbone_encoder
from embeddings_tf.models.beta_vae import BetaVAE
from embeddings_tf.models.bird_features_encoder import bird_features_encoder
from embeddings_tf.models.cifar_resnet18_encoder import cifar_resnet18_encoder
from embeddings_tf.models.colour_orientation_encoder import (
    colour_orientation_encoder,
)
from embeddings_tf.models.embedding_model import EmbeddingModel
from embeddings_tf.models.features_encoder import features_encoder
from embeddings_tf.models.few_shot_classifier import FewShotClassifier
from embeddings_tf.models.fine_tuned import lower_rates
from embeddings_tf.models.gaussian_output import has_gaussian_output
from embeddings_tf.models.image_encoder import image_encoder
from embeddings_tf.models.mini_imagenet_resnet18_encoder import (
    mini_imagenet_resnet18_encoder,
)
from embeddings_tf.models.mnist_encoder import mnist_encoder
from embeddings_tf.models.n_digit_encoder import n_digit_encoder
from embeddings_tf.models.omniglot_encoder import omniglot_encoder
from embeddings_tf.models.person_re_identification_encoder import (
    person_re_identification_encoder,
)
from embeddings_tf.models.plda import PLDA
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.models.resnet50_encoder import resnet50_encoder
from embeddings_tf.models.small_norb_encoder import small_norb_encoder
from embeddings_tf.models.sprites_decoder import sprites_decoder
from embeddings_tf.models.sprites_encoder import sprites_encoder
from embeddings_tf.models.x_vector_encoder import x_vector_encoder
from embeddings_tf.models.x_vector_projection import x_vector_projection

__all__ = [
    "BetaVAE",
    "EmbeddingModel",
    "FewShotClassifier",
    "PLDA",
    "backbone",
    "backbone_encoder",
    "bird_features_encoder",
    "cifar_resnet18_encoder",
    "colour_orientation_encoder",
    "features_encoder",
    "has_gaussian_output",
    "image_encoder",
    "lower_rates",
    "mini_imagenet_resnet18_encoder",
    "mnist_encoder",
    "n_digit_encoder",
    "omniglot_encoder",
    "person_re_identification_encoder",
    "prepare_for_replicas",
    "resnet50_encoder",
    "small_norb_encoder",
    "sprites_decoder",
    "sprites_encoder",
    "x_vector_encoder",
    "x_vector_projection",
]
