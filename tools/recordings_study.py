"""Runs the commands for recordings of docs/goals.md, and writes their table.

    python -m tools.recordings_study FOLDER

FOLDER has the folder `recordings` of the Free Spoken Digit Dataset, 2,500 WAV
files. Builds the wheel and a new environment, as `tools.bare_wheel` does, and
runs the shell code and the commands of the section "Recordings" in an empty
folder. Writes `benchmarks/results/recordings.json` and the table of the page.
"""

import csv
import json
import math
import pathlib
import shlex
import sys
import tempfile

import numpy as np

from tools import bare_wheel
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between
from tools.run_files import run_results

RESULT = ROOT / "benchmarks" / "results" / "recordings.json"
PAGE = ROOT / "docs" / "goals.md"
MARKS = "<!-- recordings: begin -->", "<!-- recordings: end -->"
SECTION = "## Recordings"
CLASSES = {
    "words": "2 new words, 6 in training",
    "speakers": "the 5 speakers of the training",
    "spoken": "10 new classes (a word by a speaker), 30 in training",
}
SCORES = ("learned_distance", "plda", "cosine")


def example() -> tuple[str, list[str]]:
    """Returns the shell code that sorts the files, and the commands."""
    return bare_wheel.example(PAGE, SECTION, "bash")


def answers(
    path: pathlib.Path, enrolled: list[str], gallery: pathlib.Path
) -> dict:
    """Counts the answers of `identify` in its table.

    The examples of the gallery do not count.

    Args:
        path: File of `identify --output`, of inputs with labels. The names of
            the files are unique.
        enrolled: Names of the enrolled classes.
        gallery: File of the gallery.
    """
    with np.load(gallery, allow_pickle=False) as arrays:
        examples = {pathlib.Path(name).name for name in arrays["names"]}
    with open(path, newline="", encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if pathlib.Path(row["path"]).name not in examples
        ]
    known = [row for row in rows if row["label"] in enrolled]
    others = [row for row in rows if row["label"] not in enrolled]
    return {
        "examples": len(examples),
        "known": len(known),
        "others": len(others),
        "identified": sum(r["answer"] == r["label"] for r in known),
        "known_unknown": sum(r["answer"] == "unknown" for r in known),
        "others_accepted": sum(r["answer"] != "unknown" for r in others),
    }


def evaluation_of(workdir: pathlib.Path) -> dict:
    """Returns the numbers of a run that the table has."""
    found = run_results(workdir)
    test = found["evaluation"]["test"]
    kept = {
        name: row["equal_error_rate"]
        for name, row in test.items()
        if isinstance(row, dict) and "equal_error_rate" in row
    }
    return {
        "numbers": kept,
        "training_seconds": found["training"]["seconds"],
    }


def run_of(command: str) -> str:
    """Returns the name of the run of a command, or "" for other commands."""
    names = [name for name in CLASSES if f"runs/{name}" in command]
    names += [name for name in CLASSES if f"{name}.npz" in command]
    return names[0] if names else ""


def enrolled_classes(commands: list[str], name: str) -> list[str]:
    """Returns the names after `--classes` of the command `enroll` of a run."""
    (command,) = [
        line for line in commands if " enroll " in line and run_of(line) == name
    ]
    words = shlex.split(command)
    names = words[words.index("--classes") + 1 :]
    return names[: [name[:2] for name in names].index("--")]


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| run | test classes | EER of the learned distance, % | of PLDA, % "
        "| of the cosine, % |",
        "|---|---|---:|---:|---:|",
    ]
    for name, found in result["runs"].items():
        rates = [f"{100 * found['numbers'][score]:.1f}" for score in SCORES]
        cells = " | ".join(rates)
        lines.append(f"| `runs/{name}` | {CLASSES[name]} | {cells} |")
    spoken, speakers = result["spoken"], result["speakers"]
    other = "other " if "examples" in spoken else ""
    of_known = 100 / spoken["known"]
    identified = 100 * speakers["identified"] / speakers["known"]
    return "\n".join(
        [
            *lines,
            "",
            f"`identify` on the test classes of `runs/spoken`: of "
            f"{spoken['known']} {other}recordings of enrolled classes, "
            f"{of_known * spoken['identified']:.1f} % get their class and "
            f"{of_known * spoken['known_unknown']:.1f} % the answer "
            f'"unknown"; of {spoken["others"]} recordings of other classes, '
            f"{100 * spoken['others_accepted'] / spoken['others']:.1f} % are "
            "accepted (promised: at most 10 % on average). Of "
            f"{speakers['known']} test recordings of `runs/speakers`, "
            f"{identified:.1f} % get their speaker.",
            "",
            f"`{result['wheel']}` on {hardware([result])}, at "
            f"{result['commit'][:7]}. In this run, all commands of each "
            f"workdir took at most {_most_minutes(result)} minutes.",
        ]
    )


def _most_minutes(result: dict) -> int:
    """Returns the minutes of the longest workdir, rounded up."""
    seconds = dict.fromkeys(CLASSES, 0.0)
    for command, value in result["seconds"].items():
        if name := run_of(command):
            seconds[name] += value
    return math.ceil(max(seconds.values()) / 60)


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(json.loads(RESULT.read_text())) if RESULT.exists() else NOT_RUN


def measure(folder: pathlib.Path, recordings: pathlib.Path) -> dict:
    """Runs the example from a bare wheel, in an empty folder."""
    code, commands = example()
    found = bare_wheel.measure(
        folder,
        ["bash", "-e", "-c", code],
        commands,
        rounds=1,
        links={"recordings": recordings},
    )
    work = folder / "round_0"
    seconds = {name: once for name, (once,) in found["seconds"].items()}
    return {
        **found,
        "seconds": seconds,
        "runs": {n: evaluation_of(work / "runs" / n) for n in CLASSES},
        "spoken": answers(
            work / "spoken.csv",
            enrolled_classes(commands, "spoken"),
            work / "spoken.npz",
        ),
        "speakers": answers(
            work / "speakers.csv",
            speakers_of(recordings),
            work / "speakers.npz",
        ),
    }


def speakers_of(recordings: pathlib.Path) -> list[str]:
    """Returns the speakers in names such as `7_theo_12.wav`."""
    return sorted({f.stem.split("_")[1] for f in recordings.glob("*.wav")})


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    (name,) = sys.argv[1:]
    recordings = pathlib.Path(name).resolve() / "recordings"
    if not any(recordings.glob("*.wav")):
        raise SystemExit(f"{recordings} has no WAV files")
    import_tensorflow()
    made_by = provenance()  # the wheel is of this commit
    with tempfile.TemporaryDirectory() as folder:
        result = measure(pathlib.Path(folder), recordings)
    result["command"] = "python -m tools.recordings_study FOLDER"
    result |= made_by
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, text(result))
    print(text(result))


if __name__ == "__main__":
    main()
