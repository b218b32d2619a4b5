"""Kills trainings and searches at random moments and compares the results.

    python -m benchmarks.kill_runs [--kills 20] [--kinds one multi_worker]

Kinds: training in `one` process and in two workers (`multi_worker`), a `search`
in one process, and a chief with two workers (`search_workers`). The workers of
a chief must end with the chief, and a restarted chief must restart them.

One run of each kind is not interrupted. Further runs are killed: at a random
moment before the length of the uninterrupted run, one of the run's processes,
chosen at random, receives SIGKILL. The other processes must end by themselves
(a search continues if one of its workers is killed). All processes are then
started again with the same command, until the run is complete. New runs start
until there have been enough kills. The results of each run are compared with
the uninterrupted run. The script ends with an error if a run differs, or if a
process survives the killed one. It needs Linux, which lists the children of a
process.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from benchmarks._kinds_of_runs import KINDS
from benchmarks._kinds_of_runs import ROOT
from benchmarks._kinds_of_runs import SEARCH
from benchmarks._kinds_of_runs import TRAINING
from benchmarks._kinds_of_runs import Kind
from tools.generated_text import write_between
from trainers.terminal.quiet import import_tensorflow
from trainers.workdirs.json_files import write_json
from trainers.workdirs.provenance import provenance

RESULT = pathlib.Path(__file__).parent / "results" / "kill_runs.json"
PAGE = ROOT / "docs" / "distributed.md"
BEGIN, END = "<!-- kill_runs table: begin -->", "<!-- kill_runs table: end -->"
# A process that has lost another process must end within this time.
SECONDS_TO_END = 120
STILL_RUNNING = f"did not end within {SECONDS_TO_END} s"


def start(kind: Kind, workdir) -> list[subprocess.Popen]:
    return [
        subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words, environment in kind.commands(workdir)
    ]


def end(processes, seconds=None) -> list[str]:
    """Waits for all; returns last lines on stderr, kills after `seconds`."""
    lines = []
    try:
        for process in processes:
            try:
                error = process.communicate(timeout=seconds)[1].strip()
            except subprocess.TimeoutExpired:
                error = STILL_RUNNING
            lines.append(error.splitlines()[-1] if error else "")
    finally:
        for process in processes:
            process.kill()
    return lines


def unbroken(kind: Kind, workdir) -> float:
    """Returns the seconds of an uninterrupted run."""
    started = time.monotonic()
    processes = start(kind, workdir)
    lines = end(processes)
    assert not any(process.returncode for process in processes), lines
    return time.monotonic() - started


def started_by(process, name: str) -> list[int]:
    """Returns the ids of child processes, found by their name."""
    found = []
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for number in path.read_text().split() if name else []:
        with contextlib.suppress(OSError):  # the process has ended
            command = pathlib.Path(f"/proc/{number}/cmdline").read_text()
            if name in command:
                found.append(int(number))
    return found


def is_running(number: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def kill_until_done(kind: Kind, workdir, seconds, rng, kills_left) -> list:
    """Completes one run; returns a record of each kill."""
    kills, processes = [], []
    while True:
        moment = rng.uniform(0, seconds)
        if len(kills) == kills_left:
            moment = float("inf")
        if not any(p.poll() is None for p in processes):
            processes = start(kind, workdir)
        started = time.monotonic()
        while time.monotonic() - started < moment and any(
            process.poll() is None for process in processes
        ):
            time.sleep(0.01)
        running = [p for p in processes if p.poll() is None]
        if not running:
            lines = end(processes)
            assert not any(p.returncode for p in processes), lines
            return kills
        workers = [n for p in running for n in started_by(p, kind.worker)]
        victim = rng.choice([*running, *workers])
        kill = {"after_seconds": round(time.monotonic() - started, 2)}
        if victim in workers:
            os.kill(victim, signal.SIGKILL)
            kill |= {"process": "worker", "done": kind.progress(workdir)}
        else:
            kill |= _kill_and_wait(kind, processes, victim, workers)
            kill["done"] = kind.progress(workdir)
        kills.append(kill)
        print(".", end="", flush=True)


def _kill_and_wait(kind: Kind, processes, victim, workers) -> dict:
    """Returns what was killed and how long the other processes ran on."""
    victim.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    others = [p for p in processes if p is not victim]
    lines = end(others, SECONDS_TO_END)
    while any(map(is_running, workers)):
        if time.monotonic() - killed > SECONDS_TO_END:
            lines.append(STILL_RUNNING)
            break
        time.sleep(0.01)
    seconds = round(time.monotonic() - killed, 2)
    end([victim])
    return {
        "process": processes.index(victim),
        "others": len(others) + len(workers),
        "others_ended_after_seconds": seconds if others or workers else None,
        "others_said": lines,
    }


def largest_difference(result: dict, other: dict) -> float:
    import numpy as np

    assert result.keys() == other.keys(), set(result) ^ set(other)
    differences = [
        np.max(np.abs(np.subtract(other[name], value)), initial=0.0)
        for name, value in result.items()
    ]
    return float(np.max(differences))


def measure(kind: Kind, num_kills: int, rng, folder) -> dict:
    seconds = unbroken(kind, folder / "unbroken")
    expected = kind.result(folder / "unbroken")
    runs, kills = [], 0
    while kills < num_kills:
        workdir = folder / f"run_{len(runs)}"
        of_run = kill_until_done(kind, workdir, seconds, rng, num_kills - kills)
        kills += len(of_run)
        difference = largest_difference(expected, kind.result(workdir))
        runs.append({"largest_difference": difference, "kills": of_run})
    print()
    return {
        "unbroken_seconds": round(seconds, 1),
        "kills": kills,
        "runs": len(runs),
        "outlived": sum(
            STILL_RUNNING in kill.get("others_said", [])
            for run in runs
            for kill in run["kills"]
        ),
        "largest_difference": max(run["largest_difference"] for run in runs),
        "tolerance": kind.tolerance,
        "of_runs": runs,
    }


def load() -> dict:
    return json.loads(RESULT.read_text())


def table(result: dict) -> str:
    """Returns a table, one row per kind of run."""
    lines = [
        "| what was killed | unbroken run | kills | runs | the others ended "
        "within | largest difference from the unbroken run | commit |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, kind in KINDS.items():
        if name not in result["kinds"]:
            continue
        found = result["kinds"][name]
        waits = [
            kill["others_ended_after_seconds"]
            for run in found["of_runs"]
            for kill in run["kills"]
            if kill.get("others", len(kill.get("others_said", [])))
        ]
        longest = f"{max(waits):.1f} s" if waits else ""
        lines.append(
            f"| {kind.title} | {found['unbroken_seconds']:.0f} s | "
            f"{found['kills']} | {found['runs']} | "
            f"{longest} | "
            f"{found['largest_difference']:.2g} | {found['commit'][:7]} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="per kind")
    parser.add_argument(
        "--kinds",
        nargs="+",
        action="extend",
        choices=KINDS,
        help="default: all",
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    import_tensorflow()
    for name in arguments.kinds or KINDS:
        print(name, end=" ", flush=True)
        started, load_average = time.monotonic(), os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            found = measure(
                KINDS[name],
                arguments.kills,
                random.Random(f"{arguments.seed} {name}"),
                pathlib.Path(folder),
            )
        found |= {
            "command": "python -m benchmarks.kill_runs --kinds "
            f"{name} --kills {arguments.kills} --seed {arguments.seed}",
            "load_average_before": load_average,
            "seconds": round(time.monotonic() - started, 1),
            **provenance(),
        }
        # Keeps the results of kinds that were measured before.
        commands = {"training": list(TRAINING), "search": list(SEARCH)}
        result = load() if RESULT.exists() else {}
        if {key: result.get(key) for key in commands} != commands:
            result = {**commands, "kinds": {}}
        result["kinds"][name] = found
        RESULT.parent.mkdir(exist_ok=True)
        write_json(RESULT, result)
    write_between(PAGE, BEGIN, END, table(result))
    print(table(result))
    for name, found in result["kinds"].items():
        assert found["largest_difference"] <= found["tolerance"], name
        assert not found["outlived"], f"{name}: a process {STILL_RUNNING}"


if __name__ == "__main__":
    main()
