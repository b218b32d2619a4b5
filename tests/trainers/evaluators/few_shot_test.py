"""Few-shot evaluation: of any data set, and of n-digit numbers."""

import dataclasses
import pathlib

import keras
import numpy as np
import pytest
from matplotlib.figure import Figure

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import SoftContrastive
from tests.trainers.images import images
from trainers.config import load_recipe
from trainers.config.load import read_run
from trainers.config.load import recipe_names
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.data import data
from trainers.evaluate import save_figures
from trainers.evaluators import evaluator
from trainers.evaluators import few_shot
from trainers.evaluators import n_digit_few_shot
from trainers.measures import episodes
from trainers.measures import occluded
from trainers.measures.few_classes import FEW_TEST_CLASSES
from trainers.measures.occluded import EmbeddedSplit

TINY = str(pathlib.Path(__file__).parents[1] / "tiny.py")
# The cache of the data and the threads of TensorFlow are of one process.
pytestmark = pytest.mark.xdist_group("trainers")

LABELS = np.arange(30) % 5


def rows(seed, width):
    """Positive, so that they serve as variances too; classes overlap."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.1, 2, size=(30, width))
    return (noise + 0.4 * LABELS[:, None]).astype("float32")


def nearest_other(closeness):
    """Share of rows whose closest other row has their label."""
    hits = 0
    for i, row in enumerate(closeness):
        others = [j for j in range(len(row)) if j != i]
        best = max(others, key=lambda j, row=row: row[j])
        hits += LABELS[best] == LABELS[i]
    return hits / len(LABELS)


def identity(width):
    return keras.Sequential([keras.Input((width,)), keras.layers.Identity()])


@pytest.mark.slow
def test_correct_queries_of_each_episode():
    """The episodes of a draw do not depend on the model or on their number."""
    split = EmbeddedSplit(
        "test", 5, LABELS, LABELS, rows(0, 2), [rows(1, 2), rows(2, 2)], []
    )
    found = {}
    for name, count in (("ours", 5), ("theirs", 3)):
        wanted = dataclasses.replace(
            load_recipe(TINY).evaluation,
            num_draws=2,
            num_episodes=count,
            num_support=2,
            num_query=3,
        )
        log_prob = episodes.episode_log_prob(identity(2), 1)
        each = [*episodes.episodes(split, "corrupt_query", wanted, log_prob)]
        measured, *_ = episodes.measure_episodes(each)
        correct = [int(text) for text in measured["correct"].split()]
        assert measured["queries"] == 5 * 3
        assert correct == [(p.argmax(-1) == y).sum() for p, y in each]
        assert np.mean(correct) / 15 == pytest.approx(measured["accuracy"])
        # Errors of the kept queries, from all queries to the surest one.
        wrong = np.concatenate([p.argmax(-1) != y for p, y in each])
        order = np.concatenate([p.max(-1) for p, _ in each]).argsort()
        errors = [wrong[order[k:]].mean() for k in range(len(wrong))]
        area = measured["area_under_risk_coverage"]
        assert area == pytest.approx(np.mean(errors))
        assert "reject_area" not in measured  # the same number
        assert measured["reject_random_area"] == pytest.approx(errors[0])
        found[name] = correct
    assert episodes.episodes_of_draws(5, 2) == [3, 2]
    assert episodes.episodes_of_draws(3, 2) == [2, 1]
    ours, theirs = found["ours"], found["theirs"]
    assert theirs == [*ours[:2], *ours[3:4]]
    assert len(set(ours)) > 1


def test_leave_one_out_of_points():
    gallery, queries = rows(0, 2), rows(1, 2)
    distance = np.linalg.norm(queries[:, None] - gallery, axis=-1)
    expected = nearest_other(-distance)
    accuracy = episodes.leave_one_out_accuracy(
        identity(2), gallery, queries, LABELS
    )
    assert accuracy == pytest.approx(expected)
    assert 0 < expected < 1


@pytest.mark.slow
def test_leave_one_out_of_matches():
    """Gaussians so narrow that the noise decides nothing."""
    gallery, queries = rows(0, 4), rows(1, 4)
    for side in (gallery, queries):
        side[:, 2:] = 1e-12
    distance = np.linalg.norm(queries[:, None, :2] - gallery[:, :2], axis=-1)
    model = EmbeddingModel(identity(4), HedgedInstances(2), gaussian=True)
    accuracy = episodes.leave_one_out_accuracy(model, gallery, queries, LABELS)
    assert accuracy == pytest.approx(nearest_other(-distance))


@pytest.mark.slow
def test_leave_one_out_of_points_that_match():
    """The nearest point is the best match, whatever scale and offset are."""
    gallery, queries = rows(0, 2), rows(1, 2)
    model = EmbeddingModel(identity(2), SoftContrastive())
    model.objective.raw_scale.assign(-1.0)
    model.objective.offset.assign(2.0)
    accuracy = episodes.leave_one_out_accuracy(model, gallery, queries, LABELS)
    distance = np.linalg.norm(queries[:, None] - gallery, axis=-1)
    assert accuracy == pytest.approx(nearest_other(-distance))


@pytest.mark.parametrize(
    "is_gaussian", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_leave_one_out_under_each_condition(is_gaussian, monkeypatch):
    """Corrupt supports are a corrupt gallery, corrupt queries are queries."""
    width = 2 + 2 * is_gaussian
    clean, corrupt = rows(0, width), rows(1, width)
    if is_gaussian:
        clean[:, 2:] = corrupt[:, 2:] = 1e-12
        model = EmbeddingModel(identity(4), HedgedInstances(2), gaussian=True)
    else:
        model = identity(2)
    split = EmbeddedSplit("test", 5, LABELS, LABELS, clean, [corrupt], [None])
    sides = {
        "clean": (clean, clean),
        "corrupt_support": (corrupt, clean),
        "corrupt_query": (clean, corrupt),
    }
    run = load_recipe(TINY)
    run = dataclasses.replace(
        run,
        evaluation=dataclasses.replace(run.evaluation, leave_one_out=True),
    )
    monkeypatch.setattr(few_shot, "episodes", lambda *a: [])
    monkeypatch.setattr(few_shot, "measure_episodes", lambda found: [{}] * 3)
    monkeypatch.setattr(
        few_shot, "confusion", lambda *a: [np.array(["a"]), np.array(["a"])]
    )
    monkeypatch.setattr(few_shot, "uncertainty", lambda *_: ({}, {}))
    monkeypatch.setattr(few_shot.viz, "evaluation_figure", lambda *a: None)
    monkeypatch.setattr(few_shot.viz, "embedding_figure", lambda *a, **k: None)
    found, _ = few_shot.measure(run, model, [split], LABELS, {"class": LABELS})
    expected = {}
    for condition, (gallery, queries) in sides.items():
        distance = np.linalg.norm(
            queries[:, None, :2] - gallery[:, :2], axis=-1
        )
        expected[condition] = nearest_other(-distance)
        measured = found["test"][condition]["leave_one_out_accuracy"]
        assert measured == pytest.approx(expected[condition])
    assert len(set(expected.values())) == 3


@pytest.mark.parametrize("digits", [2, 3])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_published_rows_have_recipes(digits, dim):
    for method, section in (
        ("stochastic_prototypes", "objective"),
        ("hedged_instances", "objective"),
        ("prototypical", "loss"),
        ("soft_contrastive", "objective"),
        ("contrastive", "loss"),
    ):
        name = f"n_digit_{digits}_dim_{dim}_{method}"
        assert name in recipe_names()
        run = load_recipe(name)
        assert run.data.dataset == f"n_digit/{digits}_number"
        assert run.encoder.arguments["dim"] == dim
        assert run.method.kind == section


@pytest.mark.parametrize("method", ["stochastic_prototypes", "prototypical"])
def test_held_out_numbers_are_neither_trained_on_nor_tested(
    method, monkeypatch
):
    """56 + 14 numbers of the training split; test numbers are others."""
    run = load_recipe(f"n_digit_2_dim_2_{method}_held_out_numbers")
    numbers = {"train": np.arange(70), "test_unseen": np.arange(70, 100)}

    def load(name, split, *_, **__):
        labels = np.repeat(numbers[split], 65)
        return np.zeros((len(labels), 28, 56, 1), "uint8"), labels

    monkeypatch.setattr(data.datasets, "load", load)
    its_data = data.Data(run)
    train, held_out = (
        set(its_data.labels(split)) for split in ("train", "validation")
    )
    assert train | held_out == set(range(70)) and not train & held_out
    assert len(held_out) == 14 == run.evaluation.validation.num_classes
    assert len(train) == run.batches.arguments["num_classes"]
    assert run.evaluation.splits == ("validation",)
    few_shot.check(run, its_data)


@pytest.mark.parametrize(
    "recipe", [TINY, "demo", "n_digit_3_dim_2_prototypical"]
)
def test_n_digit_numbers_have_an_evaluation_of_their_own(recipe):
    run = load_recipe(recipe)
    assert run.evaluation.name == "n_digit_few_shot"
    assert evaluator(run) is n_digit_few_shot
    for other in ("dataset=omniglot", "backbone.network=ResNet50"):
        again = read_run(recipe, [other])
        assert evaluator(again) is few_shot
        fields, expected = map(vars, (again.evaluation, run.evaluation))
        assert {**fields} == {**expected, "name": "few_shot"}
    there_and_back = ["dataset=omniglot", f"dataset={run.data.dataset}"]
    assert load_recipe(recipe, there_and_back) == run


def test_other_recipes_on_n_digit_numbers_have_their_evaluation():
    run = read_run(
        "omniglot_1_shot_dim_2_prototypical", ["dataset=n_digit/2_number"]
    )
    assert run.evaluation.name == "n_digit_few_shot"


def test_files_with_the_other_name_have_the_evaluation_of_their_data():
    run = load_recipe(TINY)
    older = config_of(run)
    older["evaluation"]["name"] = "few_shot"
    assert run_from_config(older) == run
    network = {"network": "ResNet50"}
    of_features = run_from_config({**older, "backbone": network})
    assert of_features.evaluation.name == "few_shot"
    of_others = run_from_config({**older, "dataset": "omniglot"})
    assert of_others.evaluation.name == "few_shot"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["dataset=omniglot", "evaluation.name=n_digit_few_shot"],
            "received 'omniglot'. Use .*=few_shot$",
        ),
        (
            [
                "backbone.network=ResNet50",
                "evaluation.name=n_digit_few_shot",
            ],
            "received 'n_digit/digits_2_number' with features of config.back",
        ),
        (
            ["evaluation.name=few_shot"],
            "config.dataset='n_digit/digits_2_number'; use .*=n_digit_few_shot",
        ),
    ],
)
def test_a_named_evaluation_that_is_not_for_the_data(overrides, message):
    with pytest.raises(ValueError, match=message):
        load_recipe(TINY, overrides)


def some_features(monkeypatch, labels=lambda _, numbers: numbers):
    """Eight classes of features; training has seen the even ones."""
    x, numbers = images(8, 20, (6,))

    def load(name, split, *_, **__):
        rows = (numbers % 2 == 0) if split == "train" else numbers >= 0
        return x[rows].astype("float32"), labels(split, numbers[rows])

    monkeypatch.setattr(data.datasets, "load", load)
    overrides = ["dataset=made_up", "evaluation.name=few_shot"]
    overrides += ["evaluation.num_support=3"]
    overrides += ["preprocess.name=", "evaluation.num_classes=(5, 5)"]
    run = load_recipe(TINY, overrides)
    return run, data.Data(run)


@pytest.mark.slow
def test_the_confusions_are_those_of_the_episodes(monkeypatch):
    """Their names are of the split, and as many are right as the accuracy."""
    run, its_data = some_features(monkeypatch)
    drawn = []
    monkeypatch.setattr(
        few_shot.viz,
        "confusion_figure",
        lambda labels, answers, **_: drawn.append((labels, answers)),
    )
    found, _ = few_shot.evaluate(run, its_data, identity(6))
    ((labels, answers),) = drawn
    clean = found["test_seen"]["clean"]
    assert len(labels) == clean["episodes"] * 5 * run.evaluation.num_query
    np.testing.assert_allclose(np.mean(labels == answers), clean["accuracy"])
    assert {*labels} == {*answers} == {str(number) for number in range(8)}


@pytest.mark.slow
def test_features_have_nothing_to_occlude(monkeypatch):
    run, its_data = some_features(monkeypatch)
    few_shot.check(run, its_data)
    found, figures = few_shot.evaluate(run, its_data, identity(6))
    assert set(found["test_seen"]) == {"clean"}
    assert found["test_seen"]["clean"]["accuracy"] > 0.9
    text = few_shot.summary(found)
    assert "clean" in text and "corrupt" not in text
    rows = [line.split() for line in text.splitlines()]
    num_classes = run.evaluation.num_classes[0]
    assert ["classes", str(num_classes)] in [row[:2] for row in rows]
    chance = f"{100 / num_classes:.1f}"
    assert ["by", "chance", chance] in [row[:3] for row in rows]
    supports = ["supports", "a", "class", str(run.evaluation.num_support)]
    assert supports in [row[:4] for row in rows]
    assert set(figures) == {"confusion", "embedding", "evaluation"}
    assert all(isinstance(figure, Figure) for figure in figures.values())


@pytest.mark.slow
def test_an_interval_over_few_classes_says_so(monkeypatch):
    """Eight classes without error: the interval over episodes is 0 wide."""
    run, its_data = some_features(monkeypatch)
    x = its_data.split("test_seen")[0]
    found, _ = few_shot.evaluate(run, its_data, identity(x.shape[1]))
    cell = found["test_seen"]["clean"]
    assert cell["test_classes"] == 8 and cell["classes"] == 5
    assert "± is over episodes of the same 8 test" in few_shot.summary(found)
    for split in ("test_seen", "test_unseen"):
        found[split]["clean"]["test_classes"] = FEW_TEST_CLASSES
    assert "± is over" not in few_shot.summary(found)


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [True, False])
def test_classes_of_the_training_are_not_unknown(is_new, monkeypatch):
    """The promise is about new classes."""
    x, numbers = images(8, 20, (6,))

    def load(name, split, *_, **__):
        rows = numbers % 2 == (split != "train" and is_new)
        return x[rows].astype("float32"), numbers[rows]

    monkeypatch.setattr(data.datasets, "load", load)
    overrides = ["dataset=made_up", "evaluation.name=few_shot"]
    overrides += ["evaluation.num_support=3"]
    overrides += ["preprocess.name=", "evaluation.num_classes=(3, 3)"]
    run = load_recipe(TINY, overrides)
    found, _ = few_shot.evaluate(run, data.Data(run), identity(6))
    assert ("unknown_classes" in found) == is_new
    assert ("unknown classes" in few_shot.summary(found)) == is_new


@pytest.mark.slow
def test_more_tasks_on_the_same_embeddings(monkeypatch):
    """As a run of that task alone, beside the first; leave-one-out once."""
    embedded = []
    of_run = some_features(monkeypatch)[1]
    original = few_shot.embed_split
    monkeypatch.setattr(
        few_shot,
        "embed_split",
        lambda *a, **k: embedded.append(a[1]) or original(*a, **k),
    )

    def found(num_classes, num_support, **more):
        wanted = dataclasses.replace(
            of_run.run.evaluation,
            splits=("test_seen",),
            num_classes=(num_classes,),
            num_support=num_support,
            num_query=4,
            leave_one_out=True,
            **more,
        )
        run = dataclasses.replace(of_run.run, evaluation=wanted)
        few_shot.check(run, of_run)
        embedded.clear()
        results, _ = few_shot.evaluate(run, of_run, identity(6))
        assert embedded == ["test_seen"]
        return results

    both = found(5, 3, more_tasks=((8, 1), (2, 2)))
    assert both["test_seen"] == found(5, 3)["test_seen"]
    for num_classes, num_support in ((8, 1), (2, 2)):
        alone = found(num_classes, num_support)["test_seen"]["clean"]
        del alone["leave_one_out_accuracy"]
        name = f"test_seen_{num_classes}_class_{num_support}_shot"
        assert both[name] == {"clean": alone}
        assert name in few_shot.summary(both)
    with pytest.raises(ValueError, match="does not fit .* 'test_seen'"):
        found(5, 3, more_tasks=((9, 1),))


@pytest.mark.parametrize("shot", [1, 5])
@pytest.mark.parametrize("method", ["stochastic_prototypes", "prototypical"])
def test_the_table_of_omniglot_has_recipes(shot, method):
    """Clean and corrupted images in the plane, clean ones at 64 dimensions."""
    for dim, ending, preprocess in (
        (2, "", ""),
        (2, "_corrupted", "corrupt"),
        (64, "", ""),
    ):
        run = load_recipe(f"omniglot_{shot}_shot_dim_{dim}_{method}{ending}")
        assert run.encoder.arguments["dim"] == dim
        assert run.data.preprocess.name == preprocess
        assert run.method.arguments["num_support"] == shot
        assert run.batches.arguments["num_support"] == shot
        assert run.evaluation.num_support == shot
        assert run.evaluation.num_classes == (5,)
        assert run.evaluation.more_tasks == ((20, shot),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("as_label", "name"),
    [
        (lambda numbers: numbers, lambda number: number),
        (
            lambda numbers: np.array([f"name {n}" for n in numbers]),
            lambda number: f"name {number}",
        ),
        (
            lambda numbers: np.stack([numbers % 4, numbers // 4], axis=1),
            lambda number: f"{number % 4},{number // 4}",
        ),
    ],
    ids=["numbers", "names", "factors"],
)
def test_a_figure_tells_the_classes_seen_in_training(
    as_label, name, monkeypatch
):
    """The training split has half of the classes, whatever labels are."""
    given = {}
    of_run = some_features(monkeypatch, lambda _, numbers: as_label(numbers))
    monkeypatch.setattr(
        few_shot.viz,
        "embedding_figure",
        lambda **arguments: given.update(arguments),
    )
    few_shot.evaluate(*of_run, identity(6))
    assert set(given["labels"]) == {name(number) for number in range(8)}
    seen = [name(number) for number in range(0, 8, 2)]
    np.testing.assert_array_equal(given["seen"], np.isin(given["labels"], seen))
    assert list(given["factors"]) == ["class"]
    np.testing.assert_array_equal(given["factors"]["class"], given["labels"])


def test_a_figure_of_many_classes_has_a_legend_of_few():
    labels = np.repeat(np.arange(1000), 2)
    rows = few_shot._rows_per_class(labels, 30, few_shot.CLASSES_DRAWN)
    drawn = np.unique(labels[rows])
    assert len(drawn) == few_shot.CLASSES_DRAWN
    assert (drawn[0], drawn[-1]) == (0, 999)
    every = few_shot._rows_per_class(labels, 1, None)
    np.testing.assert_array_equal(every, np.arange(0, 2000, 2))


def test_figures_are_saved_in_one_place_and_emptied(tmp_path):
    figure = Figure()
    figure.subplots()
    save_figures({"curve": figure}, tmp_path)
    assert [path.name for path in tmp_path.glob("*.png")] == ["curve.png"]
    assert any((tmp_path / "tensorboard" / "evaluation").iterdir())
    assert not figure.axes


def test_the_occlusion_of_full_covariance():
    """Variances are a softplus of the embedding, for an objective of points."""
    rng = np.random.default_rng(0)
    corrupt = rng.normal(size=(40, 5)).astype("float32")
    hidden = np.linspace(0, 1, 40)[:, np.newaxis]
    corrupt[:, 2:4] = 3 * hidden - 1
    labels = np.arange(40) % 4
    split = EmbeddedSplit(
        "test", 4, labels, labels, corrupt, [corrupt], [hidden]
    )
    model = EmbeddingModel(
        identity(5), FullCovariancePrototypes(num_support=2), gaussian=False
    )
    found, curve = occluded.uncertainty(Method(model), [split])
    assert found["rank_correlation_with_occlusion"] == pytest.approx(1)
    variance = np.log1p(np.exp(3 * hidden - 1))
    np.testing.assert_allclose(
        found["median_variance_by_dimension"], np.median(variance), rtol=1e-3
    )
    assert len(curve["stddev"]) == 10
