"""Training and evaluation from the command line, one recipe a run."""
