"""Trainings and searches killed at random moments, against unbroken ones.

    python -m benchmarks.kill_runs [--kills 20] [--kinds one multi_worker]

Kinds: `one` process and two workers (`multi_worker`) that train; a `search` in
one process and a chief with two workers (`search_workers`), which have to end
with the chief, and which it has to start again.

Of each kind one run is left alone. Then runs are started again and again; at a
moment drawn between the start and the length of the unbroken run, one of its
processes, drawn as well, is killed with SIGKILL. The others have to end by
themselves; then all are started again with the same command, until the run
is through, and further runs begin until there have been enough kills. (A
search goes on when one of its workers is killed.) What each run ended with is
compared with the unbroken one. Ends with an error if a run differs, or a
process outlives the one that was killed. For Linux, which tells who a process
has started.
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
from trainers.provenance import provenance
from trainers.quiet import import_tensorflow
from trainers.workdir import write_json

RESULT = pathlib.Path(__file__).parent / "results" / "kill_runs.json"
PAGE = ROOT / "docs" / "distributed.md"
BEGIN, END = "<!-- kill_runs table: begin -->", "<!-- kill_runs table: end -->"
# A process that has lost another has to end within this time.
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
    """Waits for all; their last lines on stderr, killed after `seconds`."""
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
    """Seconds of a run that is left alone."""
    started = time.monotonic()
    processes = start(kind, workdir)
    lines = end(processes)
    assert not any(process.returncode for process in processes), lines
    return time.monotonic() - started


def started_by(process, name: str) -> list[int]:
    """Numbers of the processes that this one has started, by their name."""
    found = []
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for number in path.read_text().split() if name else []:
        with contextlib.suppress(OSError):  # it has ended
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
    """One run to its end; what happened at each kill."""
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
    """Which it was, and how long the others went on without it."""
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
    """A row for each kind of run."""
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
    parser.add_argument("--kills", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    import_tensorflow()
    for name in arguments.kinds:
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
        # Beside the kinds that were measured before, of the same commands.
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
