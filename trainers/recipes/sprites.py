"""Shared by the Sprites recipes: Ridgeway & Mozer 2018, Sections 4.2-4.3.

Disentangling with the unnamed-factor oracle (each batch is about one factor,
which factor is not told), with the class oracle (a class is a conjunction of
all factors), and without labels (beta-VAE); retrieval of held-out identities.

Where the recipes depart from the paper: 24 frames of each identity instead of
all 178, drawn once; batches drawn afresh, factors in turn, instead of epochs
without replacement; a dense layer of 1,024 units instead of 2,048; the learning
rate follows half a cosine to zero over a fixed number of batches, and the
checkpoint is the one of best validation explicitness (or recall@1, or, of
beta-VAEs, likelihood), as in the paper. Retrieval, with 256 units and 5 images
of each class, is trained at larger rates for fewer batches than the paper's.
Rate and length of the beta-VAEs, which the paper leaves open, are ours.

`..._dimension_dropout` are ours: in each batch some dimensions are left out of
the embeddings, so that none stays without a factor. That slows the F-statistic
loss down, which is given twice as many batches; `sprites_f_statistic_long` has
as many without it.

The paper uses every frame. In half of them the weapon is not drawn, so that no
encoder can tell it: `--config.dataset=sprites/weapon_visible` keeps to the
frames that show it.
"""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay

FACTOR_NAMES = (
    "gender",
    "body",
    "armor",
    "hair",
    "arm",
    "greaves",
    "weapon",
)
DIM, WIDTH = 22, 1024
# Of 0.08, 0.15 and 0.3, the most modular on fold 0.
DIMENSION_DROPOUT = 0.15


def factor_oracle(
    loss: dict, num_per_value: int, learning_rate: float, num_steps: int
):
    """Each batch holds values of one factor; the factors take turns."""
    config = _common(learning_rate, num_steps)
    config.loss = loss
    config.batches = {
        "name": "factor_batches",
        "num_values": 12,
        "num_per_value": num_per_value,
    }
    return config


def class_oracle(
    loss: dict, num_per_class: int, learning_rate: float, num_steps: int
):
    """Each batch holds 12 conjunctions of the values of all factors."""
    config = _common(learning_rate, num_steps)
    config.loss = loss
    config.batches = _class_batches(num_per_class)
    return config


def beta_vae(beta: float):
    """No labels: a variational autoencoder whose code is the mean."""
    config = _common(learning_rate=1e-3, num_steps=4_000)
    config.encoder.gaussian = True
    config.decoder = {"name": "sprites_decoder", "dim": DIM, "width": WIDTH}
    config.autoencoder = {"name": "BetaVAE", "beta": beta}
    # Any batches would do: 2 images of each of 12 identities.
    config.batches = _class_batches(2)
    config.monitor = "val_log_likelihood"
    return config


def retrieval(loss: dict, learning_rate: float, distance: str):
    """Class oracle, measured by retrieval among held-out identities."""
    config = class_oracle(loss, 5, learning_rate, num_steps=1_200)
    config.encoder.width = 256
    config.monitor = "val_recall_at_1"
    config.evaluation = {
        "name": "retrieval",
        "splits": ("test",),
        "distance": distance,
        "k": (1, 2, 5, 10, 20),
    }
    return config


def _class_batches(num_per_class):
    return {
        "name": "class_balanced_batches",
        "num_classes": 12,
        "num_per_class": num_per_class,
    }


def _common(learning_rate, num_steps):
    num_epochs = 20
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": "sprites/all_frames",
            "folds": {
                "split": "all",
                "num_folds": 5,
                "fold": 0,
                "num_per_class": 24,
            },
            "split": "train",
            "encoder": {
                "name": "sprites_encoder",
                "dim": DIM,
                "width": WIDTH,
            },
            "optimizer": {
                "name": "Adam",
                "learning_rate": cosine_decay(learning_rate, num_steps),
            },
            "steps_per_epoch": num_steps // num_epochs,
            "num_epochs": num_epochs,
            "monitor": "val_explicitness",
            "patience": 10,
            "validation": {"split": "validation"},
            "evaluation": {
                "name": "disentanglement",
                "splits": ("test",),
                "factor_names": FACTOR_NAMES,
            },
        }
    )
