"""Learned distance of Omniglot's characters, fine-tuned to digits.

From one domain to another, as Monteiro et al. 2020 (Appendix B) go from
14,000 English speakers to 800 of other languages: encoder and distance start
from the run named by `initial_weights`,

    python -m trainers.train --config omniglot_retrieval_learned_distance \
      --workdir runs/omniglot_retrieval_learned_distance

and go on with a tenth of its learning rate.
"""

from trainers.recipes import mnist
from trainers.recipes.learned_distance import OBJECTIVE


def get_config():
    config = mnist.unseen_digits(learning_rate=1e-4)
    config.objective = OBJECTIVE
    config.initial_weights = "runs/omniglot_retrieval_learned_distance"
    return config
