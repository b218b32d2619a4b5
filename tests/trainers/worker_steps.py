"""Two steps of every loss and objective, by each worker of a cluster.

    TF_CONFIG=... python -m tests.trainers.worker_steps [--every-entry]

The first worker also takes the same steps alone. It prints as JSON, for each
entry of the conformance suite: the mean loss of both, the largest difference of
a weight's update, and the largest update. By default, only the first entry of
each class is used; every entry takes three times as long.
"""

import json
import sys

from trainers.training import strategy as strategies


def main() -> None:
    strategies.start("multi_worker")
    strategy = strategies.create("multi_worker")
    is_first = strategies.is_chief("multi_worker")
    from tests import conformance_test

    entries = [
        entry
        for entry in conformance_test.LOSSES + conformance_test.OBJECTIVES
        if "replicas_fit" not in entry.not_applicable
    ]
    if "--every-entry" not in sys.argv:
        entries = {entry.make.func: entry for entry in entries[::-1]}.values()
    found = {}
    for entry in entries:
        steps = _steps(entry, strategy, is_first)
        if is_first:
            found[str(entry)] = steps
    if is_first:
        print(json.dumps(found))


def _steps(entry, strategy, is_first) -> dict | None:
    """The second batch has one row less, so it splits unevenly."""
    import keras
    import numpy as np
    import tensorflow as tf

    from embeddings_tf.testing.made_up_batches import NUM_ROWS
    from embeddings_tf.testing.made_up_batches import separable
    from trainers.training.loop import loop

    keras.utils.set_random_seed(0)
    labels, _ = entry.batch()
    labels = np.concatenate([labels, labels[:-1]])
    x = separable(labels)
    batches = tf.data.Dataset.from_tensor_slices((x, labels)).batch(NUM_ROWS)
    with strategy.scope():
        model = entry.model(keras.optimizers.SGD(0.01))
    before = model.get_weights()
    history = keras.callbacks.History()
    loop(
        model,
        strategies.replica_batches(strategy, batches.repeat()),
        epochs=1,
        initial_epoch=0,
        steps_per_epoch=2,
        callbacks=[history],
    )
    if not is_first:
        return None
    alone = entry.model(keras.optimizers.SGD(0.01))
    alone.run_eagerly = True
    alone.set_weights(before)
    expected = alone.fit(batches, shuffle=False, verbose=0).history["loss"][0]
    updates = [
        [after - start for start, after in zip(before, weights, strict=True)]
        for weights in (model.get_weights(), alone.get_weights())
    ]
    return {
        "loss": history.history["loss"][0],
        "expected": expected,
        "difference": max(
            float(np.max(np.abs(one - other)))
            for one, other in zip(*updates, strict=True)
        ),
        "update": max(float(np.max(np.abs(u))) for u in updates[1]),
    }


if __name__ == "__main__":
    main()
