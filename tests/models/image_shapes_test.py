"""Every published encoder takes any image shape, or says what it needs."""

import inspect

import numpy as np
import pytest

from embeddings_tf import models
from tests.trainers.commands import ROOT

SHAPES = ((3, 5, 1), (20, 33, 3), (32, 40, 4), (40, 35, 1))
SMALL, CHANNELS = (
    "at least 4|at least 13|at least 32x32",
    "must have 3 channels",
)
# What each encoder answers: None takes the shape, text is in the error.
TABLE = {
    "backbone": (SMALL, SMALL, "1 or 3 channels", None),
    "cifar_resnet18_encoder": (CHANNELS, None, CHANNELS, CHANNELS),
    "image_encoder": (None, None, None, None),
    "mini_imagenet_resnet18_encoder": (CHANNELS, None, CHANNELS, CHANNELS),
    "mnist_encoder": (SMALL, None, None, None),
    "n_digit_encoder": (SMALL, None, None, None),
    "omniglot_encoder": (None, None, None, None),
    "person_re_identification_encoder": (None, None, None, None),
    "resnet50_encoder": (CHANNELS, SMALL, CHANNELS, CHANNELS),
    "sprites_encoder": (SMALL, None, None, None),
}
# Slow to build; tests of backbones take a shape.
HEAVY = ("backbone", "resnet50_encoder")
CASES = [
    (name, shape, answer)
    for name, answers in TABLE.items()
    for shape, answer in zip(SHAPES, answers, strict=True)
    if answer or name not in HEAVY
]


@pytest.mark.parametrize(("name", "shape", "answer"), CASES)
def test_an_image_shape_is_taken_or_refused(name, shape, answer):
    make = getattr(models, name)
    more = {"image_shape": shape}
    if name in HEAVY:
        more["weights"] = None
    dim = inspect.signature(make).parameters.get("dim")
    if dim is not None and dim.default is inspect.Parameter.empty:
        more["dim"] = 4
    if answer:
        with pytest.raises(ValueError, match=answer) as raised:
            make(**more)
        assert "\n" not in str(raised.value)
        return
    encoder = make(**more)
    assert encoder.input_shape == (None, *shape)
    found = encoder(np.zeros((2, *shape), "uint8")).numpy()
    assert len(found) == 2 and np.isfinite(found).all()


@pytest.mark.parametrize(
    "name",
    [
        "image_encoder",
        "mnist_encoder",
        "n_digit_encoder",
        "person_re_identification_encoder",
        "sprites_encoder",
    ],
)
@pytest.mark.parametrize("shape", [(None, None, 1), (32, None, 3)])
def test_dense_layers_need_the_sides(name, shape):
    with pytest.raises(ValueError, match="must state height and width"):
        getattr(models, name)(4, image_shape=shape)


def test_the_table_has_every_encoder_with_an_image_shape():
    found = {
        name
        for name in models.__all__
        if "image_shape" in inspect.signature(getattr(models, name)).parameters
        and inspect.isfunction(getattr(models, name))
    }
    # It makes the backbone, with the same errors.
    assert found - {"backbone_encoder", "sprites_decoder"} == set(TABLE)


@pytest.mark.parametrize("name", [*TABLE, "backbone_encoder"])
def test_the_image_shape_is_passed_by_name(name):
    parameters = inspect.signature(getattr(models, name)).parameters
    assert parameters["image_shape"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_page_has_every_encoder():
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    for name in TABLE:
        assert f"`{name}`" in page
