from tools.complete_config import complete_config
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields
from trainers.workdirs.workdir import resolved


def test_it_is_resolved_and_its_answers_are_copies():
    config = recipe_fields(load_recipe("an4_triplet"))
    del config["patience"]
    expected = resolved(config)
    found = complete_config(config)
    assert found == expected and "patience" in found
    found["optimizer"].clear()
    assert complete_config(config) == expected
