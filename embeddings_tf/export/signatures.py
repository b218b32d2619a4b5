"""Signatures of an exported model, as functions of tensors."""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from embeddings_tf.export import checks
from embeddings_tf.export import row_checks
from embeddings_tf.export.embedder import Embedder
from embeddings_tf.export.input_names import require_distinct
from embeddings_tf.export.inputs import FileInputs
from embeddings_tf.export.inputs import TensorInputs
from embeddings_tf.models.method import Method

LABELS = tf.TensorSpec((None,), tf.int32, name="support_labels")
SEED = tf.TensorSpec((2,), tf.int32, name="seed")
# Named in the signatures that draw samples and have no input `seed`.
FIXED_SEED = (0, 0)
_MATRIX = tf.TensorSpec((None, None), tf.float32)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A signature: its function of tensors, and what it is for."""

    function: Callable
    specs: list[tf.TensorSpec]
    about: str


def endpoints(
    embedder: Embedder, limits, decoder, num_samples
) -> dict[str, Endpoint]:
    """Returns the signatures without a gallery, by name.

    `limits` are `limits.Limits`; other arguments are as in
    `export_saved_model`.
    """
    tensors = TensorInputs(embedder, limits)
    of_tensors = Signatures(embedder, tensors, num_samples)
    found = {
        "serving_default": Endpoint(
            of_tensors.embed, tensors.specs(), "Embeds inputs."
        ),
        "embed": Endpoint(
            of_tensors.embed_unchecked,
            tensors.specs(),
            "The same without checks and limits of memory, for converters to "
            "other engines, not for requests of clients.",
        ),
        **of_tensors.with_seed(),
        **of_tensors.without_seed("_without_seed"),
    }
    if decoder is not None:
        files = FileInputs(embedder, limits, decoder)
        of_files = Signatures(embedder, files, num_samples)
        found["embed_bytes"] = Endpoint(
            of_files.embed, files.specs(), "Embeds files."
        )
        found |= of_files.without_seed("_bytes")
    return found


class Signatures:
    """Functions of tensors for one kind of inputs."""

    def __init__(self, embedder, inputs, num_samples):
        self.method = Method(embedder.model)
        self._embedder = embedder
        self._inputs = inputs
        self._num_samples = num_samples

    def embed(self, *inputs):
        return self._named(self._inputs.embed(inputs))

    def embed_unchecked(self, *inputs):
        return self._named(self._embedder.unchecked(inputs))

    def _named(self, found):
        embedding, *uncertainty = found
        named = {"embedding": embedding}
        if self.method.has_variances:
            named = {
                "embedding": self.method.points(embedding),
                "variance": self.method.variances(embedding),
            }
        if uncertainty:
            (named["uncertainty"],) = uncertainty
        return named

    def with_seed(self) -> dict[str, Endpoint]:
        """`classify` and `score_pairs`, with a seed if they draw samples."""
        found = {}
        if "classify" in self.method.signatures:
            found["classify"] = Endpoint(
                self.classify,
                [*self._classify_specs(), SEED],
                "Classifies queries by labelled supports in the request.",
            )
        if "score_pairs" in self.method.signatures:
            seed = [SEED] if self.method.pairs_take_seed else []
            found["score_pairs"] = Endpoint(
                self.score_pairs,
                [*self._pair_specs(), *seed],
                "Same-class probability of pairs, row by row.",
            )
        return found

    def without_seed(self, ending: str) -> dict[str, Endpoint]:
        """The same with the seed (0, 0), under names with an ending."""
        fixed = tf.constant(FIXED_SEED, tf.int32)
        found = {}
        for name, endpoint in self.with_seed().items():
            takes_seed = SEED in endpoint.specs
            if not takes_seed and ending == "_without_seed":
                continue
            specs = [spec for spec in endpoint.specs if spec != SEED]

            def function(*inputs, endpoint=endpoint, takes_seed=takes_seed):
                seed = [fixed] if takes_seed else []
                return endpoint.function(*inputs, *seed)

            seed = ", ".join(map(str, FIXED_SEED))
            about = f"`{name}` of files" if ending == "_bytes" else f"`{name}`"
            about += f" with the seed ({seed})." if takes_seed else "."
            found[name + ending] = Endpoint(function, specs, about)
        return found

    def _classify_specs(self):
        support, query = map(self._inputs.specs, ("support", "query"))
        specs = [*support, LABELS, *query]
        require_distinct(specs)
        return specs

    def _pair_specs(self):
        first, second = map(self._inputs.specs, ("first", "second"))
        return [*first, *second]

    def classify(self, *inputs):
        count = len(self._inputs.specs())
        support_spec, *_ = self._inputs.specs("support")
        supports = self._inputs.checked(inputs[:count], "support")
        labels = checks.checked_input(inputs[count], LABELS, None)
        queries, seed = inputs[count + 1 : -1], _checked_seed(inputs[-1])
        same = row_checks.same_rows(
            supports[0], support_spec.name, labels, LABELS.name
        )
        with tf.control_dependencies([same]):
            labels = tf.identity(labels)
            supports = [tf.identity(support) for support in supports]
        classes = tf.sort(tf.unique(labels).y)
        class_ids = tf.searchsorted(classes, labels)
        embedding, *_ = self._inputs.embed_checked(supports, "support")
        represented = self.method.represent(
            embedding, class_ids, tf.size(classes)
        )
        embedding, *_ = self._inputs.embed(queries, "query")

        def of_block(embedding):
            log_prob = self.method.log_prob(
                embedding, represented, self._num_samples, seed
            )
            return {"probability": tf.cast(tf.exp(log_prob), tf.float32)}

        probability = checks.in_blocks(
            of_block,
            [embedding],
            tf.size(tf.nest.flatten(represented)[0]),
            {"probability": _MATRIX},
        )
        return {**probability, "classes": classes}

    def score_pairs(self, *inputs):
        count = len(self._inputs.specs())
        firsts = self._inputs.checked(inputs[:count], "first")
        seconds = self._inputs.checked(inputs[count : 2 * count], "second")
        seed = [_checked_seed(x) for x in inputs[2 * count :]]
        names = [self._inputs.specs(n)[0].name for n in ("first", "second")]
        same = row_checks.same_rows(firsts[0], names[0], seconds[0], names[1])
        with tf.control_dependencies([same]):
            firsts = [tf.identity(x) for x in firsts]
            seconds = [tf.identity(x) for x in seconds]
        first, *_ = self._inputs.embed_checked(firsts, "first")
        second, *_ = self._inputs.embed_checked(seconds, "second")
        logit = self.method.score_pairs(first, second, self._num_samples, *seed)
        logit = tf.cast(logit, tf.float32)
        return {"logit": logit, "probability": tf.sigmoid(logit)}


def _checked_seed(seed: tf.Tensor) -> tf.Tensor:
    return checks.checked_input(seed, SEED, None)
