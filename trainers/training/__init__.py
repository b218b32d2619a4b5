"""Parts of a training: model, devices, checkpoints, learning rate."""
