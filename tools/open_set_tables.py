"""The tables of the open-set results in docs/serving.md."""

from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command

# The promised rate of the second table.
AT = 0.1
_HEADER = (
    "run",
    "score",
    "classes enrolled, unknown, for calibration",
    "promised",
    "unknown classes accepted",
    "enrolled classes accepted",
    "and identified",
    "by the export: unknown accepted",
    "enrolled identified",
)
_FOREIGN = (
    "run",
    "inputs",
    "not typical",
    'answered "unknown"',
    "without the check of inputs",
)


def tables(found: dict[str, dict]) -> str:
    """The Markdown of results by the names of their runs."""
    lines = _start(_HEADER)
    foreign = _start(_FOREIGN)
    for name, result in sorted(found.items()):
        run = name.replace("_", " ")
        for promise in result["promises"]:
            lines.append(_row(_promise(run, result, promise)))
        foreign += [_row(row) for row in _foreign(run, result)]
    commands = {
        name.replace("_", " "): command(name, result)
        for name, result in sorted(found.items())
    }
    return "\n".join(
        [
            *lines,
            "",
            "Inputs that are not of these classes, at the promised rate of "
            f"{AT:.0%}:",
            "",
            *foreign,
            *command_lines(commands),
        ]
    )


def command(name: str, result: dict) -> str:
    """One shell line that trains the run, and measures it."""
    workdir = f"runs/{name}"
    train = rerun_command(result["recipe"], result["config"], workdir)
    train = train.partition(" && ")[0]
    return f"{train} && python -m tools.served_open_set {workdir}"


def _promise(run: str, result: dict, promise: dict) -> tuple:
    first = promise["served_first_division"]
    unknown = result["test_classes"] - result["enrolled_classes"]
    unknown -= result["calibration_classes"]
    return (
        run,
        result["score"].replace("_", " "),
        f"{result['enrolled_classes']}, {unknown}, "
        f"{result['calibration_classes']}",
        f"{promise['promised']:.0%}",
        f"{promise['unknown_accepted']:.1%} "
        f"(± {promise['unknown_accepted_deviation']:.1%})",
        f"{promise['known_accepted']:.1%}",
        f"{promise['known_identified']:.1%}",
        f"{first['unknown_accepted']:.1%}",
        f"{first['known_identified']:.1%}",
    )


def _foreign(run: str, result: dict):
    (promise,) = (p for p in result["promises"] if p["promised"] == AT)
    for about, key in (
        ("of enrolled classes", "known"),
        ("of unknown classes", "unknown"),
    ):
        yield run, about, f"{promise[f'{key}_not_typical']:.1%}", "", ""
    for kind, one in promise["served_first_division"]["foreign"].items():
        yield (
            run,
            kind,
            f"{one['not_typical']:.1%}",
            f"{one['unknown']:.1%}",
            f"{1 - one['accepted_by_threshold']:.1%}",
        )


def _start(header: tuple) -> list[str]:
    return [_row(header), _row(("---",) * len(header))]


def _row(cells) -> str:
    return f"| {' | '.join(cells)} |"
