"""Makes the pictures of docs/watching.md.

    python -m tools.watching_pictures collapse
    python -m tools.watching_pictures screenshots runs/demo

`collapse` trains two short runs, writes their curves to
benchmarks/results/watching.json, and draws them. `screenshots` starts
TensorBoard on a folder of runs, and photographs its tabs in headless Chromium.
It needs Selenium (`pip install selenium`), Chromium and its driver (Debian:
`apt-get install chromium chromium-driver`).
"""

import argparse
import contextlib
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
TABLE = ROOT / "benchmarks" / "results" / "watching.json"
DATA = "n_digit/digits_2_number"
RUNS = {
    "collapsed": {"mining": "hard", "learning_rate": 1e-2, "seed": 0},
    "healthy": {"mining": "semi_hard", "learning_rate": 1e-3, "seed": 0},
}
CURVES = {
    "loss": "loss of the batch",
    "distance_between": "distance between classes",
    "distance_within": "distance within classes",
    "effective_rank": "effective rank",
    "active_rows": "rows with a gradient",
    "gradient_norm": "norm of the gradient",
}
EVERY, STEPS = 10, 300
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
SECONDS = 120  # for a page, on a busy machine


def train_both() -> list[dict]:
    """Trains both runs; returns their curves, one row per step."""
    import keras

    from embeddings_tf import callbacks
    from embeddings_tf import datasets
    from embeddings_tf import losses
    from embeddings_tf import models
    from embeddings_tf import sampling

    x, labels = datasets.load(DATA, "train")
    rows = []
    for name, run in RUNS.items():
        keras.utils.set_random_seed(run["seed"])
        indices = sampling.class_balanced_batches(labels, 12, 5, run["seed"])
        batches = datasets.batches(x, labels, indices)
        model = models.n_digit_encoder(
            8, image_shape=x.shape[1:], gaussian=False
        )
        model.compile(
            keras.optimizers.Adam(run["learning_rate"]),
            loss=losses.TripletLoss(0.5, run["mining"], "l2"),
        )
        watch = callbacks.TrainingDiagnostics(
            *next(iter(batches)), tempfile.mkdtemp(), every_steps=EVERY
        )

        def keep(batch, logs, name=name, watch=watch):
            if watch.values and (batch + 1) % EVERY == 0:
                values = {n: float(f"{watch.values[n]:.6g}") for n in CURVES}
                rows.append({"run": name, "step": batch + 1, **values})

        model.fit(
            batches,
            steps_per_epoch=STEPS,
            shuffle=False,
            verbose=2,
            callbacks=[
                watch,
                keras.callbacks.LambdaCallback(on_train_batch_end=keep),
            ],
        )
    return rows


def draw(rows: list[dict]):
    """Draws each curve of both runs in its own panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True).ravel()
    for panel, (curve, title) in zip(panels, CURVES.items(), strict=True):
        for name, colour in zip(RUNS, ("#d62728", "#1f77b4"), strict=True):
            points = [row for row in rows if row["run"] == name]
            panel.plot(
                [row["step"] for row in points],
                [row[curve] for row in points],
                color=colour,
                label=name,
            )
        panel.set_title(f"{title}\n({curve})", fontsize=9)
        panel.set_ylim(bottom=min(0, panel.get_ylim()[0]))
        panel.tick_params(labelsize=8)
    for panel in panels[3:]:
        panel.set_xlabel("step", fontsize=8)
    panels[0].legend(fontsize=8)
    return figure


def collapse() -> None:
    """Writes the curves of both runs, and their figure."""
    from embeddings_tf import viz
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    made_by = provenance()
    rows = train_both()
    found = {"data": DATA, "runs": RUNS, "curves": rows, **made_by}
    write_json(TABLE, found)
    path = FIGURES / "watching_collapse_or_progress.png"
    print(viz.save_figure(draw(rows), path))


def wait_for_events(address: str) -> None:
    """Waits until TensorBoard has read all event files, which it does once."""
    before, end = "", time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(10)
        with urllib.request.urlopen(f"{address}data/runs") as answer:
            found = answer.read().decode()
        with urllib.request.urlopen(
            f"{address}data/plugin/timeseries/tags"
        ) as answer:
            found += answer.read().decode()
        if "diagnostics" in found and found == before:
            return
        before = found
    raise TimeoutError("TensorBoard found no diagnostics in the folder")


@contextlib.contextmanager
def tensorboard(log_dir: str):
    """Runs TensorBoard on this machine; yields its address."""
    words = ["--logdir", log_dir, "--host", "localhost", "--port", "0"]
    words += ["--load_fast", "false", "--reload_interval", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stderr:
            found = re.search(r"http://localhost:\d+/", line)
            if found:
                wait_for_events(found[0])
                yield found[0]
                return
        raise OSError(f"TensorBoard ended with {process.wait()}")
    finally:
        process.terminate()
        process.wait()


def require_browser() -> None:
    """Ends with what to install if a picture cannot be taken."""
    if importlib.util.find_spec("selenium") is None:
        sys.exit("error: Selenium is missing: pip install selenium")
    for program in (CHROMIUM, DRIVER):
        if not pathlib.Path(program).exists():
            sys.exit(
                f"error: {program} is missing; on Debian: "
                "sudo apt-get install chromium chromium-driver"
            )


@contextlib.contextmanager
def browser():
    """Runs headless Chromium with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for word in (
            "headless",
            "no-sandbox",
            "disable-gpu",
            "disable-quic",
            "disable-dev-shm-usage",
            "no-first-run",
            "disable-background-networking",
            "disable-component-update",
            "disable-sync",
            # The projector needs WebGL; without a graphics card, in software.
            "use-angle=swiftshader",
            "enable-unsafe-swiftshader",
            f"user-data-dir={profile}",
        ):
            options.add_argument(f"--{word}")
        driver = webdriver.Chrome(options, Service(DRIVER))
        driver.set_page_load_timeout(SECONDS)
        try:
            yield driver
        finally:
            driver.quit()


# Selenium looks neither into shadow roots nor into frames; this does.
FIND = """
const wanted = new RegExp(arguments[0]);
let seen = 0;
function walk(root) {
  for (const e of root.querySelectorAll('*')) {
    if (e.shadowRoot) walk(e.shadowRoot);
    if (e.contentDocument) walk(e.contentDocument);
    const own = [...e.childNodes].filter(n => n.nodeType == 3)
      .map(n => n.textContent).join(' ').trim();
    if (own && wanted.test(own) && e.getClientRects().length) seen += 1;
  }
}
walk(document);
return seen;
"""


# Closes the pane of settings beside the time series.
CLOSE_PANE = """
for (const b of document.querySelectorAll('button'))
  if (b.textContent.includes('Settings')) { b.click(); break; }
"""


def wait_for(driver, pattern: str) -> None:
    """Waits until the page shows a text."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if driver.execute_script(FIND, pattern):
            return
        time.sleep(1)
    raise TimeoutError(f"the page never showed {pattern!r}")


# From the name of a picture to the page, a text that it shows, and its size.
TABS = {
    "scalars": (
        "?darkMode=false&tagFilter=diagnostics#timeseries",
        "Tags matching filter",
        (1500, 1100),
    ),
    "pictures": ("?darkMode=false#images", "neighbours", (1280, 1250)),
    "settings": ("?darkMode=false#text", "settings", (1280, 800)),
    "hparams": ("?darkMode=false#hparams", "best_val", (1650, 520)),
    "projector": ("?darkMode=false#projector", "Points:", (1280, 800)),
}


def screenshots(log_dir: str, tabs) -> None:
    """Photographs the tabs of TensorBoard on a folder of runs."""
    require_browser()
    with tensorboard(log_dir) as address, browser() as driver:
        for name in tabs:
            page, text, size = TABS[name]
            driver.set_window_size(*size)
            driver.get("about:blank")
            driver.get(address + page)
            wait_for(driver, text)
            time.sleep(5)
            driver.execute_script(CLOSE_PANE)
            time.sleep(15)  # charts and sprites are drawn after the text
            path = FIGURES / f"watching_{name}.png"
            driver.save_screenshot(str(path))
            shrink(path)
            print(f"{path}: {path.stat().st_size // 1000} kB")


def shrink(path: pathlib.Path) -> None:
    """Reduces a picture to 128 colours."""
    from PIL import Image

    picture = Image.open(path).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.watching_pictures",
        description=__doc__.partition("\n")[0],
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("collapse", help="two runs, one of which collapses")
    photographs = commands.add_parser("screenshots", help="of TensorBoard")
    photographs.add_argument("log_dir", help="folder of trained runs")
    photographs.add_argument(
        "--tabs",
        nargs="+",
        action="extend",
        choices=TABS,
        help="default: all",
    )
    arguments = parser.parse_args()
    if arguments.command == "collapse":
        collapse()
    else:
        screenshots(arguments.log_dir, arguments.tabs or [*TABS])


if __name__ == "__main__":
    main()
