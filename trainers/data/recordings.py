"""Recordings of a run: features, augmented copies, repetition."""

import os
import pathlib

import numpy as np
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf.datasets import speech
from embeddings_tf.ops.arguments import positive_integer
from trainers.config.build import argument_of
from trainers.config.build import build
from trainers.config.run import DataFields
from trainers.config.run import Part
from trainers.terminal.progress import Progress

MANUAL_VARIABLE = "EMBEDDINGS_TF_MANUAL"


def features(x, front_end: Part):
    """Computes features of recordings; `x` without a front end."""
    if not front_end.name:
        return x
    compute = feature_function(x, front_end)
    return x.map(Progress(len(x), "recording").counting(compute))


def feature_function(x, front_end: Part):
    """Returns a function from one of the recordings `x` to its features."""
    _check_sample_rate(x, front_end)

    def of_waveform(waveform):
        found = build(front_end, "front_end", waveform)
        if not isinstance(found, tuple):
            raise ValueError(
                f"config.front_end.name={front_end.name!r} returns "
                f"{type(found).__name__}; it must return (features, "
                "num_frames), as datasets.speech.front_end does. Write such a "
                "function, docs/speech.md#steady-sounds"
            )
        return found[0]

    # Traced once for all lengths.
    traced = tf.function(
        of_waveform,
        input_signature=[tf.TensorSpec((None,), tf.float32)],
        autograph=False,
    )
    # TensorFlow warns of retracing if threads wait in their first call.
    traced.get_concrete_function()

    def compute(waveform):
        waveform = waveform.astype(np.float32)
        try:
            return traced(waveform)
        except tf.errors.InvalidArgumentError:
            return of_waveform(waveform)  # eagerly, for its clear error

    return compute


def _check_sample_rate(x, front_end: Part) -> None:
    """Raises unless the recordings have the front end's sample rate."""
    if not isinstance(x, datasets.Utterances):
        raise ValueError(
            "config.front_end is for recordings; the data set has "
            f"{type(x).__name__}; remove the section"
        )
    expected = argument_of(front_end, "front_end", "sample_rate")
    if x.sample_rate not in (None, expected):
        raise ValueError(
            f"the recordings have {x.sample_rate} samples per second, but "
            f"config.front_end.sample_rate is {expected}; set it to "
            f"{x.sample_rate} (with frequencies up to half of it), or resample "
            "them"
        )


def serving_front_end(fields: DataFields):
    """Returns a function from waveforms and lengths to the model's input.

    It computes the same features as in training, for padded batches, in the
    exported model. Returns None without a front end.
    """
    if not fields.front_end.name:
        return None
    min_num_frames = 1
    if fields.utterances.num_frames:
        min_num_frames = fields.utterances.min_num_frames

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.float32, "waveform"),
            tf.TensorSpec((None,), tf.int32, "length"),
        ],
        autograph=False,
    )
    def of_batch(waveform, length):
        return build(
            fields.front_end,
            "front_end",
            waveform,
            length,
            min_num_frames=min_num_frames,
        )[0]

    return of_batch


def serving_decoder(fields: DataFields, model, preprocessing):
    """Returns a decoder of files as clients of an exported model send them.

    Recordings have the sample rate of the front end; images are cropped and
    resized as in training. Returns None for other inputs, and for images of a
    fixed size, which the export decodes by itself.
    """
    from embeddings_tf import export

    if fields.front_end.name:
        return export.WaveDecoder(
            argument_of(fields.front_end, "front_end", "sample_rate")
        )
    backbone = fields.backbone
    height, width, _ = backbone.image_shape
    # A network of a square shape resizes images, too.
    is_resized = fields.images.size or (backbone.network and height == width)
    if not is_resized:
        return None
    source = model if preprocessing is None else preprocessing
    shape = getattr(source, "input_shape", None) or model.encoder.input_shape
    return export.ImageDecoder(shape[1:], crop=fields.images.crop)


def repeated(x: datasets.Utterances, num_frames: int) -> datasets.Utterances:
    """Repeats whole utterances until they have `num_frames` frames."""
    num_frames = positive_integer("min_num_frames", num_frames)

    times = -(-num_frames // x.lengths)

    def repeat(number):
        utterance = x[number]
        if times[number] == 1:
            return utterance
        return np.concatenate([utterance] * int(times[number]))

    # Utterances are read on demand.
    return datasets.Utterances(repeat, times * x.lengths, names=x.names)


def augmented_copies(recordings, fields: DataFields, seed: int) -> list:
    """Returns features of one augmented copy per section of `augmentation`.

    Raises:
        ValueError: If the front end is missing, or a section names neither
            noise nor room responses, or an unknown folder.
    """
    if not fields.front_end.name:
        raise ValueError(
            "config.augmentation is for recordings: it needs config.front_end"
        )
    copies = []
    for number, name in enumerate(sorted(fields.augmentation)):
        wanted = fields.augmentation[name]
        if not (wanted.noise or wanted.room_responses):
            raise ValueError(
                f"config.augmentation.{name} names neither noise nor "
                "room_responses; name a folder within config.manual_dir, or "
                'the noise "babble"'
            )
        copy = speech.augment(
            recordings,
            _sounds(wanted.noise, recordings, fields),
            _sounds(wanted.room_responses, recordings, fields),
            snr=wanted.snr,
            num_sources=wanted.num_sources,
            seed=seed + number,
        )
        copies.append(features(copy, fields.front_end))
    return copies


def _sounds(name: str, recordings, fields: DataFields):
    """Reads recordings in a folder of original files; None without name."""
    if not name:
        return None
    if name == "babble":
        return recordings
    parent = fields.manual_dir or os.environ.get(MANUAL_VARIABLE)
    if not parent:
        raise ValueError(
            f"the folder of {name!r} in config.augmentation is not known; set "
            f"config.manual_dir or ${MANUAL_VARIABLE}"
        )
    x, _, _ = speech.read_recordings(
        pathlib.Path(os.path.expanduser(parent)) / name
    )
    return x
