import dataclasses
import json
import os
import pathlib
import shutil

import keras
import numpy as np
import pandas
import pytest
import tensorflow as tf
from scipy import special

from embeddings_tf.layers import PairDistance
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring import Gallery
from embeddings_tf.scoring import Typicality
from embeddings_tf.scoring.gallery_state import GalleryState
from tests.broken_headers import break_headers

RNG = np.random.default_rng(0)
# Centres of classes on a grid, four per row; the first row is enrolled.
CENTRES = 10.0 * np.stack([np.arange(12) % 4, np.arange(12) // 4], axis=1)
LABELS = np.repeat([f"class {n:02}" for n in range(12)], 6)
X = (np.repeat(CENTRES, 6, axis=0) + RNG.normal(size=(72, 2))).astype("float32")
ENROLLED = slice(0, 24)
HELD_OUT = slice(24, 60)
UNKNOWN = slice(60, 72)


@pytest.fixture(scope="module")
def identity():
    """A model whose input is the embedding."""
    return keras.Sequential([keras.Input((2,)), keras.layers.Identity()])


@pytest.fixture
def gallery(identity):
    gallery = Gallery(identity).enroll(X[ENROLLED], LABELS[ENROLLED])
    return gallery.calibrate(X[HELD_OUT], LABELS[HELD_OUT], 0.3)


def methods():
    packed = np.hstack([X, 0.1 + np.abs(X)]).astype("float32")
    gaussian = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    points = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    learned = LearnedDistance(PairDistance(hidden_units=(4,)))
    learned.build((None,), (None, 2))
    return {
        "a plain loss": (EmbeddingModel(points, TripletLoss()), X),
        "a cosine": (EmbeddingModel(points, TripletLoss(distance="cosine")), X),
        "stochastic prototypes": (
            EmbeddingModel(gaussian, StochasticPrototypes(2), gaussian=True),
            packed,
        ),
        "hedged instances": (
            EmbeddingModel(gaussian, HedgedInstances(4), gaussian=True),
            packed,
        ),
        "learned distance": (EmbeddingModel(points, learned), X),
    }


METHODS = methods()


class TestEveryMethod:
    @pytest.mark.parametrize("name", METHODS)
    def test_answers_are_the_classifiers(self, name):
        model, x = METHODS[name]
        gallery = Gallery(model).enroll(x[ENROLLED], LABELS[ENROLLED])
        classifier = FewShotClassifier(model)
        classifier.fit(x[ENROLLED], LABELS[ENROLLED])
        np.testing.assert_array_equal(gallery.predict(x), classifier.predict(x))
        np.testing.assert_allclose(
            gallery.score_samples(x),
            classifier.predict_log_evidence(x),
            rtol=1e-5,
        )

    @pytest.mark.parametrize("score", ["log_evidence", "nearest_distance"])
    @pytest.mark.parametrize("name", METHODS)
    def test_the_threshold_keeps_its_promise_on_the_calibration(
        self, name, score
    ):
        model, x = METHODS[name]
        gallery = Gallery(model, score=score, num_samples=4)
        gallery.enroll(x[ENROLLED], LABELS[ENROLLED])
        gallery.calibrate(x[HELD_OUT], LABELS[HELD_OUT], 0.4)
        accepted = gallery.decision_function(x[HELD_OUT]) >= 0
        assert (1 + accepted.reshape(6, 6).mean(axis=1).sum()) / 7 <= 0.4
        unknown = gallery.predict(x[HELD_OUT]) == "unknown"
        np.testing.assert_array_equal(unknown, ~accepted)


class TestAnswers:
    def test_known_and_unknown(self, gallery):
        answers = gallery.predict(X[ENROLLED])
        known = answers != "unknown"
        assert known.mean() > 0.9
        np.testing.assert_array_equal(answers[known], LABELS[ENROLLED][known])
        assert (gallery.predict(X[UNKNOWN]) == "unknown").mean() > 0.5

    def test_columns_by_loop(self, gallery):
        found = gallery.identify(X[UNKNOWN])
        means = X[ENROLLED].reshape(4, 6, 2).mean(axis=1)
        for row, x in enumerate(X[UNKNOWN]):
            logits = -np.square(x - means).sum(axis=1)
            assert found["class"][row] == f"class {np.argmax(logits):02}"
            np.testing.assert_allclose(
                found["probability"][row],
                special.softmax(logits).max(),
                rtol=1e-4,
            )
            evidence = special.logsumexp(logits) - np.log(4)
            np.testing.assert_allclose(found["score"][row], evidence, rtol=1e-4)
            accepted = found["score"][row] >= gallery.threshold_
            assert found["accepted"][row] == accepted
            answer = found["class"][row] if accepted else "unknown"
            assert found["answer"][row] == answer

    def test_nearest_distance_by_loop(self, identity):
        gallery = Gallery(identity, score="nearest_distance")
        gallery.enroll(X[ENROLLED], LABELS[ENROLLED])
        for x, score in zip(
            X[UNKNOWN], gallery.score_samples(X[UNKNOWN]), strict=True
        ):
            nearest = np.linalg.norm(X[ENROLLED] - x, axis=1).min()
            np.testing.assert_allclose(score, -nearest, rtol=1e-5)

    def test_cosine_distance_by_loop(self):
        model, _ = METHODS["a cosine"]
        gallery = Gallery(model, score="nearest_distance")
        gallery.enroll(X[ENROLLED], LABELS[ENROLLED])
        lengths = np.linalg.norm(X, axis=1)
        cosines = X @ X[ENROLLED].T / lengths[:, None] / lengths[ENROLLED]
        np.testing.assert_allclose(
            gallery.score_samples(X), cosines.max(axis=1) - 1, atol=1e-6
        )

    def test_integers_stay_integers(self, identity):
        numbers = np.repeat(np.arange(12), 6)
        gallery = Gallery(identity).enroll(X[ENROLLED], numbers[ENROLLED])
        gallery.calibrate(X[HELD_OUT], numbers[HELD_OUT], 0.3)
        answers = gallery.predict(X)
        assert answers.dtype.kind == "i"
        assert set(answers[UNKNOWN]) == {-1}

    def test_small_integers_have_room_for_the_answer_of_unknown(self, identity):
        numbers = np.repeat(np.arange(12, dtype=np.int8), 6)
        gallery = Gallery(identity, unknown=300)
        gallery.enroll(X[ENROLLED], numbers[ENROLLED])
        gallery.calibrate(X[HELD_OUT], numbers[HELD_OUT], 0.3)
        assert set(gallery.predict(X[UNKNOWN])) == {300}

    def test_without_calibration_nothing_is_unknown(self, identity):
        gallery = Gallery(identity).enroll(X[ENROLLED], LABELS[ENROLLED])
        assert "unknown" not in gallery.predict(X)
        with pytest.raises(ValueError, match="calibrate"):
            gallery.decision_function(X)

    def test_embeddings_instead_of_inputs(self):
        encoder = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
        embeddings = encoder.predict_on_batch(X)
        one = Gallery(encoder).enroll(X[ENROLLED], LABELS[ENROLLED])
        other = Gallery(encoder, embedded=True)
        other.enroll(embeddings[ENROLLED], LABELS[ENROLLED])
        np.testing.assert_allclose(
            one.score_samples(X), other.score_samples(embeddings), rtol=1e-5
        )
        with pytest.raises(ValueError, match=r"shape \(n, 3\)"):
            other.predict(X)


class TestEnrollment:
    def test_adding_is_fitting_all(self, identity, gallery):
        gallery.enroll(X[UNKNOWN], LABELS[UNKNOWN])
        gallery.enroll(X[:1] + 0.1, ["class 00"])
        whole = Gallery(identity).fit(
            np.concatenate([X[ENROLLED], X[UNKNOWN], X[:1] + 0.1]),
            [*LABELS[ENROLLED], *LABELS[UNKNOWN], "class 00"],
        )
        whole.calibrate(X[HELD_OUT], LABELS[HELD_OUT], 0.3)
        assert gallery.classes_.tolist() == whole.classes_.tolist()
        assert gallery.threshold_ == whole.threshold_
        np.testing.assert_array_equal(
            gallery.predict_proba(X), whole.predict_proba(X)
        )

    def test_an_example_is_enrolled_once(self, identity):
        """The mean of class a is 1 with the row (2, 0), and 2 with (4, 0)."""
        gallery = Gallery(identity)
        x = np.array([[0, 0], [2, 0], [9, 0], [9, 0]], "float32")
        gallery.enroll(x, list("aabb"), ["1.png", "2.png", "", ""])
        assert len(gallery.examples_) == 4
        gallery.enroll([[4.0, 0.0]], ["a"], ["2.png"])
        assert gallery.examples_.names.tolist() == ["1.png", "2.png", "", ""]
        np.testing.assert_array_equal(
            gallery.examples_.embeddings, [[0, 0], [4, 0], [9, 0], [9, 0]]
        )
        logits = -np.square(np.array([6.0 - 2, 6.0 - 9]))
        np.testing.assert_allclose(
            gallery.predict_proba([[6.0, 0.0]])[0],
            special.softmax(logits),
            rtol=1e-5,
        )
        with pytest.raises(ValueError, match=r"'2.png'.*'a'.*'b'"):
            gallery.enroll([[4.0, 0.0]], ["b"], ["2.png"])
        with pytest.raises(ValueError, match=r"'3.png'.*'c'.*'d'"):
            gallery.enroll(x[:2], ["c", "d"], ["3.png", "3.png"])
        gallery.fit(x[:3], ["a", "a", "b"], ["1.png", "1.png", "2.png"])
        assert gallery.examples_.embeddings.tolist() == [[2, 0], [9, 0]]

    @pytest.mark.parametrize("missing", [np.nan, None, pandas.NA])
    @pytest.mark.parametrize("make", [list, tuple, pandas.Series])
    def test_missing_names_are_refused(self, identity, make, missing):
        """Examples with the name "nan" would replace each other."""
        names = make(["1.png", "2.png", missing, missing])
        with pytest.raises(ValueError, match="`names` .* in place 2"):
            Gallery(identity).fit(X[:4], list("aaaa"), names)

    def test_removing_undoes_adding(self, gallery):
        before = gallery.identify(X)
        gallery.enroll(X[60:66], LABELS[60:66])
        assert gallery.predict(X[60:61])[0] == "class 10"
        gallery.remove("class 10")
        for name, column in gallery.identify(X).items():
            np.testing.assert_array_equal(column, before[name])
        for scalar in (np.array("class 10"), tf.constant("class 10")):
            gallery.enroll(X[60:66], LABELS[60:66])
            assert "class 10" not in gallery.remove(scalar).classes_

    def test_a_calibration_class_that_is_enrolled_no_longer_counts(
        self, gallery
    ):
        gallery.enroll(X[24:30], LABELS[24:30])
        assert gallery.calibration_["num_classes"] == 5
        others = gallery.score_samples(X[30:60])
        accepted = others >= gallery.threshold_
        assert (1 + accepted.reshape(5, 6).mean(axis=1).sum()) / 6 <= 0.3

    def test_a_rate_that_nobody_chose_follows_the_classes(
        self, gallery, identity, tmp_path
    ):
        """6 held-out classes promise 1 / 7, 5 of them 1 / 6; 19 would .05."""
        gallery.calibrate(X[HELD_OUT], LABELS[HELD_OUT], None)
        assert gallery.false_accept_rate_ is None
        assert gallery.calibration_["false_accept_rate"] == 1 / 7
        gallery.save(tmp_path / "g.npz")
        loaded = Gallery.load(tmp_path / "g.npz", identity)
        loaded.enroll(X[24:30], LABELS[24:30])
        assert loaded.calibration_["false_accept_rate"] == 1 / 6
        expected = gallery.calibrate(X[30:60], LABELS[30:60], 1 / 6)
        expected.enroll(X[24:30], LABELS[24:30])
        assert loaded.threshold_ == expected.threshold_
        assert expected.false_accept_rate_ == 1 / 6
        many = [f"other {n}" for n in range(30)]
        loaded.calibrate(X[30:60], many, None)
        assert loaded.calibration_["false_accept_rate"] == 0.05

    def test_a_change_that_is_refused_changes_nothing(self, gallery):
        before = gallery.identify(X)
        with pytest.raises(ValueError, match="2 calibration classes"):
            gallery.enroll(X[24:48], LABELS[24:48])
        with pytest.raises(ValueError, match="1 / "):
            gallery.calibrate(X[HELD_OUT], LABELS[HELD_OUT], 0.1)
        assert gallery.calibration_["false_accept_rate"] == 0.3
        for name, column in gallery.identify(X).items():
            np.testing.assert_array_equal(column, before[name])

    def test_without_its_threshold(self, gallery, tmp_path, identity):
        """All calibration classes can be enrolled, and nothing is unknown."""
        gallery.remove_threshold().enroll(X[HELD_OUT], LABELS[HELD_OUT])
        assert gallery.threshold_ is None and gallery.calibration_ is None
        assert "unknown" not in gallery.predict(X)
        gallery.save(tmp_path / "all.npz")
        loaded = Gallery.load(tmp_path / "all.npz", identity)
        assert loaded.threshold_ is None
        assert Gallery(identity).remove_threshold().threshold_ is None

    def test_refusals(self, identity, gallery):
        with pytest.raises(ValueError, match="'nobody' is not enrolled"):
            gallery.remove("nobody")
        numbered = Gallery(identity).enroll(X[:2], [0, 1])
        for label in (True, np.True_, tf.constant(True)):
            with pytest.raises(ValueError, match="an integer; received True"):
                numbered.remove(label)
        for labels in (["class 00"], np.array(["class 00", "class 01"])):
            with pytest.raises(ValueError, match="must be one label.*one by o"):
                gallery.remove(labels)
        with pytest.raises(ValueError, match="answer for other classes"):
            gallery.enroll(X[:1], ["unknown"])
        with pytest.raises(ValueError, match="kind of the enrolled labels"):
            gallery.enroll(X[:1], [3])
        with pytest.raises(ValueError, match="at least one example"):
            gallery.enroll(X[:2], ["class 00"])
        with pytest.raises(ValueError, match="not fitted yet"):
            Gallery(identity).predict(X)
        with pytest.raises(ValueError, match="not finite"):
            gallery.predict(X * np.nan)
        with pytest.raises(ValueError, match="only class"):
            Gallery(identity).enroll(X[:6], LABELS[:6]).remove("class 00")
        with pytest.raises(ValueError, match="`unknown` must be of the kind"):
            Gallery(identity, unknown=-1).enroll(X[:1], ["a"])


def test_integers_of_numpy_and_texts_of_tensors(identity, tmp_path):
    gallery = Gallery(
        identity, seed=np.int64(3), batch_size=np.int32(8), unknown=np.int64(-2)
    )
    numbers = np.repeat(np.arange(4), 6)
    gallery = gallery.enroll(X[ENROLLED], numbers)
    gallery.source = pathlib.Path("runs/a")
    gallery.save(tmp_path / "gallery.npz")
    loaded = Gallery.load(tmp_path / "gallery.npz", identity)
    assert loaded.source == "runs/a" and loaded.unknown == -2
    assert loaded.sampling["seed"] == 3
    texts = Gallery(identity).enroll(X[ENROLLED], tf.constant(LABELS[ENROLLED]))
    assert texts.classes_.tolist() == np.unique(LABELS[ENROLLED]).tolist()


@pytest.mark.parametrize("unknown", [2**63, 2**64 - 1, -(2**63) - 1])
def test_an_answer_beyond_int64_is_refused(identity, unknown):
    with pytest.raises(ValueError, match="an integer of 64 bits"):
        Gallery(identity, unknown=unknown)


class TestState:
    def test_an_empty_state_makes_a_new_gallery(self, identity, gallery):
        gallery.state = GalleryState()
        with pytest.raises(ValueError, match="not fitted yet: call enroll"):
            gallery.identify(X)
        assert gallery.threshold_ is None
        new = Gallery(identity).enroll(X[ENROLLED], LABELS[ENROLLED])
        gallery.enroll(X[ENROLLED], LABELS[ENROLLED])
        np.testing.assert_array_equal(
            gallery.score_samples(X), new.score_samples(X)
        )

    def test_another_gallery_takes_it(self, identity, gallery):
        """Examples, threshold and calibration, without computing them again."""
        other = Gallery(identity)
        other.state = gallery.state
        assert other.threshold_ == gallery.threshold_
        assert other.calibration_ is gallery.calibration_
        for name, column in other.identify(X).items():
            np.testing.assert_array_equal(column, gallery.identify(X)[name])
        before = gallery.threshold_
        other.enroll(X[60:66], LABELS[60:66])
        assert other.threshold_ != before
        assert gallery.threshold_ == before
        assert len(gallery.classes_) + 1 == len(other.classes_)

    def test_cannot_be_changed(self, gallery):
        with pytest.raises(dataclasses.FrozenInstanceError):
            gallery.state.threshold = 0.0
        with pytest.raises(AttributeError):
            gallery.threshold_ = 0.0

    @pytest.mark.parametrize("state", [None, {}, "examples"])
    def test_another_object_is_refused(self, gallery, state):
        before = gallery.state
        with pytest.raises(ValueError, match="must be a GalleryState, "):
            gallery.state = state
        assert gallery.state is before

    def test_no_threshold(self, identity, gallery):
        gallery.remove_threshold()
        assert gallery.state.threshold is None
        assert gallery.state.held_out is gallery.calibration_ is None
        assert len(gallery.state.examples) == 24


class TestFile:
    def test_round_trip(self, identity, gallery, tmp_path):
        typicality = Typicality(refused=0.3).fit(X[HELD_OUT], LABELS[HELD_OUT])
        checking = Gallery(identity, typicality=typicality, source="runs/a")
        checking.state = gallery.state
        checking.save(tmp_path / "all.npz")
        loaded = Gallery.load(tmp_path / "all.npz", identity)
        assert loaded.source == "runs/a"
        assert loaded.typicality.threshold_ == typicality.threshold_
        for name, column in loaded.identify(X).items():
            np.testing.assert_array_equal(column, checking.identify(X)[name])

    def test_goes_on_after_loading(self, identity, gallery, tmp_path):
        gallery.source = "runs/a"
        gallery.enroll(X[:1], ["class 00"], ["a/1.png"])
        gallery.save(tmp_path / "all.npz")
        loaded = Gallery.load(tmp_path / "all.npz", identity)
        assert loaded.source == "runs/a"
        assert loaded.examples_.names[-1] == "a/1.png"
        assert loaded.calibration_ == gallery.calibration_
        for name, column in loaded.identify(X).items():
            np.testing.assert_array_equal(column, gallery.identify(X)[name])
        # The calibration goes on after loading.
        loaded.enroll(X[60:66], LABELS[60:66])
        gallery.enroll(X[60:66], LABELS[60:66])
        assert loaded.threshold_ == gallery.threshold_

    def test_with_the_model_in_the_file(self, tmp_path):
        model, x = METHODS["stochastic prototypes"]
        gallery = Gallery(model, num_samples=5, seed=3)
        gallery.enroll(x[ENROLLED], LABELS[ENROLLED])
        gallery.save(tmp_path / "all.npz", include_model=True)
        loaded = Gallery.load(tmp_path / "all.npz")
        np.testing.assert_allclose(
            loaded.predict_proba(x), gallery.predict_proba(x), rtol=1e-6
        )

    def test_numpy_reads_it_without_pickle(self, gallery, tmp_path):
        gallery.save(tmp_path / "all.npz")
        with np.load(tmp_path / "all.npz", allow_pickle=False) as file:
            np.testing.assert_array_equal(file["embeddings"], X[ENROLLED])
            assert file["labels"].tolist() == LABELS[ENROLLED].tolist()
            settings = json.loads(str(file["settings"]))
        assert settings["threshold"] == gallery.threshold_

    def test_another_model_is_refused(self, gallery, tmp_path):
        gallery.save(tmp_path / "all.npz")
        with pytest.raises(ValueError, match="does not contain its model"):
            Gallery.load(tmp_path / "all.npz")
        encoder = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
        with pytest.raises(ValueError, match="of another model"):
            Gallery.load(tmp_path / "all.npz", encoder)

    def test_damaged_files_are_refused(self, identity, gallery, tmp_path):
        path = tmp_path / "all.npz"
        gallery.save(path)
        content = path.read_bytes()
        good = shutil.copy(path, tmp_path / "good.npz")
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(ValueError, match="is not a gallery"):
            Gallery.load(path, identity)
        method = content.index(b"PK\x01\x02") + 10  # an unknown compression
        path.write_bytes(content[:method] + b"\x63" + content[method + 1 :])
        with pytest.raises(ValueError, match="damaged or foreign"):
            Gallery.load(path, identity)
        gallery.save(path)
        break_headers(path)
        with pytest.raises(ValueError, match="damaged or foreign"):
            Gallery.load(path, identity)
        np.savez(path, embeddings=X)
        with pytest.raises(ValueError, match="lacks 'settings'"):
            Gallery.load(path, identity)
        with np.load(good) as file:
            arrays = dict(file)
        settings = json.loads(str(arrays["settings"]))
        for name in ("false_accept_rate", "typicality"):
            some = {n: value for n, value in settings.items() if n != name}
            np.savez(path, **arrays | {"settings": np.array(json.dumps(some))})
            with pytest.raises(ValueError, match=f"it lacks {name}. Make it"):
                Gallery.load(path, identity)
        np.savez(path, settings=np.array([{}], object))
        with pytest.raises(ValueError, match="damaged or foreign"):
            Gallery.load(path, identity)
        np.save(path.with_suffix(".npy"), X)
        with pytest.raises(ValueError, match="a single array"):
            Gallery.load(path.with_suffix(".npy"), identity)

    def test_a_full_disk_keeps_the_old_file(
        self, gallery, tmp_path, monkeypatch
    ):
        path = tmp_path / "all.npz"
        gallery.save(path)
        before = path.read_bytes()

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            gallery.remove("class 00").save(path)
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["all.npz"]

    def test_a_pipe_is_refused(self, identity, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe or a device"):
            Gallery.load(tmp_path / "pipe", identity)

    @pytest.mark.parametrize(
        ("settings", "arrays", "match"),
        [
            ({"threshold": np.nan}, {}, "`threshold` must be a finite number"),
            ({"threshold": "abc"}, {}, "`threshold` must be a finite number"),
            ({"threshold": None}, {}, "`threshold` must be a finite number"),
            ({"calibration": None}, {}, "`threshold` must be null"),
            ({"calibration": 3}, {}, "`calibration` must be a mapping"),
            ({"calibration": {}}, {}, "`false_accept_rate` must be a finite"),
            ({"false_accept_rate": "x"}, {}, "must be between 0 and 1"),
            ({"sampling": None}, {}, "`sampling` must be a mapping"),
            ({"sampling": {"a": 1}}, {}, "`sampling` must have num_samples"),
            ({"typicality": 3}, {}, "`typicality` must be a mapping"),
            ({"typicality": {}}, {}, "must be a typicality"),
            ({"unknown": "class 00"}, {}, "answer for other classes"),
            ({"unknown": -1}, {}, "`unknown` must be of the kind"),
            ({}, {"embeddings": np.nan * X[ENROLLED]}, "is not finite"),
            ({}, {"embeddings": X[ENROLLED, :1]}, "must be embeddings of"),
            ({}, {"embeddings": np.array(3)}, "one row per input"),
            ({}, {"calibration_embeddings": None}, "it lacks calibration_emb"),
            (
                {},
                {"calibration_embeddings": np.nan * X[HELD_OUT]},
                "not finite",
            ),
            ({}, {"calibration_labels": LABELS[:3]}, "one label per example"),
            ({}, {"typicality_mean": None}, "it lacks typicality_mean"),
            ({}, {"typicality_mean": [np.nan, 0.0]}, "finite numbers"),
        ],
    )
    def test_changed_content_is_refused(
        self, identity, gallery, tmp_path, settings, arrays, match
    ):
        path = tmp_path / "all.npz"
        check = Typicality(refused=0.3).fit(X[HELD_OUT], LABELS[HELD_OUT])
        gallery.typicality = check
        gallery.save(path)
        with np.load(path) as file:
            found = {**file, **arrays}
        changed = json.loads(str(found["settings"])) | settings
        found["settings"] = np.array(json.dumps(changed))
        np.savez(path, **{n: a for n, a in found.items() if a is not None})
        with pytest.raises(ValueError, match=match) as raised:
            Gallery.load(path, identity)
        assert str(path) in str(raised.value)

    def test_another_kind_of_check_is_not_saved(self, gallery, tmp_path):
        gallery.typicality = "high"
        with pytest.raises(ValueError, match="must be a scoring.Typicality"):
            gallery.save(tmp_path / "all.npz")
        assert not any(tmp_path.iterdir())
