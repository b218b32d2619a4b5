"""Training and evaluation from the command line: a run trains one recipe.

The files of this folder are the commands, with what they share: `fit` trains a
run, `command_line` parses arguments, and `checked_arguments` checks the
arguments of calls in Python. A command checks its arguments before it imports
TensorFlow, which takes seconds, so its functions contain imports.

The folders are the parts of the commands. Each uses only those below it:

- `goals`: recipes for data of the user's own. `trained`: a trained run in use.
- `evaluators`: one file per kind of evaluation. `measures`: what they measure.
- `training`: model, devices, checkpoints, learning rate.
- `data`: examples, splits, folds, features.
- `workdirs`: the folder of a run.
- `config`: the typed form of a run.
- `recipes`: one table per experiment. `terminal`: what is printed.
"""
