"""The study of the loss of damaged images."""

import pathlib
import types

import numpy as np

from tests.read_between import read_between
from tools import loss_rank_study as study
from tools.generated_text import NOT_RUN
from trainers.config import load_recipe
from trainers.workdirs.workdir import recipe_fields


def test_the_page_has_the_table_of_the_result_files():
    found = study.kept_results(study.RESULTS)
    page = read_between(study.PAGE, study.BEGIN, study.END)
    assert page == study.table(found)


def test_mean_losses_of_images():
    # Embeddings have the class and the loss of their image. A wrong class of
    # a support, or a wrong target of a query, would cost 1,000.
    labels = np.repeat([3, 5, 8, 9], 6)
    losses = np.random.default_rng(0).uniform(size=24)
    embeddings = np.stack([labels, losses], 1)

    def log_prob(support, support_labels, query, num_classes, seed):
        assert num_classes == 3
        assert np.bincount(support_labels).tolist() == [2, 2, 2]
        classes = support[::2, 0]
        far = np.abs(query[:, None, 0] - classes)
        return -1000 * far - query[:, None, 1]

    wanted = types.SimpleNamespace(num_classes=3, num_support=2, num_query=4)
    found = study.mean_losses(embeddings, embeddings, labels, wanted, log_prob)
    np.testing.assert_allclose(found, losses, rtol=1e-12)


def test_a_row_for_the_loss_and_one_for_the_head():
    assert study.table({}) == NOT_RUN
    recipe = "uncertainty_omniglot_dim_2_prototypical"
    machine = {"commit": "abcdefabcdef", "processor": "one", "cores": 1}
    kinds = {
        "corrupt": {"loss": 0.25, "head": -0.5},
        "blur": {"loss": 0.125, "head": 0.75},
    }
    told = {
        "clean": {"loss": 0.625, "head": 0.5},
        "corrupt": {"loss": 0.75, "head": 0.25},
    }
    run = {
        "recipe": recipe,
        "seed": 0,
        "config": recipe_fields(load_recipe(recipe)),
        "training": {"steps": 1000, "commit": "1234567890"},
        "study": {"kinds": kinds, "recall_auroc": told, **machine},
    }
    lines = study.table({pathlib.Path("a.json"): run}).splitlines()
    name = "| Omniglot | 2 | prototypical, 1,000 steps |"
    head = "| number | rank: rectangle | blur | R-AUROC: clean | rectangle |"
    assert lines[0].endswith(head)
    assert lines[2:4] == [
        f"{name} loss | 0.25 | 0.12 | 0.62 | 0.75 |",
        f"{name} head | -0.50 | 0.75 | 0.50 | 0.25 |",
    ]
    assert any("loss_rank_study runs/a" in line for line in lines)
