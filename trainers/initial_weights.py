"""Weights that a training starts from: those of a run on other data."""

import pathlib

import keras

from trainers.checkpoint import load_best


def copy_initial_weights(model: keras.Model, path: str) -> None:
    """Copies the encoder, and the learned distance, of a trained model.

    An auxiliary classifier is of the classes it was trained on, and is not
    copied; nor is the state of the optimiser.

    Args:
        model: As `build_model` made it.
        path: A workdir, of which the best epoch is taken, or a `.keras` file.

    Raises:
        OSError: If there is no such folder or file.
        ValueError: If its encoder or its distance is another than `model`'s,
            or only one of both has a learned distance.
    """
    source = pathlib.Path(path)
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
    for name, find in (("encoder", _encoder), ("learned distance", _distance)):
        theirs, ours = find(trained), find(model)
        if theirs is None and ours is None:
            continue
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


def _encoder(model):
    return getattr(model, "encoder", model)


def _distance(model):
    distance = getattr(getattr(model, "objective", None), "distance", None)
    # Of a plain loss, the name of one.
    return distance if isinstance(distance, keras.layers.Layer) else None
