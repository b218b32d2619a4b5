"""The checks of a loss."""

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable

import numpy as np

from embeddings_tf.testing.degenerate_checks import DegenerateChecks
from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import check_docstring
from embeddings_tf.testing.graph_checks import GraphChecks
from embeddings_tf.testing.refusal_checks import RefusalChecks
from embeddings_tf.testing.training_checks import TrainingChecks
from embeddings_tf.testing.value_checks import ValueChecks


@dataclasses.dataclass(frozen=True, eq=False)
class Loss(
    DegenerateChecks, GraphChecks, RefusalChecks, TrainingChecks, ValueChecks
):
    """A `keras.losses.Loss` and the function behind it.

    Args:
        function: The function of the loss. By default, the function in the
            class's module with the name of the class in snake_case.
    """

    function: Callable | None = None

    def new(self):
        return self.make(reduction="none")

    def model(self, optimizer="sgd", hidden=()):
        model = self.encoder(*hidden)
        model.compile(optimizer, loss=self.make())
        # Made in the first step, its variables would have it traced twice.
        model.optimizer.build(model.trainable_variables)
        return model

    def weighted(self, labels, z, weight):
        return self.make()(labels, z, sample_weight=weight)

    def its_function(self) -> Callable:
        name = re.sub(r"(?<=.)(?=[A-Z])", "_", self.make.func.__name__).lower()
        return self.function or getattr(
            sys.modules[self.make.func.__module__], name
        )

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
