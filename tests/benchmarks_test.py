"""Printed numbers come from the result files, and comparisons are fair."""

import json
import statistics

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import _predict_client as predict_client
from benchmarks import _served_models as served_models
from benchmarks import _serving_report as report
from benchmarks import _side_by_side as side_by_side
from benchmarks import batch_size
from benchmarks import distributed_step
from benchmarks import engines
from benchmarks import f_statistic_loss
from benchmarks import faiss_search
from benchmarks import frozen_backbone
from benchmarks import image_folder
from benchmarks import kill_runs
from benchmarks import prediction_samplers
from benchmarks import prototype_choices
from benchmarks import serving_load
from benchmarks import two_pass_step
from benchmarks import watching_cost
from embeddings_tf import losses
from tests.datasets.image_folders import write_classes
from tests.read_between import read_between
from tools import cross_validation_results
from tools import cross_validation_table
from tools import distance_depth_table as distance_depth
from tools import n_digit_grid
from tools import n_digit_table
from tools import paired_difference
from tools import scoring_table
from tools import search_table
from tools import verification_table
from tools.generated_text import arguments
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields


@pytest.mark.parametrize(
    ("module", "found"),
    [
        (n_digit_table, n_digit_table.runs),
        (n_digit_grid, n_digit_table.every_run),
        (cross_validation_table, cross_validation_table.load),
        (verification_table, verification_table.load),
        (distance_depth, distance_depth.load),
    ],
)
def test_tables_of_results_are_generated_from_the_result_files(module, found):
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between.strip() == module.table(found()).strip()


def test_the_speed_of_a_folder_is_that_of_the_result_file():
    module = image_folder
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between.strip() == module.page_text()
    assert module.text(side_by_side.load("image_folder")) in between


@pytest.mark.slow
def test_the_result_of_an_existing_folder_names_its_data(
    tmp_path, monkeypatch, capsys
):
    """20 classes of 5 images, of which 12 classes are for training."""
    names = [f"class_{number:02}" for number in range(20)]
    write_classes(tmp_path / "photos", names, 5, (6, 8, 3))
    page = tmp_path / "page.md"
    begin, end = image_folder.BEGIN, image_folder.END
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    monkeypatch.setattr(image_folder, "PAGE", page)
    made = tmp_path / "image_folder.json"
    made.write_text(json.dumps(side_by_side.load("image_folder")))
    monkeypatch.setattr(image_folder, "RESULT", made)
    monkeypatch.setattr(image_folder, "in_process", image_folder.measure)
    folder = f"{tmp_path / 'photos'}"
    monkeypatch.setattr("sys.argv", ["x", "--folder", folder])
    image_folder.main()
    assert not list(tmp_path.glob("image_folder_*")), "only printed"
    monkeypatch.setattr("sys.argv", ["x", "--record", "Photos"])
    with pytest.raises(SystemExit):
        image_folder.main()
    words = ["x", "--folder", folder, "--record", "Photos"]
    monkeypatch.setattr("sys.argv", words)
    capsys.readouterr()
    image_folder.main()
    found = json.loads((tmp_path / "image_folder_photos.json").read_text())
    assert found == json.loads(capsys.readouterr().out)
    assert str(tmp_path) not in json.dumps(found)
    assert (found["data"], found["images"], found["classes"]) == (
        "Photos",
        20 * 5,
        20,
    )
    for run in (found["first"], *found["more"]):
        assert run["training_images"] == 12 * 5
    assert len(found["more"]) == 5
    between = page.read_text().partition("before")[2].partition("after")[0]
    assert "100,000 JPEG files of noise, 32 x 32 pixels in" in between
    assert "100 files of Photos, 6 x 8 pixels in 20 classes, on" in between
    assert '.image_folder --folder photos --record "Photos"`' in between


def test_a_graph_pays_after_the_queries_that_its_making_takes():
    # 5 seconds for the graph; each query saves .004 - .0015 seconds.
    def result(seconds_to_search):
        rounds = [
            {
                "exact": {"seconds_to_search": 4.0 + more},
                "faiss": {
                    "seconds_to_search": seconds_to_search + more,
                    "seconds_to_fit": 5.0 + more,
                },
            }
            for more in (-1.0, 0.0, 2.0)
        ]
        return {"queries": 1000, "rounds": rounds}

    assert faiss_search.break_even(result(1.5)) == 5 / 0.0025
    assert faiss_search.break_even(result(4.0)) is None


@pytest.mark.parametrize(
    "module", [faiss_search, frozen_backbone, watching_cost]
)
def test_measured_lines_are_generated_from_the_result_files(module):
    between = read_between(module.PAGE, *module.MARKS)
    assert between.strip() == module.page_text()


def test_a_folder_of_links_has_the_first_classes(tmp_path, monkeypatch):
    monkeypatch.setattr(frozen_backbone, "NUM_CLASSES", 2)
    for name in ("c", "a", "b"):
        (tmp_path / "all" / name).mkdir(parents=True)
        for number in range(ord(name) - ord("a") + 1):
            (tmp_path / "all" / name / f"{number}.jpg").touch()
    (tmp_path / "some").mkdir()
    found = frozen_backbone.link_classes(tmp_path / "all", tmp_path / "some")
    assert found == 1 + 2
    assert sorted(p.name for p in (tmp_path / "some").iterdir()) == ["a", "b"]


@pytest.mark.parametrize("module", [engines, serving_load])
def test_tables_of_serving_are_generated_from_the_result_files(module):
    between = read_between(module.PAGE, module.BEGIN, module.END)
    if not module.RESULT.exists():
        assert between.strip() == "Not measured yet."
        pytest.skip(f"{module.__name__} has no result file yet")
    result = json.loads(module.RESULT.read_text())
    assert between.strip() == module.text(result).strip()


def test_missing_operations_are_read_from_errors_of_converters():
    openvino = "x -- No conversion rule found for operations: LowerBound, B To"
    litert = "TF Select ops: EnsureShape Details: \ttf.EnsureShape(tensor)"
    assert engines.reason(openvino) == "no: `B`, `LowerBound`"
    assert engines.reason(litert) == "no: `EnsureShape`"
    blocks = "'tf.TensorListReserve' op requires element_shape to be static"
    assert engines.reason(blocks) == "no: `TensorListReserve`"
    assert engines.reason("a|b") == "no: a\\|b"


def test_growth_of_memory_is_the_slope_of_the_second_half():
    # Grows fast while the caches fill, then by 3 MiB for 10,000 requests.
    sizes = [
        (n, 2**20 * (n / 100 if n < 50_000 else 500 + 3e-4 * n))
        for n in range(0, 100_001, 500)
    ]
    assert report.growth(sizes) == pytest.approx(3)


def test_scripts_take_folders_that_exist(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["table", str(tmp_path)])
    assert arguments("What it does.").folders == [tmp_path]
    for word in (str(tmp_path / "missing"), "--halp"):
        monkeypatch.setattr("sys.argv", ["table", word])
        with pytest.raises(SystemExit):
            arguments("What it does.")
        assert word in capsys.readouterr().err


def depth_run(depth, errors, dataset="made_up"):
    """A cross-validation of two folds, as in the results of its workdir."""
    scores = ("cosine", "learned_distance") if depth else ("cosine",)
    recipe, fields = "an4_triplet", [f"dataset={dataset}"]
    if depth:
        recipe = "an4_learned_distance"
        fields.append(f"objective.distance.hidden_units={[256] * depth}")
    config = recipe_fields(load_recipe(recipe, fields))
    folds = {
        str(fold): {
            "training": {"commit": "0123456789"},
            "evaluation": {
                "test": {s: {"equal_error_rate": error} for s in scores}
            },
        }
        for fold, error in enumerate(errors, start=1)
    }
    return {"config": config}, {"recipe": recipe, "folds": folds}


def test_depths_are_collected_tabulated_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(distance_depth, "RESULTS", tmp_path / "results")
    monkeypatch.setitem(paired_difference.DIVIDED, "made_up", 10)
    runs = {0: (0.2, 0.2), 1: (0.1, 0.3), 3: (0.05, 0.07)}
    for depth, errors in runs.items():
        folder = tmp_path / f"run_{depth}"
        folder.mkdir()
        config, results = depth_run(depth, errors)
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "results.json").write_text(json.dumps(results))
        distance_depth.collect(folder)
    found = distance_depth.load()
    assert sorted(found) == [0, 1, 3]
    lines = distance_depth.table(found).splitlines()
    # With two values, the standard error is half their difference.
    assert "| 1 | 20.00 ± 10.00 | 20.00 ± 10.00 | 0123456 |" in lines
    assert "| 3 | 6.00 ± 1.00 | 6.00 ± 1.00 | 0123456 |" in lines
    assert "| triplet loss |  | 20.00 ± 0.00 | 0123456 |" in lines
    # By fold 5 - 10 and 7 - 30; to the triplet loss, 5 - 20 and 7 - 20.
    assert "| 3 hidden layers by the distance minus | folds | " in str(lines)
    assert "| 1 hidden layer | 2 | -14.00 ± 9.00 (" in str(lines)
    assert "| triplet loss by cosine | 2 | -14.00 ± 1.00 (" in str(lines)
    (axes,) = distance_depth.figure(found).axes
    baseline = axes.lines[-1].get_ydata()
    np.testing.assert_allclose(baseline, 20)
    drawn = axes.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_xydata(), [[1, 20], [3, 6]])

    config, results = depth_run(2, (0.1, 0.1), dataset="another")
    for name, value in ("config", config), ("results", results):
        (tmp_path / "run_0" / f"{name}.json").write_text(json.dumps(value))
    distance_depth.collect(tmp_path / "run_0")
    with pytest.raises(SystemExit, match="mixes data sets"):
        distance_depth.load()


def test_the_table_of_scoring_is_generated_from_the_result_files():
    page, begin, end = (
        scoring_table.PAGE,
        scoring_table.BEGIN,
        scoring_table.END,
    )
    between = read_between(page, begin, end)
    assert between.strip() == scoring_table.table(scoring_table.load())


def test_the_aims_of_scoring_are_met_where_it_was_measured():
    found = scoring_table.load()
    trials = found["all_trials"]
    assert trials["trials"] == 10_000 * 9_999 // 2
    assert trials["peak_bytes"] < 2**31
    subset = trials["subset"]
    for measure in ("equal_error_rate", "roc_auc"):
        error = abs(subset[measure] - subset[f"{measure}_scikit_learn"])
        assert error <= subset[f"{measure}_bound"], measure


def sprites_measures(dataset):
    """Modularity, explicitness and AUC by method, means over folds."""
    rows = cross_validation_results.disentangled(
        cross_validation_results.load(), dataset
    )
    return {
        method: [
            statistics.fmean(
                cross_validation_results.values(results, f"test.{measure}")
            )
            for measure in (
                "modularity",
                "explicitness",
                "single_dimension_auc",
            )
        ]
        for method, results in rows.items()
    }


def test_the_aims_on_sprites_are_met_where_they_were_measured():
    visible = sprites_measures("sprites/weapon_visible")
    for method in (
        "F-statistic, 16,000 batches",
        "F-statistic, dimension dropout",
    ):
        modularity, explicitness, auc = visible[method]
        assert modularity >= 0.97 and explicitness >= 0.985 and auc >= 0.93
    every = sprites_measures("sprites/all_frames")
    modularity, *_ = every["F-statistic"]
    assert modularity >= 0.95
    for rival in ("triplet", "histogram"):
        assert modularity - every[rival][0] >= 0.04


def test_the_order_of_the_papers_figure_4_where_it_was_measured():
    every = sprites_measures("sprites/all_frames")
    vaes = [every[f"beta-VAE, beta = {beta}"] for beta in (1, 2, 4, 8)]
    assert np.all(np.array(every["F-statistic"]) > vaes)  # means over folds
    of_class = every["F-statistic, class oracle"]
    assert all(of_class[1] > vae[1] and of_class[2] > vae[2] for vae in vaes)
    # Unlike in the paper, beta = 8 has the class oracle's modularity.
    assert all(of_class[0] > vae[0] for vae in vaes[:3])
    assert of_class[0] == pytest.approx(vaes[3][0], abs=0.005)
    modularity = [vae[0] for vae in vaes]
    assert modularity == sorted(modularity)
    explicitness = [vae[1] for vae in vaes]
    assert explicitness == sorted(explicitness, reverse=True)


def test_the_tables_of_searches_are_generated_from_the_result_files():
    page, begin, end = search_table.PAGE, search_table.BEGIN, search_table.END
    between = read_between(page, begin, end)
    assert between.strip() == search_table.table(search_table.load()).strip()


def test_the_tables_of_the_cost_model_are_those_of_its_formulas():
    between = read_between(
        batch_size.PAGE, batch_size.BEGIN_TRAFFIC, batch_size.END_TRAFFIC
    )
    assert between.strip() == batch_size.traffic_table()
    between = read_between(
        batch_size.PAGE, batch_size.BEGIN_EFFICIENCY, batch_size.END_EFFICIENCY
    )
    assert between.strip() == batch_size.efficiency_table()
    # 100 for the encoder and 2 for the loss, versus 25, 2 and 1 on each of 4.
    found = batch_size.efficiency(0.02, 0.01, 4)
    assert found == pytest.approx(102 / (4 * 28))
    # 384 of 512 rows are remote: 100 numbers and a label in, 2 * 100 back.
    assert batch_size.traffic_bytes(512, 100, 4) == 384 * 4 * (101 + 200)


@pytest.mark.parametrize(
    "module",
    [
        batch_size,
        distributed_step,
        kill_runs,
        prediction_samplers,
        prototype_choices,
        two_pass_step,
    ],
)
def test_tables_of_measurements_are_of_the_result_files(module):
    between = read_between(module.PAGE, module.BEGIN, module.END)
    assert between.strip() == module.table(module.load())


def test_beyond_the_largest_measured_batch_the_model_is_quadratic():
    result = {
        "measured": {
            "SomeLoss": {
                "512": {
                    "seconds": [0.011, 0.009, 0.01, 0.02, 0.008],
                    "peak_bytes": 2**20,
                },
                "1024": {"seconds": [0.04] * 5, "peak_bytes": 3 * 2**20},
            },
            "Slow": {"512": {"seconds": [3.0] * 5, "peak_bytes": 2**20}},
        }
    }
    row, slow = batch_size.table(result).splitlines()[-2:]
    assert slow.startswith("| `Slow` | 3 (3 to 3) s, 1 MiB | ~3.2 min, 64 MiB")
    assert slow.endswith(" |  |")
    # 4 and 16 times the largest batch: 16 and 256 times its cost.
    start = "| `SomeLoss` | 10 (9 to 11) ms, 1 MiB | ~0.64 s, 48 MiB | "
    assert row.startswith(start)
    assert row.endswith(" | x4.0, x3.0 |")
    assert "| ~10 s, 768 MiB |" in row


@pytest.mark.slow
def test_pair_by_pair_is_the_f_statistic_loss():
    labels = tf.constant(np.random.default_rng(0).permutation(30) % 4)
    z = tf.constant(np.random.default_rng(1).normal(size=(30, 6)), tf.float32)
    results = []
    for function in (
        f_statistic_loss.pair_by_pair,
        lambda *arguments: losses.f_statistic_loss(*arguments)[0],
    ):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = tf.function(function)(labels, z, 2)
        results.append((value, tape.gradient(value, z)))
    (theirs, their_gradient), (ours, our_gradient) = results
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    np.testing.assert_allclose(
        our_gradient, their_gradient, rtol=1e-3, atol=1e-5
    )


@pytest.mark.slow
def test_a_server_that_ends_at_its_start_says_why(tmp_path):
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"hostile")
    with (
        pytest.raises(RuntimeError, match=r"(?s)ended with 1 .*saved_model"),
        predict_client.server(tmp_path),
    ):
        raise AssertionError("it is not ready")


def test_requests_of_recordings_have_different_lengths():
    inputs = {
        "first": np.zeros((32, 8000), "float32"),
        "first_length": np.zeros(32, "int32"),
        "waveform_bytes": np.full(32, b"", object),
    }
    for name in list(inputs):
        served_models._vary_samples(inputs, name, np.random.default_rng(0))
    found = inputs["first_length"]
    assert len(set(found.tolist())) > 16
    assert inputs["first"].shape == (32, found.max())
    assert found.min() >= 2000 and found.max() <= 16_000
    sizes = {
        len(tf.audio.decode_wav(content).audio)
        for content in inputs["waveform_bytes"]
    }
    assert len(sizes) > 16 and min(sizes) >= 2000 and max(sizes) <= 16_000
