"""Learning rates and optimisers."""

import keras
import numpy as np

from embeddings_tf import optimizers
from tests.hostile.judging import Entry
from tests.hostile.values import anything
from tests.hostile.values import chosen
from tests.hostile.values import count
from tests.hostile.values import number
from tests.hostile.values import refused
from tests.hostile.values import same


def rate(step, **arguments):
    return optimizers.InverseSquareRootDecay(**arguments)(step)


def two_steps(**arguments):
    optimizer = optimizers.SGDWithL2(**arguments)
    weight = keras.Variable([2.0, -1.0])
    for _ in range(2):
        optimizer.apply([np.array([3.0, 1.0], "float32")], [weight])
    return weight


ENTRIES = {
    "optimizers.InverseSquareRootDecay": Entry(
        rate,
        {"scale": 1.5, "warmup_steps": 4, "step": 3},
        {
            "scale": number(1.5, low=0),
            "warmup_steps": count(4),
            "step": [
                same("int64", np.int64(3), 3),
                same("float32", np.float32(3), 3),
                same("a variable", keras.Variable(3, dtype="int64"), 3),
                anything("0", 0),
                anything("huge", 2**62),
            ],
        },
    ),
    "optimizers.SGDWithL2": Entry(
        two_steps,
        {"learning_rate": 0.1, "momentum": 0.5, "nesterov": False, "l2": 0.5},
        {
            # Keras checks the type of the learning rate, not its value.
            "learning_rate": [refused("text", "fast"), refused("None", None)],
            "momentum": chosen(
                number(0.5, low=0, high=1),
                "an array",
                "a tensor",
                "complex",
                "NaN",
                "True",
            ),
            "nesterov": [refused("text", "no"), refused("None", None)],
            "l2": chosen(number(0.5, low=0), "1e38"),
            "weight_decay": [refused("a second decay", 0.1)],
        },
    ),
}
