"""Evaluates a trained workdir: `python -m trainers.evaluate --workdir DIR`.

Writes every number to `results.json`, and the pictures into the workdir. The
section `evaluation` is the run's own evaluation. An evaluation of another kind
(`--config.evaluation.name=retrieval`) has a separate section and pictures.
"""

import argparse
import shlex
import sys
import time

from trainers import command_line
from trainers.terminal import command_names
from trainers.terminal.next_export import next_export


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.evaluate"),
        description="Evaluate the best checkpoint of a run on its test data.",
        epilog="Fields of the recipe's evaluation can be set: "
        "--config.evaluation.num_episodes=1000; so can config.data_dir, "
        "config.manual_dir and config.cache_dir.",
    )
    result.add_argument("--workdir", required=True, help="folder of the run")
    return result


def evaluate(workdir: str, overrides: list[str]) -> dict:
    """Evaluates the best checkpoint of a run; returns the results."""
    from trainers.evaluators import evaluator
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.lock import open_workdir
    from trainers.workdirs.provenance import provenance
    from trainers.workdirs.results import read_results
    from trainers.workdirs.results import update_results
    from trainers.workdirs.workdir import as_json
    from trainers.workdirs.workdir import run_of_workdir

    with open_workdir(workdir, create=False) as path:
        before = read_results(path)
        _, own = run_of_workdir(path)
        run = _run_to_evaluate(own, overrides)
        import_tensorflow()
        from trainers.data.data import Data
        from trainers.data.data_fingerprint import evaluation_fingerprint
        from trainers.training.checkpoint import load_best
        from trainers.training.unfinished import unfinished

        started = time.monotonic()
        print(f"Evaluating the best epoch of {path}.", flush=True)
        if reached := unfinished(path, own.training.num_epochs):
            print(
                f"Its training has not ended: {reached}. The command that "
                "started it continues it.",
                flush=True,
            )
        module, data = evaluator(run), Data(run)
        section = "evaluation"
        if module is not evaluator(own):
            section += f"_{run.evaluation.name}"
        module.check(run, data)
        _check(path, own, data, before)
        results, figures = module.evaluate(run, data, load_best(path))
        if section != "evaluation":  # keeps the run's own pictures
            figures = {f"{section}_{n}": f for n, f in figures.items()}
        save_figures(figures, path)
        settings = as_json(run)["evaluation"]
        replaced = _differences(before.get(section), settings)
        found = {
            **results,
            "seconds": round(time.monotonic() - started, 1),
            "settings": settings,
            "data_fingerprint": evaluation_fingerprint(data),
            **provenance(),
        }
        update_results(path, **{section: found})
    print(module.summary(results))
    _print_end(workdir, path, run, section, replaced)
    return results


def _check(path, own, data, before: dict) -> None:
    """Checks the data of an evaluation against the training of the run.

    Args:
        path: Folder of the run.
        own: The run as it was trained.
        data: Data of the evaluation.
        before: The results so far.
    """
    from trainers.data.backbone_features import require_same_backbone
    from trainers.data.classes import classes_of
    from trainers.data.classes import require_same_classes
    from trainers.data.data import Data
    from trainers.data.same_data import require_unseen_test
    from trainers.training.training_state import training_state
    from trainers.workdirs import layout

    require_same_classes(path, classes_of(own, Data(own)))
    # Results are missing until the training has ended.
    state = training_state(layout.best(path))
    require_unseen_test(path, data, before | state)
    require_same_backbone(path, data.run.data)


def _print_end(workdir: str, path, run, section: str, replaced: str) -> None:
    """Prints where the results are, and what to do next."""
    from trainers.config.evaluation_fields import FewShot
    from trainers.data.classes import validates_on_trained

    if section != "evaluation":
        print(
            f"{run.evaluation.name} is not the run's own evaluation: its "
            f"numbers are in the section {section!r} of results.json"
        )
    if replaced:
        print(f"Replaces an earlier evaluation, which had {replaced}")
    print(
        f"Every number: {path / 'results.json'}; pictures: "
        f"{', '.join(str(p) for p in sorted(path.glob('*.png')))}\n"
        f"{next_export(workdir)}"
    )
    if isinstance(run.evaluation, FewShot):
        # Classes of the training cannot set a threshold.
        more = " --no-threshold" * validates_on_trained(path, run)
        print(
            f"Or: {command_names.shell_command('trainers.enroll')} DATA "
            f"--workdir {shlex.quote(str(workdir))} --gallery FILE.npz{more}"
        )


def _run_to_evaluate(run, overrides: list[str]):
    """Returns the run with the fields that the command sets."""
    from trainers.config.run_checks import check_evaluation
    from trainers.config.run_config import apply_override

    for override in overrides:
        field = override.partition("=")[0]
        if not _is_settable(field):
            raise ValueError(
                f"config.{field} belongs to the training; evaluation can set "
                "config.evaluation.*, config.data_dir, config.manual_dir and "
                "config.cache_dir"
            )
        run = apply_override(run, override)
    check_evaluation(run)
    return run


def _is_settable(field: str) -> bool:
    """Whether a field is of the evaluation, or a folder of the data."""
    from trainers.config.run import DATA_FOLDERS

    if field.removeprefix("data.") in DATA_FOLDERS:
        return True
    is_validation = field.startswith("evaluation.validation")
    return field.startswith("evaluation.") and not is_validation


def _differences(before, settings: dict) -> str:
    """Lists settings of an earlier evaluation that differ from this one."""
    before = before.get("settings") if isinstance(before, dict) else None
    if not isinstance(before, dict):
        return ""
    return ", ".join(
        f"config.evaluation.{name}={value!r}"
        for name, value in before.items()
        if value != settings.get(name)
    )


def save_figures(figures: dict, path) -> None:
    """Saves figures as `NAME.png` and for TensorBoard, and clears them."""
    from embeddings_tf import viz

    for name, figure in figures.items():
        viz.save_figure(
            figure,
            path / f"{name}.png",
            log_dir=path / "tensorboard" / "evaluation",
        )
        figure.clear()


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(evaluate, arguments.workdir, arguments.overrides)


if __name__ == "__main__":
    sys.exit(main())
