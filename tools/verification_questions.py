"""Writes which questions the runs of verification answer.

    python -m tools.verification_questions

A question compares two rows of a table of `docs/results/verification.md`. Every
difference, test and answer comes from the result files.
"""

from tools.generated_text import ROOT
from tools.generated_text import collect_folders
from tools.generated_text import write_between
from tools.paired_difference import LEVEL
from tools.paired_difference import PairedDifference
from tools.paired_difference import paired_difference
from tools.paired_difference import ratio_of_test_to_train
from tools.paired_difference import rounded
from tools.verification_results import DIVISION
from tools.verification_results import FOLDS
from tools.verification_results import METHODS
from tools.verification_results import SCORES
from tools.verification_results import load
from tools.verification_results import paired_by
from tools.verification_results import paired_numbers
from tools.verification_results import rows
from tools.verification_table import runs_of

PAGE = ROOT / "docs" / "results" / "verification.md"
# A row: the ending of its recipe in `METHODS`, and its score in `SCORES`.
Row = tuple[str, str]
# Is a row better than others? Its name, the row, and the others by name.
Question = tuple[str, Row, dict[str, Row]]
# Measures, shown in points, and their headings.
MEASURES = {
    "equal_error_rate": "EER, points",
    "claimed": "EER of claims, points",
}
DISTANCE, COSINE, PLDA = "learned_distance", "cosine", "plda"
AS_NORM, L2, FUSED = "cosine_as_norm", "l2", "fused"
ABLATION = "learned_distance_without_auxiliary"
TRIPLET, BASELINE = "the triplet loss", "the triplet loss with a classifier"
WITH = "the distance with a classifier"
WITHOUT = "the distance without a classifier"
JOINT = "the distance together with lifted structure"


def _own(recipe: str, *scores: str) -> dict[str, Row]:
    """Other scores of the same embeddings, by name."""
    names = SCORES | {FUSED: "cosine and the distance together"}
    return {f"its own {names[score]}": (recipe, score) for score in scores}


def _by(name: str, recipe: str, *scores: str) -> dict[str, Row]:
    """Scores of one recipe, by its name and theirs."""
    return {f"{name}, by {SCORES[score]}": (recipe, score) for score in scores}


def _classified(score: str) -> Question:
    """Whether a classifier helps the triplet loss."""
    ((name, row),) = _by(BASELINE, "triplet_classifier", score).items()
    return name, row, _by(TRIPLET, "triplet", score)


def _on_encoder_of(
    loss: str, scores: tuple[str, ...], more: dict[str, Row]
) -> tuple[Question, ...]:
    """The distance and an encoder that another loss trains."""
    name = loss.replace("_", " ")
    endings = "frozen", "beside", "joint"
    fixed, beside, joint = (f"{loss}_{ending}" for ending in endings)
    afterwards = {"the distance on its fixed encoder": (fixed, DISTANCE)}
    return (
        (
            f"the distance on the fixed encoder of {name}",
            (fixed, DISTANCE),
            more | _own(fixed, *scores),
        ),
        (f"the distance beside {name}", (beside, DISTANCE), afterwards),
        (
            f"the distance together with {name}",
            (joint, DISTANCE),
            more
            | afterwards
            | {"the distance beside it": (beside, DISTANCE)}
            | _own(joint, *scores),
        ),
    )


SPEAKERS: tuple[Question, ...] = (
    (
        WITH,
        (DISTANCE, DISTANCE),
        _own(DISTANCE, COSINE, AS_NORM, PLDA, FUSED)
        | _by(BASELINE, "triplet_classifier", COSINE, AS_NORM, PLDA)
        | _by(TRIPLET, "triplet", COSINE, AS_NORM, PLDA)
        | {WITHOUT: (ABLATION, DISTANCE)}
        | {JOINT: ("lifted_structure_joint", DISTANCE)},
    ),
    (
        WITHOUT,
        (ABLATION, DISTANCE),
        _own(ABLATION, COSINE, AS_NORM, PLDA, FUSED)
        | {JOINT: ("lifted_structure_joint", DISTANCE)},
    ),
    (
        JOINT,
        ("lifted_structure_joint", DISTANCE),
        _own("lifted_structure_joint", COSINE, AS_NORM, PLDA),
    ),
    *map(_classified, (COSINE, PLDA)),
)
# Of the words, and of AN4's own split, where the last was not run.
FEW_RECIPES: tuple[Question, ...] = (
    (
        WITH,
        (DISTANCE, DISTANCE),
        _own(DISTANCE, COSINE, AS_NORM, PLDA)
        | _by(TRIPLET, "triplet", COSINE, AS_NORM, PLDA)
        | {WITHOUT: (ABLATION, DISTANCE)},
    ),
)
DIGITS: tuple[Question, ...] = (
    (
        "the distance",
        ("unseen_digits_learned_distance", DISTANCE),
        _own("unseen_digits_learned_distance", COSINE, AS_NORM, PLDA)
        | _by(TRIPLET, "unseen_digits_triplet", COSINE, AS_NORM, PLDA),
    ),
    *(
        (
            f"characters first, by {SCORES[score]}",
            ("unseen_digits_fine_tuned", score),
            {
                "digits only, by the same": (
                    "unseen_digits_learned_distance",
                    score,
                )
            },
        )
        for score in (DISTANCE, COSINE, PLDA)
    ),
)
# What the other scores of lifted structure owe to the distance.
TOGETHER = "lifted structure together with the distance"
LIFTED_ALONE = "lifted structure alone"
ALONE = {WITHOUT: ("without_classifier", DISTANCE)}
CHARACTERS: tuple[Question, ...] = (
    (
        WITH,
        (DISTANCE, DISTANCE),
        _own(DISTANCE, COSINE, AS_NORM, PLDA, FUSED)
        | _by(BASELINE, "triplet_classifier", COSINE, AS_NORM, PLDA),
    ),
    (
        WITHOUT,
        ("without_classifier", DISTANCE),
        {WITH: (DISTANCE, DISTANCE)}
        | _own("without_classifier", COSINE, AS_NORM, PLDA, FUSED)
        | _by(TRIPLET, "triplet", COSINE, AS_NORM, PLDA),
    ),
    *map(_classified, (COSINE, PLDA)),
    (
        "a distance beside the triplet loss with a classifier",
        ("triplet_classifier", DISTANCE),
        _own("triplet_classifier", COSINE, AS_NORM, PLDA),
    ),
    *_on_encoder_of("lifted_structure", (L2, COSINE, AS_NORM, PLDA), ALONE),
    *(
        (
            *_by(TOGETHER, "lifted_structure_joint", score).popitem(),
            _by(LIFTED_ALONE, "lifted_structure_beside", score),
        )
        for score in (PLDA, AS_NORM)
    ),
)
OTHER_LOSSES: tuple[Question, ...] = (
    *_on_encoder_of("binomial_deviance", (COSINE, AS_NORM, PLDA), {}),
    *_on_encoder_of("histogram", (COSINE, AS_NORM, PLDA), {}),
    *_on_encoder_of("triplet", (COSINE, AS_NORM, PLDA), {}),
)
PHOTOGRAPHS: tuple[Question, ...] = (
    (
        WITH,
        (DISTANCE, DISTANCE),
        {WITHOUT: (ABLATION, DISTANCE)}
        | _own(DISTANCE, COSINE, AS_NORM, PLDA)
        | _by(BASELINE, "triplet_classifier", COSINE, AS_NORM, PLDA),
    ),
    *_on_encoder_of(
        "lifted_structure",
        (L2, COSINE, AS_NORM, PLDA),
        {WITHOUT: (ABLATION, DISTANCE), WITH: (DISTANCE, DISTANCE)},
    ),
)
# Data set, protocol and questions, by the name of the table.
TABLES = {
    "speakers": ("an4", FOLDS, SPEAKERS),
    "official split": ("an4", "official", FEW_RECIPES),
    "words": ("spoken_digit", FOLDS, FEW_RECIPES),
    "digits": ("mnist", FOLDS, DIGITS),
    "characters": ("omniglot", FOLDS, CHARACTERS),
    "other losses": ("omniglot", FOLDS, OTHER_LOSSES),
    "photographs": ("tiny_images", DIVISION, PHOTOGRAPHS),
}


def table(found: dict, name: str) -> str:
    """Returns the Markdown table of a name in `TABLES`."""
    dataset, protocol, questions = TABLES[name]
    run = next(iter(runs_of(found, dataset, protocol).values()))
    measured = rows(found, dataset, protocol)
    return answers(measured, run["config"], questions)


def answers(
    measured: dict, config: dict, questions: tuple[Question, ...]
) -> str:
    """Returns a Markdown table of questions and their answers.

    Args:
        measured: Rows, as from `verification_results.rows`.
        config: The config of one of their runs.
        questions: Which rows are compared.
    """
    ratio = ratio_of_test_to_train(config)
    lines = []
    for ours, first, others in questions:
        for other, second in others.items():
            if not {_shown(first), _shown(second)} <= {*measured}:
                continue  # was not run
            both = measured[_shown(first)], measured[_shown(second)]
            tests = {
                measure: differences(*both, measure, ratio)
                for measure in MEASURES
            }
            cells = map(_cell, tests.values())
            answered = answer(tests["equal_error_rate"])
            lines.append((ours, other, answered, *cells))
    headings = ["is", "better than", "answer", *MEASURES.values()]
    # A column that nothing is in, such as claims that were not evaluated.
    used = [
        column
        for column in range(len(headings))
        if any(line[column] for line in lines)
    ]
    aligned = ["---:" if column > 2 else "---" for column in used]
    text = [
        f"| {' | '.join(line[column] for column in used)} |"
        for line in (headings, *lines)
    ]
    text.insert(1, f"|{'|'.join(aligned)}|")
    return "\n".join(text)


def _shown(row: Row) -> tuple[str, str]:
    recipe, score = row
    return METHODS[recipe], SCORES[score]


def differences(
    first: dict, second: dict, measure: str, ratio: float | None
) -> dict[str, PairedDifference]:
    """Returns the difference of two rows over folds and over seeds.

    Args:
        first: Measures by run and seed, as in `verification_results.rows`.
        second: The same of the other row.
        measure: Name of the measure; without it, nothing is returned.
        ratio: Test classes divided by training classes.
    """
    every = [*first.values(), *second.values()]
    if not all(measure in measures for measures in every):
        return {}
    return {
        unit: paired_difference(
            *paired_numbers(first, second, measure, unit),
            ratio if unit == "folds" else None,
        )
        for unit in paired_by(first, second)
    }


def p_values(found: dict[str, PairedDifference]) -> dict[str, float | None]:
    """Returns p over folds, which is corrected, and over seeds."""
    return {
        unit.partition(" ")[0]: each.p_corrected if unit == "folds" else each.p
        for unit, each in found.items()
    }


def answer(found: dict[str, PairedDifference]) -> str:
    """Returns yes, no, open, or what each of two tests says.

    Args:
        found: Differences of an error by what they are paired by.
    """
    means = {unit.partition(" ")[0]: each.mean for unit, each in found.items()}
    said = {
        unit: "open" if p > LEVEL else "yes" if means[unit] < 0 else "no"
        for unit, p in p_values(found).items()
        if p is not None
    }
    if not said:
        return "no test"
    if len({*said.values()}) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{what} over {unit}" for unit, what in said.items())


def _cell(found: dict[str, PairedDifference]) -> str:
    """`difference ± standard error (p over folds; p over seeds)`."""
    if not found:
        return ""
    each = next(iter(found.values()))
    text = f"{100 * each.mean:+.2f}"
    if each.standard_error is None:
        return text
    p = p_values(found)
    shown = [
        "-" if p.get(unit) is None else rounded(p[unit])
        for unit in ("folds", "seeds")
    ]
    return f"{text} ± {100 * each.standard_error:.2f} ({'; '.join(shown)})"


def marks(name: str) -> tuple[str, str]:
    """Returns the lines of the page before and after a table."""
    mark = f"<!-- questions, {name}"
    return f"{mark}: begin -->", f"{mark}: end -->"


def main() -> None:
    collect_folders(__doc__, "collect them with tools.verification_table")
    found = load()
    for name in TABLES:
        write_between(PAGE, *marks(name), f"\n{table(found, name)}\n")
    print("wrote", PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
