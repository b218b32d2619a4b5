"""Signatures of a model with a gallery: `identify` and `nearest`."""

import math

import numpy as np
import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.export import typical_embedder
from embeddings_tf.export.inputs import FileInputs
from embeddings_tf.export.inputs import TensorInputs
from embeddings_tf.export.signatures import FIXED_SEED
from embeddings_tf.export.signatures import Endpoint
from embeddings_tf.export.single_precision import SinglePrecision
from embeddings_tf.models.method import Method
from embeddings_tf.ops import distances
from embeddings_tf.ops.nearest import without_surplus
from embeddings_tf.ops.pair_logits import pairs_at_once
from embeddings_tf.scoring.gallery import Gallery
from embeddings_tf.scoring.open_set import answer_for_unknown

FILE = "gallery.json"
# Additional candidates for the nearest rows.
_MORE = 16


class GallerySignatures(tf.Module):
    """Signatures that answer from the embeddings of a gallery.

    The embeddings and what represents the classes are stored as variables, so
    enrolled examples are not embedded again.

    Args:
        embedder: As in `signatures.endpoints`.
        gallery: A `scoring.Gallery`.
        num_neighbors: Number of neighbours in `nearest`, at most the number of
            enrolled examples.
    """

    def __init__(self, embedder, gallery: Gallery, num_neighbors: int):
        super().__init__()
        self._embedder = embedder
        self._method = method = Method(embedder.model)
        examples, classifier = gallery.examples_, gallery.classifier
        self._count = min(num_neighbors, len(examples))
        # Tensors, because functions capture them: stored once for all.
        self._labels = tf.constant(_encoded(examples.labels))
        self._names = tf.constant(_encoded(examples.names))
        self._classes = tf.constant(_encoded(gallery.classes_))
        self._unknown = answer_for_unknown(gallery.unknown, examples.labels)
        self._threshold = gallery.threshold_
        self._by_evidence = gallery.score == "log_evidence"
        self._by_pairs = method.has_likelihood_ratio
        self._num_samples = gallery.sampling["num_samples"]
        self._seed = (gallery.sampling["seed"], 0)
        self.represented = tf.nest.map_structure(
            _stored, classifier.prototypes_
        )
        if self._by_pairs:
            self.embeddings = _stored(examples.embeddings.astype(np.float32))
        if not (self._by_pairs and self._by_evidence):
            points = np.asarray(method.points(examples.embeddings), np.float64)
            if method.distance == "cosine":
                points = distances.unit_rows(tf.constant(points)).numpy()
            # Rows that cannot be among the nearest.
            self._kept = without_surplus(points, self._count)
            points = points[self._kept]
            self._lone = ~points.any(axis=1)
            # Products are more accurate near the origin. In single precision,
            # so that subtracting the centre of points does not round them.
            self._centre = points.mean(axis=0).astype(np.float32)
            points = points - self._centre
            squares = np.einsum("nd,nd->n", points, points)
            if method.distance == "cosine":
                # The cosine with a row of zeros is 0, as at a squared distance
                # of 2 from a unit row; computed as for others, it would be 1.
                squares += self._lone
            self.points, self.squares = _stored(points), _stored(squares)
        self._num_represented = sum(
            map(np.size, tf.nest.flatten(classifier.prototypes_))
        )
        width = examples.embeddings.shape[1]
        with pairs_at_once():
            self.single = SinglePrecision(
                self._answer_at_once, tf.TensorSpec((None, width), tf.float32)
            )
        self._checks_inputs = gallery.typicality is not None
        if gallery.typicality is not None:
            self.typicality = typical_embedder.stored(gallery.typicality)
            self._embedder = typical_embedder.TypicalEmbedder(
                embedder, gallery.typicality, self.typicality
            )

    def endpoints(self, limits, decoder) -> dict[str, Endpoint]:
        """Returns the signatures by name; arguments as in `signatures`."""
        tensors = TensorInputs(self._embedder, limits)
        found = {}
        if not any("Random" in name for name in self.single.operations):
            found["identify_unchecked"] = Endpoint(
                self._identify_unchecked,
                tensors.specs(),
                "Probabilities and score of `identify` in float32, without "
                "checks, strings and random operations, for converters, not "
                "for requests of clients.",
            )
        kinds: dict[str, TensorInputs | FileInputs] = {"": tensors}
        if decoder is not None:
            kinds["_bytes"] = FileInputs(self._embedder, limits, decoder)
        for ending, inputs in kinds.items():
            of = " of files" if ending else ""
            for name, answer, about in (
                ("identify", self._identify, "Answers with an enrolled class"),
                ("nearest", self._nearest, "Finds similar enrolled examples"),
            ):

                def function(*values, inputs=inputs, answer=answer):
                    embedding, *more = inputs.embed(values)
                    return answer(embedding, *more)

                if name == "identify":
                    about += f" or {self._unknown!r}"
                found[name + ending] = Endpoint(
                    function, inputs.specs(), f"{about}{of}."
                )
        if self._checks_inputs and "identify_unchecked" in found:
            found["identify_unchecked"] = typical_embedder.only_typical(
                found["identify_unchecked"], self._embedder
            )
        return found

    def file(self, gallery: Gallery) -> dict:
        """What clients need to know of the gallery, for JSON."""
        return {
            "classes": gallery.classes_.tolist(),
            "num_examples": len(gallery.examples_),
            "score": gallery.score,
            "threshold": gallery.threshold_,
            "decision": "Read the output `accepted`: it compares score and "
            "threshold in float64. The output `score` is rounded to float32.",
            "calibration": gallery.calibration_,
            "typicality": typical_embedder.about(gallery.typicality),
            "unknown": self._unknown,
            "num_neighbors": self._count,
        }

    def _identify(self, embedding, *more):
        def of_block(embedding):
            log_prob = self._log_prob(embedding)
            return {
                "row": tf.argmax(log_prob, axis=1, output_type=tf.int32),
                "probability": tf.exp(tf.reduce_max(log_prob, axis=1)),
            }

        found = checks.in_blocks(
            of_block,
            [embedding],
            self._num_represented,
            {
                "row": tf.TensorSpec((None,), tf.int32),
                "probability": tf.TensorSpec((None,), tf.float32),
            },
        )
        found |= checks.in_blocks(
            lambda embedding: {"score": self._score(embedding)},
            [embedding],
            self._num_represented
            if self._by_evidence
            else self._numbers_near(1),
            {"score": tf.TensorSpec((None,), tf.float64)},
        )
        accepted = self._accepted(found["score"])
        columns = {}
        if self._checks_inputs:
            columns["typical"] = more[-1]
            accepted = tf.logical_and(accepted, more[-1])
        best = tf.gather(self._classes, found["row"])
        unknown = tf.constant(self._unknown, best.dtype)
        return {
            "answer": tf.where(accepted, best, unknown),
            "class": best,
            "probability": found["probability"],
            "score": tf.cast(found["score"], tf.float32),
            "accepted": accepted,
            **columns,
        }

    def _identify_unchecked(self, *inputs):
        embedding, *_ = self._embedder.unchecked(inputs)
        return self.single(embedding)

    def _answer_at_once(self, embedding):
        score = self._score(embedding)
        return {
            "probability": tf.exp(self._log_prob(embedding)),
            "score": tf.cast(score, tf.float32),
            # float32 would round a threshold just above 0 to 0.
            "accepted": self._accepted(score, np.finfo(np.float32).tiny),
        }

    def _nearest(self, embedding, *_):
        value = "logit" if self._by_pairs else "distance"
        shape = (None, self._count)
        found = checks.in_blocks(
            self._scored_rows if self._by_pairs else self._near_rows,
            [embedding],
            math.prod(self.embeddings.shape)
            if self._by_pairs
            else self._numbers_near(self._count),
            {
                "row": tf.TensorSpec(shape, tf.int32),
                "value": tf.TensorSpec(shape, tf.float64),
            },
        )
        values = tf.cast(found["value"], tf.float32)
        answer = {
            "label": tf.gather(self._labels, found["row"]),
            "name": tf.gather(self._names, found["row"]),
            value: values,
        }
        if self._by_pairs:
            answer["probability"] = tf.sigmoid(values)
        return answer

    def _log_prob(self, embedding) -> tf.Tensor:
        log_prob = self._method.log_prob(
            embedding,
            _read(self.represented),
            self._num_samples,
            tf.constant(self._seed),
        )
        return tf.cast(log_prob, tf.float32)

    def _score(self, embedding) -> tf.Tensor:
        """The score that is compared with the threshold, in float64."""
        if not self._by_evidence:
            return -self._near_rows(embedding, 1)["value"][:, 0]
        evidence = self._method.log_evidence(
            embedding,
            _read(self.represented),
            self._num_samples,
            tf.constant(self._seed),
        )
        return tf.cast(evidence, tf.float64)

    def _accepted(self, score, smallest: float = 0.0) -> tf.Tensor:
        threshold = -math.inf if self._threshold is None else self._threshold
        if 0 < threshold < smallest:
            threshold = float(smallest)
        return score >= tf.constant(threshold, tf.float64)

    def _numbers_near(self, count) -> int:
        """Numbers that `_near_rows` needs for a query."""
        rows, dim = self.points.shape
        return 2 * rows + 2 * (count + _MORE) * dim

    def _near_rows(self, embedding, count=None) -> dict[str, tf.Tensor]:
        """Nearest rows of the gallery, and their distances in float64."""
        count = count or self._count
        points = tf.cast(self._method.points(embedding), tf.float64)
        is_cosine = self._method.distance == "cosine"
        if is_cosine:
            points = distances.unit_rows(points)
        centred = points - tf.constant(self._centre, tf.float64)
        gallery = tf.convert_to_tensor(self.points)
        # Squared distances up to a constant of each query.
        square = tf.convert_to_tensor(self.squares) - 2 * tf.matmul(
            centred, gallery, transpose_b=True
        )
        lone = tf.reduce_all(tf.equal(points, 0), -1)[:, None]
        if is_cosine:
            # A query of zeros has cosine 0 with every row.
            square = tf.where(lone, tf.zeros_like(square), square)
        # A few more than needed are sorted by exact distances, then by row.
        some = min(count + _MORE, len(self._kept))
        rows = tf.sort(tf.math.top_k(-square, some).indices)
        apart = tf.gather(gallery, rows) - centred[:, None]
        exact = tf.reduce_sum(apart**2, -1)
        if is_cosine:
            lone |= tf.gather(tf.constant(self._lone), rows)
            exact = tf.where(lone, tf.ones_like(exact), exact / 2)
        found = tf.math.top_k(-exact, count)
        rows = tf.gather(rows, found.indices, batch_dims=1)
        rows = tf.gather(tf.constant(self._kept, tf.int32), rows)
        value = -found.values
        return {"row": rows, "value": value if is_cosine else tf.sqrt(value)}

    def _scored_rows(self, embedding) -> dict[str, tf.Tensor]:
        """Rows of the gallery with the highest scores, and the scores."""
        scores = self._method.score_all_pairs(
            embedding,
            tf.convert_to_tensor(self.embeddings),
            seed=tf.constant(FIXED_SEED),
        )
        scores, rows = tf.math.top_k(scores, self._count)
        return {"row": rows, "value": tf.cast(scores, tf.float64)}


def _encoded(texts: np.ndarray) -> np.ndarray:
    """Returns texts as UTF-8; names of files need not be, and are escaped."""
    if texts.dtype.kind != "U":
        return texts
    return np.char.encode(texts, "utf-8", "backslashreplace")


def _stored(array):
    """A variable for floats; integers, such as class ids, are constants."""
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return array
    return tf.Variable(array, trainable=False)


def _read(stored):
    return tf.nest.map_structure(tf.convert_to_tensor, stored)
