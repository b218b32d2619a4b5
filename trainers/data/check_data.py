"""Reads every example of a run's data, to find all that are bad at once."""

import concurrent.futures
import sys
import threading

import keras

from embeddings_tf import datasets
from embeddings_tf.datasets.own_data import has_all_examples
from embeddings_tf.datasets.own_data import is_own_data
from trainers.config.evaluation_fields import Retrieval
from trainers.config.evaluation_fields import RetrievalValidation
from trainers.config.run import DataFields
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.data.classes import classes_of
from trainers.data.classes import print_classes
from trainers.data.classes import require_large_classes
from trainers.data.copies import Copies
from trainers.data.data import Data
from trainers.data.feature_scale import require_scale
from trainers.data.feature_scale import require_usable_scale
from trainers.data.goal_front_end import goal_front_end
from trainers.data.recordings import feature_function


def check_data(run: Run, for_goal: bool = False) -> int:
    """Reads every example of the splits of a run.

    Prints one line for each example that cannot be read, or that has another
    size than the first example where `images.size` does not resize it. Warns
    of examples that are copies of others.

    Args:
        run: The run.
        for_goal: Whether the data is for a goal, not yet for a recipe: images
            may differ in size, and recordings need the features of a goal.

    Returns:
        The number of examples.

    Raises:
        ValueError: If an example is bad, a class is too small for a batch, or
            the data cannot be listed.
        OSError: If the data is missing.
    """
    data = Data(run)
    found = classes_of(run, data)
    if found:
        print_classes(run, found)
    wanted = run.evaluation
    used = (run.data.split, wanted.validation.split, *wanted.splits)
    total, num_bad, copies = 0, 0, Copies()
    for split in dict.fromkeys(used):
        x, labels = data.unprocessed(split)
        if split == run.data.split:
            require_large_classes(run, data, x, labels)
            if for_goal:  # whose encoder of rows has a scale
                require_scale(run.data, x)
            else:
                require_usable_scale(run, x)
        contents = _read(
            x,
            split,
            for_goal or run.data.images.size > 0,
            _features_of(run, x, for_goal),
        )
        classes = data.names_of_classes(split) if found else None
        names = getattr(x, "names", None)
        splits = _split_of_each(run, split, len(x)) if found else None
        for number, (content, message) in enumerate(contents):
            if message:
                print(message, file=sys.stderr)
                num_bad += 1
            elif found:  # data by name cannot be changed
                name = names[number] if names else f"{split} {number}"
                copies.add(content, name, classes[number], splits[number])
        total += len(x)
    if num_bad:
        raise ValueError(
            f"{num_bad} of {total} examples are bad; the lines above name them"
        )
    if lines := copies.lines():
        print("warning:", "\n".join(lines), file=sys.stderr)
    return total


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


def _features_of(run: Run, x, for_goal: bool):
    """Returns the function from a recording to its features, or None."""
    if not (isinstance(x, datasets.Utterances) and x.sample_rate):
        return None
    front_end = run.data.front_end
    if for_goal:
        arguments = goal_front_end(x.sample_rate)
        front_end = Part(arguments.pop("name"), arguments)
    return feature_function(x, front_end) if front_end.name else None


def _read(x, split: str, any_size: bool, features_of) -> list[tuple]:
    """Returns the digest of each example, and a message if it is bad."""
    bar = keras.utils.Progbar(len(x), unit_name=split)
    lock = threading.Lock()
    first_shape: list = []

    def read(number):
        content, message = b"", ""
        try:
            example = x[number]
            content = Copies.digest(example)
            message = _other_size(x, number, example, first_shape, any_size)
            message = message or _no_features(x, number, example, features_of)
        except (ValueError, OSError) as error:
            message = " ".join(str(error).split())
        with lock:
            bar.add(1)
        return content, message

    if not len(x):
        return []
    contents = [read(0)]
    with concurrent.futures.ThreadPoolExecutor() as threads:
        contents += threads.map(read, range(1, len(x)))
    return contents


def _no_features(x, number, example, features_of) -> str:
    try:
        if features_of is not None:
            features_of(example)
    except ValueError as error:
        names = x.names or range(len(x))
        return f"{names[number]}: {error}"
    return ""


def _other_size(x, number, example, first_shape, any_size) -> str:
    if any_size or isinstance(x, datasets.Utterances):
        return ""
    if not first_shape:
        first_shape.append((number, example.shape))
    first, shape = first_shape[0]
    if example.shape == shape:
        return ""
    names = getattr(x, "names", None) or range(len(x))
    return (
        f"{names[number]} has shape {example.shape}, {names[first]} has shape "
        f"{shape}; set config.images.size, or resize it"
    )
