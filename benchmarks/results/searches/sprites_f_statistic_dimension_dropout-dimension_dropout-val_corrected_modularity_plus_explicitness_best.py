"""The best of 3 trials of a random search.

Recipe: sprites_f_statistic_dimension_dropout; space: dimension_dropout; trial 0.
val_corrected_modularity_plus_explicitness: 1.9162, in epoch 20 of 20.

    encoder.dimension_dropout = 0.08
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
         'steps_per_epoch': 200,
         'num_epochs': 20,
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
         'encoder': {'name': 'sprites_encoder',
                     'dim': 22,
                     'dimension_dropout': 0.08,
                     'width': 1024},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 4000,
                                         'initial_learning_rate': 0.0002}},
         'loss': {'name': 'FStatisticLoss', 'num_dims': 2},
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
