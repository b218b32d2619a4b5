"""The demo recipe reduced to seconds, for the tests of the trainers."""

from trainers.recipes import demo
from trainers.recipes.learning_rates import cosine_decay


def get_config():
    config = demo.get_config()
    # 25 rows, which two replicas cannot divide equally.
    config.batches.num_classes = 5
    config.batches.num_support = 2
    config.batches.num_query = 3
    config.objective.num_support = 2
    config.steps_per_epoch = 3
    config.num_epochs = 4
    config.patience = 4
    config.optimizer.learning_rate = cosine_decay(3e-3, 12)
    # Adam divides by it, so rounding errors of a zero gradient stay small.
    config.optimizer.epsilon = 1e-2
    config.validation.num_episodes = 2
    config.validation.num_samples = 3
    config.evaluation.num_episodes = 2
    config.evaluation.num_draws = 1
    config.evaluation.num_samples = 3
    return config
