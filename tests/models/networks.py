"""A file with small networks of a user, for the tests of backbones."""

CODE = """
import keras


def network(image_shape):
    return keras.Sequential(
        [
            keras.Input(image_shape),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(4, 3, strides=2),
            keras.layers.BatchNormalization(),
            keras.layers.Conv2D(6, 3),
        ]
    )


def vectors():
    return keras.Sequential(
        [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(5)]
    )


def no_model():
    return 3


def rows():
    return keras.Sequential([keras.layers.Reshape((-1, 3))])


def needs(more):
    pass
"""


def write_networks(folder):
    """Writes the file; returns its path."""
    path = folder / "networks.py"
    path.write_text(CODE)
    return path
