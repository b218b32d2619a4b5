"""The typed form of a training and its evaluation.

Every field has a type, a default and one line of help. `trainers.run_config`
makes a run from a recipe; `--help` with a recipe lists the fields.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainers.evaluation_fields import Evaluation
from trainers.evaluation_fields import Retrieval
from trainers.field import field


@dataclasses.dataclass(frozen=True)
class Part:
    """An object or function by name, with its arguments.

    Arguments that are left out have the default of its signature. An argument
    may be a `Part`, such as a learning rate that follows a schedule. Without a
    name the run has no such part.
    """

    name: str = ""
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)  # a dictionary has no hash


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
    """A feature of the data set, as label or as group."""

    feature: str = field("", "Feature of the data set; empty for none.")
    pattern: str = field(
        "",
        "Regular expression; its first group is taken from each value. Empty "
        "takes whole values.",
    )


@dataclasses.dataclass(frozen=True)
class Folds:
    """Cross-validation: whole classes, or whole groups, are held out."""

    split: str = field("train", "Split of the data set that is divided.")
    num_folds: int = field(
        0, "Number of folds; 0 uses the splits of the data set."
    )
    fold: int = field(0, "Which fold is held out, from 0.")
    num_per_class: int = field(
        0, "Examples of each class, drawn once; 0 takes all."
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
class Images:
    """Images that are read when needed."""

    size: int = field(
        0, "Side to which images are cropped and resized; 0 leaves them."
    )
    cache_gib: float = field(
        1.0, "Memory that keeps decoded images, GiB for each split."
    )
    crop: bool = field(
        True, "Whether to crop to a square; False resizes whole images."
    )


@dataclasses.dataclass(frozen=True)
class Utterances:
    """Recordings of different lengths."""

    num_frames: int = field(
        0, "Frames of each training crop; 0 if examples are no recordings."
    )
    min_num_frames: int = field(
        1, "Shorter recordings are repeated, whole, to this many frames."
    )


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """One more copy of all training recordings."""

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
        (1, 1), "Fewest and most sources of noise at once."
    )


@dataclasses.dataclass(frozen=True)
class DataFields:
    """The data set and what is made of its examples."""

    dataset: str = field(
        "", "Name that datasets.load knows, or image_folder:PATH."
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
    label: Label = field(
        Label(), "Feature that is the label, if not the set's own label."
    )
    folds: Folds = field(Folds(), "Cross-validation by class.")
    images: Images = field(Images(), "Images that are read when needed.")
    front_end: Part = field(
        Part(), "Function of datasets.speech that makes features."
    )
    utterances: Utterances = field(Utterances(), "Recordings.")
    augmentation: Mapping[str, Augmentation] = field(
        {}, "Copies of the training recordings, each under a name."
    )
    preprocess: Part = field(
        Part(), "Function of datasets that changes training batches."
    )


@dataclasses.dataclass(frozen=True)
class Plateau:
    """Lowers the learning rate when `monitor` no longer improves."""

    factor: float = field(
        1.0, "Factor of the learning rate; 1 never lowers the rate."
    )
    patience: int = field(
        10, "Epochs without improvement before the rate is lowered."
    )
    min_learning_rate: float = field(0.0, "The rate is never lower.")


@dataclasses.dataclass(frozen=True)
class TrainingFields:
    """How long, on which devices, and which epoch is kept."""

    seed: int = field(0, "Random seed of weights, batches and samples.")
    deterministic: bool = field(
        True, "Whether a repeated run gives the same numbers."
    )
    steps_per_epoch: int = field(100, "Batches of an epoch.")
    num_epochs: int = field(10, "Epochs, at most.")
    monitor: str = field(
        "", "Logged value that chooses the best epoch; empty: the evaluator's."
    )
    patience: int = field(
        10, "Epochs without improvement before training stops."
    )
    plateau: Plateau = field(Plateau(), "Lowers the learning rate.")
    piece_size: int = field(
        0, "Rows of a batch that are encoded at a time; 0 encodes all."
    )
    precision: str = field(
        "float32", "Type policy: float32, mixed_bfloat16 or mixed_float16."
    )
    strategy: str = field("one", "Devices: one, mirrored or multi_worker.")
    initial_weights: str = field(
        "", "Workdir or .keras file to start from; empty starts anew."
    )


@dataclasses.dataclass(frozen=True)
class Run:
    """A training and its evaluation, with a value for every field."""

    data: DataFields = field(DataFields(), "Data set, splits, features.")
    batches: Part = field(
        Part("class_balanced_batches"), "Sampler of embeddings_tf.sampling."
    )
    encoder: Part = field(Part(), "Encoder of embeddings_tf.models.")
    method: Method = field(
        Method(),
        "Loss or objective that trains the encoder, or an autoencoder.",
    )
    optimizer: Part = field(
        Part("Adam"), "Optimizer of Keras or of embeddings_tf.optimizers."
    )
    training: TrainingFields = field(
        TrainingFields(), "Length, precision, devices."
    )
    evaluation: Evaluation = field(
        Retrieval(), "What is measured on which splits."
    )
