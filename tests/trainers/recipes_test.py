"""Tables of recipes: names, independent configs, results, the list."""

import json
import pathlib
import sys

import pytest

from trainers import train
from trainers.config import load_recipe
from trainers.config import recipe_list
from trainers.recipes import every_recipe
from trainers.recipes.recipe import Recipe

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
RECIPES = every_recipe()


def names_recipe(file):
    """The recipe that a result file names, or None."""
    return json.loads(file.read_text()).get("recipe")


def test_a_name_is_in_one_table():
    folder = pathlib.Path(train.__file__).parent / "recipes"
    in_files = [
        name
        for file in folder.glob("*.py")
        for name in getattr(
            sys.modules.get(f"trainers.recipes.{file.stem}"), "RECIPES", {}
        )
    ]
    assert sorted(in_files) == list(RECIPES)


def test_a_recipe_makes_a_config_of_its_own_each_time():
    for recipe in RECIPES.values():
        first, second = recipe.config(), recipe.config()
        before = second.to_json()
        for section in first.values():
            if hasattr(section, "name"):
                section.name = "altered"
        assert second.to_json() == before == recipe.config().to_json()


@pytest.mark.parametrize("name", [n for n, r in RECIPES.items() if r.results])
def test_the_results_of_a_recipe_exist(name):
    """A path without `*` exists; all files that a path names are of `name`."""
    for pattern in RECIPES[name].results:
        files = sorted(RESULTS.glob(pattern))
        assert files or "*" in pattern, pattern
        for file in files:
            assert names_recipe(file) == name


def test_every_result_file_belongs_to_a_recipe():
    found = {
        file.relative_to(RESULTS): names_recipe(file)
        for file in RESULTS.rglob("*.json")
    }
    # Others have no recipe, or one that `--goal` wrote into the workdir.
    found = {
        file: name
        for file, name in found.items()
        if name and not name.endswith("/recipe.py")
    }
    assert len(found) > 50
    for file, name in found.items():
        patterns = RECIPES[name].results
        assert any(file.match(pattern) for pattern in patterns), file


def test_the_list_has_a_line_for_each_recipe(capsys):
    with pytest.raises(SystemExit) as end:
        train.main(["--list"])
    assert end.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line.split() for line in lines if line.startswith("  ")]
    assert [row[0] for row in rows] == list(RECIPES)
    cells = {row[0]: row[1:] for row in rows}
    assert cells["sprites_beta_vae_8"] == ["BetaVAE", "cross_validation"]
    assert cells["cifar10_triplet"] == ["TripletLoss", "not", "run"]
    having = {names_recipe(file) for file in RESULTS.rglob("*.json")}
    for name, (_, *status) in cells.items():
        assert (status != ["not", "run"]) == (name in having), name


@pytest.fixture
def two_recipes():
    def make(dataset):
        from trainers.recipes import sections

        return sections.config(dataset, **sections.loss("TripletLoss"))

    results = ("c/b_*.json", "b/*.json")
    return {
        "short": Recipe("", make, {"dataset": "mnist"}),
        "a_longer_name": Recipe(
            "", make, {"dataset": "n_digit/2_number"}, results
        ),
    }


@pytest.mark.parametrize(
    ("file", "status"),
    [("c/a.json", "not run"), ("b/a.json", "b"), ("c/b_1.json", "c")],
)
def test_recipes_stand_below_their_data_set(
    two_recipes, tmp_path, file, status
):
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).touch()
    lines = recipe_list.recipe_list(two_recipes, tmp_path).splitlines()
    assert lines == [
        "recipes of each data set; method; folder of benchmarks/results",
        "",
        "mnist",
        "  short  TripletLoss  not run",
        "",
        "n_digit/2_number",
        f"  a_longer_name  TripletLoss  {status}",
    ]


def test_an_installed_package_does_not_know_what_was_run(two_recipes, tmp_path):
    lines = recipe_list.recipe_list(two_recipes, tmp_path / "none").splitlines()
    assert lines == [
        "recipes of each data set; method",
        "",
        "mnist",
        "  short  TripletLoss",
        "",
        "n_digit/2_number",
        "  a_longer_name  TripletLoss",
    ]


def test_a_file_of_a_user_s_own_builds_on_the_tables(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from trainers.recipes import n_digit\n"
        "from trainers.recipes.learning_rates import halving\n"
        "def get_config():\n"
        "    config = n_digit.stochastic_prototypes(num_digits=2, dim=2)\n"
        "    config.optimizer.learning_rate = halving(1e-2, every=100)\n"
        "    return config\n"
    )
    mine = load_recipe(str(file), ["num_epochs=3"])
    published = load_recipe("n_digit_2_dim_2_stochastic_prototypes")
    assert mine.method == published.method
    rate = mine.optimizer.arguments["learning_rate"]
    assert rate.arguments["decay_steps"] == 100
    assert mine.training.num_epochs == 3
    assert published.training.num_epochs == 40
