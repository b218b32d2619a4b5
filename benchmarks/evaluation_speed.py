"""Compares metrics and predictions with what users would write instead.

    python -m benchmarks.evaluation_speed

- Mutual information, modularity and explicitness of 10,000 codes with 22
  dimensions and seven factors, beside the way of disentanglement_lib: scikit-
  learn's mutual information of one dimension and one factor at a time, and its
  logistic regression of one value against the rest with its curve.
- PLDA: scores of 500 x 500 embeddings with 128 dimensions, beside SciPy's
  density of each pair as one Gaussian vector.
- Few-shot prediction of 700 queries among 70 classes by stochastic prototypes
  with 200 samples, beside the plug-in of the query's mean.
"""

import functools

from benchmarks import _side_by_side as side_by_side
from benchmarks._aims import OURS
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from trainers.terminal.quiet import import_tensorflow

NUM_CODES, QUICK, DIM, BINS = 10_000, 200, 22, 20
SIZES_OF_FACTORS = (2, 3, 4, 6, 3, 2, 4)
LIBRARY, PAIRS, PLUG_IN = "disentanglement_lib's way", "SciPy", "plug-in"
BENCHMARK = Benchmark(
    "evaluation_speed",
    minutes=2,
    comparisons=(
        Comparison(OURS, LIBRARY),
        Comparison(OURS, PAIRS),
        Comparison(OURS, PLUG_IN, by_time=True),
    ),
    packages=("scikit-learn", "scipy"),
)


# The following functions run in the processes of the contenders.


def codes_and_factors(size):
    """Codes that know something of each factor."""
    import numpy as np

    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(n, size=size) for n in SIZES_OF_FACTORS])
    mixing = rng.normal(size=(len(SIZES_OF_FACTORS), DIM))
    codes = factors.T @ mixing + 2 * rng.normal(size=(size, DIM))
    return codes, factors.T


def our_metric(name, size):
    from embeddings_tf import metrics

    options = {"bins": BINS}
    if name == "explicitness":
        options = {"variant": "disentanglement_lib"}
    function = getattr(metrics, name)
    arguments = codes_and_factors(size)
    return lambda: function(*arguments, **options)


def their_metric(name, size):
    codes, factors = codes_and_factors(size)
    function = {
        "mutual_information": their_information,
        "modularity": their_modularity,
        "explicitness": their_explicitness,
    }[name]
    return lambda: function(codes, factors)


def their_information(codes, factors):
    import numpy as np
    from sklearn.metrics import mutual_info_score

    binned = np.zeros_like(codes)
    for i, values in enumerate(codes.T):
        edges = np.histogram(values, BINS)[1][:-1]
        binned[:, i] = np.digitize(values, edges)
    found = np.zeros((codes.shape[1], factors.shape[1]))
    for i in range(codes.shape[1]):
        for f in range(factors.shape[1]):
            found[i, f] = mutual_info_score(factors[:, f], binned[:, i])
    return found


def their_modularity(codes, factors):
    import numpy as np

    squares = their_information(codes, factors) ** 2
    largest = squares.max(axis=1)
    others = (squares.sum(axis=1) - largest) / (factors.shape[1] - 1)
    return float(np.mean(1 - others / largest))


def their_explicitness(codes, factors):
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.multiclass import OneVsRestClassifier

    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    found = []
    for factor in factors.T:
        regression = LogisticRegression(solver="liblinear")
        several = len(np.unique(factor)) > 2
        model = OneVsRestClassifier(regression) if several else regression
        p = model.fit(codes, factor).predict_proba(codes)
        found.append(
            np.mean(
                [
                    roc_auc_score(factor == value, p[:, k])
                    for k, value in enumerate(model.classes_)
                ]
            )
        )
    return float(np.mean(found))


def speakers(size, dim=128):
    import numpy as np

    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4 * dim), 5)
    means = rng.normal(size=(labels.max() + 1, dim))
    z = means[labels] + rng.normal(size=(len(labels), dim))
    return z, labels, rng.normal(size=(2, size, dim))


def our_plda(name, size):
    from embeddings_tf.models import PLDA

    z, labels, (enrolled, tested) = speakers(size // 20)
    model = PLDA(length_normalize=False).fit(z, labels)
    return lambda: model.score(enrolled, tested)


def their_plda(name, size):
    import numpy as np
    from scipy.stats import multivariate_normal

    z, labels, (enrolled, tested) = speakers(size // 20)
    means = np.stack([z[labels == k].mean(axis=0) for k in np.unique(labels)])
    within = np.cov((z - means[labels]).T)
    between = np.cov(means.T)
    zero = np.zeros_like(between)
    total = between + within
    same = np.block([[total, between], [between, total]])
    other = np.block([[total, zero], [zero, total]])

    def scores():
        pairs = np.concatenate(
            [
                np.repeat(enrolled, len(tested), axis=0),
                np.tile(tested, (len(enrolled), 1)),
            ],
            axis=1,
        )
        found = multivariate_normal.logpdf(pairs, cov=same)
        return found - multivariate_normal.logpdf(pairs, cov=other)

    return scores


def episode(size, dim=64, num_classes=70):
    import numpy as np

    rng = np.random.default_rng(0)

    def packed(rows):
        variance = rng.uniform(0.1, 0.2, (rows, dim))
        return np.hstack([rng.normal(size=(rows, dim)), variance])

    sides = packed(max(1, size * 7 // 100)), packed(num_classes)
    return [side.astype("float32") for side in sides]


def our_prediction(name, size):
    import tensorflow as tf

    from embeddings_tf import objectives

    objective = objectives.StochasticPrototypes(5)
    sides = episode(size)
    predict = tf.function(lambda *sides: objective.log_prob(*sides, 200, 0))
    return lambda: predict(*sides).numpy()


def plug_in(name, size):
    import tensorflow as tf

    queries, prototypes = episode(size)
    dim = queries.shape[1] // 2

    @tf.function
    def predict(queries, prototypes):
        mean, variance = tf.split(prototypes, 2, axis=1)
        z = queries[:, :dim]
        square = z**2 @ tf.transpose(1 / variance)
        square -= 2 * z @ tf.transpose(mean / variance)
        square += tf.reduce_sum(mean**2 / variance + tf.math.log(variance), 1)
        return tf.nn.log_softmax(-square / 2)

    return lambda: predict(queries, prototypes).numpy()


CASES = {
    **{
        name: {OURS: our_metric, LIBRARY: their_metric}
        for name in ("mutual_information", "modularity", "explicitness")
    },
    "PLDA": {OURS: our_plda, PAIRS: their_plda},
    "few-shot, 200 samples": {OURS: our_prediction, PLUG_IN: plug_in},
}


@functools.lru_cache(1)
def ready(make, name, size):
    import_tensorflow()
    return make(name, size)


def prepare(*case):
    import numpy as np

    value = float(np.mean(ready(*case)()))
    return {"value": value} if case[1] not in DIFFERENT else {}


# PLDA is fitted in another way; samples differ from the plug-in.
DIFFERENT = ("PLDA", "few-shot, 200 samples")


def turn(*case):
    return side_by_side.timed(ready(*case))


def main(arguments=None) -> None:
    with (
        BENCHMARK.run(__doc__, arguments) as run,
        run.side_by_side() as together,
    ):
        size = QUICK if run.quick else NUM_CODES
        for case in run.each(CASES):
            contenders = {
                who: (make, case, size) for who, make in CASES[case].items()
            }
            found = together.compare(
                prepare, turn, contenders, min(run.seconds, 30)
            )
            side_by_side.refuse_other_values(found, OURS, [LIBRARY], 1e-3)
            run.add(case, found)


if __name__ == "__main__":
    main()
