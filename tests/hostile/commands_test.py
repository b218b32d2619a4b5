"""Invalid command lines, called in this process like from a shell.

Each must end with a nonzero exit code and one line that starts with `error:`
(after the usage, if argparse refuses it). Each must leave no new file.
"""

import hashlib
import importlib
import pathlib
import re
import shutil

import pytest

from tests.hostile.judging import Hang
from tests.hostile.judging import time_limit

ROOT = pathlib.Path(__file__).parents[2]
TINY = str(ROOT / "tests" / "trainers" / "tiny.py")
SPACE = str(ROOT / "tests" / "tuning" / "tiny_space.py")
SHORT = [
    f"--config.{field}"
    for field in (
        "deterministic=False",
        "num_epochs=1",
        "steps_per_epoch=1",
        "evaluation.num_episodes=2",
        "evaluation.num_samples=2",
    )
]
# TensorFlow's threads and the trained run are shared by one process.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("hostile commands"),
]

count = 0


class Run:
    """The exit code and output of a command."""

    def __init__(self, module, words, capfd):
        global count
        count += 1
        self.words = " ".join([module, *(w for w in words if w not in SHORT)])
        main = importlib.import_module(module).main
        capfd.readouterr()
        try:
            with time_limit(40):
                self.code = main([*words])
        except SystemExit as error:
            self.code = error.code
        except Hang as error:
            self.code = str(error)
        except Exception as error:  # noqa: BLE001  would be a traceback
            self.code = f"{type(error).__name__}: {error}"
        self.out, self.err = capfd.readouterr()

    @property
    def problem(self):
        """What is wrong with the end of an invalid command, or None."""
        if self.code not in (1, 2):
            return f"ends with {self.code!r}: {self.out[-200:]}"
        # TensorFlow's own log, which a real command silences.
        lines = [
            line
            for line in self.err.splitlines()
            if line.strip() and not re.match(r"[IWE]\d{4} ", line)
        ]
        if len(lines) != 1 or not lines[0].startswith("error: "):
            return f"prints {self.err!r}"
        if len(lines[0].split()) < 5:
            return f"does not say what is wrong: {self.err!r}"
        return None


def content(folder):
    """Returns every file of a folder except the lock, with its content."""
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A short run that no test changes."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    train = importlib.import_module("trainers.train").main
    assert train(["--config", TINY, "--workdir", str(workdir), *SHORT]) == 0
    return workdir


@pytest.fixture
def check(capfd, tmp_path, monkeypatch):
    """Runs invalid commands and lists those that end in another way."""
    monkeypatch.chdir(tmp_path)
    # No test may use the network.
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("EMBEDDINGS_TF_DATA", str(tmp_path / "tfds"))
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)

    def check(commands, folders=()):
        problems = []

        def report(ended, problem):
            words = ended.words
            for folder, name in ((tmp_path, "TMP"), (ROOT, "ROOT")):
                words = words.replace(str(folder), name)
            for folder in folders:
                words = words.replace(str(folder), "RUN")
            problems.append(f"{words!r} -- {problem}")

        for module, words in commands:
            before = {folder: content(folder) for folder in folders}
            ended = Run(module, [*map(str, words)], capfd)
            if ended.problem:
                report(ended, ended.problem)
            for folder in folders:
                changed = set(content(folder).items()) ^ set(
                    before[folder].items()
                )
                if changed:
                    names = sorted({str(path) for path, _ in changed})
                    report(ended, f"changes {names}")
            written = sorted(
                str(p.relative_to(tmp_path))
                for p in tmp_path.rglob("*")
                if p.is_file()
                and p.name != ".lock"
                and not any(p.is_relative_to(f) for f in folders)
                and "given" not in p.parts
            )
            if written:
                report(ended, f"writes {written}")
                for name in written:
                    (tmp_path / name).unlink()
        assert not problems, "\n" + "\n".join(problems)

    return check


@pytest.fixture
def given(tmp_path):
    """Input files of commands: workdirs, recipes, spaces."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "file").write_text("hostile")
    recipes = {
        "syntax": "def get_config(:",
        "no_function": "x = 1",
        "imports": "import nothing_here",
        "returns_none": "def get_config():\n    return None",
        "returns_dict": "def get_config():\n    return {}",
        "empty": "import ml_collections\n"
        "def get_config():\n    return ml_collections.ConfigDict()",
        "raises": "def get_config():\n    raise RuntimeError('hostile')",
        "divides": "x = 1 / 0",
        "not_callable": "get_config = 3",
        "needs_arguments": "def get_config(a):\n    return a",
        "null": "\0",
    }
    for name, text in recipes.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "bytes.py").write_bytes(b"\xff\xfe\0hostile")
    return folder


COMMANDS = {
    "trainers.train": ("--config", TINY, "--workdir", "run", *SHORT),
    "trainers.evaluate": ("--workdir", "run"),
    "trainers.export": ("--workdir", "run", "--directory", "model"),
    "trainers.cross_validate": (
        "--config",
        "sprites_triplet",
        "--workdir",
        "run",
        SHORT[0],
    ),
    "trainers.demo": ("--workdir", "run", *SHORT[:3]),
    "tuning.search": (
        "--config",
        TINY,
        "--space",
        SPACE,
        "--trials",
        "1",
        "--workdir",
        "run",
        *SHORT,
    ),
}


@pytest.mark.parametrize("module", COMMANDS)
def test_unknown_arguments(module, check):
    words = COMMANDS[module]
    flags = [
        ["--hostile"],
        ["hostile"],
        ["--config.seed"],
        ["--config.=1"],
        ["--config.seed.inner=1"],
        ["--workdir"],
        ["--version", "x"],
        ["-x"],
        ["--workdir", "a", "b"],
    ]
    if module in ("trainers.export",):
        flags = [f for f in flags if not f[0].startswith("--config.")]
    commands = [(module, [*words, *more]) for more in flags]
    if module != "trainers.demo":
        commands.append((module, []))
    check(commands)


@pytest.mark.parametrize("module", COMMANDS)
def test_workdirs(module, check, given):
    words = [*COMMANDS[module]]
    place = words.index("run")
    locked = given / "locked"
    locked.mkdir()
    bad = [
        "",
        given / "file",
        given / "file" / "run",
        "a\0b",
        "/proc/hostile",
        "/dev/null/run",
        "x" * 300,
    ]
    check(
        [
            (module, [*words[:place], folder, *words[place + 1 :]])
            for folder in bad
        ]
    )


RECIPES = ("trainers.train", "trainers.cross_validate", "tuning.search")


@pytest.mark.parametrize("module", RECIPES)
def test_recipes(module, check, given):
    words = [*COMMANDS[module]]
    bad = [
        "",
        "hostile",
        "demo.py",
        "../demo",
        "__init__",
        "learning_rates",
        given,
        given / "file",
        "a\0b",
        "None",
        "0",
        *sorted(given.glob("*.py")),
    ]
    check([(module, ["--config", r, *words[2:]]) for r in bad], [given])


FIELDS = [
    "seed=x",
    "seed=1.5",
    "seed=None",
    "seed=",
    "seed=[1]",
    "seed=-1",
    f"seed={2**70}",
    "seed=True",
    "steps_per_epoch=0",
    "steps_per_epoch=-1",
    "steps_per_epoch=1e3",
    "num_epochs=0",
    "num_epochs=-3",
    "num_epochs=x",
    "patience=-1",
    "patience=x",
    "monitor=hostile",
    "monitor=3",
    "dataset=",
    "dataset=hostile",
    "dataset=n_digit/9_number",
    "dataset=../../x",
    "split=",
    "split=hostile",
    "split=()",
    "precision=float64",
    "precision=",
    "precision=hostile",
    "piece_size=-1",
    "piece_size=1.5",
    "piece_size=x",
    "strategy=hostile",
    "strategy=",
    "initial_weights=hostile",
    "initial_weights=/dev/null",
    "batches.name=hostile",
    "batches.name=np",
    "batches.name=tf",
    "batches.name=_seed",
    "batches.name=",
    "batches.num_classes=0",
    "batches.num_classes=-1",
    "batches.num_classes=1000000",
    "batches.num_support=0",
    "batches.num_query=0",
    "batches.num_query=x",
    "batches.num_query=1e9",
    "objective.name=hostile",
    "objective.name=keras",
    "objective.name=",
    "objective.num_support=0",
    "objective.num_support=-1",
    "objective.num_support=1.5",
    "objective.num_samples=0",
    "objective.sampler=hostile",
    "objective.hostile=1",
    "encoder.name=hostile",
    "encoder.name=keras",
    "encoder.name=",
    "encoder.dim=0",
    "encoder.dim=-1",
    "encoder.dim=x",
    "encoder.hostile=1",
    "optimizer.name=hostile",
    "optimizer.name=",
    "optimizer.hostile=1",
    "optimizer.learning_rate=x",
    "optimizer.learning_rate=hostile",
    "optimizer.epsilon=x",
    "optimizer.epsilon=nan",
    "optimizer.epsilon=-1.0",
    "validation.num_support=0",
    "validation.num_support=1000",
    "validation.num_episodes=0",
    "validation.num_episodes=-1",
    "validation.num_query=0",
    "validation.num_samples=0",
    "validation.split=hostile",
    "evaluation.name=hostile",
    "evaluation.name=",
    "evaluation=1",
    "hostile=1",
    "seed.x=1",
    ".seed=1",
    "seed..x=1",
    "optimizer=adam",
    "preprocess.name=hostile",
    "preprocess.hostile=1",
]


@pytest.mark.parametrize("module", ["trainers.train", "tuning.search"])
def test_fields(module, check):
    fields = FIELDS if module == "trainers.train" else FIELDS[::4]
    check(
        [
            (module, [*COMMANDS[module], *SHORT, f"--config.{field}"])
            for field in fields
        ]
    )


def test_search_arguments(check, given):
    words = [*COMMANDS["tuning.search"]]
    trials, space = words.index("--trials") + 1, words.index("--space") + 1
    commands = []
    for value in ("0", "-1", "1.5", "x", "", "nan"):
        commands.append([*words[:trials], value, *words[trials + 1 :]])
    for value in (
        "",
        "hostile",
        given / "file",
        given / "syntax.py",
        given / "no_function.py",
        given / "imports.py",
        given / "bytes.py",
        given / "divides.py",
    ):
        commands.append([*words[:space], value, *words[space + 1 :]])
    for more in (
        ["--direction", "up"],
        ["--seed", "x"],
        ["--seed", "-1"],
        ["--workers", "-1"],
        ["--workers", "x"],
        ["--objective", "hostile"],
        ["--objective", ""],
        ["--config.strategy=multi_worker"],
    ):
        commands.append([*words, *SHORT, *more])
    check([("tuning.search", words) for words in commands], [given])


def test_folds(check):
    words = [*COMMANDS["trainers.cross_validate"]]
    check(
        [
            ("trainers.cross_validate", [*words, *more])
            for more in (
                ["--folds", "x"],
                ["--folds", "-1"],
                ["--folds", "99"],
                ["--folds", "1.5"],
                ["--folds"],
                ["--config.folds.fold=1"],
                ["--config.folds.num_folds=0"],
                ["--config.folds.num_folds=-1"],
                ["--config.folds.num_folds=x"],
                # 0 is valid: it takes all examples.
                ["--config.folds.num_per_class=-1", "--folds", "1"],
                ["--config.strategy=multi_worker"],
            )
        ]
        + [("trainers.cross_validate", ["--config", TINY, "--workdir", "run"])]
    )


DAMAGED = {
    "empty": b"",
    "cut": b'{"recipe": "demo", "conf',
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "bytes": b"\xff\xfe\0",
    "no fields": b"{}",
    "wrong fields": b'{"recipe": 3, "config": 4}',
    "no config": b'{"recipe": "demo", "config": {}}',
}


@pytest.mark.parametrize("file", ["config.json", "results.json"])
def test_damaged_files_of_a_run(file, check, trained, given):
    commands, folders = [], []
    for name, data in DAMAGED.items():
        if file == "results.json" and name in (
            "no fields",
            "wrong fields",
            "no config",
        ):
            continue  # results without a section belong to a new run
        run = given / name.replace(" ", "_")
        shutil.copytree(trained, run)
        (run / file).write_bytes(data)
        folders.append(run)
        commands.append(
            ("trainers.train", ["--config", TINY, "--workdir", run, *SHORT])
        )
        commands.append(("trainers.evaluate", ["--workdir", run]))
        if file == "config.json":
            commands.append(
                ("trainers.export", ["--workdir", run, "--directory", "model"])
            )
    check(commands, folders)


def test_damaged_checkpoints(check, trained, given):
    commands, folders = [], []
    for name, data in (("empty", b""), ("cut", None), ("text", b"hostile")):
        run = given / name
        shutil.copytree(trained, run)
        best = run / "checkpoints" / "best.keras"
        best.write_bytes(best.read_bytes()[:999] if data is None else data)
        folders.append(run)
        commands.append(("trainers.evaluate", ["--workdir", run]))
        commands.append(
            ("trainers.export", ["--workdir", run, "--directory", "model"])
        )
    run = given / "none"
    shutil.copytree(trained, run)
    shutil.rmtree(run / "checkpoints")
    folders.append(run)
    commands.append(("trainers.evaluate", ["--workdir", run]))
    check(commands, folders)


def test_workdirs_of_another_run(check, trained):
    check(
        [
            (
                "trainers.train",
                [
                    "--config",
                    TINY,
                    "--workdir",
                    trained,
                    *SHORT,
                    f"--config.{field}",
                ],
            )
            for field in (
                "seed=5",
                "num_epochs=2",
                "encoder.dim=3",
                "optimizer.epsilon=0.5",
            )
        ]
        + [
            (
                "trainers.train",
                [
                    "--config",
                    "mnist_learned_distance",
                    "--workdir",
                    trained,
                    SHORT[0],
                ],
            ),
            (
                "trainers.cross_validate",
                [
                    "--config",
                    "sprites_triplet",
                    "--workdir",
                    trained,
                    SHORT[0],
                ],
            ),
            ("trainers.evaluate", ["--workdir", trained, "--config.seed=3"]),
            (
                "trainers.evaluate",
                ["--workdir", trained, "--config.data_dirs=3"],
            ),
            (
                "tuning.search",
                [*COMMANDS["tuning.search"][:7], trained, *SHORT],
            ),
        ],
        [trained],
    )


def test_evaluation_fields(check, trained):
    check(
        [
            ("trainers.evaluate", ["--workdir", trained, f"--config.{field}"])
            for field in (
                "evaluation.name=hostile",
                # Retrieval and verification need no factor labels.
                "evaluation.name=disentanglement",
                "evaluation.hostile=1",
                "evaluation.num_episodes=x",
                "evaluation.num_episodes=0",
                "evaluation.num_episodes=-1",
                "evaluation.num_samples=0",
                "evaluation.num_samples=-1",
                "evaluation.num_support=0",
                "evaluation.num_support=1000",
                "evaluation.num_query=0",
                "evaluation.num_query=-1",
                "evaluation.num_draws=0",
                "evaluation.num_draws=-1",
                "evaluation=3",
                "evaluation.splits=()",
                "evaluation.seed=x",
            )
        ],
        [trained],
    )


def test_export_arguments(check, trained, given):
    (given / "model" / "7").mkdir(parents=True)
    check(
        [
            (
                "trainers.export",
                ["--workdir", trained, "--directory", directory, *more],
            )
            for directory, more in (
                ("", ()),
                (given / "file", ()),
                (given / "file" / "x", ()),
                ("a\0b", ()),
                ("/dev/null/x", ()),
                (given / "model", ("--version", "7")),
                (given / "model", ("--version", "0")),
                (given / "model", ("--version", "-1")),
                (given / "model", ("--version", "x")),
                (given / "model", ("--version", "1.5")),
                (given / "model", ("--version", "\u00b2")),
                (given / "model", ("--version", str(2**63))),
                (given / "model", ("--version", str(2**70))),
                *(
                    (given / "model", ("--label", label))
                    for label in BAD_LABELS
                ),
                (given / "model", ("--label",)),
                (given / "model", ("--licence",)),
                # Not text: the card could not be written.
                (given / "model", ("--licence", "\udcff")),
            )
        ],
        [trained, given],
    )


BAD_LABELS = ("", " ", "a b", "a/b", "a:b", "\0", "\udcff", "\n")


def test_label_version_arguments(check, given):
    model = given / "models" / "words"
    (model / "1").mkdir(parents=True)
    (model / "1" / "saved_model.pb").write_bytes(b"")
    (given / "empty" / "1").mkdir(parents=True)
    damaged = given / "damaged" / "words"
    shutil.copytree(model, damaged)
    (given / "damaged" / "models.config").write_text("hostile")
    good = ["--directory", model, "--version", "1"]
    check(
        [
            ("trainers.label_version", words)
            for words in (
                [],
                good[:2],
                good[2:],
                [*good, "--hostile"],
                [*good, "hostile"],
                [*good, "--label"],
                *([*good, "--label", label] for label in BAD_LABELS),
                *(
                    [*good[:3], version]
                    for version in (
                        *("", "x", "0", "-1", "2", "1.5", "nan"),
                        *(str(2**63), str(2**70)),
                    )
                ),
                *(
                    ["--directory", directory, *good[2:]]
                    for directory in (
                        *("", "hostile", "a\0b", "/dev/null/x", "x" * 300),
                        *(given / "file", given / "file" / "x"),
                        *(given / "empty", damaged),
                    )
                ),
            )
        ],
        [given],
    )


def test_at_least_200_commands_were_made(request):
    here = {
        item.originalname
        for item in request.session.items
        if item.path == request.node.path
    }
    if len(here) < sum(name.startswith("test_") for name in globals()):
        pytest.skip("only some of the tests run")
    assert count >= 200
