"""The checks as a user calls them, on classes of the user's own."""

import functools
import pathlib
import re
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import metrics
from embeddings_tf import objectives
from embeddings_tf import testing
from embeddings_tf.losses import BatchNeeds
from embeddings_tf.losses import EmbeddingLoss
from embeddings_tf.testing import entry
from embeddings_tf.testing.made_up_batches import points

ROOT = pathlib.Path(__file__).parents[2]
# Properties that are checked in milliseconds.
QUICK = ("class_ids", "config", "one_class", "saving", "vector", "zeros")


@pytest.fixture(scope="module")
def page():
    """The names that the code of the page defines."""
    text = (ROOT / "docs" / "own_loss.md").read_text(encoding="utf-8")
    namespace = {"__name__": "own_loss"}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, "own_loss.md", "exec"), namespace)  # noqa: S102
    return namespace


@pytest.mark.slow
def test_the_loss_of_the_page_passes_every_check(page):
    page["test_compact_classes"]()


def test_the_loss_of_the_page_is_what_it_says(page):
    labels = np.array([5, 5, 9, 9])
    z = np.array([[0.0], [2.0], [4.0], [6.0]], "float32")
    # Each row is 1 from its mean; from the mean of all, 3 and 1.
    value = page["CompactClasses"](epsilon=1e-6)(labels, z)
    assert float(value) == pytest.approx(4 / 20, rel=1e-5)


class LocalMean(keras.losses.Loss):
    """Not an `EmbeddingLoss`: ids are cast, and replicas are not gathered."""

    def call(self, y_true, y_pred):
        same = tf.cast(tf.reshape(y_true, [-1, 1]) == y_true, y_pred.dtype)
        means = same @ y_pred / tf.reduce_sum(same, 1, keepdims=True)
        return tf.norm(y_pred - means, axis=1)


def test_every_check_that_fails_is_listed():
    names = ("class_ids", "deterministic", "singletons", "replicas", "config")
    with pytest.raises(AssertionError) as failed:
        testing.check_loss(LocalMean, only=names)
    first, *others = str(failed.value).splitlines()
    assert first == "LocalMean: 4 of 5 checks failed"
    # singletons: the root has no gradient at 0
    found = [line.partition(":")[0] for line in others]
    assert found == ["- class_ids", "- config", "- replicas", "- singletons"]
    assert "a gradient is not finite" in others[-1]


@keras.saving.register_keras_serializable(package="own_classes_test")
class Sum(EmbeddingLoss):
    """A sum over rows, which counts rows equally on one and on two replicas."""

    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, y_true, y_pred):
        return self.factor * tf.reduce_sum(y_pred**2, axis=1)

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


def test_a_sound_loss_passes():
    checked = testing.check_loss(
        Sum, arguments={"factor": 2.0}, only=[*QUICK, "replicas"]
    )
    assert checked == sorted([*QUICK, "replicas"])
    loss = functools.partial(Sum, factor=2.0)
    assert testing.check_loss(loss, only=["config"]) == ["config"]


def test_arguments_that_are_not_tried():
    with pytest.raises(AssertionError, match="no value to test factor with"):
        testing.check_loss(Sum, only=["config"])


@keras.saving.register_keras_serializable(package="own_classes_test")
class Scaled(Sum):
    """Its arguments have no defaults."""

    def __init__(self, factor, *, power, **kwargs):
        super().__init__(factor, **kwargs)
        self.power = power

    def call(self, y_true, y_pred):
        return super().call(y_true, y_pred) ** self.power

    def get_config(self):
        return {**super().get_config(), "power": self.power}


class ScaledLayer(keras.layers.Dense):
    def __init__(self, units, factor, **kwargs):
        super().__init__(units, **kwargs)


CHECKS = [
    (testing.check_loss, Scaled, {"factor": 2.0, "power": 1.0}),
    (
        testing.check_objective,
        objectives.StochasticPrototypes,
        {"num_support": 2},
    ),
    (testing.check_layer, ScaledLayer, {"units": 3, "factor": 2.0}),
]


@pytest.mark.parametrize(("check", "make", "needed"), CHECKS)
class TestArgumentsWithoutDefaults:
    def test_one_error_names_class_arguments_and_cure(
        self, check, make, needed
    ):
        names = ", ".join(map(repr, needed))
        cure = f"give values in arguments={{'{[*needed][0]}': ..."
        with pytest.raises(ValueError) as refused:
            check(make)
        assert str(refused.value).startswith(
            f"{make.__name__} cannot be made without {names}; {cure}"
        )

    def test_they_are_taken_from_arguments(self, check, make, needed):
        name = "rows" if check is testing.check_layer else "zeros"
        gaussian = check is testing.check_objective
        more = {"gaussian": True} if gaussian else {}
        assert check(make, arguments=needed, only=[name], **more) == [name]
        part = functools.partial(make, **needed)
        assert check(part, only=[name], **more) == [name]

    def test_unknown_names_are_refused_before_any_check(
        self, check, make, needed
    ):
        with pytest.raises(
            ValueError, match=f"speed.*{make.__name__}|{make.__name__}.*speed"
        ):
            check(make, arguments={**needed, "speed": 3}, only=["zeros"])


def test_unknown_argument_names():
    class Plain(keras.losses.Loss):
        def __init__(self, reduction="none", name=None, dtype=None):
            super().__init__(name, reduction, dtype)

    with pytest.raises(ValueError) as refused:
        testing.check_loss(Plain, arguments={"margin": 1.0})
    assert str(refused.value) == (
        "arguments contains 'margin', which Plain does not take; it takes "
        "'reduction', 'name', 'dtype'"
    )


def test_a_loss_without_reduction():
    class Plain(keras.losses.Loss):
        def __init__(self):
            super().__init__()

    with pytest.raises(ValueError, match="Plain cannot be made.*`reduction`"):
        testing.check_loss(Plain)


def test_a_metric_that_needs_more_arguments():
    def scaled_mean(scores, is_target, factor):
        return factor * float(np.mean(scores[is_target]))

    def perfect():
        return {"scores": np.ones(4), "is_target": np.ones(4, bool)}, 2.0, 0.0

    with pytest.raises(ValueError, match="scaled_mean .* 'factor'.*partial"):
        testing.check_metric(scaled_mean, perfect=perfect, chance=perfect)
    make = functools.partial(scaled_mean, factor=2.0)
    assert testing.check_metric(
        make, perfect=perfect, chance=perfect, only=["perfect"]
    ) == ["perfect"]


def test_a_check_may_fail_by_any_error():
    """Keras raises NotImplementedError, which an exemption accepts."""

    class Own(keras.layers.Layer):
        def call(self, x):
            return x[:, :1]

    names = ["output_shape"]
    with pytest.raises(AssertionError, match="output_shape"):
        testing.check_layer(Own, only=names)
    exempt = {"output_shape": "Keras infers it"}
    assert testing.check_layer(Own, not_applicable=exempt, only=names) == names


def test_a_batch_of_another_width():
    """Also where encoders are trained."""

    def plane():
        labels, z = points()
        return labels, np.concatenate([z, z, z[:, :1]], axis=1)

    names = ["training_lowers_it", "zeros"]
    make = functools.partial(objectives.FullCovariancePrototypes, 2)
    assert (
        testing.check_objective(
            make, batch=plane, draws_samples=True, only=names
        )
        == names
    )

    def wide():
        labels, z = points()
        return labels, np.concatenate([z] * 4, axis=1)

    make = functools.partial(losses.FStatisticLoss, 3)
    assert testing.check_loss(make, batch=wide, only=names) == names


@pytest.mark.slow
def test_a_batch_of_other_classes():
    """Five classes of twenty rows in all, whose ids are not 0 to 4."""

    def five():
        rng = np.random.default_rng(0)
        labels = rng.permutation(np.repeat([30, 10, 50, 40, 20], 4))
        centres = np.stack([np.cos(labels), np.sin(labels)], axis=1)
        z = centres + rng.normal(0, 0.3, (20, 2))
        return labels, z.astype("float32")

    names = ["bad_labels", "class_ids", "class_names", "training_lowers_it"]
    loss = functools.partial(losses.TripletLoss, 0.2)
    assert testing.check_loss(loss, batch=five, only=names) == names
    own = functools.partial(objectives.SoftContrastive)
    assert testing.check_objective(own, batch=five, only=names) == names

    def seven():
        return np.arange(14) // 2, np.ones((14, 2), "float32")

    with pytest.raises(ValueError, match="2 to 6 classes.*14 labels of 7"):
        testing.check_loss(loss, batch=seven)


def test_rows_that_teach_are_those_of_the_own_needs():
    class OfThree(losses.TripletLoss):
        @property
        def batch_needs(self):
            return BatchNeeds(3, 1, "a sampler")

    names = ["teachable_rows"]
    assert testing.check_loss(OfThree, only=names) == names


def test_an_exemption_must_be_needed():
    assert testing.check_loss(
        functools.partial(Sum, factor=1e6),
        not_applicable={"huge_scale": "squares leave float32"},
        only=["huge_scale"],
    ) == ["huge_scale"]
    with pytest.raises(AssertionError, match="remove the exemption"):
        testing.check_loss(
            Sum, not_applicable={"zeros": "for no reason"}, only=["zeros"]
        )


def test_properties_of_other_losses_are_left_out():
    with pytest.raises(ValueError, match="no_queries.*its properties are"):
        testing.check_loss(Sum, only=["no_queries"])
    with pytest.raises(ValueError, match="teachable_rows"):
        testing.check_loss(LocalMean, only=["teachable_rows"])
    with pytest.raises(ValueError, match="'speed' is not a property"):
        testing.check_loss(Sum, not_applicable={"speed": "it is slow"})


def test_an_object_is_no_class():
    with pytest.raises(ValueError, match="must be a class.*Sum"):
        testing.check_loss(Sum())


def test_an_error_is_reported_with_its_type():
    def no_loss(reduction=None, **_):
        return lambda y, z: z[:, 0] + "text"

    with pytest.raises(AssertionError, match="vector: ") as failed:
        testing.check_loss(no_loss, only=["vector"])
    assert failed.value.__cause__ is not None


class SeesEveryRow(layers.GaussianEmbedding):
    def call(self, inputs):
        return super().call(inputs) - tf.reduce_mean(inputs)


def test_a_layer_that_mixes_rows_is_found():
    make = functools.partial(SeesEveryRow, 3)
    with pytest.raises(AssertionError, match="rows: .*rows influence"):
        testing.check_layer(make, only=["rows", "gradients"])
    make = functools.partial(layers.GaussianEmbedding, 3)
    assert testing.check_layer(make, only=["rows"]) == ["rows"]


class SameSamples(objectives.StochasticPrototypes):
    def _next_seed(self):
        return tf.constant([1, 2])


def test_an_objective_that_draws_no_samples_is_found():
    options = {"gaussian": True, "draws_samples": True, "only": ["samples"]}
    with pytest.raises(AssertionError, match="drew the same samples"):
        testing.check_objective(
            functools.partial(SameSamples, num_support=2), **options
        )
    make = functools.partial(objectives.StochasticPrototypes, num_support=2)
    assert testing.check_objective(make, **options) == ["samples"]


def test_a_metric_with_another_chance_is_found():
    def perfect():
        y = np.arange(10) % 2
        return {"scores": y.astype(float), "is_target": y == 1}, 1.0, 0.0

    def chance():
        rows, _, _ = perfect()
        return {**rows, "scores": np.ones(10)}, 0.9, 0.0

    with pytest.raises(AssertionError, match="chance: 0.5 != 0.9"):
        testing.check_metric(
            metrics.roc_auc,
            perfect=perfect,
            chance=chance,
            only=["perfect", "chance"],
        )


@pytest.mark.slow
def test_two_replicas_need_a_fresh_tensorflow():
    code = """
import tensorflow as tf
import embeddings_tf
started = {started}
if started:
    tf.config.list_logical_devices()
try:
    print(embeddings_tf.testing.two_replicas().num_replicas_in_sync)
except RuntimeError as error:
    print(error)
"""
    for started, message in ((False, "2"), (True, "call embeddings_tf.test")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(started=started)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert message in done.stdout, done.stderr


@pytest.mark.slow
def test_without_assertions_there_are_no_checks(monkeypatch):
    """As with `python -O`, which would compile TensorFlow again."""
    source = pathlib.Path(entry.__file__).read_text()
    module = types.ModuleType("entry_without_assertions")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = compile(source, entry.__file__, "exec", optimize=1)
    exec(code, module.__dict__)
    with pytest.raises(RuntimeError, match="run them without -O"):
        module.Entry(functools.partial(float)).verify("anything")
