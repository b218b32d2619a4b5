import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from embeddings_tf.metrics import area_under_risk_coverage
from embeddings_tf.metrics import out_of_distribution_auroc
from embeddings_tf.metrics import recall_auroc


def example(num_rows=40, dim=3, num_classes=4):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, num_classes, num_rows)
    embeddings = rng.normal(size=(num_rows, dim)) + labels[:, np.newaxis] / 2
    return rng.normal(size=num_rows), embeddings, labels


def nearest_is_wrong(embeddings, labels):
    wrong = []
    for i, row in enumerate(embeddings):
        distance = np.linalg.norm(embeddings - row, axis=1)
        distance[i] = np.inf
        wrong.append(labels[np.argmin(distance)] != labels[i])
    return np.array(wrong)


class TestRecallAuroc:
    def test_against_a_loop_and_scikit_learn(self):
        uncertainty, embeddings, labels = example()
        wrong = nearest_is_wrong(embeddings, labels)
        assert recall_auroc(uncertainty, embeddings, labels) == pytest.approx(
            roc_auc_score(wrong, uncertainty)
        )

    def test_cosine(self):
        uncertainty, embeddings, labels = example()
        unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
        wrong = nearest_is_wrong(unit, labels)
        found = recall_auroc(uncertainty, embeddings, labels, "cosine")
        assert found == pytest.approx(roc_auc_score(wrong, uncertainty))

    def test_a_score_function_ranks_as_its_distance(self):
        uncertainty, embeddings, labels = example()
        found = recall_auroc(
            uncertainty,
            embeddings,
            labels,
            lambda a, b: -np.linalg.norm(a[:, None] - b[None], axis=2),
        )
        assert found == recall_auroc(uncertainty, embeddings, labels)

    def test_gallery(self):
        uncertainty, embeddings, labels = example()
        _, gallery, gallery_labels = example(num_rows=25)
        distance = np.linalg.norm(embeddings[:, None] - gallery, axis=2)
        wrong = gallery_labels[distance.argmin(1)] != labels
        found = recall_auroc(
            uncertainty,
            embeddings,
            labels,
            gallery=gallery,
            gallery_labels=gallery_labels,
        )
        assert found == pytest.approx(roc_auc_score(wrong, uncertainty))

    def test_queries_without_their_class_are_left_out(self):
        uncertainty, embeddings, labels = example()
        labels[7] = 99
        kept = np.arange(40) != 7
        wrong = nearest_is_wrong(embeddings, labels)
        assert recall_auroc(uncertainty, embeddings, labels) == pytest.approx(
            roc_auc_score(wrong[kept], uncertainty[kept])
        )

    def test_exclude_hides_gallery_rows(self):
        uncertainty, embeddings, labels = example()
        hidden = np.zeros((40, 40), bool)
        hidden[:, ::5] = True
        distance = np.linalg.norm(embeddings[:, None] - embeddings, axis=2)
        distance[hidden | np.eye(40, dtype=bool)] = np.inf
        wrong = labels[distance.argmin(1)] != labels
        found = recall_auroc(uncertainty, embeddings, labels, exclude=hidden)
        assert found == pytest.approx(roc_auc_score(wrong, uncertainty))

    @pytest.mark.parametrize("labels", ([0, 0, 1, 1], [0, 1, 0, 1]))
    def test_nothing_to_compare_is_refused(self, labels):
        kind = "right" if labels[1] == 0 else "wrong"
        with pytest.raises(ValueError, match=f"all {kind}"):
            recall_auroc(np.zeros(4), [[0.0], [1.0], [5.0], [6.0]], labels)

    def test_lengths_are_compared(self):
        with pytest.raises(ValueError, match="3 rows of `uncertainty`"):
            recall_auroc(np.zeros(3), np.zeros((4, 1)), [0, 0, 1, 1])


def test_risk_coverage_against_a_loop():
    rng = np.random.default_rng(1)
    uncertainty, is_error = rng.permutation(50), rng.random(50) < 0.3
    kept = np.argsort(uncertainty)
    risks = [is_error[kept[:k]].mean() for k in range(1, 51)]
    assert area_under_risk_coverage(uncertainty, is_error) == pytest.approx(
        np.mean(risks)
    )


class TestOutOfDistributionAuroc:
    def test_against_a_loop(self):
        rng = np.random.default_rng(2)
        known, unknown = rng.integers(0, 9, 30), rng.integers(2, 11, 20)
        won = [(u > k) + (u == k) / 2 for u in unknown for k in known]
        assert out_of_distribution_auroc(known, unknown) == pytest.approx(
            np.mean(won)
        )

    def test_integers_that_floats_would_merge_are_refused(self):
        with pytest.raises(ValueError, match="beyond 2"):
            out_of_distribution_auroc([2**53 + 1], [2**53 + 2])

    def test_empty(self):
        with pytest.raises(ValueError, match="`unknown` must .* not be empty"):
            out_of_distribution_auroc([0.1], [])
