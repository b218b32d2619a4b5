"""The best of 12 trials of a random search.

Recipe: sprites_histogram; space: disentangling; trial 10.
val_corrected_modularity_plus_explicitness: 1.8584, in epoch 1 of 5.

    optimizer.learning_rate = 0.0002137464742000241
    loss.num_nodes = 201
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
         'num_epochs': 5,
         'monitor': 'val_corrected_modularity_plus_explicitness',
         'patience': 10,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'factor_batches',
                     'num_per_value': 10,
                     'num_values': 12},
         'encoder': {'name': 'sprites_encoder', 'dim': 22, 'width': 1024},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 1000,
                                         'initial_learning_rate': 0.0002137464742000241}},
         'loss': {'name': 'HistogramLoss', 'num_nodes': 201},
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
