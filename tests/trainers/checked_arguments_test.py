"""Arguments of another type are refused before anything is read."""

import pathlib

import numpy as np
import pytest

from trainers.checked_arguments import checked_arguments
from trainers.embed_data import embed_data
from trainers.enroll import enroll
from trainers.identify import identify
from trainers.nearest import nearest
from trainers.verify import verify
from tuning.search import search
from tuning.winner import train_winner

# Of files that do not exist, so that a later error would be another one.
COMMANDS = {
    embed_data: {"workdir": "run", "output": "new.npz"},
    enroll: {"gallery": "new.npz", "inputs": ["photos"], "workdir": "run"},
    identify: {"gallery": "g.npz", "inputs": ["a.png"]},
    nearest: {"gallery": "g.npz", "inputs": ["a.png"]},
    verify: {"workdir": "run", "inputs": ["a.png", "b.png"]},
    search: {"recipe": "none", "workdir": "run", "space": "none"}
    | {"num_trials": 2},
    train_winner: {"search": "none", "num_batches": 10, "workdir": "run"},
}
LIST = r"must be a list; received '{0}'; write \['{0}'\]$"
INPUTS = "inputs " + LIST.format("photo.jpg")
OVERRIDES = "overrides " + LIST.format("num_epochs=1")
BAD = [
    (embed_data, "inputs", "photo.jpg", INPUTS),
    (enroll, "inputs", "photo.jpg", INPUTS),
    (enroll, "remove", "c03", "remove " + LIST.format("c03")),
    (enroll, "classes", "c04", "classes " + LIST.format("c04")),
    (enroll, "classes", [3], r"classes\[0\] must be a string .* received 3$"),
    (enroll, "label", 3, "label must be a string or a path; received 3$"),
    (enroll, "examples_per_class", 2.5, "whole number; received 2.5$"),
    (enroll, "examples_per_class", True, "whole number; received True$"),
    (enroll, "examples_per_class", 0, "must be at least 1; received 0$"),
    (enroll, "score", "cosine", "score must be .*'log_evidence', .*'cosine'$"),
    (enroll, "false_accept_rate", "0.1", "must be a number; received '0.1'$"),
    (enroll, "threshold", "no", "must be True or False; received 'no'$"),
    (identify, "inputs", "photo.jpg", INPUTS),
    (identify, "inputs", pathlib.Path("photo.jpg"), INPUTS),
    (
        identify,
        "inputs",
        None,
        r"inputs must be a list; received None; write \[\]$",
    ),
    (identify, "inputs", b"a.png", "inputs " + LIST.format("a.png")),
    (identify, "inputs", np.array("a.png"), r"list; received .*'a.png'"),
    (nearest, "approximate", np.array([True, False]), "must be True or False"),
    (identify, "gallery", None, "gallery must be a string .*received None$"),
    (identify, "split", 3, "split must be a string or a path; received 3$"),
    (nearest, "inputs", "photo.jpg", INPUTS),
    (nearest, "k", 1.5, "^k must be a whole number; received 1.5$"),
    (nearest, "k", None, "^k must be a whole number; received None$"),
    (nearest, "k", 0, "must be at least 1; received 0$"),
    (nearest, "approximate", "no", "must be True or False; received 'no'$"),
    (verify, "inputs", "ab", "inputs " + LIST.format("ab")),
    (verify, "fit", "foo", "^fit must be one of 'logistic', .*'foo'$"),
    (verify, "fit", None, "^fit must be a string .*received None$"),
    (verify, "prior", "0.5", "prior must be a number; received '0.5'$"),
    (search, "num_trials", 1.5, "num_trials must be a whole number; .* 1.5$"),
    (search, "seed", 1.5, "seed must be a whole number; received 1.5$"),
    (search, "num_workers", "2", "must be a whole number; received '2'$"),
    (search, "direction", "up", "direction must be one of 'min', 'max'; .*up"),
    (search, "overrides", "num_epochs=1", OVERRIDES),
    (train_winner, "num_batches", 1.5, "num_batches must be a whole number"),
    (train_winner, "folds", 1, r"folds must be a list; received 1; write \[1"),
    (train_winner, "folds", [1.5], r"folds\[0\] must be a whole .* 1.5$"),
    (train_winner, "overrides", "num_epochs=1", OVERRIDES),
]


@pytest.mark.parametrize(
    ("command", "name", "value", "message"),
    BAD,
    ids=[f"{c.__name__} {name} {value!r}" for c, name, value, _ in BAD],
)
def test_refused_at_once(
    command, name, value, message, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        command(**{**COMMANDS[command], name: value})
    assert capfd.readouterr() == ("", "")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_paths_are_taken_like_strings(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    errors = []
    for kind in (str, pathlib.Path):
        given = {
            name: [*map(kind, value)]
            if isinstance(value, list)
            else (kind(value) if isinstance(value, str) and value else value)
            for name, value in COMMANDS[command].items()
        }
        with pytest.raises((ValueError, OSError)) as error:
            command(**given)
        errors.append((error.type, str(error.value)))
    assert errors[0] == errors[1]


def test_what_a_function_gets():
    @checked_arguments(d=("x", "y"))
    def command(
        a: str,
        b: list[str] = (),
        *,
        c: int | None = 3,
        d: str | None = None,
        e: bool = False,
        f: float = 0.5,
    ):
        """Its text."""
        return a, b, c, d, e, f

    assert command(pathlib.Path("a", "b")) == ("a/b", (), 3, None, False, 0.5)
    found = command(
        np.str_("a"),
        (name for name in ("b", pathlib.Path("c"))),
        c=np.int64(4),
        d="y",
        e=np.True_,
        f=1,
    )
    assert repr(found) == repr(("a", ["b", "c"], 4, "y", True, 1))
    assert command("a", c=None)[2] is None
    assert command.__doc__ == "Its text."
    with pytest.raises(TypeError, match="unexpected keyword argument 'g'"):
        command("a", g=1)
