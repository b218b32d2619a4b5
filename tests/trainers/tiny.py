"""The demo recipe cut down to seconds, for the tests of the trainers."""

from trainers.recipes import demo
from trainers.recipes.learning_rates import cosine_decay


def get_config():
    config = demo.get_config()
    config.batches.num_classes = 6
    config.batches.num_support = 2
    config.batches.num_query = 2
    config.objective.num_support = 2
    config.steps_per_epoch = 3
    config.num_epochs = 4
    config.patience = 4
    config.optimizer.learning_rate = cosine_decay(3e-3, 12)
    config.validation.num_episodes = 2
    config.validation.num_samples = 3
    config.evaluation.num_episodes = 2
    config.evaluation.num_draws = 1
    config.evaluation.num_samples = 3
    return config
