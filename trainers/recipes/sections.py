"""Parts of configs that several experiments share."""

import ml_collections

from trainers.recipes.learning_rates import cosine_decay

# Dimensions of the embedding for small data sets of speech.
X_VECTOR_DIM = 64


def config(dataset: str, split: str = "train", **sections):
    """A config with the fields of every recipe, and its own sections."""
    return ml_collections.ConfigDict(
        {
            "seed": 0,
            "deterministic": True,
            "data_dir": "",
            "manual_dir": "",
            "dataset": dataset,
            "split": split,
            **sections,
        }
    )


def loss(name: str, **arguments) -> dict:
    """Trains the encoder alone, with a loss of `embeddings_tf.losses`."""
    return {"loss": {"name": name, **arguments}}


def stochastic_prototypes(num_support: int) -> dict:
    """Trains Gaussian embeddings; intersection sampler, one sample."""
    return {
        "objective": {
            "name": "StochasticPrototypes",
            "num_support": num_support,
            "sampler": "intersection",
            "num_samples": 1,
            "seed": 0,
        }
    }


def full_covariance(num_support: int) -> dict:
    """Trains Gaussians with full covariance, in a plane; one sample.

    The encoder must have 5 outputs: mean, variances and correlation.
    """
    return {
        "objective": {
            "name": "FullCovariancePrototypes",
            "num_support": num_support,
            "num_samples": 1,
            "seed": 0,
        }
    }


def learned_distance(
    num_units: int = 256,
    num_layers: int = 3,
    dropout: float = 0.1,
    label_smoothing: float = 0.1,
    **more,
) -> dict:
    """Trains an encoder and the distance between its embeddings.

    Args:
        num_units: Units of each hidden layer of the distance.
        num_layers: Hidden layers of the distance.
        dropout: Dropout in the distance.
        label_smoothing: Label smoothing for the distance.
        **more: Other arguments of `LearnedDistance`, such as `auxiliary`; by
            default no auxiliary classifier.
    """
    return {
        "objective": {
            "name": "LearnedDistance",
            "distance": {
                "name": "PairDistance",
                "hidden_units": (num_units,) * num_layers,
                "dropout": dropout,
            },
            "label_smoothing": label_smoothing,
            **more,
        }
    }


def speaker_classifier(dim: int) -> dict:
    """Arguments of `learned_distance` for the x-vector's classifier.

    Its classes are the classes of the training split; `dim` is the size of
    its last layer.
    """
    return {
        "auxiliary": "additive_margin",
        "projection": {"name": "x_vector_projection", "dim": dim},
    }


# The baseline of the learned distance: the encoder alone, scored by cosine.
# Each anchor uses its farthest positive and nearest negative. The authors'
# code uses every positive with its hardest negative, by Euclidean distance,
# and also trains a classifier.
TRIPLET_BASELINE = loss(
    "TripletLoss", margin=0.3, mining="hard", distance="cosine"
)


def retrieval_losses(
    num_dims: int,
    binomial_deviance: dict | None = None,
    lifted_structure: dict | None = None,
) -> dict[str, dict]:
    """The losses that Ridgeway & Mozer 2018 compare in retrieval.

    Returns the section of the loss and the ranking distance, by the names in
    recipes.

    Args:
        num_dims: `num_dims` of the F-statistic loss.
        binomial_deviance: More arguments of the binomial deviance loss.
        lifted_structure: More arguments of the lifted structure loss.
    """
    return {
        "binomial_deviance": {
            "loss": loss("BinomialDevianceLoss", **(binomial_deviance or {})),
            "distance": "cosine",
        },
        "f_statistic": {
            "loss": loss("FStatisticLoss", num_dims=num_dims),
            "distance": "l2",
        },
        "histogram": {"loss": loss("HistogramLoss"), "distance": "cosine"},
        "lifted_structure": {
            "loss": loss("LiftedStructureLoss", **(lifted_structure or {})),
            "distance": "l2",
        },
        "triplet": {"loss": loss("TripletLoss", margin=0.1), "distance": "l2"},
    }


# Prototypical networks in batches of 5 examples of a class.
PROTOTYPICAL_RETRIEVAL = {
    "loss": loss("PrototypicalLoss", num_support=2),
    "distance": "l2",
}


def x_vectors(num_coefficients: int, num_epochs: int, steps_per_epoch: int):
    """Encoder and training for small data sets of speech.

    Fewer channels and dimensions than the published x-vectors.
    """
    return {
        "encoder": {
            "name": "x_vector_encoder",
            "dim": X_VECTOR_DIM,
            "num_coefficients": num_coefficients,
            "channels": (96, 96, 96, 96, 288),
        },
        "optimizer": adam(
            cosine_decay(1e-3, num_epochs * steps_per_epoch),
            global_clipnorm=10.0,
        ),
        "steps_per_epoch": steps_per_epoch,
        "num_epochs": num_epochs,
        "monitor": "val_accuracy_at_equal_error",
        "validation": {"split": "validation"},
    }


def folds(split: str, num_per_class: int = 0, **more) -> dict:
    """Five folds by class; `num_per_class` examples of each, 0 for all."""
    return {
        "split": split,
        "num_folds": 5,
        "fold": 0,
        "num_per_class": num_per_class,
        **more,
    }


def class_batches(num_classes: int, num_per_class: int, **more) -> dict:
    """Batches of some examples of each of some classes."""
    return {
        "name": "class_balanced_batches",
        "num_classes": num_classes,
        "num_per_class": num_per_class,
        **more,
    }


def episodes(num_classes: int, num_support: int, num_query: int = 5) -> dict:
    """Batches of supports and queries of some classes."""
    return {
        "name": "episodes",
        "num_classes": num_classes,
        "num_support": num_support,
        "num_query": num_query,
    }


def factor_batches(num_per_value: int, **more) -> dict:
    """Batches of some examples of each of 12 values of one factor."""
    return {
        "name": "factor_batches",
        "num_values": 12,
        "num_per_value": num_per_value,
        **more,
    }


def adam(learning_rate: float | dict, **more) -> dict:
    return {"name": "Adam", "learning_rate": learning_rate, **more}


def sgd(
    learning_rate: float | dict, l2: float, momentum: float = 0.9, **more
) -> dict:
    """Stochastic gradient descent with momentum and weight decay."""
    return {
        "name": "SGDWithL2",
        "learning_rate": learning_rate,
        "momentum": momentum,
        "l2": l2,
        **more,
    }


def retrieval(
    distance: str, k: tuple[int, ...] = (1, 2, 5, 10, 20), **more
) -> dict:
    """Evaluates recall@k of the test split."""
    return {
        "name": "retrieval",
        "splits": ("test",),
        "distance": distance,
        "k": k,
        **more,
    }


def verification(
    plda_dims: int,
    splits: tuple[str, ...] = ("test",),
    num_resamples: int = 0,
    **more,
) -> dict:
    """Evaluates the scores of all pairs of the splits.

    Args:
        plda_dims: Dimensions that PLDA keeps.
        splits: Splits to evaluate.
        num_resamples: Number of resamples for intervals; 0 for none.
        **more: Other fields of the section.
    """
    return {
        "name": "verification",
        "splits": splits,
        "plda": {"num_dims": plda_dims},
        "num_resamples": num_resamples,
        **more,
    }


def pairs_of_new_classes(
    learning_rate: float,
    num_steps: int,
    num_per_class: int,
    plda_dims: int,
    score: str = "",
    num_tested: int = 0,
    **optimizer,
) -> dict:
    """Training in 10 epochs, and verification of pairs of held-out classes.

    Args:
        learning_rate: The first learning rate of Adam, with cosine decay.
        num_steps: Number of batches.
        num_per_class: Examples of each class in the validation pairs.
        plda_dims: Dimensions that PLDA keeps.
        score: The score of the validation pairs, which chooses the checkpoint.
        num_tested: Examples of each class in the test pairs; 0: all.
        **optimizer: Other arguments of the optimizer.
    """
    num_epochs = 10
    return {
        "optimizer": adam(cosine_decay(learning_rate, num_steps), **optimizer),
        "steps_per_epoch": num_steps // num_epochs,
        "num_epochs": num_epochs,
        "monitor": "val_accuracy_at_equal_error",
        "patience": num_epochs,
        "validation": {
            "split": "validation",
            "num_per_class": num_per_class,
            "score": score,
        },
        "evaluation": verification(
            plda_dims,
            num_enrolled=5,
            num_per_class=num_tested,
            euclidean=True,
        ),
    }
