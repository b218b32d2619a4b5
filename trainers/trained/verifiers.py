"""The verifier of a run: fitted once, kept in the workdir."""

import hashlib
import json
import os

import numpy as np

from embeddings_tf import scoring
from embeddings_tf.datasets import Images
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.metrics.arrays import rounded_up
from embeddings_tf.ops.counted import counted
from embeddings_tf.scoring import array_file
from embeddings_tf.scoring.verifier import MOST_PAIRS
from embeddings_tf.scoring.verifier import NUM_RESAMPLES
from trainers.data.copies import Copies
from trainers.data.data_name import absolute_data
from trainers.terminal.progress import Progress
from trainers.trained.galleries import held_out
from trainers.trained.galleries import require_own_classes
from trainers.trained.inputs import Inputs
from trainers.trained.trained import Trained
from trainers.trained.trained import embed_inputs

RATE = 0.01
FILE, PAIRS = "verifier.json", "verifier_pairs.npz"
KIND = "scores of held-out pairs of embeddings_tf"


def fitted_verifier(
    trained: Trained,
    calibration: str | None,
    false_accept_rate: float | None,
    fit: str,
    prior: float,
) -> tuple[scoring.Verifier, np.ndarray, np.ndarray]:
    """Returns a verifier for held-out classes, from the workdir if it is there.

    Also returns the scores of the held-out pairs, and whether each pair is of
    one class.

    Args:
        trained: The run.
        calibration: Folder or data set of held-out classes; None: the
            validation classes of the run.
        false_accept_rate: Rate of the threshold; None: 0.01, or the smallest
            that the number of pairs can measure, if it is higher.
        fit: Kind of the calibration: `logistic` or `isotonic`.
        prior: Prior probability of the same class.
    """
    # Nothing is computed from recordings and images.
    held = held_out(trained, calibration, processed=False)
    rate = measurable_rate(held.labels, false_accept_rate)
    source = _source(trained, calibration, held)
    found = _kept(trained, source, rate, fit, prior)
    if found is not None:
        return found
    if calibration is None:
        require_own_classes(trained)
    inputs = held_out(trained, calibration)
    embeddings = embed_inputs(trained, inputs, "examples of held-out classes")
    print("Calibrating.", flush=True)
    verifier = scoring.Verifier(
        trained.model,
        calibration=fit,
        target_prior=prior,
        embedded=True,
        source=source,
    )
    progress = Progress(NUM_RESAMPLES, "resample")
    verifier.fit(embeddings, inputs.labels, rate, progress=progress.advance)
    scores, is_same = verifier.scores_
    try:
        array_file.write(
            trained.workdir / PAIRS,
            {"scores": scores, "is_same": is_same},
            {"kind": KIND, "report": verifier.report_, "source": source},
        )
        verifier.save(trained.workdir / FILE)
    except OSError as error:
        reason = error.strerror or error
        print(f"The calibration is not kept in the workdir: {reason}.")
    return verifier, scores, is_same


def measurable_rate(labels, false_accept_rate: float | None) -> float:
    """Returns the false-accept rate that held-out pairs can measure.

    Args:
        labels: Classes of the held-out examples, `(n,)`.
        false_accept_rate: As in `fitted_verifier`.

    Raises:
        ValueError: If the pairs are too few for the rate.
    """
    rate = RATE if false_accept_rate is None else false_accept_rate
    sizes = np.unique(labels, return_counts=True)[1]
    total = (sizes.sum() ** 2 - np.square(sizes).sum()) // 2
    count = min(int(total), MOST_PAIRS)
    if count < 2:  # `Verifier.fit` refuses one class, and single examples
        return rate
    smallest = 1 / count
    needed = round(1 / RATE)
    if false_accept_rate is None and count < needed:
        rate = rounded_up(smallest)
        print(
            f"{counted(count, 'pair')} of different held-out classes can "
            f"measure a false-accept rate of {rate:g} or more; {RATE} needs "
            f"{needed}.",
            flush=True,
        )
    if rate < smallest * (1 - 1e-9):
        more = ", or --calibration with a folder of more examples"
        raise ValueError(
            f"{counted(count, 'pair')} of different held-out classes cannot "
            "measure "
            f"--false-accept-rate {rate:g}; the smallest is "
            f"{rounded_up(smallest)}. Take --false-accept-rate "
            f"{rounded_up(smallest)}{more if count < MOST_PAIRS else ''}"
        )
    return rate


def _source(trained: Trained, calibration: str | None, found: Inputs) -> str:
    """Where the held-out examples are, and a digest of them.

    Of files, the digest covers paths, sizes and times, which is faster than
    their contents. Other examples of the user's own are read.
    """
    data = calibration or trained.run.data.dataset
    is_array = isinstance(found.x, np.ndarray)
    # Prepared data sets, which are not read here, do not change.
    is_read = not is_array and (is_own_data(data) or data == "kaldi")
    digest = hashlib.sha256()
    for number, name in enumerate(found.names):
        row = [name, found.labels[number]]
        if found.are_files and os.path.isfile(name):
            status = os.stat(name)
            row = [os.path.abspath(name), row[1], status.st_size]
            row.append(status.st_mtime_ns)
        elif is_read:
            row.append(_content_digest(found.x, number))
        digest.update(json.dumps(row).encode())
    if is_array:
        digest.update(np.ascontiguousarray(found.x).tobytes())
    return f"{absolute_data(data)}, sha256 {digest.hexdigest()}"


def _content_digest(x, number: int) -> str:
    """Returns a digest of an example; of an image file, without decoding it."""
    if isinstance(x, Images):
        return hashlib.sha256(x.content(number)).hexdigest()
    return Copies.digest(x[number]).hex()


def _kept(trained: Trained, source, rate, fit, prior):
    """Returns what is in the workdir, if it was fitted in this way.

    The prior shifts the log odds and does not change the fit.
    """
    try:
        found = scoring.Verifier.load(
            trained.workdir / FILE, trained.model, embedded=True
        )
        arrays, settings = array_file.read(
            trained.workdir / PAIRS, KIND, ("scores", "is_same")
        )
    except (OSError, ValueError):  # missing, damaged, of an earlier epoch
        return None
    of_file = (
        found.source,
        found.report_.get("false_accept_rate"),
        found.calibration,
    )
    of_pairs = settings.get("source"), settings.get("report")
    if of_file != (source, rate, fit):
        return None
    if of_pairs != (source, found.report_):
        return None
    found.target_prior = prior
    return found, arrays["scores"], arrays["is_same"]
