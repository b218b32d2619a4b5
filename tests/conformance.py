"""What every public loss, objective, layer and metric promises, as checks.

`conformance_test.py` has one entry per public class: how it is made, what it
is fed, and the properties that do not apply to it with the reason. An entry
is a `Loss`, `Objective`, `Layer` or `Metric` of this module; its properties
are the methods `check_<property>`. A property declared not applicable must
indeed fail, so no exemption outlives its reason.
"""

import dataclasses
import doctest
import functools
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import embeddings_tf

ROOT = Path(__file__).parents[1]
NUM_CLASSES, NUM_PER_CLASS = 3, 4
NUM_ROWS, NUM_FEATURES = NUM_CLASSES * NUM_PER_CLASS, 6


def empty() -> Mapping:
    """The default of a mapping in an entry."""
    return dataclasses.field(default_factory=dict)


def assert_close(actual, expected, message, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=message)


def assert_finite(tensors, message):
    for tensor in tensors:
        assert np.isfinite(tf.convert_to_tensor(tensor)).all(), message


class WithOwnLayers(functools.partial):
    """A partial constructor whose arguments that are partials are called.

    Each object it makes has layers of its own.
    """

    def __call__(self, /, *args, **keywords):
        keywords = {
            name: value() if isinstance(value, functools.partial) else value
            for name, value in {**self.keywords, **keywords}.items()
        }
        return self.func(*self.args, *args, **keywords)


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """One public object and the properties it is held to.

    Args:
        make: `functools.partial` of the constructor (of a metric: of the
            function).
        label: Tells apart two entries of the same class.
        not_applicable: From properties to the reason they do not apply.
    """

    make: functools.partial
    _: dataclasses.KW_ONLY
    label: str = ""
    not_applicable: Mapping[str, str] = empty()

    def __post_init__(self):
        for name, reason in self.not_applicable.items():
            if name not in self.properties():
                raise ValueError(
                    f"{name!r} is no property; the properties of a "
                    f"{type(self).__name__} are {self.properties()}."
                )
            if not isinstance(reason, str) or not reason.strip():
                raise ValueError(f"Say why {name!r} does not apply to {self}.")

    def __str__(self):
        return "-".join(filter(None, [self.make.func.__name__, self.label]))

    @classmethod
    def properties(cls) -> list[str]:
        return [n[6:] for n in dir(cls) if n.startswith("check_")]

    @classmethod
    def fixtures(cls, name: str) -> list[str]:
        """What the check of a property needs beside the entry."""
        check = getattr(cls, f"check_{name}")
        return list(inspect.signature(check).parameters)[1:]

    def verify(self, name: str, *fixtures) -> None:
        check = getattr(self, f"check_{name}")
        if name not in self.not_applicable:
            return check(*fixtures)
        try:
            check(*fixtures)
        except (AssertionError, ValueError):
            return None
        raise AssertionError(f"{name} does hold: the exemption is not needed")

    def check_docstring(self):
        check_docstring(self.make.func)

    def check_reference(self):
        text = full_docstring(self.make.func)
        assert "Reference:" in text, "the docstring has no Reference:"
        assert "](https://" in text, "the reference has no link"


def full_docstring(documented) -> str:
    """A docstring and those it refers to, such as "those of `TripletLoss`"."""
    text = inspect.getdoc(documented) or ""
    module = sys.modules[documented.__module__]
    for sibling in re.findall(r"(?:behind|those of)\s+`(\w+)`", text):
        text += inspect.getdoc(getattr(module, sibling)) or ""
    return text


def check_docstring(documented) -> None:
    text = full_docstring(documented)
    for section in ("Args:", "Raises:", "Example:"):
        assert section in text, f"the docstring has no {section}"
    assert re.search(r"`\([\w ,.*+]+\)`", text), "no shape like `(batch, dim)`"


def public_names(module) -> list[str]:
    """`__all__`, or the functions and classes that the module defines."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not name.startswith("_")
    ]


def run_examples(documented, name: str) -> None:
    """Runs the examples in the docstrings of an object, of which it has one.

    The examples start from nothing but these imports.
    """
    names = {
        "embeddings_tf": embeddings_tf,
        "keras": keras,
        "np": np,
        "tf": tf,
        "tempfile": tempfile,
    }
    runner = doctest.DocTestRunner(verbose=False)
    printed = io.StringIO()
    for test in doctest.DocTestFinder().find(documented, name, globs=names):
        runner.run(test, out=printed.write)
    assert runner.tries, f"{name} has no example"
    assert not runner.failures, printed.getvalue()


@dataclasses.dataclass(frozen=True, eq=False)
class _Configurable(Entry):
    """A Keras object, rebuilt from its configuration.

    Args:
        arguments: Values other than the defaults for the constructor
            arguments that `make` leaves out.
    """

    arguments: Mapping[str, Any] = empty()

    def check_config(self):
        # Not that of the class: of a subclass without an __init__ of its own,
        # Python 3.11.2 shows Keras' __new__(*args, **kwargs).
        constructor = functools.partial(self.make.func.__init__, None)
        signature = inspect.signature(constructor)
        given = signature.bind(*self.make.args, **self.make.keywords).arguments
        given.pop("kwargs", None)
        given |= {**self.arguments, "name": "renamed", "dtype": "float64"}
        names = {"name", "dtype"}
        for name, parameter in signature.parameters.items():
            if parameter.kind == parameter.VAR_KEYWORD:
                continue
            names.add(name)
            if name != "reduction":
                assert name in given, f"the entry gives no value for {name}"
                assert given[name] != parameter.default, f"{name} is not tried"
        thing = self.make(**self.arguments, name="renamed", dtype="float64")
        config = thing.get_config()
        assert names <= set(config), f"get_config forgets {names - set(config)}"
        for name, value in given.items():
            if type(config[name]) is type(value) and name != "dtype":
                assert config[name] == value, f"get_config alters {name}"
        copy = type(thing).from_config(json.loads(json.dumps(config)))
        assert copy.get_config() == config, "from_config alters the config"
        assert copy.dtype == thing.dtype == "float64", "dtype gets lost"
        assert dir(copy) == dir(thing), "from_config forgets an attribute"


# --- Losses and objectives --------------------------------------------------


def points():
    """Labels and points of three classes, in mixed order.

    Returns `(rows,)` and `(rows, 2)`; the classes overlap a little.
    """
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(NUM_CLASSES), NUM_PER_CLASS).astype("int32")
    labels = rng.permutation(labels)
    centres = np.array([[0, 0], [1, 0], [0, 1]])
    z = centres[labels] + rng.normal(0, 0.5, (NUM_ROWS, 2))
    return labels, z.astype("float32")


def gaussians():
    """Labels and packed Gaussians, `(rows,)` and `(rows, 4)`."""
    labels, mean = points()
    variance = np.random.default_rng(1).uniform(0.1, 1, mean.shape)
    return labels, np.concatenate([mean, variance], 1).astype("float32")


def without_variance(packed):
    """Gaussians so narrow that samples of them are their means."""
    mean, variance = np.split(np.asarray(packed), 2, axis=-1)
    return np.concatenate([mean, 1e-12 * np.ones_like(variance)], -1)


def points_as_gaussians(packed):
    """The means, with variances of exactly zero."""
    mean, variance = np.split(np.asarray(packed), 2, axis=-1)
    return np.concatenate([mean, 0 * variance], -1)


def scaled(z, factor):
    return z * np.float32(factor)


def scaled_gaussians(packed, factor):
    mean, variance = np.split(packed, 2, axis=-1)
    stddev = np.sqrt(variance) * np.float32(factor)
    return np.concatenate([mean * np.float32(factor), stddev**2], -1)


def separable(labels, deviation=0.1):
    """Inputs of a model, `(rows, features)`, one direction per class."""
    rng = np.random.default_rng(2)
    x = np.eye(NUM_FEATURES)[labels] + rng.normal(
        0, deviation, (len(labels), NUM_FEATURES)
    )
    return x.astype("float32")


def in_class_order(labels, order):
    """`order`, changed so that the rows of each class keep their order."""
    order = np.array(order)
    for label in np.unique(labels):
        of_class = labels[order] == label
        order[of_class] = np.sort(order[of_class])
    return order


@dataclasses.dataclass(frozen=True, eq=False)
class _Trainer(_Configurable):
    """What losses and objectives have in common.

    Args:
        batch: Function that returns labels `(rows,)` and embeddings `(rows,
            width)`.
        head: Function that returns the last layer of an encoder.
        documented: From degenerate batches (the properties that
            `_check_degenerate` checks) to the documented value: a number, or
            a function of the entry that gives one.
        quiet: Function from embeddings to embeddings on which a loss that
            samples does not depend on its samples.
        narrow: Function from embeddings to embeddings without variance.
        scale: Function from embeddings and a factor to scaled embeddings.
        set_wise: Whether all examples have the same value.
        half_precision_atol: How far from its value in float32 the loss may be
            if the layers before the embedding have half precision.
    """

    batch: Callable = points
    head: Callable = functools.partial(keras.layers.Dense, 2, dtype="float32")
    documented: Mapping[str, float | Callable] = empty()
    quiet: Callable = np.asarray
    narrow: Callable = np.asarray
    scale: Callable = scaled
    set_wise: bool = True
    # bfloat16 rounds activations to 1 part in 256.
    half_precision_atol: float = 0.02

    def __post_init__(self):
        super().__post_init__()
        unknown = set(self.documented) - set(self.properties())
        if unknown:
            raise ValueError(f"{unknown} are no properties.")

    def new(self):
        """A new object, which gives one value per example."""
        return self.make()

    def encoder(self, *hidden):
        return keras.Sequential(
            [keras.Input((NUM_FEATURES,)), *hidden, self.head()]
        )

    def evaluate(self, labels, z, loss=None):
        """Values, and the gradients of their mean in z and the weights."""
        loss = self.new() if loss is None else loss
        z = tf.convert_to_tensor(z)
        with tf.GradientTape() as tape:
            tape.watch(z)
            values = loss(labels, z)
            mean = tf.reduce_mean(values)
        weights = getattr(loss, "trainable_variables", [])
        gradients = tape.gradient(
            mean,
            [z, *weights],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return values, gradients

    def values(self, labels, z, loss=None) -> np.ndarray:
        return self.evaluate(labels, z, loss)[0].numpy()

    def train(self, model, num_steps, deviation=0.1, run_eagerly=True):
        """Losses of some steps on the same batch, separable by default.

        Eagerly, as tracing takes far longer than the steps do, but where
        compiling may matter (`mixed_precision`, `replicas_fit`).
        """
        model.run_eagerly = run_eagerly
        labels = self.batch()[0]
        x = separable(labels, deviation)
        return [
            float(model.train_on_batch(x, labels)) for _ in range(num_steps)
        ]

    # Saving.

    def saved(self, folder: Path):
        """Trains and saves a model; what a fresh process has to find."""
        model = self.model()
        self.train(model, 2)
        model.save(folder / "model.keras")
        labels, _ = self.batch()
        x = separable(labels)
        # A new model draws its samples from the beginning, as a loaded one.
        twin = self.model()
        twin.run_eagerly = True
        twin.set_weights(model.get_weights())
        return {
            "inputs": [x],
            "labels": labels,
            "output": model.predict(x, verbose=0),
            "loss": twin.evaluate(x, labels, verbose=0),
        }

    def check_fresh_process(self, fresh_process):
        expected, found = fresh_process(self)
        assert "error" not in found, found["error"]
        assert_close(found["output"], expected["output"], "predictions differ")
        assert_close(found["loss"], expected["loss"], "evaluate differs")

    # The value.

    def check_vector(self):
        labels, z = self.batch()
        values, gradients = self.evaluate(labels, z)
        assert values.shape == labels.shape, "one value per example"
        assert values.dtype == tf.float32, "values must be float32"
        assert_finite([values, *gradients], "not finite")
        assert np.any(gradients[0]), "no gradient"
        if self.set_wise:
            assert_close(values, values[0], "not the same value everywhere")

    def check_deterministic(self):
        labels, z = self.batch()
        assert_close(
            self.values(labels, z), self.values(labels, z), "not repeatable"
        )

    def check_sample_weight(self):
        labels, z = self.batch()
        weight = np.linspace(0, 3, len(labels), dtype="float32")
        expected = np.mean(self.values(labels, z) * weight)
        weighted = self.weighted(labels, z, weight)
        assert_close(weighted, expected, "weights must scale the values")

    def _check_order(self, order):
        labels, z = self.batch()
        z = self.quiet(z)
        assert (order != np.arange(len(labels))).any()
        assert_close(
            self.values(labels[order], z[order]),
            self.values(labels, z)[order],
            "depends on the order of the batch",
            rtol=1e-4,
        )

    def check_batch_order(self):
        labels, _ = self.batch()
        order = np.random.default_rng(3).permutation(len(labels))
        self._check_order(in_class_order(labels, order))

    def check_order_within_class(self):
        labels, _ = self.batch()
        self._check_order(np.arange(len(labels))[::-1])

    def _check_ids(self, ids, message):
        labels, z = self.batch()
        renamed = np.array(ids)[labels]
        assert_close(
            self.values(renamed, z),
            self.values(labels, z),
            message,
        )

    def check_class_names(self):
        self._check_ids([2, 0, 1], "depends on the names of classes")
        self._check_ids([70, 50, 60], "depends on the names of classes")

    def check_class_ids(self):
        for start in (-(2**31), -1, 20_240_101, 10**9, 2**40, 2**63 - 3):
            ids = start + np.arange(NUM_CLASSES, dtype="int64")
            self._check_ids(ids, f"class ids from {start}")
            if abs(ids).max() < 2**31:
                self._check_ids(ids.astype("int32"), f"int32 from {start}")
        # The same modulo 2^32.
        self._check_ids([0, 2**32, 2**33], "ids beyond int32")

    def check_label_types(self):
        labels, z = self.batch()
        expected = self.values(labels, z)
        for dtype in ("int32", "int64", "float32"):
            for typed in (labels.astype(dtype), labels.astype(dtype)[:, None]):
                what = f"labels {dtype} of shape {typed.shape}"
                assert_close(self.values(typed, z), expected, what)

    # What is refused.

    def _check_refused(self, labels, z, what):
        try:
            self.new()(labels, z)
        except ValueError as error:
            assert len(str(error)) > 40, f"{what}: say how to mend it"
        else:
            raise AssertionError(f"{what}: no ValueError")

    def _check_refused_in_graph(self, signature, batches):
        """ValueError while tracing, or an assertion that fails in the graph."""
        _, z = self.batch()
        loss = self.new()
        if isinstance(loss, keras.layers.Layer):
            loss.build((None,), (None, z.shape[-1]))
        function = tf.function(
            lambda y, z: loss(y, z), input_signature=signature
        )
        for what, (y, z) in batches.items():
            try:
                function(tf.constant(y, "float32"), tf.constant(z))
            except (ValueError, tf.errors.InvalidArgumentError):
                continue
            raise AssertionError(f"{what} passes in a graph")

    def check_bad_labels(self):
        labels, z = self.batch()
        halves = labels / 2
        huge = (labels * 2.0**24).astype("float32")
        self._check_refused(halves, z, "labels 0.0, 0.5, 1.0")
        self._check_refused(huge, z, "float32 ids from 2^24 on")
        for value in (np.nan, np.inf):
            bad = np.where(labels == 1, value, labels).astype("float32")
            self._check_refused(bad, z, f"labels of {value}")
        for dtype in ("bool", "complex64", "str"):
            self._check_refused(labels.astype(dtype), z, f"{dtype} labels")
        one_hot = np.eye(NUM_CLASSES, dtype="int32")[labels]
        self._check_refused(one_hot, z, "one-hot labels")
        self._check_refused_in_graph(
            [tf.TensorSpec([None]), tf.TensorSpec([None, z.shape[1]])],
            {
                "labels 0.0, 0.5, 1.0": (halves, z),
                "NaN labels": (np.full(len(z), np.nan), z),
                "fewer labels": (labels[:-1], z),
            },
        )
        # XLA cannot check values, whatever they are.
        with_xla = tf.function(
            lambda y, z: self.new()(y, z), jit_compile=True, autograph=False
        )
        try:
            with_xla(tf.constant(labels, "float32"), tf.constant(z))
        except ValueError as error:
            assert "XLA" in str(error), error
        else:
            raise AssertionError("float labels pass with XLA")

    def check_bad_embeddings(self):
        labels, z = self.batch()
        self._check_refused(labels, z[:, 0], "embeddings of rank 1")
        self._check_refused(labels, z[:, None], "embeddings of rank 3")
        self._check_refused(labels, z[:, None, None], "embeddings of rank 4")
        self._check_refused(labels[:-1], z, "fewer labels")
        self._check_refused(labels[:1], z, "one label")
        self._check_refused(labels, z[:-1], "fewer embeddings")
        self._check_refused(labels, z + 0j, "complex embeddings")
        self._check_refused_in_graph(
            [tf.TensorSpec([None]), tf.TensorSpec(None)],
            {"embeddings of rank 3": (labels, z[:, None])},
        )

    # Batches that cannot teach.

    def check_teachable_rows(self):
        labels, z = self.batch()
        needs = self.new().batch_needs
        cases = {
            "three classes": labels,
            "one class": 0 * labels,
            "singletons": np.arange(len(labels)),
            "two rows a class": np.arange(len(labels)) // 2,
            "one row": labels[:1],
            "one large class": np.maximum(np.arange(len(labels)) - 5, 0),
            "no rows": labels[:0],
        }
        least = getattr(self.new(), "num_support", 1) + 1
        for what, y in cases.items():
            expected = [
                sum(y == label) >= least and len(set(y)) > 1 for label in y
            ]
            if needs.rows_of_other > 1 and what == "one large class":
                expected = [False] * len(y)
            found = needs.teachable_rows(tf.constant(y)).numpy()
            assert found.tolist() == expected, f"{what}: {found}"

    def check_teachable_rows_warning(self):
        """Training on batches without a lesson warns after an epoch."""
        labels, _ = self.batch()
        x = separable(labels)
        for y, text in (
            (np.arange(len(labels)), "sampling"),
            (0 * labels, "sampling"),
            (labels, None),
        ):
            model = self.model()
            model.run_eagerly = True
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model.fit(x, y, batch_size=len(y), epochs=2, verbose=0)
            found = [str(w.message) for w in found if "teach" in str(w.message)]
            assert len(found) == bool(text), f"{len(found)} warnings"
            assert all(text in message for message in found), found

    def check_half_precision(self):
        labels, z = self.batch()
        for dtype in ("float16", "bfloat16"):
            half = tf.cast(z, dtype)
            values, gradients = self.evaluate(labels, half)
            assert values.dtype == tf.float32, f"{dtype}: not float32"
            assert_finite([tf.cast(gradients[0], "float32")], dtype)
            expected = self.values(labels, tf.cast(half, "float32"))
            assert_close(values, expected, f"{dtype} embeddings")

    # Degenerate batches.

    def _check_degenerate(self, name, labels, z, quiet=True):
        values, gradients = self.evaluate(labels, z)
        assert_finite([values], f"{name}: the value is not finite")
        assert_finite(gradients, f"{name}: a gradient is not finite")
        assert name in self.documented, f"{name}: give the documented value"
        expected = self.documented[name]
        if callable(expected):
            expected = expected(self)
        if quiet:
            values = self.values(labels, self.quiet(z))
        what = f"{name}: not the documented value"
        assert_close(np.mean(values), expected, what, rtol=1e-4, atol=1e-4)
        return gradients

    def check_one_class(self):
        labels, z = self.batch()
        self._check_degenerate("one_class", np.zeros_like(labels), z)

    def check_singletons(self):
        labels, z = self.batch()
        self._check_degenerate("singletons", np.arange(len(labels)), z)

    def check_coinciding_points(self):
        labels, z = self.batch()
        z = np.repeat(z[:1], len(z), axis=0)
        self._check_degenerate("coinciding_points", labels, z)

    def check_zeros(self):
        """Embeddings of zeros; of Gaussians also variances of zero."""
        labels, z = self.batch()
        for zeros in (np.zeros_like(z), self.narrow(z)):
            values, gradients = self.evaluate(labels, zeros)
            assert_finite([values], "the value is not finite")
            assert_finite(gradients, "a gradient is not finite")

    def check_no_queries(self):
        labels, z = self.batch()
        num_support = getattr(self.make(), "num_support", None)
        assert num_support, "there are no queries"
        rows = np.concatenate(
            [np.flatnonzero(labels == c)[:num_support] for c in set(labels)]
        )
        gradients = self._check_degenerate("no_queries", labels[rows], z[rows])
        assert not np.any(gradients[0]), "a gradient without a query"

    def check_tiny_scale(self):
        labels, z = self.batch()
        self._check_degenerate("tiny_scale", labels, self.scale(z, 1e-18))

    def check_huge_scale(self):
        labels, z = self.batch()
        self._check_degenerate(
            "huge_scale", labels, self.scale(z, 1e18), quiet=False
        )

    def value_at_scale(self, factor) -> float:
        labels, z = self.batch()
        return float(np.mean(self.values(labels, self.scale(z, factor))))

    def check_empty_batch(self):
        labels, z = self.batch()
        values = self.values(labels[:0], z[:0])
        assert values.shape == (0,), "an empty batch has no values"

    # Compilation and distribution.

    def _compiled(self, **options):
        """`evaluate` on a new object as a function of labels and z."""
        labels, z = self.batch()
        loss = self.new()
        if isinstance(loss, keras.layers.Layer):
            loss.build(labels.shape, z.shape)
        evaluate = functools.partial(self.evaluate, loss=loss)
        function = tf.function(evaluate, **options)
        return lambda y, z: function(tf.constant(y), tf.constant(z))

    def check_compiled(self):
        labels, z = self.batch()
        expected = self.evaluate(labels, z)
        values, gradients = self._compiled()(labels, z)
        assert_close(values, expected[0], "the value as a tf.function")
        for got, gradient in zip(gradients, expected[1], strict=True):
            assert_close(got, gradient, "the gradient", rtol=1e-4, atol=1e-5)

    def check_xla(self):
        """XLA draws other random numbers, hence only `quiet` values agree."""
        labels, z = self.batch()
        expected, _ = self.evaluate(labels, self.quiet(z))
        compiled = self._compiled(jit_compile=True)
        try:
            values, gradients = compiled(labels, z)
        except tf.errors.InvalidArgumentError as error:
            raise AssertionError("does not compile") from error
        assert_finite([values, *gradients], "not finite with XLA")
        values, _ = compiled(labels, self.quiet(z))
        assert_close(values, expected, "with XLA", rtol=1e-4)

    def check_replicas(self, strategy):
        """Every replica has the values of the global batch."""
        labels, z = self.batch()
        expected = self.values(labels, z)
        for first in (NUM_ROWS // 2, NUM_ROWS // 2 + 1, NUM_ROWS):
            with strategy.scope():
                loss = self.new()
                if isinstance(loss, keras.layers.Layer):
                    loss.build(labels.shape, z.shape)
            pieces = [
                strategy.experimental_distribute_values_from_function(
                    lambda context, array=array, cut=cut: tf.constant(
                        np.split(array, [cut])[context.replica_id_in_sync_group]
                    )
                )
                for array, cut in ((labels, first), (z, first))
            ]
            values = strategy.run(loss, args=pieces)
            assert_close(
                tf.concat(strategy.experimental_local_results(values), 0),
                expected,
                f"{first} of {NUM_ROWS} rows on the first replica",
            )

    def check_replicas_fit(self, strategy):
        """Same losses and weights; the second batch splits unevenly."""
        labels, _ = self.batch()
        labels = np.concatenate([labels, labels[:-1]])
        x = separable(labels)
        models = [self.model(keras.optimizers.SGD(0.01))]
        with strategy.scope():
            models.append(self.model(keras.optimizers.SGD(0.01)))
        models[0].run_eagerly = True  # saves its trace
        models[1].set_weights(models[0].get_weights())
        before = models[0].get_weights()
        losses = [
            model.fit(
                x, labels, batch_size=NUM_ROWS, shuffle=False, verbose=0
            ).history["loss"]
            for model in models
        ]
        one, two = (model.get_weights() for model in models)
        assert_close(losses[1], losses[0], "the loss differs", atol=1e-5)
        largest = max(
            np.max(np.abs(after - start))
            for start, after in zip(before, one, strict=True)
        )
        assert largest > 1e-3, "nothing was trained"
        for start, a, b in zip(before, one, two, strict=True):
            assert_close(
                b - start,
                a - start,
                "the update differs",
                atol=min(1e-5, 1e-4 * largest),
            )

    # Training.

    def check_training_lowers_it(self):
        losses = self.train(self.model(keras.optimizers.Adam(0.05)), 30)
        assert_finite(losses, "not finite in training")
        first, last = losses[0], np.mean(losses[-3:])
        assert last < first - 0.1 * abs(first), f"from {first} to {last}"

    def check_mixed_precision(self):
        """Half precision in the body; embeddings and loss are float32."""
        labels, _ = self.batch()
        # Not separable: some losses would be 0, and move nothing.
        x = tf.constant(separable(labels, deviation=1))
        expected = weights = None
        try:
            for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
                keras.config.set_dtype_policy(policy)
                hidden = keras.layers.Dense(8, activation="tanh")
                model = self.model(keras.optimizers.SGD(0.01), [hidden])
                scaled = isinstance(
                    model.optimizer, keras.optimizers.LossScaleOptimizer
                )
                assert scaled == (policy == "mixed_float16"), policy
                assert hidden.compute_dtype == policy.removeprefix("mixed_")
                if weights is None:
                    weights = model.get_weights()
                model.set_weights(weights)
                self._check_loss_dtype(model, x, labels)
                losses = []
                # The scale of the loss starts high: steps may be left out.
                for _ in range(16):
                    losses += self.train(
                        model, 1, deviation=1, run_eagerly=policy == "float32"
                    )
                    after = model.get_weights()
                    moved = any(
                        np.any(a != b)
                        for a, b in zip(weights, after, strict=True)
                    )
                    if moved:
                        break
                assert moved, f"{policy}: every step was skipped"
                assert_finite(losses, f"{policy}: the loss")
                assert_finite(after, f"{policy}: a weight")
                if expected is None:
                    expected = losses[0]
                assert_close(
                    losses[0],
                    expected,
                    policy,
                    rtol=0.02,
                    atol=self.half_precision_atol,
                )
        finally:
            keras.config.set_dtype_policy("float32")

    def _check_loss_dtype(self, model, x, labels):
        def value(labels):
            # A twin draws the samples again that this model will draw.
            y_pred = model(x)
            assert y_pred.dtype == tf.float32, "embeddings are not float32"
            twin = self.model()
            loss = twin.compute_loss(
                x, tf.constant(labels), y_pred, training=False
            )
            assert loss.dtype == tf.float32, "the loss is not float32"
            return loss

        if "class_ids" not in self.not_applicable:
            # One class in float16, bfloat16 and float32.
            far = np.array([20_240_101, 20_240_102, 20_240_103])[labels]
            assert_close(value(far), value(labels), "ids got lost")

    def check_pieces(self):
        """A step in pieces, the last one shorter, is that on the batch."""
        results, weights = [], None
        for piece_size in (None, 5):
            model = embeddings_tf.models.EmbeddingModel(
                self.encoder(keras.layers.Dense(8, activation="tanh")),
                self.make(),
                piece_size=piece_size,
            )
            model.compile(keras.optimizers.SGD(0.1))
            if weights is None:
                weights = model.get_weights()
            model.set_weights(weights)
            losses = self.train(model, 2, deviation=1)
            results.append((losses, model.get_weights()))
        (expected, whole), (losses, pieces) = results
        assert_close(losses, expected, "the loss differs", atol=1e-5)
        updates = [a - start for start, a in zip(weights, whole, strict=True)]
        largest = max(np.max(np.abs(update)) for update in updates)
        assert largest > 1e-5, "nothing was trained"
        for start, update, b in zip(weights, updates, pieces, strict=True):
            assert_close(
                b - start,
                update,
                "the update differs",
                atol=min(1e-5, largest / 100),
            )


@dataclasses.dataclass(frozen=True, eq=False)
class Loss(_Trainer):
    """A class of `embeddings_tf.losses` and the function behind it.

    Args:
        function: The function, by default that of `embeddings_tf.losses`
            with the name of the class in snake_case.
    """

    function: Callable | None = None

    def new(self):
        return self.make(reduction="none")

    def model(self, optimizer="sgd", hidden=()):
        model = self.encoder(*hidden)
        model.compile(optimizer, loss=self.make())
        return model

    def weighted(self, labels, z, weight):
        return self.make()(labels, z, sample_weight=weight)

    def its_function(self) -> Callable:
        name = re.sub(r"(?<=.)(?=[A-Z])", "_", self.make.func.__name__).lower()
        return self.function or getattr(embeddings_tf.losses, name)

    def check_function(self):
        labels, z = self.batch()
        function = self.its_function()
        config = self.make().get_config()
        options = {
            name: config[name]
            for name in list(inspect.signature(function).parameters)[2:]
        }
        values = function(labels, z, **options)
        assert_close(values, self.values(labels, z), "function and class")
        check_docstring(function)

    def check_reduction(self):
        labels, z = self.batch()
        values = self.values(labels, z)
        for reduction, expected in {
            None: values,
            "none": values,
            "sum": np.sum(values),
            "mean": np.mean(values),
            "sum_over_batch_size": np.mean(values),
        }.items():
            reduced = self.make(reduction=reduction)(labels, z)
            assert_close(reduced, expected, f"reduction={reduction}")


@dataclasses.dataclass(frozen=True, eq=False)
class Objective(_Trainer):
    """A class of `embeddings_tf.objectives`, joined by `EmbeddingModel`."""

    def model(self, optimizer="sgd", hidden=()):
        model = embeddings_tf.models.EmbeddingModel(
            self.encoder(*hidden), self.make()
        )
        model.compile(optimizer)
        return model

    def weighted(self, labels, z, weight):
        return self.model().compute_loss(
            y=tf.constant(labels),
            y_pred=tf.constant(z),
            sample_weight=weight,
            training=False,
        )

    def check_weights(self):
        """Each trainable weight is of use and float32."""
        labels, z = self.batch()
        loss = self.new()
        with tf.GradientTape() as tape:
            values = loss(labels, z)
        assert loss.trainable_variables, "nothing to train"
        for weight in loss.trainable_variables:
            assert weight.dtype == "float32", f"{weight.path}: {weight.dtype}"
        gradients = tape.gradient(values, loss.trainable_variables)
        assert all(gradient is not None for gradient in gradients), (
            "a weight changes nothing"
        )

    def check_few_shot(self):
        """What is said of a query depends on the seed, not on the others."""
        labels, z = self.batch()
        objective = self.new()
        classes, class_ids = np.unique(labels, return_inverse=True)
        found = objective.represent(z, class_ids, len(classes))
        found = found if isinstance(found, tuple) else (found,)

        def answer(queries):
            return objective.log_prob(queries, *found, seed=3).numpy()

        together = answer(z)
        assert together.shape == (len(z), len(classes)), "no log_prob per class"
        assert_close(np.exp(together).sum(axis=1), 1.0, "no probabilities")
        assert_close(answer(z[::-1])[::-1], together, "rows have places")
        assert_close(answer(z[2:3]), together[2:3], "rows change others")
        assert np.isfinite(answer(1e19 * z)).all(), "huge embeddings"

    def check_kind_of_embedding(self):
        """Points where Gaussians are read are refused, and the reverse."""
        objective = self.make()
        gaussian = embeddings_tf.layers.GaussianEmbedding
        own = isinstance(self.head(), gaussian)
        head = keras.layers.Dense(4) if own else gaussian(2)
        encoder = keras.Sequential([keras.Input((NUM_FEATURES,)), head])
        try:
            embeddings_tf.models.EmbeddingModel(encoder, objective)
        except ValueError as error:
            assert "Gaussian" in str(error), "the error is about something else"
        else:
            raise AssertionError("an encoder of the other kind is accepted")

    def check_samples(self):
        """Each call draws new samples."""
        labels, z = self.batch()
        loss = self.new()
        first, second = (self.values(labels, z, loss) for _ in range(2))
        assert np.any(first != second), "the same samples twice"


# --- Layers -----------------------------------------------------------------


def features():
    """One input of a layer, `(rows, features)`."""
    return [separable(points()[0])]


@dataclasses.dataclass(frozen=True, eq=False)
class Layer(_Configurable):
    """A class of `embeddings_tf.layers`.

    Args:
        inputs: Function that returns the list of the layer's inputs. A layer
            with several receives them as one tuple.
    """

    inputs: Callable = features

    def call(self, layer, inputs, method="__call__", **kwargs):
        inputs = tuple(inputs) if len(inputs) > 1 else inputs[0]
        return getattr(layer, method)(inputs, **kwargs)

    def functional(self):
        inputs = [keras.Input(x.shape[1:]) for x in self.inputs()]
        outputs = self.call(self.make(), inputs)
        inputs = tuple(inputs) if len(inputs) > 1 else inputs[0]
        return keras.Model(inputs, outputs)

    def check_output_shape(self):
        inputs = self.inputs()
        layer = self.make()
        real = tuple(self.call(layer, inputs).shape)
        for batch in (len(inputs[0]), None):
            shapes = tuple((batch, *x.shape[1:]) for x in inputs)
            shape = layer.compute_output_shape(
                shapes if len(shapes) > 1 else shapes[0]
            )
            assert tuple(shape) == (batch, *real[1:]), "compute_output_shape"
        assert self.functional().output_shape == (None, *real[1:]), "symbolic"

    def check_functional(self):
        model = self.functional()
        layer = self.make()
        inputs = self.inputs()
        expected = self.call(layer, inputs)
        model.set_weights(layer.get_weights())
        assert_close(self.call(model, inputs), expected, "functional use")

    def check_sequential(self):
        inputs = self.inputs()
        assert len(inputs) == 1, "several inputs"
        layer = self.make()
        expected = layer(inputs[0])
        model = keras.Sequential([self.make()])
        model.build(inputs[0].shape)
        model.set_weights(layer.get_weights())
        assert_close(model(inputs[0]), expected, "in a Sequential")

    def check_rows(self):
        """Each row of the output depends on the same row of the input."""
        inputs = self.inputs()
        layer = self.make()
        expected = self.call(layer, inputs).numpy()[::-1]
        reverse = self.call(layer, [x[::-1] for x in inputs])
        assert_close(reverse, expected, "rows influence each other")
        part = self.call(layer, [x[::-1][:5] for x in inputs])
        assert_close(part, expected[:5], "rows influence each other")

    def check_mixed_precision(self):
        try:
            for policy in ("mixed_bfloat16", "mixed_float16"):
                keras.config.set_dtype_policy(policy)
                layer = self.make()
                half = layer.compute_dtype
                body = keras.layers.Activation("linear")
                output = self.call(layer, [body(x) for x in self.inputs()])
                assert output.dtype == tf.float32, f"{policy}: {half} output"
                assert_finite([output], policy)
                for weight in layer.weights:
                    assert weight.dtype == "float32", f"{policy}: a weight"
        finally:
            keras.config.set_dtype_policy("float32")

    def saved(self, folder: Path):
        model = self.functional()
        model.save(folder / "model.keras")
        inputs = self.inputs()
        output = self.call(model, inputs, "predict", verbose=0)
        return {"inputs": inputs, "output": output}

    def check_fresh_process(self, fresh_process):
        expected, found = fresh_process(self)
        assert "error" not in found, found["error"]
        assert_close(found["output"], expected["output"], "predictions differ")

    def check_export(self, tmp_path):
        model = self.functional()
        model.export(str(tmp_path), verbose=False)
        served = tf.saved_model.load(str(tmp_path))
        inputs = [tf.constant(x) for x in self.inputs()]
        for few in (inputs, [x[:3] for x in inputs]):
            expected = self.call(model, few)
            served_too = self.call(served, few, "serve")
            assert_close(served_too, expected, "the SavedModel differs")

    def check_complex(self):
        """Complex inputs would lose their imaginary part."""
        inputs = [tf.cast(x, "complex64") for x in self.inputs()]
        layer = self.make()
        self.call(layer, self.inputs())  # builds it
        try:
            self.call(layer, inputs)
        except ValueError as error:
            assert "real numbers" in str(error), error
        else:
            raise AssertionError("complex inputs pass")

    def check_gradients(self):
        inputs = [tf.constant(x) for x in self.inputs()]
        layer = self.make()
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            # Squared: the gradient of a plain sum may vanish, as a softmax's.
            output = tf.reduce_sum(self.call(layer, inputs) ** 2)
        gradients = tape.gradient(output, [*inputs, *layer.trainable_weights])
        assert all(g is not None for g in gradients), "something is not used"
        assert_finite(gradients, "a gradient is not finite")

    def check_huge_inputs(self):
        for factor in (1e18, -1e18, 0.0):
            inputs = [tf.constant(scaled(x, factor)) for x in self.inputs()]
            layer = self.make()
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                output = self.call(layer, inputs)
                total = tf.reduce_sum(output)
            sources = [*inputs, *layer.trainable_weights]
            gradients = tape.gradient(total, sources)
            what = f"inputs times {factor}"
            assert_finite([output], f"{what}: the output is not finite")
            assert_finite(gradients, f"{what}: a gradient is not finite")


# --- Metrics ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Metric(Entry):
    """A function of `embeddings_tf.metrics`.

    Args:
        perfect: Function that returns arguments (arrays with one row per
            example, by name), the documented best value, and a tolerance.
        chance: The same for arguments without merit, and the documented value
            of chance (or the worst one).
        read: Function from the result to the number that is compared.
    """

    perfect: Callable
    chance: Callable
    read: Callable = float

    def check_perfect(self):
        rows, expected, tolerance = self.perfect()
        value = self.read(self.make(**rows))
        assert abs(value - expected) <= tolerance, f"{value}, not {expected}"

    def check_chance(self):
        rows, expected, tolerance = self.chance()
        value = self.read(self.make(**rows))
        assert abs(value - expected) <= tolerance, f"{value}, not {expected}"

    def check_row_order(self):
        rows, _, _ = self.chance()
        length = len(next(iter(rows.values())))
        order = np.random.default_rng(4).permutation(length)
        mixed = {name: array[order] for name, array in rows.items()}
        value = self.read(self.make(**rows))
        assert_close(
            self.read(self.make(**mixed)), value, "depends on the order"
        )

    def check_tensors(self):
        rows, _, _ = self.chance()
        tensors = {name: tf.constant(array) for name, array in rows.items()}
        value = self.read(self.make(**rows))
        assert_close(self.read(self.make(**tensors)), value, "tensors differ")

    def check_plain_result(self):
        """Python numbers and arrays, alone, in a dictionary or in a tuple."""
        result = self.make(**self.chance()[0])
        parts = [result]
        if isinstance(result, dict):
            parts = result.values()
        elif isinstance(result, tuple):
            parts = result
        for part in parts:
            assert type(part) in (float, np.ndarray), f"a {type(part)}"

    def _check_refused(self, rows, what):
        try:
            self.make(**rows)
        except ValueError as error:
            assert any(name in str(error) for name in rows), (
                f"{what}: the error does not say which argument"
            )
        else:
            raise AssertionError(f"{what}: no ValueError")

    def check_not_finite(self):
        rows, _, _ = self.chance()
        numbers = [n for n, a in rows.items() if a.dtype.kind == "f"]
        assert numbers, "no argument could be NaN"
        for name in numbers:
            for value in (np.nan, np.inf, -np.inf):
                array = rows[name].copy()
                array[-1] = value
                self._check_refused({**rows, name: array}, f"{name} {value}")

    def check_unequal_lengths(self):
        rows, _, _ = self.chance()
        assert len(rows) > 1, "a single array"
        for name, array in rows.items():
            self._check_refused({**rows, name: array[:-1]}, f"short {name}")

    def check_empty(self):
        rows, _, _ = self.chance()
        self._check_refused({n: a[:0] for n, a in rows.items()}, "empty")


# --- A fresh process --------------------------------------------------------

# Loads what `saved` wrote, knowing nothing but the library.
_LOAD = """
import json, sys
import keras, numpy
import embeddings_tf
for folder in sys.argv[1:]:
    found = {}
    try:
        inputs = numpy.load(folder + "/inputs.npz", allow_pickle=False)
        x = [inputs[name] for name in inputs if name != "labels"]
        x = x[0] if len(x) == 1 else tuple(x)
        model = keras.saving.load_model(folder + "/model.keras")
        found["output"] = model.predict(x, verbose=0).tolist()
        if "labels" in inputs:
            labels = inputs["labels"]
            found["loss"] = model.evaluate(x, labels, verbose=0)
    except Exception as error:
        found["error"] = repr(error)
    with open(folder + "/found.json", "w") as file:
        json.dump(found, file)
"""


def load_in_fresh_process(entries, folder: Path) -> Callable:
    """Saves a model of each entry and loads all of them in one new process.

    Returns the function from an entry to what was saved and what was found.
    """
    expected = {}
    folders = {}
    for entry in entries:
        folders[entry] = folder / str(len(folders))
        folders[entry].mkdir()
        expected[entry] = saved = entry.saved(folders[entry])
        arrays = {f"x{i}": x for i, x in enumerate(saved["inputs"])}
        if "labels" in saved:
            arrays["labels"] = saved["labels"]
        np.savez(folders[entry] / "inputs.npz", **arrays)
    script = folder / "load.py"
    script.write_text(_LOAD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), *map(str, folders.values())],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr

    def result(entry):
        found = (folders[entry] / "found.json").read_text(encoding="utf-8")
        return expected[entry], json.loads(found)

    return result
