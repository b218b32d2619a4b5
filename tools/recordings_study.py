"""Runs the commands for recordings of docs/goals.md, and writes their table.

    python -m tools.recordings_study FOLDER

FOLDER has the folder `recordings` of the Free Spoken Digit Dataset, 2,500 WAV
files. Runs the shell code and the commands of the section "Recordings" in it,
and writes `benchmarks/results/recordings.json` and the table of the page.
Existing runs in FOLDER continue.
"""

import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULT = ROOT / "benchmarks" / "results" / "recordings.json"
PAGE = ROOT / "docs" / "goals.md"
MARKS = "<!-- recordings: begin -->", "<!-- recordings: end -->"
SECTION = "## Recordings"
ANSWERS = "spoken.csv"
CLASSES = {
    "words": "2 new words, 6 in training",
    "speakers": "the 5 speakers of the training",
    "spoken": "10 new classes (a word by a speaker), 30 in training",
}
SCORES = ("learned_distance", "plda", "cosine")


def example() -> tuple[str, list[str]]:
    """Returns the shell code that sorts the files, and the commands."""
    section = PAGE.read_text().partition(SECTION)[2].partition("\n## ")[0]
    (code,) = re.findall(r"```bash\n(.*?)```", section, flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    return code, "".join(blocks).splitlines()


def run(words: list[str], folder: pathlib.Path) -> float:
    """Runs a command of this checkout in a folder; returns its seconds."""
    started = time.perf_counter()
    subprocess.run(
        words,
        cwd=folder,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return round(time.perf_counter() - started, 1)


def answers(path: pathlib.Path, enrolled: list[str]) -> dict:
    """Counts the answers of `identify` in its table.

    Args:
        path: File of `identify --output`, of inputs with labels.
        enrolled: Names of the enrolled classes.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = [row for row in rows if row["label"] in enrolled]
    others = [row for row in rows if row["label"] not in enrolled]
    return {
        "known": len(known),
        "others": len(others),
        "identified": sum(r["answer"] == r["label"] for r in known),
        "known_unknown": sum(r["answer"] == "unknown" for r in known),
        "others_accepted": sum(r["answer"] != "unknown" for r in others),
    }


def evaluation_of(workdir: pathlib.Path) -> dict:
    """Returns the numbers of a run that the table has."""
    found = json.loads((workdir / "results.json").read_text())
    test = found["evaluation"]["test"]
    kept = {
        name: row["equal_error_rate"]
        for name, row in test.items()
        if isinstance(row, dict) and "equal_error_rate" in row
    }
    return {
        "numbers": kept,
        "training_seconds": found["training"]["seconds"],
        "commit": found["training"]["commit"],
    }


def enrolled_classes(commands: list[str]) -> list[str]:
    """Returns the names after `--classes` of the command `enroll`."""
    (command,) = [line for line in commands if " enroll " in line]
    words = shlex.split(command)
    names = words[words.index("--classes") + 1 :]
    return names[: [name[:2] for name in names].index("--")]


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    lines = [
        "| run | test classes | EER of the learned distance, % | of PLDA, % "
        "| of the cosine, % | training, seconds |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, found in result["runs"].items():
        rates = [f"{100 * found['numbers'][score]:.1f}" for score in SCORES]
        cells = " | ".join(rates)
        lines.append(
            f"| `runs/{name}` | {CLASSES[name]} | {cells} "
            f"| {found['training_seconds']:.0f} |"
        )
    counts = result["answers"]
    of_known = 100 / counts["known"]
    return "\n".join(
        [
            *lines,
            "",
            f"`identify` on the test classes of `runs/spoken`: of "
            f"{counts['known']} recordings of enrolled classes, "
            f"{of_known * counts['identified']:.1f} % get their class and "
            f"{of_known * counts['known_unknown']:.1f} % the answer "
            f'"unknown"; of {counts["others"]} recordings of other classes, '
            f"{100 * counts['others_accepted'] / counts['others']:.1f} % are "
            "accepted (promised: at most 10 % on average). All commands "
            f"together took {sum(result['seconds'].values()) / 60:.0f} "
            f"minutes on {hardware([result])}, load {result['load']:.1f}, at "
            f"{result['commit'][:7]}.",
        ]
    )


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(json.loads(RESULT.read_text())) if RESULT.exists() else NOT_RUN


def main() -> None:
    from trainers.provenance import provenance
    from trainers.quiet import import_tensorflow
    from trainers.workdir import write_json

    (name,) = sys.argv[1:]
    folder = pathlib.Path(name).resolve()
    code, commands = example()
    seconds = {"code": run(["bash", "-e", "-c", code], folder)}
    console = [sys.executable, "-m", "trainers.console"]
    for command in commands:
        print(f"\n$ {command}", flush=True)
        seconds[command] = run([*console, *shlex.split(command)[1:]], folder)
    import_tensorflow()
    result = {
        "command": "python -m tools.recordings_study FOLDER",
        "seconds": seconds,
        "runs": {n: evaluation_of(folder / "runs" / n) for n in CLASSES},
        "answers": answers(folder / ANSWERS, enrolled_classes(commands)),
        **provenance(),
    }
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, text(result))
    print(text(result))


if __name__ == "__main__":
    main()
