"""Training and evaluation from the command line: a run trains one recipe."""
