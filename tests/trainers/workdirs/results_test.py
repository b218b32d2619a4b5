import json

from trainers.workdirs.results import update_results


def test_results_merge(tmp_path):
    update_results(tmp_path, training={"a": 1})
    update_results(tmp_path, evaluation={"b": 2})
    assert json.loads((tmp_path / "results.json").read_text()) == {
        "training": {"a": 1},
        "evaluation": {"b": 2},
    }
