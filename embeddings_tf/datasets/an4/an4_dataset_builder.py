"""TFDS builder of the features of CMU AN4."""

import pathlib

import numpy as np
import tensorflow_datasets as tfds

from embeddings_tf.datasets.an4 import sphinx

_DIM = 13
_FOLDERS = {"train": "an4_clstk", "test": "an4test_clstk"}


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of CMU AN4: features of utterances, labelled by speaker."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = """\
    Get the feature files of CMU AN4 and put their folder `feat`, which has
    `an4_clstk` and `an4test_clstk`, into the subfolder `an4` of manual_dir.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "frames": tfds.features.Tensor(
                        shape=(None, _DIM), dtype=np.float32, encoding="zlib"
                    ),
                    "label": tfds.features.Scalar(np.int32),
                    "speaker": tfds.features.Text(),
                    "utterance": tfds.features.Text(),
                }
            ),
            supervised_keys=("frames", "label"),
            homepage="http://www.speech.cs.cmu.edu/databases/an4/",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        folder = pathlib.Path(dl_manager.manual_dir) / "an4"
        speakers = {
            split: _speakers(folder, name) for split, name in _FOLDERS.items()
        }
        both = set(speakers["train"]) & set(speakers["test"])
        if both:
            raise ValueError(
                f"{folder} has speaker {min(both)} in {_FOLDERS['train']} and "
                f"in {_FOLDERS['test']}: expected different speakers. Are they "
                "the original files?"
            )
        return {
            "train": self._generate_examples(speakers["train"], 0),
            "test": self._generate_examples(
                speakers["test"], len(speakers["train"])
            ),
        }

    def _generate_examples(self, speakers, first_label):
        key = 0
        for label, (speaker, paths) in enumerate(speakers.items(), first_label):
            for path in paths:
                yield (
                    key,
                    {
                        "frames": sphinx.read_features(path, _DIM),
                        "label": label,
                        "speaker": speaker,
                        "utterance": path.stem,
                    },
                )
                key += 1


def _speakers(folder, name):
    """Returns the files of each speaker of `feat/<name>`, sorted."""
    part = folder / "feat" / name
    speakers = {
        path.name: sorted(path.glob("*.mfc"))
        for path in (sorted(part.iterdir()) if part.is_dir() else ())
        if path.is_dir()
    }
    speakers = {speaker: paths for speaker, paths in speakers.items() if paths}
    if not speakers:
        raise FileNotFoundError(
            f"AN4 needs {part}/<speaker>/<utterance>.mfc, and there are no "
            "such files; put the folder `feat` of its feature files into "
            f"{folder}, and set EMBEDDINGS_TF_MANUAL or manual_dir to "
            f"{folder.parent}."
        )
    return speakers
