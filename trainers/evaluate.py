"""Evaluates a trained workdir: `python -m trainers.evaluate --workdir DIR`.

Writes every number to `results.json` and the pictures beside it.
"""

import argparse
import importlib.util
import shlex
import sys
import time

from trainers import command_line


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m trainers.evaluate",
        description="Evaluate the best checkpoint of a run on its test data.",
        epilog="Fields of the recipe's evaluation can be set: "
        "--config.evaluation.num_episodes=1000; so can config.data_dir and "
        "config.manual_dir.",
    )
    result.add_argument("--workdir", required=True, help="folder of the run")
    return result


def evaluate(workdir: str, overrides: list[str]) -> dict:
    """Evaluates the best checkpoint of a run; returns the results."""
    from trainers.config import apply_override
    from trainers.config import evaluation_module
    from trainers.provenance import provenance
    from trainers.quiet import import_tensorflow
    from trainers.required_fields import require_evaluation
    from trainers.workdir import open_workdir
    from trainers.workdir import read_config
    from trainers.workdir import read_results
    from trainers.workdir import update_results

    with open_workdir(workdir, create=False) as path:
        read_results(path)  # refused now rather than after the evaluation
        _, config = read_config(path)
        for override in overrides:
            if not override.startswith(("evaluation.", "data_dir", "manual_")):
                raise ValueError(
                    f"config.{override.partition('=')[0]} belongs to the "
                    "training; evaluation can set config.evaluation.*, "
                    "config.data_dir and config.manual_dir"
                )
            apply_override(config, override)
        require_evaluation(config)
        if importlib.util.find_spec("matplotlib") is None:
            raise ValueError(
                "the pictures need Matplotlib: pip install "
                "'embeddings_tf[plots]'"
            )
        import_tensorflow()
        from trainers.checkpoint import load_best

        started = time.monotonic()
        module = evaluation_module(config)
        module.check(config)
        results, figures = module.evaluate(config, load_best(path))
        save_figures(figures, path)
        update_results(
            path,
            evaluation={
                **results,
                "seconds": round(time.monotonic() - started, 1),
                "settings": config.evaluation.to_dict(),
                **provenance(),
            },
        )
    print(module.summary(results))
    print(
        f"Every number: {path / 'results.json'}; pictures: "
        f"{', '.join(str(p) for p in sorted(path.glob('*.png')))}\n"
        f"Next: {command_line.module_command('trainers.export')} --workdir "
        f"{shlex.quote(str(workdir))} --directory saved_models/NAME"
    )
    return results


def save_figures(figures: dict, path) -> None:
    """Writes figures as `NAME.png` and to TensorBoard, and empties them."""
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
