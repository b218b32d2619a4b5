"""The best of 12 trials of a random search.

Recipe: omniglot_retrieval_learned_distance; space: retrieval; trial 02.
val_recall_at_1: 0.591154, in epoch 4 of 5.

    encoder.dim = 500
    batches.num_per_class = 5
    optimizer.learning_rate = 0.00110654178783952
    objective.label_smoothing = 0.0
    objective.distance.dropout = 0.2
    distance.num_layers = 4
    distance.num_units = 128
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
                     'num_classes': 12,
                     'num_per_class': 5},
         'encoder': {'name': 'omniglot_encoder', 'dim': 500},
         'optimizer': {'name': 'Adam',
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 300,
                                         'initial_learning_rate': 0.00110654178783952}},
         'objective': {'name': 'LearnedDistance',
                       'distance': {'name': 'PairDistance',
                                    'dropout': 0.2,
                                    'hidden_units': (128, 128, 128, 128)},
                       'label_smoothing': 0.0},
         'evaluation': {'name': 'retrieval',
                        'splits': ('test',),
                        'distance': 'l2',
                        'k': (1, 2, 5, 10, 20),
                        'cluster': True},
         'validation': {'split': 'validation', 'max_k': 0},
         'cache_dir': ''}
    )
