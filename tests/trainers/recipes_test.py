"""Tables of recipes: names, independent configs, results, the list."""

import inspect
import json
import pathlib
import re
import sys
import textwrap

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


@pytest.mark.parametrize("name", RECIPES)
def test_a_search_for_a_name_finds_its_table(name):
    """Names are public: no function's name and no number makes one."""
    source = inspect.getsource(sys.modules[RECIPES[name].make.__module__])
    assert source.count(f'"{name}": ') == 1


def test_a_recipe_makes_a_config_of_its_own_each_time():
    for recipe in RECIPES.values():
        first, second = recipe.config(), recipe.config()
        before = second.to_json()
        for section in first.values():
            if hasattr(section, "name"):
                section.name = "altered"
        assert second.to_json() == before == recipe.config().to_json()


def test_every_result_file_belongs_to_a_recipe():
    found = {file: names_recipe(file) for file in RESULTS.rglob("*.json")}
    # Others have no recipe, or one that `--goal` wrote into the workdir.
    found = {
        file: name
        for file, name in found.items()
        if name and not name.endswith("/recipe.py")
    }
    assert len(found) > 50
    for file, name in found.items():
        assert name in RECIPES, file


def test_the_list_has_two_lines_for_each_recipe(capsys):
    with pytest.raises(SystemExit) as end:
        train.main(["--list"])
    assert end.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert len(headings) == len(set(headings))
    entries = {}
    for line in lines:
        if re.match(r"  \S", line):
            cells = entries[line.split()[0]] = re.split(r"  +", line.strip())
        elif line.startswith(" "):
            cells.append(line.strip())
    assert sorted(entries) == list(RECIPES)
    assert entries["sprites_beta_vae_8"][1:3] == ["BetaVAE", "cross_validation"]
    assert entries["cifar10_triplet"][1:3] == ["TripletLoss", "not run"]
    having = {names_recipe(file) for file in RESULTS.rglob("*.json")}
    for name, (_, _, status, about) in entries.items():
        assert (status != "not run") == (name in having), name
        assert about == RECIPES[name].about
    for folder in ("accepted", "cross_validation", "trust"):
        assert folder in entries["omniglot_retrieval_histogram"][2]


@pytest.fixture
def three_recipes():
    """Two of a data set, with one of another data set between them."""

    def make(dataset):
        from trainers.recipes import sections

        return sections.config(dataset, **sections.loss("TripletLoss"))

    return {
        "short": Recipe("Digits", make, {"dataset": "mnist"}),
        "pairs": Recipe("Numbers", make, {"dataset": "n_digit/2_number"}),
        "a_longer_name": Recipe("More digits", make, {"dataset": "mnist"}),
    }


def listed(statuses):
    return [
        "",
        "mnist",
        f"  short          TripletLoss{statuses[0]}",
        "      Digits",
        f"  a_longer_name  TripletLoss{statuses[1]}",
        "      More digits",
        "",
        "n_digit/2_number",
        f"  pairs  TripletLoss{statuses[2]}",
        "      Numbers",
    ]


def test_the_list_names_every_folder_with_results(three_recipes, tmp_path):
    for file, contents in {
        "c/b_1.json": {"recipe": "pairs"},
        "c/b_2.json": {"recipe": "pairs"},
        "b/folds/1.json": {"recipe": "pairs"},
        "b/no_recipe.json": {"short": 1},
        "whole_page.json": {"recipe": "short"},
        "b/rows.json": [1, 2],
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(json.dumps(contents))
    lines = recipe_list.recipe_list(three_recipes, tmp_path).splitlines()
    assert lines == [
        "Recipes by data set: name, method, folders with results in "
        "benchmarks/results",
        *listed(("  whole_page.json", "  not run", "  b, c")),
    ]


def test_folders_that_do_not_fit_have_a_line_of_their_own(
    three_recipes, tmp_path
):
    folders = [letter * 26 for letter in "abc"]
    for folder in folders:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.json").write_text('{"recipe": "short"}')
    lines = recipe_list.recipe_list(three_recipes, tmp_path).splitlines()
    assert lines[3:6] == [
        "  short          TripletLoss",
        " " * 18 + ", ".join(folders),
        "      Digits",
    ]


def test_an_installed_package_does_not_know_what_was_run(
    three_recipes, tmp_path
):
    lines = recipe_list.recipe_list(three_recipes, tmp_path / "none")
    assert lines.splitlines() == [
        "Recipes by data set: name, method",
        *listed(("", "", "")),
    ]


def indented_blocks(page):
    """The code of a page: lines indented by four, in blocks."""
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") for block in blocks]


def test_the_code_of_the_readme(tmp_path):
    folder = pathlib.Path(train.__file__).parent / "recipes"
    blocks = indented_blocks((folder / "README.md").read_text())
    (entry,) = (block for block in blocks if block.startswith("RECIPES"))
    entry = "\n".join(entry.splitlines()[1:-1])
    assert f"\n{entry}\n" in (folder / "mnist.py").read_text()
    (own,) = (block for block in blocks if "def get_config" in block)
    (longer,) = (block for block in blocks if block.startswith("config."))
    file = tmp_path / "mine.py"
    file.write_text(own)
    assert load_recipe(str(file)).batches.arguments["num_classes"] == 10
    *start, end = own.splitlines()
    lines = [*start, *textwrap.indent(longer, "    ").splitlines(), end]
    file.write_text("\n".join(lines))
    run = load_recipe(str(file))
    rate = run.optimizer.arguments["learning_rate"]
    assert run.training.num_epochs == 10
    assert rate.arguments["decay_steps"] == 100 * 10


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
