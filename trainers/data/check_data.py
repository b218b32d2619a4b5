"""Reads every example of a run's data, to find all that are bad at once."""

import concurrent.futures
import sys
import threading
from typing import NoReturn

import numpy as np

from embeddings_tf import datasets
from embeddings_tf.datasets.own_data import has_all_examples
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.datasets.table_columns import table_columns
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed
from trainers.config.evaluation_fields import Retrieval
from trainers.config.evaluation_fields import RetrievalValidation
from trainers.config.run import DataFields
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.data.beyond_pixels import beyond_pixels
from trainers.data.beyond_pixels import warn_beyond_pixels
from trainers.data.channels_first import warn_of_channels_first
from trainers.data.classes import classes_of
from trainers.data.classes import print_classes
from trainers.data.classes import require_large_classes
from trainers.data.classes import warn_of_unknown
from trainers.data.copies import Copies
from trainers.data.data import Data
from trainers.data.feature_scale import require_no_overflow
from trainers.data.feature_scale import require_scale
from trainers.data.feature_scale import require_usable_scale
from trainers.data.goal_front_end import goal_front_end
from trainers.data.recordings import feature_function
from trainers.data.sizes import Sizes
from trainers.data.unread_warnings import unread_warnings
from trainers.terminal.progress import Progress

# Bad examples that are named.
MOST_LINES = 10


def check_data(run: Run, for_goal: bool = False) -> int:
    """Reads every example of the splits of a run.

    Prints a line for each of the first `MOST_LINES` examples that cannot be
    read, or that have another size than the first example where `images.size`
    does not resize them. Warns of examples that are copies of others.

    Args:
        run: The run.
        for_goal: Whether the data is for a goal, not yet for a recipe: images
            may differ in size, and recordings need the features of a goal. What
            a goal could refuse is then a warning.

    Returns:
        The number of examples.

    Raises:
        ValueError: If an example is bad, a class is too small for a batch,
            features are too large, or the data cannot be listed.
        OSError: If the data is missing.
    """
    data = Data(run)
    recorded = classes_of(run, data)
    print_classes(run, recorded)
    warn_of_unknown(recorded)
    wanted = run.evaluation
    used = (run.data.split, wanted.validation.split, *wanted.splits)
    total, bad, copies = 0, [], Copies()
    warnings = unread_warnings(run.data.dataset)
    for split in dict.fromkeys(used):
        x, labels = data.unprocessed(split)
        if for_goal or run.encoder.name == "features_encoder":
            require_no_overflow(run.data, x, f"the split {split!r}")
        if split == run.data.split:
            require_large_classes(run, data, x, labels)
            if for_goal:  # whose encoder of rows has a scale
                require_scale(run.data, x)
            else:
                require_usable_scale(run, x)
        if for_goal:
            warnings += beyond_pixels(x)
        else:  # as in the training, which is tried next
            warn_beyond_pixels(x)
        if isinstance(x, np.ndarray):
            warn_of_channels_first(x.shape[1:])
        sizes = Sizes(x)
        features_of, refusal = _features_of(run, x, for_goal)
        contents = _read(x, features_of, sizes)
        if for_goal:
            warnings += refusal + sizes.warnings()
            warnings += _small_classes(data, split) if recorded else []
        elif not run.data.images.size:
            contents = sizes.with_messages(contents)
        bad += [message for _, message in contents if message]
        if recorded:  # data by name cannot be changed
            _add_copies(copies, run, data, split, x, contents)
        total += len(x)
    if lines := copies.lines():
        warnings.append("\n".join(lines))
    for text in dict.fromkeys(warnings):  # splits may have the same
        print("warning:", text, file=sys.stderr)
    if bad:
        _refuse(run, bad, total)
    return total


def _refuse(run: Run, bad: list[str], total: int) -> NoReturn:
    """Prints the first bad examples, and raises."""
    print("\n".join(bad[:MOST_LINES]), file=sys.stderr)
    if len(bad) > MOST_LINES:
        print(f"and {len(bad) - MOST_LINES} more", file=sys.stderr)
    kind, _, path = run.data.dataset.partition(":")
    where = ""
    if kind == "csv" and not table_columns(path).features:
        where = "; paths start in the folder of the table"
    named = "are bad; the lines above name them"
    if len(bad) == 1:
        named = "is bad; the line above names it"
    elif len(bad) > MOST_LINES:
        named = "are bad; the lines above name the first"
    raise ValueError(
        f"{len(bad)} of {counted(total, 'example')} {named}{where}"
    )


def _add_copies(copies: Copies, run: Run, data: Data, split, x, contents):
    """Notes the examples of a split that could be read."""
    classes = data.names_of_classes(split)
    names = _names(run, data, split, x)
    splits = _split_of_each(run, split, len(x))
    for number, (content, message) in enumerate(contents):
        if not message:
            copies.add(content, names[number], classes[number], splits[number])


def _names(run: Run, data: Data, split: str, x) -> list[str]:
    """Returns paths of files, lines of a table, or numbers of rows."""
    fields = run.data
    if names := getattr(x, "names", None):
        return names
    if fields.dataset.startswith("csv:") and not fields.folds.num_folds:
        return data.labelled("name").labels(split).tolist()
    kind = "row" if split == "all" else split
    return [f"{kind} {number}" for number in range(len(x))]


def _small_classes(data: Data, split: str) -> list[str]:
    """Returns a warning of classes that no goal takes."""
    names, counts = np.unique(data.names_of_classes(split), return_counts=True)
    few = names[counts < 2].tolist()
    if not few:
        return []
    return [
        f"{len(few)} of {counted(len(names), 'class', 'classes')} "
        f"{'has' if len(few) == 1 else 'have'} one example: {listed(few)}; "
        "most goals need two"
    ]


def run_of_all(dataset: str) -> Run:
    """Returns a run that reads every example of a data set.

    Data that has no split `all` is read as train, validation and test; a named
    set may lack the last two.
    """
    splits = ["all"]
    if not has_all_examples(dataset):
        splits = ["train", "validation", "test"]
        if not is_own_data(dataset):
            splits = [s for s in splits if s == "train" or _exists(dataset, s)]
    validation = RetrievalValidation(split=splits[-1])
    return Run(
        data=DataFields(dataset=dataset, split=splits[0]),
        evaluation=Retrieval(splits=tuple(splits), validation=validation),
    )


def _exists(dataset: str, split: str) -> bool:
    try:
        Data(Run(data=DataFields(dataset=dataset))).labels(split)
    except ValueError:
        return False
    return True


def _split_of_each(run: Run, split: str, num_examples: int) -> list[str]:
    """Returns the split of each example; `all` may have splits of its own."""
    if split == "all":
        try:
            data = Data(run).labelled("split")
            return data.labels("all").tolist()
        except ValueError:  # the command divides the data
            pass
    return [split] * num_examples


def _features_of(run: Run, x, for_goal: bool) -> tuple:
    """Returns the function from a recording to its features, or None.

    Also returns warnings of recordings that no goal takes.
    """
    if not (isinstance(x, datasets.Utterances) and x.sample_rate):
        return None, []
    front_end = run.data.front_end
    if for_goal:
        try:
            arguments = goal_front_end(x.sample_rate)
        except ValueError as error:
            return None, [str(error)]
        front_end = Part(arguments.pop("name"), arguments)
    return feature_function(x, front_end) if front_end.name else None, []


def _read(x, features_of, sizes: Sizes) -> list[tuple]:
    """Returns the digest of each example, and a message if it is bad."""
    progress = Progress(len(x), "example")
    lock = threading.Lock()

    def read(number):
        content, message = b"", ""
        try:
            example = x[number]
            content = Copies.digest(example)
            message = _no_features(x, number, example, features_of)
            sizes.shapes[number] = np.shape(example)
        except (ValueError, OSError) as error:
            message = " ".join(str(error).split())
        with lock:
            progress.advance()
        return content, message

    with concurrent.futures.ThreadPoolExecutor() as threads:
        return list(threads.map(read, range(len(x))))


def _no_features(x, number, example, features_of) -> str:
    try:
        if features_of is not None:
            features_of(example)
    except ValueError as error:
        names = x.names or range(len(x))
        return f"{names[number]}: {error}"
    return ""
