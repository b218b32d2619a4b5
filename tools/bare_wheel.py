"""Runs the example of docs/use.md from a bare wheel, and times its commands.

    python -m tools.bare_wheel

Builds the wheel and a new environment that has only the wheel and what the
wheel requires, in the versions of requirements.lock. Then runs the code and the
commands of the section "An example from start to end" five times, each time in
an empty folder. Writes `benchmarks/results/bare_wheel.json` and the table of
the page. Packages that pip has not cached are downloaded, about 1 GB.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from types import MappingProxyType

from benchmarks._side_by_side import LEAST_ROUNDS
from benchmarks._side_by_side import shown
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import write_between

RESULT = ROOT / "benchmarks" / "results" / "bare_wheel.json"
PAGE = ROOT / "docs" / "use.md"
MARKS = "<!-- bare wheel: begin -->", "<!-- bare wheel: end -->"
SECTION = "## An example from start to end"
# The caller's Python settings must not reach the new environment.
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def example(
    page: pathlib.Path = PAGE, heading: str = SECTION, language: str = "python"
) -> tuple[str, list[str]]:
    """Returns the code that makes the data, and the commands, of a section."""
    section = page.read_text().partition(heading)[2].partition("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    return code, "".join(blocks).splitlines()


def run(command: list, folder: pathlib.Path) -> float:
    """Runs a command in a folder; returns its seconds."""
    environment = {k: v for k, v in os.environ.items() if k not in HIDDEN}
    started = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    return round(time.perf_counter() - started, 1)


def constraints() -> str:
    """Returns the versions of the lock file, without hashes."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = [line.removesuffix("\\") for line in lines if "==" in line[:60]]
    return "\n".join(line for line in pinned if line[0].isalpha())


def build_wheel(folder: pathlib.Path) -> pathlib.Path:
    """Builds the wheel of the committed files; earlier builds do not matter."""
    source = folder / "source"
    archive = folder / "source.tar"
    run(["git", "-C", ROOT, "archive", "--output", archive, "HEAD"], folder)
    with tarfile.open(archive) as files:
        files.extractall(source, filter="data")
    words = "-m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir"
    run([sys.executable, *words.split(), folder, source], folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: pathlib.Path, wheel: pathlib.Path) -> pathlib.Path:
    """Returns the folder of the scripts of a new environment."""
    pinned = folder / "constraints.txt"
    pinned.write_text(constraints())
    run([sys.executable, "-m", "venv", folder / "environment"], folder)
    scripts = folder / "environment" / "bin"
    words = ["-m", "pip", "install", "--quiet", "--constraint", pinned, wheel]
    run([scripts / "python", *words], folder)
    return scripts


def measure(
    folder: pathlib.Path,
    code: list,
    commands: list[str],
    rounds: int = LEAST_ROUNDS,
    links: Mapping[str, pathlib.Path] = MappingProxyType({}),
) -> dict:
    """Makes the environment and runs an example in it, several times.

    Args:
        folder: An empty folder. The example runs in its subfolders `round_0`,
            `round_1`, ...
        code: Words of the command that makes the data. Programs of the
            environment go before others of the same name.
        commands: Lines that run after it.
        rounds: How often the example runs.
        links: Folders that the example needs, by their name in its folder.

    Returns:
        Among others `seconds`: of each round, by command.
    """
    load_before = os.getloadavg()[0]
    started = time.perf_counter()
    wheel = build_wheel(folder)
    built = time.perf_counter()
    scripts = make_environment(folder, wheel)
    made = time.perf_counter()

    found: dict[str, list[float]] = {}
    for number in range(rounds):
        work = folder / f"round_{number}"
        work.mkdir()
        for name, target in links.items():
            (work / name).symlink_to(target, target_is_directory=True)
        for name in ("code", *commands):
            print(number, name, flush=True)
            words = code if name == "code" else shlex.split(name)
            own = scripts / words[0]
            program = own if own.exists() else words[0]
            seconds = run([program, *words[1:]], work)
            found.setdefault(name, []).append(seconds)
    return {
        "wheel": wheel.name,
        "seconds_to_build_the_wheel": round(built - started, 1),
        "seconds_to_make_the_environment": round(made - built, 1),
        "load_before": load_before,
        "seconds": found,
    }


def text(result: dict) -> str:
    """Returns the Markdown between the marks."""
    names: dict[str, list[str]] = {}
    for command in result["seconds"]:
        name = "Python code: writing the images"
        if command != "code":
            name = f"`{command.split()[1]}`"
        names.setdefault(name, []).append(command)
    names["together"] = list(result["seconds"])
    rows = [f"| {name} | {summed(result, of)} |" for name, of in names.items()]
    return "\n".join(
        [
            "| step | seconds |",
            "|---|---:|",
            *rows,
            "",
            f"Median (quartiles) of {LEAST_ROUNDS} runs of "
            f"`{result['wheel']}` on {hardware([result])}, load before "
            f"{result['load_before']:.1f}, at {result['commit'][:7]}. A step "
            "that has several commands is their sum. Making the environment "
            "took another "
            f"{result['seconds_to_make_the_environment']:.0f} seconds, once.",
        ]
    )


def summed(result: dict, commands: list[str]) -> str:
    """Returns the median and the quartiles of the commands' sum."""
    rounds = (result["seconds"][command] for command in commands)
    return shown(map(sum, zip(*rounds, strict=True)), 0)


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    import_tensorflow()
    made_by = provenance()  # the wheel is of this commit
    code, commands = example()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(pathlib.Path(folder), ["python", "-c", code], commands)
    result |= {"command": "python -m tools.bare_wheel", **made_by}
    write_json(RESULT, result)
    write_between(PAGE, *MARKS, text(load()))
    print(text(result))


def load() -> dict:
    """Returns the kept result."""
    return json.loads(RESULT.read_text())


def page_text() -> str:
    """Returns what the page must have between the marks."""
    return text(load()) if RESULT.exists() else NOT_RUN


if __name__ == "__main__":
    main()
