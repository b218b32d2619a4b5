"""The typed form of a training and its evaluation.

Every field has a type, a default and one line of help. `run_config` makes a
run from a recipe; `--help` with a recipe lists the fields.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainers.config.evaluation_fields import Evaluation
from trainers.config.evaluation_fields import Retrieval
from trainers.config.field import field

# Fields of folders: where the data of a run is on a machine.
DATA_FOLDERS = ("data_dir", "manual_dir", "cache_dir")


@dataclasses.dataclass(frozen=True)
class Part:
    """An object or function by name, with its arguments.

    Omitted arguments have the default of the signature. An argument may be a
    `Part`, such as a learning rate that follows a schedule. Without a name the
    run does not use the part.
    """

    name: str = ""
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)  # dictionaries cannot be hashed


@dataclasses.dataclass(frozen=True)
class Method(Part):
    """The loss, objective or autoencoder that trains the encoder.

    `kind` is `"loss"` (of `embeddings_tf.losses`), `"objective"` (of
    `embeddings_tf.objectives`) or `"autoencoder"` (of `embeddings_tf.models`).
    """

    kind: str = "loss"

    __hash__ = Part.__hash__


@dataclasses.dataclass(frozen=True)
class Label:
    """A feature of the data set, used as label or as group."""

    feature: str = field("", "Feature of the data set; empty for none.")
    pattern: str = field(
        "",
        "Regular expression; its first group is extracted from each value. "
        "Empty uses whole values.",
    )


@dataclasses.dataclass(frozen=True)
class Folds:
    """Cross-validation: whole classes, or whole groups, are held out."""

    split: str = field("train", "Split of the data set that is divided.")
    num_folds: int = field(
        0, "Number of folds; 0 uses the splits of the data set."
    )
    fold: int = field(0, "Index of the held-out fold, from 0.")
    num_per_class: int = field(
        0, "Number of examples per class, drawn once; 0 uses all."
    )
    test_split: str = field(
        "",
        "Split that is the test set of every fold; the held-out classes "
        "become validation. Empty: the held-out classes are the test set.",
    )
    group: Label = field(
        Label(), "Groups that are held out instead of classes."
    )


@dataclasses.dataclass(frozen=True)
class Division:
    """Splits of data of your own that has no splits."""

    by: str = field(
        "classes",
        "classes: a class is in one split, for new classes later. examples: "
        "every class is in all splits, for closed sets and few classes.",
    )
    seed: int = field(0, "Random seed of the division.")


@dataclasses.dataclass(frozen=True)
class Images:
    """Images that are read on demand."""

    size: int = field(
        0, "Side to which images are cropped and resized; 0 keeps their size."
    )
    cache_gib: float = field(1.0, "Memory for decoded images, GiB per split.")
    crop: bool = field(
        True, "Whether to crop to a square; False resizes whole images."
    )


@dataclasses.dataclass(frozen=True)
class Backbone:
    """A frozen network that makes features of images, once for all epochs."""

    network: str = field(
        "",
        "Network of keras.applications, or FILE.py:FUNCTION; empty for none. "
        "The encoder then takes features, such as features_encoder.",
    )
    weights: str | None = field(
        "imagenet", "imagenet, path of a file, or None for random weights."
    )
    image_shape: tuple[int, int, int] = field(
        (224, 224, 3), "Height, width and channels that the network takes."
    )
    seed: int = field(0, "Random seed of random weights.")


@dataclasses.dataclass(frozen=True)
class Utterances:
    """Recordings of different lengths."""

    num_frames: int = field(
        0, "Frames of each training crop; 0 if examples are not recordings."
    )
    min_num_frames: int = field(
        1, "Shorter recordings are repeated as a whole to this many frames."
    )


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """One additional copy of all training recordings."""

    noise: str = field(
        "",
        'Folder of recordings below manual_dir, or "babble" for the training '
        "recordings; empty for no noise.",
    )
    room_responses: str = field(
        "", "Folder of room responses below manual_dir; empty for none."
    )
    snr: tuple[float, float] = field(
        (5.0, 15.0), "Lowest and highest signal-to-noise ratio, dB."
    )
    num_sources: tuple[int, int] = field(
        (1, 1), "Smallest and largest number of noise sources at once."
    )


@dataclasses.dataclass(frozen=True)
class DataFields:
    """The data set and the processing of its examples."""

    dataset: str = field(
        "",
        "Name that datasets.load knows; of your own: image_folder:PATH, "
        "audio_folder:PATH, csv:FILE, arrays:FILE.npz, FILE.py:FUNCTION.",
    )
    split: str = field("train", "Split to train on.")
    data_dir: str = field(
        "",
        "Directory of prepared data; empty: $EMBEDDINGS_TF_DATA or the "
        "default of TensorFlow Datasets.",
    )
    manual_dir: str = field(
        "", "Folder of original files; empty: $EMBEDDINGS_TF_MANUAL."
    )
    cache_dir: str = field(
        "",
        "Folder of cached features; empty: $EMBEDDINGS_TF_CACHE or "
        "~/.cache/embeddings_tf.",
    )
    label: Label = field(
        Label(), "Feature used as label, if not the set's own label."
    )
    folds: Folds = field(Folds(), "Cross-validation by class.")
    division: Division = field(
        Division(), "Splits of data of your own that has none."
    )
    images: Images = field(Images(), "Images that are read on demand.")
    backbone: Backbone = field(
        Backbone(), "Frozen network that makes features of images."
    )
    front_end: Part = field(
        Part(), "Function of datasets.speech that makes features."
    )
    utterances: Utterances = field(Utterances(), "Recordings.")
    augmentation: Mapping[str, Augmentation] = field(
        {}, "Augmented copies of the training recordings, each with a name."
    )
    preprocess: Part = field(
        Part(), "Function of datasets that changes training batches."
    )

    @property
    def has_digits(self) -> bool:
        """Whether the examples are images of n-digit numbers."""
        return self.dataset.startswith("n_digit/") and not self.backbone.network


@dataclasses.dataclass(frozen=True)
class Plateau:
    """Lowers the learning rate when `monitor` no longer improves."""

    factor: float = field(
        1.0, "Factor of the learning rate; 1 never lowers the rate."
    )
    patience: int = field(
        10, "Epochs without improvement before the rate is lowered."
    )
    min_learning_rate: float = field(0.0, "Lower limit of the learning rate.")


@dataclasses.dataclass(frozen=True)
class TrainingFields:
    """Length of training, devices, and choice of the best epoch."""

    seed: int = field(0, "Random seed of weights, batches and samples.")
    deterministic: bool = field(
        True, "Whether a repeated run gives the same numbers."
    )
    steps_per_epoch: int = field(100, "Batches per epoch.")
    num_epochs: int = field(10, "Maximum number of epochs.")
    monitor: str = field(
        "", "Logged value that chooses the best epoch; empty: the evaluator's."
    )
    patience: int = field(
        10,
        "Epochs without improvement before training stops; num_epochs or more "
        "never stops early.",
    )
    plateau: Plateau = field(Plateau(), "Lowers the learning rate.")
    piece_size: int = field(
        0, "Rows of a batch that are encoded at a time; 0 encodes all at once."
    )
    precision: str = field(
        "float32", "Type policy: float32, mixed_bfloat16 or mixed_float16."
    )
    strategy: str = field("one", "Devices: one, mirrored or multi_worker.")
    initial_weights: str = field(
        "",
        "Workdir or .keras file to start from, or the workdir of a "
        "cross-validation, whose run of the same fold is used; empty for new "
        "weights.",
    )
    freeze_encoder: bool = field(
        False,
        "Whether to keep the encoder of initial_weights as it is, and to train "
        "only what is on top: the uncertainty head, or without a head the "
        "layers of the objective, which start anew.",
    )


@dataclasses.dataclass(frozen=True)
class Run:
    """A training and its evaluation, with a value for every field."""

    data: DataFields = field(DataFields(), "Data set, splits, features.")
    batches: Part = field(
        Part("class_balanced_batches"), "Sampler of embeddings_tf.sampling."
    )
    encoder: Part = field(
        Part(), "Encoder of embeddings_tf.models, or FILE.py:FUNCTION."
    )
    method: Method = field(
        Method(),
        "Loss or objective that trains the encoder, or an autoencoder; "
        "FILE.py:CLASS for your own.",
    )
    uncertainty: Part = field(
        Part(),
        "Head of embeddings_tf.layers that predicts an uncertainty, such as "
        "UncertaintyHead; empty for none.",
    )
    optimizer: Part = field(
        Part("Adam"), "Optimizer of Keras or of embeddings_tf.optimizers."
    )
    training: TrainingFields = field(
        TrainingFields(), "Length, precision, devices."
    )
    evaluation: Evaluation = field(
        Retrieval(), "Metrics and splits of the evaluation."
    )
