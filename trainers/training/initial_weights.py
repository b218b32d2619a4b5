"""Copies initial weights of a training from a run on other data."""

import pathlib

import keras

from embeddings_tf.models.method import Method
from trainers.training.checkpoint import load_best


def copy_initial_weights(
    model: keras.Model, path: pathlib.Path, *, freeze_encoder: bool = False
) -> None:
    """Copies the encoder of a trained model, and layers of its objective.

    The objective names the layers, such as the distance of `LearnedDistance`.
    An auxiliary classifier is not copied, because it belongs to its training
    classes. The state of the optimiser is not copied, either.

    With `freeze_encoder`, what is trained on top of the encoder starts anew.
    With an uncertainty head, the whole objective is copied, because only the
    head is trained; without a head, nothing of the objective is.

    Args:
        model: The result of `build_model`.
        path: A workdir, whose best epoch is used, or a `.keras` file.
        freeze_encoder: As in the recipe.

    Raises:
        ValueError: If its encoder or its distance differs from `model`'s, or
            only one of both has a learned distance.
    """
    trained = (
        load_best(path) if path.is_dir() else keras.saving.load_model(path)
    )
    has_head = getattr(model, "uncertainty", None) is not None
    only_encoder = freeze_encoder and not has_head
    theirs_by_name, ours_by_name = (
        _layers(part, only_encoder) for part in (trained, model)
    )
    for name in {**theirs_by_name, **ours_by_name}:
        theirs, ours = theirs_by_name.get(name), ours_by_name.get(name)
        if theirs is None or ours is None:
            raise ValueError(
                f"{path} has {'no' if theirs is None else 'a'} {name}, and "
                f"the recipe {'none' if ours is None else 'one'}; start from "
                "a run of the same method"
            )
        shapes = [[w.shape for w in part.weights] for part in (theirs, ours)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"the {name} in {path} has weights of the shapes {shapes[0]}, "
                f"the recipe's {shapes[1]}; give both the same fields"
            )
        ours.set_weights(theirs.get_weights())
    if freeze_encoder and has_head:
        _copy_objective(trained, model)


def _copy_objective(trained, model) -> None:
    """Copies all weights of the objective: a frozen model is used as it is.

    Raises:
        ValueError: If the objectives differ.
    """
    theirs, ours = (getattr(m, "objective", None) for m in (trained, model))
    if not isinstance(ours, keras.layers.Layer):
        return  # a loss has no weights
    if type(theirs) is not type(ours):
        raise ValueError(
            "config.freeze_encoder with an uncertainty head keeps the trained "
            f"model, which has the objective {type(theirs).__name__}; the "
            f"recipe has {type(ours).__name__}. Give both the same objective"
        )
    ours.set_weights(theirs.get_weights())


def _layers(model, only_encoder: bool) -> dict[str, keras.layers.Layer]:
    """Layers that do not belong to the training classes, by name."""
    encoder = {"encoder": getattr(model, "encoder", model)}
    return (
        encoder if only_encoder else encoder | Method(model).reusable_layers()
    )
