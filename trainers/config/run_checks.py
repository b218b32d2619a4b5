"""Checks of a run beyond the types of its fields."""

import itertools
import math
import operator
import re
from collections.abc import Iterable

from trainers.config.optimizer_checks import check_optimizer
from trainers.config.own_code import file_and_name
from trainers.config.places import PLACES
from trainers.config.places import place_of
from trainers.config.run import DATA_FOLDERS
from trainers.config.run import Folds
from trainers.config.run import Part
from trainers.config.run import Plateau
from trainers.config.run import Run
from trainers.config.run_fields import config_name
from trainers.config.signatures import REQUIRED
from trainers.config.signatures import settable
from trainers.config.signatures import signature

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")

# Numbers of an epoch that change while the encoder is frozen: the head's.
_OF_HEAD = ("val_recall_auroc_head", "loss")

# Arguments of an objective that only train its encoder.
_FOR_ENCODER = ("encoder_loss", "auxiliary")

# Sections of the data, and the field without which the others do nothing.
_SWITCHES = {
    "backbone": "network",
    "folds": "num_folds",
    "folds.group": "feature",
    "label": "feature",
    "utterances": "num_frames",
}

# Parts that a run may do without.
OPTIONAL_PARTS = ("uncertainty", "preprocess", "front_end")


def check_run(run: Run) -> None:
    """Checks that a run can start, before any data is read.

    Raises:
        ValueError: If a required field is empty, has an impossible value, or
            contradicts another field.
    """
    if not run.data.dataset:
        raise ValueError(
            "config.dataset is empty; name a data set that "
            "embeddings_tf.datasets.load knows, or data of your own "
            "(docs/own_data.md), for example image_folder:PATH"
        )
    _check_places(run)
    if file_and_name(run.data.dataset):
        signature((), run.data.dataset)
    method = run.method.kind
    parts = {
        "batches": run.batches,
        "encoder": run.encoder,
        method: run.method,
        "optimizer": run.optimizer,
        "uncertainty": run.uncertainty,
        "preprocess": run.data.preprocess,
        "front_end": run.data.front_end,
    }
    for name, part in parts.items():
        if not part.name and name not in OPTIONAL_PARTS:
            raise ValueError(f"config.{name}.name is empty; set it")
        _require_arguments(part, name, name)
    check_evaluation(run)
    _check_numbers(run)
    check_optimizer(run.optimizer)
    _check_decay(run)
    _check_pieces(run)
    _check_supports(run)
    _check_uncertainty(run)
    _check_frozen_encoder(run)
    _check_variance(run)


def _check_places(run: Run) -> None:
    """Checks that paths can be written into the files of a run."""
    for name in ("dataset", *DATA_FOLDERS):
        value = getattr(run.data, name)
        if not is_utf8(value):
            raise ValueError(
                f"config.{name} must be UTF-8; received {value!r}. Rename the "
                "folder, or make a symbolic link to it with another name"
            )


def is_utf8(path: str) -> bool:
    """Whether a path can be encoded; names of files may be any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_evaluation(run: Run) -> None:
    """Checks that the evaluation has data, and is for this data.

    Raises:
        ValueError: If the evaluation names no split and no list of trials, or
            if only one of data and evaluation has digits.
    """
    if not (run.evaluation.splits or getattr(run.evaluation, "trials", ())):
        raise ValueError(
            "config.evaluation.splits is empty; name the splits to evaluate, "
            'for example ("test",)'
        )
    name, has_digits = run.evaluation.name, run.data.has_digits
    if name == "few_shot" and has_digits:
        raise ValueError(
            "config.evaluation.name='few_shot' does not know the digits of "
            f"config.dataset={run.data.dataset!r}; use "
            "--config.evaluation.name=n_digit_few_shot"
        )
    if name == "n_digit_few_shot" and not has_digits:
        received = repr(run.data.dataset)
        if run.data.backbone.network:
            received += " with features of config.backbone"
        raise ValueError(
            "config.evaluation.name='n_digit_few_shot' is for images of "
            f"n_digit/...; received {received}. Use "
            "--config.evaluation.name=few_shot"
        )


def _require_arguments(part: Part, field: str, name: str) -> None:
    place = place_of(part, field)
    found = settable(PLACES[place], part.name, place)
    for argument, value in part.arguments.items():
        if isinstance(value, Part):
            _require_arguments(value, argument, config_name(name, argument))
    for argument, (_, default, _) in found.arguments.items() if found else ():
        if default is REQUIRED and argument not in part.arguments:
            raise ValueError(
                f"the recipe has no field config.{name}.{argument}; "
                f"{part.name} needs it"
            )


def require_effect(run: Run, overrides: Iterable[str]) -> None:
    """Checks that no override sets a field of a section that is switched off.

    A recipe may contain such a section, which the user then misses.

    Raises:
        ValueError: If a field would have no effect.
    """
    names = [o.partition("=")[0].removeprefix("data.") for o in overrides]
    for name, (section, switch) in itertools.product(names, _SWITCHES.items()):
        if not name.startswith(f"{section}.") or f"{section}.{switch}" in names:
            continue
        fields = operator.attrgetter(section)(run.data)
        if getattr(fields, switch):
            continue
        field = operator.attrgetter(name.removeprefix(f"{section}."))
        if field(fields) != field(type(fields)()):
            raise ValueError(
                f"config.{name} has no effect without config.{section}."
                f"{switch}; set it, too"
            )


def _check_numbers(run: Run) -> None:
    training = run.training
    for name in ("steps_per_epoch", "num_epochs", "patience"):
        if getattr(training, name) < 1:
            mend = ""
            if name == "patience":
                mend = (
                    "; a value of config.num_epochs or more never stops early"
                )
            raise ValueError(
                f"config.{name} must be at least 1; received "
                f"{getattr(training, name)}{mend}"
            )
    _check_folds(run.data.folds)
    if run.data.images.size < 0:
        raise ValueError(
            "config.images.size must be at least 1, or 0 to keep the size of "
            f"the images; received {run.data.images.size}"
        )
    division = run.data.division
    if division.by not in ("classes", "examples") or division.seed < 0:
        raise ValueError(
            "config.division.by must be classes or examples, and "
            f"config.division.seed at least 0; received {division.by!r} and "
            f"{division.seed}"
        )
    average = run.optimizer.arguments
    if average.get("use_ema") and not average.get("ema_overwrite_frequency"):
        raise ValueError(
            "config.optimizer.use_ema averages weights, which checkpoints get "
            "only with config.optimizer.ema_overwrite_frequency; set it, for "
            "example to config.steps_per_epoch"
        )
    _check_plateau(run)
    if not 0 <= training.seed < 2**32:
        raise ValueError(
            "config.seed must be at least 0 and at most 2**32 - 1; received "
            f"{training.seed}"
        )
    if training.precision not in PRECISIONS:
        raise ValueError(
            f"config.precision must be one of {', '.join(PRECISIONS)}; "
            f"received {training.precision!r}"
        )


def _check_folds(folds: Folds) -> None:
    if folds.num_folds < 0 or folds.num_folds == 1:
        raise ValueError(
            "config.folds.num_folds must be at least 2, or 0 for the splits of "
            f"the data set; received {folds.num_folds}"
        )
    tested = folds.test_split
    if folds.num_folds and tested:
        if any(
            _may_share(one, other)
            for one in tested.split("+")
            for other in folds.split.split("+")
        ):
            raise ValueError(
                f"config.folds.split={folds.split!r} contains the test split "
                f"{tested!r}, so the training would see it; set "
                "config.folds.split=train, or config.folds.test_split= for "
                "tests on the folds"
            )
    if folds.num_per_class < 0:
        raise ValueError(
            "config.folds.num_per_class must be at least 1, or 0 for all "
            f"examples; received {folds.num_per_class}"
        )
    if folds.fold and not folds.num_folds:
        raise ValueError(
            f"config.folds.fold={folds.fold} needs config.folds.num_folds; "
            "without folds the splits of the data set are used"
        )


def _may_share(one: str, other: str) -> bool:
    """Whether two splits may have examples in common.

    Slices such as `train[:100]` and `train[100:]`, or both in %, have none.
    """
    (name, rows), (other_name, other_rows) = map(_name_and_rows, (one, other))
    if "all" in (name, other_name):
        return True
    if name != other_name:
        return False
    limits = [_limits(found) for found in (rows, other_rows)]
    if None in limits or limits[0][2] != limits[1][2]:
        ends = {rows.removeprefix(":"), other_rows.removeprefix(":")}
        # The last rows, and all rows before them.
        last = {end.removesuffix(":") for end in ends}
        return not (len(last) == 1 and len(ends) == 2 and "-" in [*last][0])
    (first, last, _), (other_first, other_last, _) = limits
    return first < other_last and other_first < last


def _name_and_rows(split: str) -> tuple[str, str]:
    """Divides `train[:100]` into the name and the rows, `:` for all."""
    name, bracket, rows = split.strip().partition("[")
    return name, rows.removesuffix("]").replace(" ", "") if bracket else ":"


def _limits(rows: str) -> tuple[float, float, bool] | None:
    """First and last number of a slice, and whether they are in %."""
    found = re.fullmatch(r"(?:(\d+)(%?))?:(?:(\d+)(%?))?", rows)
    if found is None:
        return None
    first, percent, last, also_percent = found.groups()
    units = {unit for n, unit in ((first, percent), (last, also_percent)) if n}
    if len(units) > 1:
        return None
    return int(first or 0), int(last) if last else math.inf, units == {"%"}


def _check_plateau(run: Run) -> None:
    plateau = run.training.plateau
    if plateau.factor == 1:
        if plateau == Plateau():
            return
        raise ValueError(
            "config.plateau.factor is 1, so the learning rate is never "
            "lowered; set it, for example to 0.5, or leave out the other "
            "fields of config.plateau"
        )
    if not 0 < plateau.factor < 1:
        raise ValueError(
            "config.plateau.factor must be between 0 and 1; received "
            f"{plateau.factor!r}"
        )
    lowest = plateau.min_learning_rate
    if plateau.patience < 1 or lowest < 0:
        raise ValueError(
            "config.plateau.patience must be at least 1, and "
            "config.plateau.min_learning_rate at least 0; received "
            f"{plateau.patience!r} and {lowest!r}"
        )
    rate = run.optimizer.arguments.get("learning_rate")
    if isinstance(rate, Part):
        raise ValueError(
            "config.plateau lowers a learning rate that is a number; "
            f"config.optimizer.learning_rate is {rate.name}. Leave out "
            "config.plateau, or set config.optimizer.learning_rate to a number"
        )


def _check_decay(run: Run) -> None:
    """Checks that a rate that decays to zero is above zero until the end."""
    rate, training = run.optimizer.arguments.get("learning_rate"), run.training
    if not isinstance(rate, Part) or rate.name != "CosineDecay":
        return
    arguments = rate.arguments
    decay, warmup = (
        arguments.get("decay_steps"),
        arguments.get("warmup_steps") or 0,
    )
    count = training.steps_per_epoch * training.num_epochs
    if warmup and arguments.get("warmup_target") is None:
        raise ValueError(
            "config.optimizer.learning_rate.warmup_steps has no effect without "
            "config.optimizer.learning_rate.warmup_target, the rate after "
            "these steps; set it, and initial_learning_rate to the rate "
            "before, or set warmup_steps=0"
        )
    if decay is None or arguments.get("alpha") or warmup + decay >= count:
        return
    raise ValueError(
        f"config.optimizer.learning_rate is 0 from step {warmup + decay} of "
        f"{count} on ({training.num_epochs} epochs of "
        f"{training.steps_per_epoch}); also set "
        f"config.optimizer.learning_rate.decay_steps={count - warmup}"
    )


def _check_pieces(run: Run) -> None:
    piece_size = run.training.piece_size
    if piece_size < 0:
        raise ValueError(
            "config.piece_size is a number of rows, or 0 to encode the whole "
            f"batch at once; received {piece_size}"
        )
    if piece_size and run.method.kind == "autoencoder":
        raise ValueError(
            "config.piece_size is for losses that compare the rows of a "
            "batch, which an autoencoder's loss does not; use smaller batches "
            "(config.batches)"
        )
    if piece_size and run.encoder.arguments.get("dimension_dropout"):
        raise ValueError(
            "config.piece_size encodes a batch in pieces, but "
            "config.encoder.dimension_dropout drops the same dimensions in the "
            "whole batch; set one of the two to 0"
        )


def _check_supports(run: Run) -> None:
    """Checks that episodes and method have the same number of supports."""
    if run.batches.name != "episodes":
        return
    wanted = run.method.arguments.get("num_support")
    drawn = run.batches.arguments.get("num_support")
    if wanted not in (None, drawn):
        raise ValueError(
            "config.batches.num_support and config."
            f"{run.method.kind}.num_support are the same supports; received "
            f"{drawn} and {wanted}. Set both"
        )


def _check_uncertainty(run: Run) -> None:
    """Checks that an uncertainty head can be trained."""
    if run.uncertainty.name and run.method.kind == "autoencoder":
        raise ValueError(
            "config.uncertainty predicts the loss of a method that compares "
            "embeddings, which an autoencoder does not; leave it empty"
        )


def _check_frozen_encoder(run: Run) -> None:
    """Checks that something on top of a frozen encoder can be trained."""
    if not run.training.freeze_encoder:
        return
    if not run.training.initial_weights:
        raise ValueError(
            "config.freeze_encoder keeps the encoder of a trained model: set "
            "config.initial_weights to its workdir"
        )
    if run.method.kind == "autoencoder":
        raise ValueError(
            "config.freeze_encoder is for methods of embeddings; "
            f"{run.method.name} trains encoder and decoder together: leave it "
            "out"
        )
    if not run.uncertainty.name and run.method.kind != "objective":
        raise ValueError(
            "config.freeze_encoder trains only what is on top of the encoder, "
            f"and {run.method.name} has nothing there: set "
            "config.uncertainty.name=UncertaintyHead, or an objective with "
            "layers of its own, such as LearnedDistance"
        )
    if not run.uncertainty.name:
        _require_nothing_for_encoder(run)
    if not _changes_on_top(run):
        cure = (
            "val_recall_auroc_head (of config.evaluation.name=uncertainty)"
            if run.uncertainty.name
            else "val_accuracy_at_equal_error (of "
            "config.evaluation.name=verification, not by the cosine)"
        )
        raise ValueError(
            f"config.monitor={run.training.monitor!r} measures the encoder, "
            "which config.freeze_encoder keeps as it is, so the first epoch "
            f"would stay the best; set config.monitor={cure}, or "
            "config.monitor=loss, the loss of what is trained"
        )


def _require_nothing_for_encoder(run: Run) -> None:
    """Raises ValueError if an objective has parts that train the encoder."""
    given = run.method.arguments
    useless = {name: "None" for name in _FOR_ENCODER if given.get(name)}
    if given.get("updates") == "alternating":
        useless["updates"] = "simultaneous"
    if useless:
        name, without = next(iter(useless.items()))
        field = f"config.{run.method.kind}.{name}"
        raise ValueError(
            f"{field} is for the training of the encoder, which "
            "config.freeze_encoder keeps as it is; leave it out, or set "
            f"{field}={without}"
        )


def _changes_on_top(run: Run) -> bool:
    """Whether the monitor can change while the encoder stays as it is."""
    if run.training.monitor in _OF_HEAD:
        return True
    if run.uncertainty.name:
        return False
    if run.evaluation.name == "verification":
        return run.evaluation.validation.score != "cosine"
    return run.training.monitor == "val_few_shot_accuracy"


def _check_variance(run: Run) -> None:
    """Checks that an encoder of points has no variance."""
    arguments = run.encoder.arguments
    if arguments.get("initial_variance") is None:
        return
    found = signature(PLACES["encoder"], run.encoder.name)
    known = found.arguments.get("gaussian") if found else None
    if known is not None and not arguments.get("gaussian", known.default):
        raise ValueError(
            "config.encoder.initial_variance is the variance of a Gaussian, "
            "and config.encoder.gaussian is False; leave it out"
        )
