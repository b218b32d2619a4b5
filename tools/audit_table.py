"""Writes what an audit of the results found, and what became of it.

    python -m tools.audit_table

The state of each line in `docs/results/reproduced.md` is read from the result
files: how many there are, of those that the line needs. Lines about the code
alone need none.
"""

import csv
import json
from collections.abc import Callable

from benchmarks import scale
from tools import agree
from tools import cross_validation_results as folds
from tools import distance_depth_table
from tools import reproduced_verdicts
from tools import sentinels
from tools import study_files
from tools.generated_text import ROOT
from tools.generated_text import write_between
from trainers.recipes import omniglot_verification
from trainers.recipes import tiny_images

PAGE = ROOT / "docs" / "results" / "reproduced.md"
BEGIN, END = "<!-- audit: begin -->", "<!-- audit: end -->"
SPEED = ROOT / "benchmarks" / "results" / "speed.csv"
LEAST_ROUNDS = 5
FOLDS = 4
# How many of something there are, how many are needed, and what they are.
Count = tuple[int, int, str]


def reruns() -> Count:
    """Tables with a rerun that agrees with the results in all numbers."""
    tables = sentinels.every_table()
    found = sentinels.load()
    equal = {row["table"] for row in found if sentinels.is_equal(row)}
    in_all = sentinels.equal_tables(found).intersection(tables)
    unit = (
        "groups of tables have a rerun that agrees in all numbers; in "
        f"{len(in_all)}, all reruns do"
    )
    return len(equal.intersection(tables)), len(tables), unit


def corrected() -> Count:
    """Results of Sprites whose folds all have the corrected modularity."""
    results = [
        found
        for (_, dataset), found in folds.load().items()
        if dataset in folds.DISENTANGLING
        and found["config"]["evaluation"]["name"] == "disentanglement"
    ]
    name = "test.modularity_corrected"
    found = [
        each
        for each in results
        if len(folds.by_fold(each, name)) == len(each["folds"])
    ]
    return len(found), len(results), "results have the corrected one"


def class_oracle() -> Count:
    """Results of the class oracle whose runs trained to the end."""
    found = folds.load()
    ended = [
        all(
            run["training"]["steps"]
            == results["config"]["num_epochs"]
            * results["config"]["steps_per_epoch"]
            for run in folds.runs_of(results)
        )
        for dataset in folds.DISENTANGLING
        if (results := found.get(("sprites_f_statistic_class_oracle", dataset)))
    ]
    return sum(ended), len(folds.DISENTANGLING), "trained to the end"


def four_folds() -> Count:
    """Results over folds of which at least four were run."""
    found = [*folds.load().values(), *distance_depth_table.load().values()]
    whole = [each for each in found if len(each["folds"]) >= FOLDS]
    return len(whole), len(found), "rows have four"


def fingerprints() -> Count:
    """Result files whose runs all name the fingerprint of their data.

    Out of distribution is another evaluation of a run that the files of
    evaluations have.
    """
    by_file: dict = {}
    for path, _, _, run in agree.committed():
        by_file.setdefault(path, []).append("data_fingerprint" in run)
    for folder in (*study_files.OF_TRAINED, *study_files.OF_EVALUATED):
        for path in (agree.RESULTS / folder).glob("*.json"):
            content = json.loads(path.read_text())
            by_file[path] = ["data_fingerprint" in content]
    for path in agree.RESULTS.glob("*.json"):
        if path.stem not in study_files.SINGLE:
            continue
        made = study_files.makings(json.loads(path.read_text()))
        by_file[path] = ["data_fingerprint" in section for section in made]
    for path in (agree.RESULTS / "planes").glob("*.json"):
        content = json.loads(path.read_text())["picture_of"]
        by_file[path] = ["data_fingerprint" in content]
    for path in (agree.RESULTS / "comparisons").glob("*.json"):
        content = json.loads(path.read_text())
        by_file[path] = ["data_fingerprints" in content]
    for path in (agree.RESULTS / "searches").glob("*.json"):
        by_file[path] = [
            "data_fingerprint" in trial
            for trial in json.loads(path.read_text())["trials"]
            if trial["status"] == "completed"
        ]
    return (
        sum(map(all, by_file.values())),
        len(by_file),
        "files of evaluations, searches and other studies have one",
    )


def quartiles() -> Count:
    """Times of the speed tables with quartiles of at least five rounds.

    Times of the simulation are computed from measured ones.
    """
    with SPEED.open() as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["unit"] == "s"
            and row["median"]
            and row["case"] != scale.SIMULATED
        ]
    found = [row for row in rows if int(row["rounds"] or 0) >= LEAST_ROUNDS]
    return len(found), len(rows), "times of speed.csv have them"


# What was found, what was done, and what it needs: patterns of result files
# below `benchmarks/results`, each of which must be there; or a function that
# counts what is there.
LINES: tuple[tuple[str, str, tuple[str, ...] | Callable[[], Count]], ...] = (
    (
        "Hyper-parameters were tried by hand, unrecorded, for some methods",
        "one random search for every method in the tables of equal budgets, "
        "whose trials, winners and commands are kept, for disentangling and "
        "retrieval on Sprites, retrieval on Omniglot, and AN4: "
        "[equal budgets](equal_budgets.md); verification on other data was "
        "not searched",
        (
            *(
                f"equal_budgets/sprites_{method}-sprites-{frames}-*.json"
                for method in (
                    "f_statistic",
                    "triplet",
                    "histogram",
                    "beta_vae",
                )
                for frames in ("all_frames", "weapon_visible")
            ),
            *(
                f"equal_budgets/{recipes}_retrieval_{loss}-{data}-*.json"
                for recipes, data in (
                    ("sprites", "sprites-weapon_visible"),
                    ("sprites", "sprites-all_frames"),
                    ("omniglot", "omniglot"),
                )
                for loss in (
                    "f_statistic",
                    "histogram",
                    "triplet",
                    "binomial_deviance",
                    "lifted_structure",
                    "prototypical",
                )
            ),
            "equal_budgets/omniglot_retrieval_learned_distance-*.json",
            "equal_budgets/omniglot_retrieval_f_statistic_70_of_500-*.json",
            *(
                f"equal_budgets/an4_{method}-*.json"
                for method in (
                    "learned_distance",
                    "learned_distance_without_auxiliary",
                    "lifted_structure_joint",
                    "triplet",
                    "triplet_classifier",
                )
            ),
        ),
    ),
    (
        "Methods were compared without tests",
        "tables have paired differences and two t-tests; a difference of fewer "
        "folds says so",
        (),
    ),
    (
        "Seeds with other settings could be averaged",
        "tables refuse runs that differ in more than the seed",
        (),
    ),
    (
        "Beta-VAEs were left out on frames that show the weapon",
        "the rows are back",
        tuple(
            f"cross_validation/sprites_beta_vae_{beta}-*-weapon_visible.json"
            for beta in (1, 2, 4, 8)
        ),
    ),
    (
        "Modularity of an untrained network is close to a trained one's",
        "the page says so; a picture has modularity, plain and corrected, "
        "against explicitness",
        corrected,
    ),
    (
        "Early stopping ended the class oracle after its first epochs",
        "the recipe trains to the end; runs that stopped early say so in "
        "their command",
        class_oracle,
    ),
    (
        "The F-statistic loss was last in retrieval, with one `num_dims`",
        "a sweep of `num_dims` in 500 dimensions, the inverted loss and "
        "Welch's test: [retrieval](sprites_and_omniglot.md)",
        (
            *(
                f"cross_validation/omniglot_retrieval_f_statistic_{n}-*.json"
                for n in (
                    *(f"{k}_of_500" for k in (1, 3, 10, 35, 70)),
                    *(f"{k}_of_500" for k in (150, 300, 500)),
                    "merge",
                    "welch",
                )
            ),
        ),
    ),
    (
        "The learned distance was judged on sets with few classes",
        "verification of held-out characters of Omniglot, and of Tiny ImageNet "
        "(one division and one seed, so without tests)",
        (
            *(
                f"verification/{name}-seed_*.json"
                for name in omniglot_verification.RECIPES
            ),
            *(
                f"verification/{name}-seed_*.json"
                for name in tiny_images.RECIPES
            ),
        ),
    ),
    (
        "The triplet baseline of AN4 had no classifier, unlike the paper's",
        "`an4_triplet_classifier` has it",
        ("verification/an4_triplet_classifier-seed_*.json",),
    ),
    (
        "`PLDA.adapt` was never run on a real shift",
        "from Omniglot to MNIST: [verification](verification.md"
        "#from-characters-to-digits-plda-that-is-adapted)",
        ("plda_adaptation.json",),
    ),
    (
        "Some rows had two folds",
        "more folds were run in the tables of cross-validation and of the "
        "distance's layers; elsewhere, a difference of fewer says so",
        four_folds,
    ),
    (
        "Fingerprints of the data were dropped, or not recorded",
        "result files of evaluations and of studies keep them; files without "
        "some wait to be run again",
        fingerprints,
    ),
    (
        "No printed command had been run again",
        "each group of tables, that is one evaluation on one data set or one "
        "study, says which of its commands was run again, and how many numbers "
        "agree: [reruns](reruns.md), which names the printed tables without "
        "a rerun",
        reruns,
    ),
    (
        "Speed tables hid their spread and the load",
        "they print quartiles and the load beside the table, or before it: "
        "[how](speed.md)",
        quartiles,
    ),
)


def state(needs: tuple[str, ...] | Callable[[], Count]) -> str:
    """`done` if no result is needed; else how many there are."""
    if not needs:
        return "done"
    found, needed, what = needs() if callable(needs) else _files(needs)
    done = "done, " if found == needed else ""
    return f"{done}{found} of {needed} {what}"


def _files(patterns: tuple[str, ...]) -> Count:
    results = reproduced_verdicts.RESULTS
    found = sum(any(results.glob(pattern)) for pattern in patterns)
    return found, len(patterns), "run"


def table() -> str:
    """Returns the Markdown between the marks."""
    lines = ["| found | what became of it | state |", "|---|---|---|"]
    for found, became, needs in LINES:
        lines.append(f"| {found} | {became} | **{state(needs)}** |")
    return "\n".join(lines)


def main() -> None:
    write_between(PAGE, BEGIN, END, table())
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
