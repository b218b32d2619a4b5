"""TFDS builder of Inception-v3 features of CUB-200-2011."""

import keras
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

_SOURCE_VERSION = "0.2.0"
_WEIGHTS = "imagenet"
_WEIGHTS_FILE = "inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5"
_SIZE = 299
_NUM_FEATURES = 2048
_BATCH = 32


class Builder(tfds.core.GeneratorBasedBuilder):
    """Builder of Inception-v3 features of CUB-200-2011."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {
        "1.0.0": (
            f"caltech_birds2011 {_SOURCE_VERSION}, weights {_WEIGHTS_FILE} of "
            "keras.applications."
        )
    }
    SOURCE = "caltech_birds2011"
    # Optional instructions; with them, TFDS accepts manual_dir.
    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
    With a network, nothing has to be done by hand. Without a network, put
    `CUB_200_2011.tgz` and `segmentations.tgz` into the subfolder
    `caltech_birds2011` of manual_dir, and `{_WEIGHTS_FILE}` into `models` of
    the Keras folder.
    """

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "features": tfds.features.Tensor(
                        shape=(_NUM_FEATURES,),
                        dtype=np.float32,
                        encoding="bytes",
                    ),
                    "label": tfds.features.ClassLabel(num_classes=200),
                }
            ),
            supervised_keys=("features", "label"),
            homepage="https://www.vision.caltech.edu/datasets/cub_200_2011/",
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager):
        del dl_manager  # The source is already prepared.
        # This set has a new version when the source has one.
        source = tfds.builder(
            f"{self.SOURCE}:{_SOURCE_VERSION}", data_dir=self.data_dir_root
        )
        extractor = _inception()
        return {
            split: self._generate_examples(source, split, extractor)
            for split in ("train", "test")
        }

    def _generate_examples(self, source, split, extractor):
        photographs = source.as_dataset(
            split=split,
            shuffle_files=False,
            # Files are read one by one, to keep the order of the source.
            read_config=tfds.ReadConfig(
                interleave_cycle_length=1, try_autocache=False
            ),
            decoders=tfds.decode.PartialDecoding({"image", "label"}),
        )
        batches = photographs.map(
            lambda example: (
                tf.image.resize(example["image"], (_SIZE, _SIZE)) / 127.5 - 1,
                example["label"],
            ),
            num_parallel_calls=tf.data.AUTOTUNE,
        ).batch(_BATCH)
        key = 0
        for x, labels in batches:
            features = extractor.predict_on_batch(x)
            for row, label in zip(features, labels.numpy(), strict=True):
                yield key, {"features": row, "label": int(label)}
                key += 1


def _inception():
    """Returns Inception-v3 up to its last pooling layer, in float32."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return keras.applications.InceptionV3(
            weights=_WEIGHTS,
            include_top=False,
            pooling="avg",
            input_shape=(_SIZE, _SIZE, 3),
        )
    # Keras raises Exception itself if a download fails.
    except Exception as error:
        raise FileNotFoundError(
            f"The ImageNet weights of Inception-v3 could not be loaded "
            f"({error}); connect to a network, or put {_WEIGHTS_FILE} into the "
            "folder `models` of the Keras folder ($KERAS_HOME, by default "
            "~/.keras)."
        ) from error
    finally:
        keras.config.set_dtype_policy(policy)
