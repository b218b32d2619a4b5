"""Copies initial weights of a training from a run on other data."""

import os
import pathlib

import keras

from embeddings_tf.models.method import Method
from trainers.training.checkpoint import load_best


def copy_initial_weights(model: keras.Model, path: str) -> None:
    """Copies the encoder of a trained model, and layers of its objective.

    The objective names the layers, such as the distance of `LearnedDistance`.
    An auxiliary classifier is not copied, because it belongs to its training
    classes. The state of the optimiser is not copied, either.

    Args:
        model: The result of `build_model`.
        path: A workdir, whose best epoch is used, or a `.keras` file.

    Raises:
        OSError: If the folder or file does not exist.
        ValueError: If its encoder or its distance differs from `model`'s, or
            only one of both has a learned distance.
    """
    source = pathlib.Path(os.path.expanduser(path))
    if not source.exists():
        raise FileNotFoundError(
            f"config.initial_weights={path!r} is neither a workdir nor a "
            ".keras file; train that run first, or name another"
        )
    trained = (
        load_best(source)
        if source.is_dir()
        else keras.saving.load_model(source)
    )
    theirs_by_name, ours_by_name = _layers(trained), _layers(model)
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
    if not getattr(model, "encoder", model).trainable:
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
            f"config.freeze_encoder keeps the trained model, which has the "
            f"objective {type(theirs).__name__}; the recipe has "
            f"{type(ours).__name__}. Give both the same objective"
        )
    ours.set_weights(theirs.get_weights())


def _layers(model) -> dict[str, keras.layers.Layer]:
    """Layers that do not belong to the training classes, by name."""
    encoder = getattr(model, "encoder", model)
    return {"encoder": encoder, **Method(model).reusable_layers()}
