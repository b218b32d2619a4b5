"""The file `models.config` of TensorFlow Serving: models and their versions."""

import pathlib
import re

from google.protobuf import text_format

from embeddings_tf.export.models_config_message import ModelServerConfig
from embeddings_tf.ops.locked_folder import locked_folder
from embeddings_tf.ops.write_atomically import write_atomically

FILE = "models.config"
STABLE, CANARY = "stable", "canary"


def read_models_config(folder: pathlib.Path):
    """Returns the `ModelServerConfig` in a folder of models, or an empty one.

    Raises:
        ValueError: If the file is not one.
    """
    config = ModelServerConfig()
    file = folder / FILE
    if file.is_file():
        try:
            text_format.Parse(file.read_text(encoding="utf-8"), config)
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{file} is not a ModelServerConfig in text format: {error}. "
                "Mend it, or move it away; a new one is written."
            ) from error
    return config


def require_model_list(config, folder: pathlib.Path) -> None:
    """Raises ValueError if the `ModelServerConfig` of a folder has no list."""
    if config.HasField("custom_model_config"):
        raise ValueError(
            f"{folder / FILE} has a `custom_model_config`, which excludes the "
            "`model_config_list` with the labels of versions. Remove it, or "
            "keep the models of that server in another folder."
        )


def label_version(
    directory: pathlib.Path, version: int, label: str | None = None
) -> dict[str, int]:
    """Gives a version of a model a label in the `models.config` beside it.

    TensorFlow Serving loads every version with a label, and clients may ask
    for a label instead of a number. Other models in the file stay as they are.
    The model's policy becomes `specific`, the versions with labels. A policy
    `all` stays, because it loads these too; `latest` is replaced, because it
    may not load them. The file is replaced atomically. A new entry expects the
    folder of models at `/models`, as in the container of TensorFlow Serving.

    Args:
        directory: Folder of the model, which contains its versions.
        version: Number of the version.
        label: None: `"canary"` if another version is `"stable"`, otherwise
            `"stable"`.

    Returns:
        The model's labels and their versions.

    Raises:
        ValueError: If the version does not exist, the label is not a name, or
            the file is damaged or has a `custom_model_config`.
    """
    check_label(label)
    directory = pathlib.Path(directory).resolve()
    if not (directory / str(version) / "saved_model.pb").is_file():
        raise ValueError(
            f"{directory} has no version {version}; export it first."
        )
    with locked_folder(directory.parent):
        return _label_version(directory, version, label)


def chosen_label(directory: pathlib.Path, version: int) -> str:
    """Returns the label that `label_version` gives a version by default."""
    directory = pathlib.Path(directory).resolve()
    models = read_models_config(directory.parent).model_config_list.config
    entries = [model for model in models if model.name == directory.name]
    labels = [_labels_of_versions(entry, directory) for entry in entries]
    return _chosen_label(labels[0] if labels else {}, version)


def _labels_of_versions(entry, directory: pathlib.Path) -> dict[str, int]:
    """Returns the labels of the versions that exist."""
    return {
        name: number
        for name, number in entry.version_labels.items()
        if (directory / str(number)).is_dir()
    }


def _chosen_label(labels: dict[str, int], version: int) -> str:
    taken = labels.get(STABLE, version) != version
    return CANARY if taken else STABLE


def check_label(label: str | None) -> None:
    """Raises ValueError unless a label is None or fits into an address."""
    if label is not None and not re.fullmatch(r"[\w.-]+", label):
        raise ValueError(
            "the label of a version must be letters, digits, '.', '_' and "
            f"'-', such as {STABLE!r}; received {label!r}."
        )


def _label_version(directory, version, label) -> dict[str, int]:
    config = read_models_config(directory.parent)
    require_model_list(config, directory.parent)
    models = config.model_config_list.config
    entry = next((m for m in models if m.name == directory.name), None)
    if entry is None:
        entry = models.add(
            name=directory.name,
            base_path=f"/models/{directory.name}",
            model_platform="tensorflow",
        )
    labels = _labels_of_versions(entry, directory)
    if label is None:
        label = _chosen_label(labels, version)
    labels[label] = version
    if label == STABLE and labels.get(CANARY) == version:
        del labels[CANARY]  # It was promoted.
    entry.version_labels.clear()
    entry.version_labels.update(labels)
    if not entry.model_version_policy.HasField("all"):
        entry.ClearField("model_version_policy")
        entry.model_version_policy.specific.versions.extend(
            sorted(set(labels.values()))
        )
    write_atomically(
        directory.parent / FILE, text_format.MessageToString(config)
    )
    return labels
