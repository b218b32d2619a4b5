"""Runs all speed benchmarks, each in a process of its own, within two hours.

    make bench                                  # with the other libraries
    python -m benchmarks.speed
    python -m benchmarks.speed recall_at_k      # this benchmark only
    python -m benchmarks.speed --write          # pages of the result files

Each benchmark has a budget and may take half as long again for its last
rounds; then it is ended. The next benchmark runs even if one fails. Writes
`benchmarks/results/speed.csv` and the table of aims in
`docs/results/speed.md`. The exit status is 1 if a benchmark failed.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time

from benchmarks import _speed_table as speed_table
from tools import scoring_table
from tools.generated_text import ROOT

MINUTES = 120
# A benchmark may exceed its budget by this factor, and these seconds.
PATIENCE, SECONDS_TO_END = 1.5, 300


def benchmark(name):
    return importlib.import_module(f"benchmarks.{name}").BENCHMARK


def run(command, seconds):
    """Returns why a command failed, or nothing."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=_listen_to_interrupts,
    )
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        # Lets it end its own processes and write what it has measured.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return f"ended after {seconds / 60:.0f} minutes"
    return f"failed with status {code}" if code else ""


def _listen_to_interrupts():
    # A shell's background process, and so its children, would ignore them.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_all(names, minutes, quick=False):
    """Runs benchmarks in turn; returns the reasons of those that failed."""
    failed, ends = {}, time.monotonic() + 60 * minutes
    for name in names:
        left = ends - time.monotonic()
        if left <= 0:
            failed[name] = f"not run: {minutes:g} minutes were used up"
            continue
        budget = min(benchmark(name).minutes, left / 60)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        command += ["--quick"] if quick else ["--minutes", f"{budget:.2f}"]
        print(f"benchmarks.{name}", flush=True)
        limit = min(60 * PATIENCE * budget + SECONDS_TO_END, max(left, 60))
        if reason := run(command, limit if not quick else 3600):
            failed[name] = reason
            print(f"benchmarks.{name}: {reason}", flush=True)
    return failed


def write_pages():
    """Writes every page, the CSV and the plots from the result files."""
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from benchmarks._speed_plots import draw_growth

    for name, kind in (
        ("loss_grid", "losses"),
        ("objective_grid", "objectives"),
    ):
        path = benchmark(name).path
        if path.exists():
            draw_growth(json.loads(path.read_text()), kind)
    for name in speed_table.BENCHMARKS:
        if benchmark(name).path.exists():
            benchmark(name).write_page()
    speed_table.write()
    scoring_table.main()


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = speed_table.BENCHMARKS
    parser.add_argument("names", nargs="*", help=", ".join(names))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--write", action="store_true", help="pages only")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(
            f"there is no benchmark {', '.join(sorted(unknown))}; there are: "
            f"{', '.join(names)}"
        )
    if options.write:
        write_pages()
        return
    failed = run_all(options.names or names, options.minutes, options.quick)
    for name, reason in failed.items():
        print(f"benchmarks.{name}: {reason}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
