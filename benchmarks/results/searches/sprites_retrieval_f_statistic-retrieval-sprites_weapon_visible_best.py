"""The best of 12 trials of a random search.

Recipe: sprites_retrieval_f_statistic; space: retrieval; trial 03.
val_recall_at_1: 0.875386, in epoch 5 of 5.

    encoder.dim = 32
    batches.num_per_class = 3
    optimizer.learning_rate = 0.008520876742029873
    share_of_dims = 0.1
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'sprites/weapon_visible',
         'split': 'train',
         'data_dir': '',
         'manual_dir': '',
         'folds': {'split': 'all',
                   'num_folds': 5,
                   'fold': 0,
                   'num_per_class': 24,
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
                     'num_classes': 20,
                     'num_per_class': 3},
         'encoder': {'name': 'sprites_encoder', 'dim': 32, 'width': 256},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 300,
                                         'initial_learning_rate': 0.008520876742029873}},
         'loss': {'name': 'FStatisticLoss', 'num_dims': 3},
         'evaluation': {'name': 'retrieval',
                        'splits': ('test',),
                        'distance': 'l2',
                        'k': (1, 2, 5, 10, 20),
                        'cluster': False},
         'validation': {'split': 'validation', 'max_k': 0},
         'cache_dir': ''}
    )
