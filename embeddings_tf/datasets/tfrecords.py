"""Reads single examples of a prepared data set of TFDS, in place."""

import numpy as np
import tensorflow as tf

# A record of a TFRecord file: length, its checksum, content, its checksum.
_HEADER_BYTES = 12
_CHECKSUM_BYTES = 4


def find_records(instructions) -> tuple[list[str], np.ndarray]:
    """Returns the positions of the examples of a split; reads no examples.

    Args:
        instructions: `file_instructions` of a split of TensorFlow Datasets.

    Returns:
        The files, and `int64` of shape `(examples, 3)`: index of the file,
        offset of the content and its number of bytes, in the order of the
        data set.

    Raises:
        EOFError: If a file is shorter than it should be.
    """
    places = []
    for number, part in enumerate(instructions):
        with open(part.filename, "rb") as file:
            size = file.seek(0, 2)
            place = 0
            for example in range(part.skip + part.take):
                file.seek(place)
                header = file.read(_HEADER_BYTES)
                length = int.from_bytes(header[:8], "little")
                first = place + _HEADER_BYTES
                place = first + length + _CHECKSUM_BYTES
                if len(header) < _HEADER_BYTES or place > size:
                    raise EOFError(f"{part.filename} is truncated.")
                if example >= part.skip:
                    places.append((number, first, length))
    files = [part.filename for part in instructions]
    return files, np.array(places, np.int64).reshape(-1, 3)


def image_reader(builder, split: str, key: str):
    """Returns a function that reads one image of a split, and their number.

    Args:
        builder: A builder of TensorFlow Datasets with prepared data.
        split: A split, or a slice or sum of splits.
        key: The name of the image feature.

    Returns:
        A function from the index of an example to its image, and the number
        of examples.

    Raises:
        OSError: From the function, if the file is damaged.
        EOFError: If a file is shorter than it should be.
    """
    import tensorflow_datasets as tfds

    files, places = find_records(builder.info.splits[split].file_instructions)
    features = tfds.decode.PartialDecoding({key}).extract_features(
        builder.info.features
    )

    @tf.function(input_signature=[tf.TensorSpec((), tf.string)])
    def decode(record):
        return features.deserialize_example(record)[key]

    def read(number):
        file_number, place, length = places[number]
        with open(files[file_number], "rb") as file:
            file.seek(place)
            record = file.read(length)
        try:
            with tf.device("CPU:0"):
                return decode(tf.constant(record)).numpy()
        except tf.errors.InvalidArgumentError as error:
            raise OSError(
                f"Image {number} of {builder.info.full_name}, in "
                f"{files[file_number]}, is damaged; delete that folder, and "
                "the data is prepared again."
            ) from error

    return read, len(places)
