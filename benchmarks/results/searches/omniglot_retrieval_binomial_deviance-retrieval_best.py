"""The best of 12 trials of a random search.

Recipe: omniglot_retrieval_binomial_deviance; space: retrieval; trial 04.
val_recall_at_1: 0.740385, in epoch 5 of 5.

    encoder.dim = 64
    batches.num_per_class = 10
    optimizer.learning_rate = 0.0019815016575264635
    loss.scale = 1.2970513503620684
    loss.negative_cost = 8.53567422316501
    loss.threshold = 0.5
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'omniglot',
         'split': 'train',
         'data_dir': '',
         'manual_dir': '',
         'folds': {'split': 'train+test',
                   'num_folds': 5,
                   'fold': 0,
                   'num_per_class': 0,
                   'test_split': ''},
         'images': {'size': 0, 'cache_gib': 1.0, 'crop': True},
         'seed': 0,
         'deterministic': True,
         'steps_per_epoch': 60,
         'num_epochs': 5,
         'monitor': 'val_recall_at_1',
         'patience': 10,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'class_balanced_batches',
                     'num_classes': 6,
                     'num_per_class': 10},
         'encoder': {'name': 'omniglot_encoder', 'dim': 64},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 300,
                                         'initial_learning_rate': 0.0019815016575264635}},
         'loss': {'name': 'BinomialDevianceLoss',
                  'negative_cost': 8.53567422316501,
                  'scale': 1.2970513503620684,
                  'threshold': 0.5},
         'evaluation': {'name': 'retrieval',
                        'splits': ('test',),
                        'distance': 'cosine',
                        'k': (1, 2, 5, 10, 20),
                        'cluster': False},
         'validation': {'split': 'validation', 'max_k': 0},
         'cache_dir': ''}
    )
