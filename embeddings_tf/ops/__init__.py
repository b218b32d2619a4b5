"""Internal mathematics: pure functions on tensors, no Keras classes."""
