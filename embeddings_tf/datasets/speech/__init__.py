"""Reads recordings, features and trials; computes and augments features.

Functions of waveforms and features use only TensorFlow. They run in `tf.data`
and can be exported with a model. Samples are in the range of 16-bit integers,
-32768 to 32767; multiply samples in -1..1 by 32768.
"""

from embeddings_tf.datasets.speech.add_noise import add_noise
from embeddings_tf.datasets.speech.augment import augment
from embeddings_tf.datasets.speech.count_frames import count_frames
from embeddings_tf.datasets.speech.energy_vad import energy_vad
from embeddings_tf.datasets.speech.front_end import front_end
from embeddings_tf.datasets.speech.keep_frames import keep_frames
from embeddings_tf.datasets.speech.mfcc import mfcc
from embeddings_tf.datasets.speech.read_kaldi import read_kaldi
from embeddings_tf.datasets.speech.read_recordings import read_recordings
from embeddings_tf.datasets.speech.read_trials import read_trials
from embeddings_tf.datasets.speech.repeat_or_crop import repeat_or_crop
from embeddings_tf.datasets.speech.reverberate import reverberate
from embeddings_tf.datasets.speech.subtract_sliding_mean import (
    subtract_sliding_mean,
)

__all__ = [
    "add_noise",
    "augment",
    "count_frames",
    "energy_vad",
    "front_end",
    "keep_frames",
    "mfcc",
    "read_kaldi",
    "read_recordings",
    "read_trials",
    "repeat_or_crop",
    "reverberate",
    "subtract_sliding_mean",
]
