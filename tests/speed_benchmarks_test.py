"""The driver survives bad benchmarks; pages follow the result files."""

import csv
import importlib
import json
import multiprocessing
import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import _aims as aims
from benchmarks import _side_by_side as side_by_side
from benchmarks import _size_grid as size_grid
from benchmarks import _speed_plots as speed_plots
from benchmarks import _speed_table as speed_table
from benchmarks import scale
from benchmarks import speed
from benchmarks import start_up
from benchmarks._benchmark import Benchmark
from benchmarks._benchmark import Comparison
from benchmarks._worker import Stopped
from embeddings_tf.ops import f_statistic
from tests.processes import process_context
from tests.read_between import read_between

MADE = {
    "load_average_before": 0.5,
    "processor": "AMD",
    "cores": 2,
    "commit": "0" * 40,
}


class TestTables:
    comparisons = (
        Comparison(aims.OURS, (aims.PML, "torch")),
        Comparison(aims.OURS, aims.PML, by_time=True),
    )
    result = {
        "cases": {
            "triplet 12x10x500": {
                aims.OURS: {"seconds": 5 * [0.002], "peak_bytes": 2**20},
                aims.PML: {"seconds": 5 * [0.008]},
                "torch": {"seconds": 5 * [0.001]},
            },
            "triplet 64x8x128": {
                aims.OURS: {"seconds": 5 * [0.01]},
                aims.PML: {"stopped": "over 60 s"},
                "torch": {"seconds": 5 * [0.02]},
            },
        },
        "rows": {},
        "made": dict.fromkeys(["triplet 12x10x500", "triplet 64x8x128"], MADE),
    }

    def rows(self):
        return speed_table.rows("loss_grid", self.result, self.comparisons)

    def test_the_fastest_peer_counts_and_stopped_peers_have_a_reason(
        self, monkeypatch
    ):
        monkeypatch.setattr(aims, "SHORT", {})
        first, second = speed_table.table(self.rows()).splitlines()[2:]
        cells = [cell.strip() for cell in first.split("|")]
        assert cells[2:5] == [
            "2 ms (2 to 2), 1 MiB",
            "8 ms (8 to 8)",
            "1 ms (1 to 1)",
        ]
        assert cells[5] == "0.5 (0.5 to 0.5), aim: at least 1"
        assert cells[6:8] == ["0.25 (0.25 to 0.25)", aims.NO_REASON]
        cells = [cell.strip() for cell in second.split("|")]
        assert cells[3] == "over 60 s" and cells[6] == ""
        assert cells[5] == "2 (2 to 2), aim: at least 1"

    def test_an_aim_of_all_cases_is_counted_and_shortfalls_are_listed(
        self, monkeypatch
    ):
        what = aims.faster(aims.OURS, aims.PEERS)
        reason = {("loss_grid", "*", what): "the product takes half"}
        monkeypatch.setattr(aims, "SHORT", reason)
        _, _, short, count = speed_table.aims_table(self.rows()).splitlines()
        assert "triplet 12x10x500" in short
        assert short.endswith("short: the product takes half |")
        assert "| 1 of 2 cases | at least 1 |" in count

    def test_a_whole_result_is_written(self, tmp_path, monkeypatch):
        page = tmp_path / "page.md"
        page.write_text("<!-- aims: begin -->\n<!-- aims: end -->\n")
        monkeypatch.setattr(speed_table, "PAGE", page)
        monkeypatch.setattr(speed_table, "ROOT", tmp_path)
        monkeypatch.setattr(side_by_side, "RESULTS", tmp_path)
        monkeypatch.setattr(speed_table, "all_rows", self.rows)
        speed_table.write()
        with (tmp_path / "speed.csv").open() as file:
            found = list(csv.DictReader(file))
        assert len(found) == len(self.rows()) == 10
        assert {row["processor"] for row in found} == {"AMD"}
        ratio = next(row for row in found if row["unit"] == "ratio")
        assert float(ratio["median"]) == 0.5 and ratio["rounds"] == "5"
        assert ratio["met"] == "False" and ratio["load_average_before"] == "0.5"


class TestDriver:
    def test_it_goes_on_after_a_failure_and_ends_what_takes_too_long(
        self, monkeypatch
    ):
        monkeypatch.setattr(speed, "benchmark", lambda name: FAST)
        monkeypatch.setattr(speed, "SECONDS_TO_END", 2)
        programs = {
            "passes": "pass",
            "fails": "raise SystemExit(2)",
            "hangs": "import time; time.sleep(60)",
        }
        monkeypatch.setattr(
            speed,
            "run",
            lambda command, seconds, run=speed.run: run(
                [sys.executable, "-c", programs[command[2].split(".")[1]]],
                seconds,
            ),
        )
        found = speed.run_all(["fails", "hangs", "passes"], 30)
        assert found == {
            "fails": "failed with status 2",
            "hangs": "ended after 0 minutes",
        }
        late = speed.run_all(["passes"], 0)
        assert late == {"passes": "not run: 0 minutes were used up"}

    def test_the_budgets_fit_into_two_hours(self):
        budgets = [speed.benchmark(n).minutes for n in speed_table.BENCHMARKS]
        assert sum(budgets) <= speed.MINUTES == 120

    def test_an_unknown_benchmark_is_named(self, capsys):
        with pytest.raises(SystemExit):
            speed.main(["recall_at_j"])
        assert "no benchmark recall_at_j" in capsys.readouterr().err


FAST = Benchmark("fast", minutes=0.0)


class TestRun:
    def test_cases_beyond_the_budget_say_so(self, monkeypatch, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("<!-- made: begin -->\n<!-- made: end -->\n")
        monkeypatch.setattr(side_by_side, "RESULTS", tmp_path)
        monkeypatch.setattr(speed_table, "write", lambda: None)
        monkeypatch.setattr("benchmarks._benchmark.ROOT", tmp_path)
        made = Benchmark("made", minutes=0.0, page=page)
        with made.run("Does nothing.", []) as run:
            assert list(run.each(["a", "b"])) == []
        stored = json.loads(made.path.read_text())
        reason = "not measured: 0 minutes were used up"
        assert stored["cases"]["b"] == {"all": {"stopped": reason}}
        assert reason in page.read_text()

        with made.run("Does nothing.", ["b", "--minutes=9"]) as run:
            for case in run.each(["a", "b"]):
                run.add(case, {"ours": {"seconds": 5 * [2.0]}})
        stored = json.loads(made.path.read_text())
        assert set(stored["cases"]) == {"a", "b"}
        assert stored["cases"]["b"] == {"ours": {"seconds": 5 * [2.0]}}
        assert (
            "| b | measured |\n|---|---:|\n| ours | 2 s (2 to 2) |"
            in page.read_text()
        )

        # A case without time left keeps its earlier values.
        with made.run("Does nothing.", ["b", "--minutes=0"]) as run:
            assert list(run.each(["a", "b"])) == []
            assert run.all_cases() == stored["cases"]
        assert json.loads(made.path.read_text())["cases"] == stored["cases"]

    @pytest.mark.parametrize(
        ("stopped", "message"),
        [
            ({"ours": "over 60 s"}, None),
            ({"ours": "ValueError: bad"}, "b: ours: ValueError: bad"),
            (
                {"ours": "over 60 s", "variant": "over 8 GiB"},
                "b: ours: over 60 s\nb: variant: over 8 GiB",
            ),
            ({"theirs": "ValueError: bad"}, None),
        ],
    )
    def test_the_run_fails_if_none_of_ours_was_measured(self, stopped, message):
        comparisons = (
            Comparison("ours", "theirs"),
            Comparison("variant", "theirs"),
        )
        made = Benchmark("made", 1.0, comparisons)
        names = ("ours", "variant", "theirs")
        entries = {who: {"seconds": 5 * [1.0]} for who in names}
        entries |= {who: {"stopped": why} for who, why in stopped.items()}
        failed = None
        try:
            with made.run("Does nothing.", ["--quick"]) as run:
                run.add("b", entries)
        except SystemExit as error:
            failed = str(error)
        assert failed == message

    def test_a_case_that_does_not_exist_is_named(self, capsys):
        with pytest.raises(SystemExit), FAST.run("", ["c"]) as run:
            list(run.each(["a", "b"]))
        assert "no case contains c; there are: a, b" in capsys.readouterr().err


def test_exponents_are_slopes_of_logarithms():
    cases = {
        f"triplet {rows // 8}x8x22": {
            "ours": {"seconds": 5 * [3e-6 * rows**2], "peak_bytes": 8 * rows},
            "theirs": {"stopped": "over 60 s"},
        }
        for rows in (120, 512, 1024, 2048)
    }
    cases["triplet 15x8x22"]["ours"] = {"seconds": [9.0]}  # below 512 rows
    ((case, rows),) = size_grid.exponents(cases).items()
    assert case == "triplet, 22 dimensions"
    found = {row["what"]: row["median"] for row in rows}
    assert found["exponent of time, ours"] == pytest.approx(2)
    assert found["exponent of memory, ours"] == pytest.approx(1)
    assert len(found) == 2
    # A result file also has the exponents of an earlier run.
    assert size_grid.exponents({**cases, case: {}}) == {case: rows}

    result = {"cases": cases, "rows": {case: rows}}
    panel, *others = speed_plots.figure(result, "time", 22).axes
    assert not others and panel.get_xscale() == panel.get_yscale() == "log"
    (line,) = panel.lines
    np.testing.assert_allclose(line.get_xdata(), [120, 512, 1024, 2048])
    assert line.get_label() == "ours, exponent 2.00"


def test_a_contender_that_would_cost_too_much_is_not_run():
    # Four times as many pairs: 8 s; sixteen times: 32 s.
    assert size_grid.too_costly([(512, 2.0, 0)], 1024) is None
    reason = "not run: about 32 s expected"
    assert size_grid.too_costly([(512, 2.0, 0)], 2048) == reason
    # Eight times as long for twice the rows.
    growth = [(256, 0.5, 0), (512, 4.0, 0)]
    reason = "not run: about 32 s expected"
    assert size_grid.too_costly(growth, 1024) == reason
    growth = [(256, 0.1, 2**30), (512, 0.1, 3 * 2**30)]
    reason = "not run: about 12 GiB expected"
    assert size_grid.too_costly(growth, 1024) == reason
    stopped = "over 8 GiB (smaller batch)"
    assert size_grid.too_costly(stopped, 1024) == stopped


@pytest.mark.parametrize(
    ("median", "low", "high", "expected"),
    [
        (0.0012, 0.0009, 0.00134, "1.2 ms (0.9 to 1.34)"),
        (2.5, 2.25, 3.0, "2.5 s (2.25 to 3)"),
        (5e-5, 4e-5, 2e-3, "50 us (40 to 2,000)"),
        (1.16e-8, 1.14e-8, 1.17e-8, "11.6 ns (11.4 to 11.7)"),
        # 999.6 ms in three digits are a second.
        (0.9996, 0.9994, 1.0014, "1 s (0.999 to 1)"),
        (0.0012, None, None, "1.2 ms"),
    ],
)
def test_times_have_quartiles_in_the_unit_of_the_time(
    median, low, high, expected
):
    row = {"unit": "s", "median": median, "low": low, "high": high}
    assert speed_table.cell(row | {"aim": "", "note": ""}) == expected


def test_imports_of_packages_have_quartiles_the_largest_first():
    imports = [{"keras": 0.2, "numpy": 0.1 * n} for n in (1, 2, 3, 4, 5)]
    numpy, keras = start_up.largest_packages([*imports[:4], {"numpy": 0.5}])
    assert (keras["what"], keras["median"]) == ("of keras", 0.2)
    # Of five numbers, the quartiles are the second and the fourth.
    assert (numpy["what"], numpy["median"]) == ("of numpy", pytest.approx(0.3))
    assert numpy["low"] == pytest.approx(0.2)
    assert numpy["high"] == pytest.approx(0.4)
    assert (keras["low"], keras["high"], keras["rounds"]) == (0.2, 0.2, 5)


def test_limits_of_a_grid_are_no_failure():
    made = Benchmark(
        "made", 1.0, [Comparison("ours", "variant")], limits_are_results=True
    )
    with made.run("Does nothing.", ["--quick"]) as run:
        stopped = ("not run: about 32 s expected", "over 60 s (smaller batch)")
        names = ("ours", "variant")
        entries = zip(names, stopped, strict=True)
        run.add("a", {who: {"stopped": "over 8 GiB"} for who in names})
        run.add("b", {who: {"stopped": why} for who, why in entries})


def test_the_cost_of_the_gather_is_a_time_a_call_and_a_time_a_byte():
    points = [(size, 0.002 + 1e-9 * size) for size in (1000, 5000, 90000)]
    a_call, a_byte = scale.call_and_byte(points)
    assert a_call == pytest.approx(0.002) and a_byte == pytest.approx(1e-9)
    # 8 replicas of 64 rows: 512 rows of 128 numbers, 512^2 pairs.
    whole, sharded, saved = scale.simulate(8, 0.002, 1e-9, 1e-7, 0.1)
    gather = 0.002 + 1e-9 * 512 * 128 * 4
    assert whole == pytest.approx(gather + 1e-7 * 512**2)
    more = 2 * (0.002 + 1e-9 * 2 * 4)  # two sums of two numbers
    assert sharded == pytest.approx(gather + 1e-7 * 512**2 / 8 + more)
    assert saved == pytest.approx((whole - sharded) / (0.1 + whole))


def benchmarks():
    return [speed.benchmark(name) for name in speed_table.BENCHMARKS]


@pytest.mark.parametrize("module", benchmarks(), ids=lambda found: found.name)
def test_tables_of_speed_are_generated_from_the_result_files(module):
    between = read_between(module.page, *module.marks)
    if not module.path.exists():
        assert between.strip() == speed_table.NOT_MEASURED
        pytest.skip(f"{module.name} has no result file yet")
    result = json.loads(module.path.read_text())
    assert between.strip() == module.text(result).strip()
    for contenders in result["cases"].values():
        for entry in contenders.values():
            rounds = entry.get("seconds", 5 * [0])
            assert len(rounds) >= side_by_side.LEAST_ROUNDS


def test_every_aim_is_met_or_its_shortfall_has_a_reason():
    rows = speed_table.all_rows()
    between = read_between(speed_table.PAGE, speed_table.BEGIN, speed_table.END)
    assert between.strip() == speed_table.aims_table(rows).strip()
    reasons = [row["reason"] for row in rows if row["met"] is False]
    assert aims.NO_REASON not in reasons
    # Every reason belongs to a shortfall.
    reasons = set(reasons)
    for (benchmark, pattern, what), reason in aims.SHORT.items():
        assert reason in reasons, (benchmark, pattern, what)
        assert any(
            aims.is_of(row["case"], pattern)
            for row in rows
            if (row["benchmark"], row["what"]) == (benchmark, what)
            and row["met"] is False
        ), (benchmark, pattern, what)


def test_the_csv_has_the_rows_of_the_result_files():
    path = side_by_side.RESULTS / "speed.csv"
    rows = speed_table.all_rows()
    if not path.exists():
        assert not rows
        pytest.skip("no speed benchmark has a result file yet")
    with path.open() as file:
        found = list(csv.DictReader(file))
    as_text = [
        {name: "" if row[name] is None else str(row[name]) for name in row}
        for row in rows
    ]
    assert found == as_text


class Here:
    """A worker in this process: a new one would first import TensorFlow."""

    def call(self, function, *arguments, seconds):
        try:
            with warnings.catch_warnings():  # pytest makes them errors
                warnings.simplefilter("ignore")
                return function(*arguments)
        except Exception as error:
            raise Stopped(f"failed: {error!r}") from error

    def close(self):
        pass


# Benchmarks whose contenders need devices or threads of their own.
OWN_PROCESSES = ("machine_limits", "training_throughput", "scale")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("machine_limits", ["sgemm"]),
        ("rival_losses", ["triplet"]),
        ("f_statistic_loss", []),
        ("step_cost", ["40 images"]),
        ("training_throughput", ["dense"]),
        ("error_rates", []),
        ("recall_at_k", []),
        ("loss_grid", ["f_statistic 3x6"]),
        ("objective_grid", ["SoftContrastive 3x6"]),
        ("samplers", []),
        ("evaluation_speed", []),
        ("pair_distance", []),
        ("start_up", []),
        ("scale", []),
    ],
)
def test_every_benchmark_runs_without_the_other_libraries(
    name, words, capfd, monkeypatch
):
    if name in OWN_PROCESSES:
        context = process_context()  # which calls `get_context` itself
        monkeypatch.setattr(multiprocessing, "get_context", lambda _: context)
    else:
        monkeypatch.setattr(side_by_side, "Worker", Here)
        # Contenders change these.
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
        for kept in ("compare_classes", "over_all_pairs"):
            monkeypatch.setattr(f_statistic, kept, getattr(f_statistic, kept))
        level = tf.get_logger().level
        monkeypatch.setattr(tf.get_logger(), "level", level)
    importlib.import_module(f"benchmarks.{name}").main([*words, "--quick"])
    assert "|---|---:|" in capfd.readouterr().out
