"""The best of 30 trials of a random search.

Recipe: sprites_f_statistic; space: f_statistic; trial 12.
val_explicitness: 0.924822, in epoch 4 of 4.

    loss.num_dims = 5
    optimizer.learning_rate = 0.0009369227558588558
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'sprites/all_frames',
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
         'steps_per_epoch': 150,
         'num_epochs': 4,
         'monitor': 'val_explicitness',
         'patience': 10,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'factor_batches',
                     'num_per_value': 5,
                     'num_values': 12},
         'encoder': {'name': 'sprites_encoder', 'dim': 22, 'width': 256},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 600,
                                         'initial_learning_rate': 0.0009369227558588558}},
         'loss': {'name': 'FStatisticLoss', 'num_dims': 5},
         'evaluation': {'name': 'disentanglement',
                        'splits': ('test',),
                        'factor_names': ('gender',
                                         'body',
                                         'armor',
                                         'hair',
                                         'arm',
                                         'greaves',
                                         'weapon'),
                        'normalize_codes': False},
         'validation': {'split': 'validation'},
         'cache_dir': ''}
    )
