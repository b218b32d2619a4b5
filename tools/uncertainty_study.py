"""Result files of studies of runs with an uncertainty, and their origins."""

import pathlib

from tools.generated_text import commits
from tools.generated_text import hardware
from tools.keep_result import keep_result
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_results
from tools.uncertainty_table import name_of
from tools.uncertainty_table import run_of


def keep_study(
    workdir: pathlib.Path, measured: dict, folder: pathlib.Path, replace: bool
) -> None:
    """Writes what a study measured of a run into a file of a folder."""
    from trainers.workdirs.provenance import provenance

    results = run_results(workdir)
    results |= run_of(workdir)
    names = ("recipe", "seed", "config", "data_fingerprint")
    kept = {name: results[name] for name in names}
    kept |= {
        "training": results["training"],
        "study": {**measured, **provenance()},
    }
    keep_result(folder / f"{name_of(results)}.json", kept, replace=replace)


def origins(found: dict[pathlib.Path, dict], tool: str) -> list[str]:
    """Returns lines with the commits, the machines and the commands.

    Args:
        found: Contents of the files of `keep_study` by path.
        tool: Module of `tools` that makes the study.
    """
    training = [run["training"] for run in found.values()]
    studied = [run["study"] for run in found.values()]
    commands = {}
    for path, run in found.items():
        workdir = f"runs/{path.stem}"
        trained = rerun_command(run["recipe"], run["config"], workdir)
        commands[path.stem] = f"{trained} && python -m tools.{tool} {workdir}"
    return [
        "",
        f"Trained at {commits(training)}, measured at {commits(studied)}; "
        f"{hardware(studied)}.",
        *command_lines(commands),
    ]
